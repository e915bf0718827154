"""Articulated quantities of a robot, and what follows from them: solves, inertias, factors, samples."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...engine.call.evaluate import check_engine
from ...engine.call.fast_entry import FastEntry
from ...engine.frontend.fastcall import BAD_LAYOUT
from ...errors import UnsupportedError, quoted
from ...kernels.dynamics import articulated as kernels
from ...kernels.dynamics.inverse_mass import solve_columns_states
from ...kernels.entries.status import FINE
from ...kernels.operational.pv_osim import articulated_inverse_inertia_states
from ...kernels.published.innovations import articulated_factor_states
from ...model.quaternions import configuration
from ...model.tree import Tree
from ...states.arguments import checked_frames, checked_robot
from ...states.states import on_states
from ...system.display import batch, span
from ...types import Engine, Reference
from ...validation.arrays import check_copy, coerce
from ..base import explain_failure
from ..factorization import Factorization
from ..solve import table_of_count
from ..tables import NO_FORCES, kernel_wrenches
from ..triangular_factors import (
    MULTIPLY,
    MULTIPLY_TRANSPOSED,
    SOLVE,
    SOLVE_LOWER,
    SOLVE_LOWER_TRANSPOSED,
    TriangularFactors,
)
from .frames import known_frame_codes

MANY = 8  # columns, from which those of sparse factors, side by side in vectors, are solved faster
OPERATIONS = {
    MULTIPLY: kernels.multiply_states,
    MULTIPLY_TRANSPOSED: kernels.multiply_transposed_states,
    SOLVE_LOWER: kernels.solve_lower_states,
    SOLVE_LOWER_TRANSPOSED: kernels.solve_lower_transposed_states,
    SOLVE: kernels.solve_states,
}
# rows of an articulated-body inertia in the kernels' array, moment first: I and M as xx yy zz xy xz yz, H by rows
SYMMETRIC = np.array([[0, 3, 4], [3, 1, 5], [4, 5, 2]])
BLOCKS = np.block([[SYMMETRIC, 6 + np.arange(9).reshape(3, 3)], [6 + np.arange(9).reshape(3, 3).T, 15 + SYMMETRIC]])
LINEAR_FIRST = np.array([3, 4, 5, 0, 1, 2])


_fast_entry = lru_cache(maxsize=32)(FastEntry)


class Articulated(TriangularFactors):
    """Articulated-body quantities of a robot at one or more configurations, as `articulated` returns them.

    The factors L and D of the mass matrix M = L' D L are equal to those of `ltdl`. Products and solves with these
    factors are sweeps over the tree. These sweeps form no matrix and cost O(N) (Jain 1991, Lemma 6.2 to 6.4). The
    argument x of a product or a solve is a vector (..., nv) for each configuration, or a matrix (..., nv, k) whose
    columns are vectors.

    Parameters
    ----------
    robot, q, engine
        As in `treesim.forward_dynamics`.

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> q, force = np.full(6, 0.5), np.arange(6.0)
    >>> art = treesim.articulated(robot, q)
    >>> np.allclose(art.solve(force), treesim.solve_mass_matrix(robot, q, force))
    True
    """

    def __init__(self, robot: Tree, q: ArrayLike, engine: Engine = "auto") -> None:
        if type(robot) is not Tree:
            robot = checked_robot(robot)
        check_engine(engine)
        self.robot, self._engine = robot, engine
        self._q = q if type(q) is np.ndarray and q.dtype.kind == "f" else coerce(configuration(robot, q))
        if self._q.shape != (robot.nq,):
            check_copy("q", self._q.shape)
        self._q = self._q.copy()  # later changes of q must not reach the bias forces
        self._bodies = kernels.BODY * (robot.n_bodies + 1)
        self._quantities = np.empty(self._bodies + kernels.DOF * robot.nv)
        if self._call(kernels.articulate_states, self._q, self._quantities) != FINE:
            self._quantities = self._evaluate(kernels.articulate_states, q=self._q)

    def __repr__(self) -> str:
        return f"<Articulated {self.robot.name!r}: nv {self.robot.nv}, {self.dtype}{batch(self._q)}>"

    def _repr_fields(self) -> list[tuple[str, Any]]:
        return [("robot", self.robot), ("D", span(self.D.ravel().tolist()))]

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape (..., nv) of the argument x of methods, with one vector for each configuration."""
        return (*self._quantities.shape[:-1], self.robot.nv)

    @property
    def dtype(self) -> np.dtype:
        """Number type of the results: float32 if the configurations are float32."""
        return self._quantities.dtype

    @property
    def L(self) -> np.ndarray:
        """Unit lower triangular factor L (..., nv, nv) of the mass matrix M = L' D L."""
        return self.factor.L

    @property
    def D(self) -> np.ndarray:
        """Diagonal (..., nv) of D in M = L' D L: articulated inertias of the degrees of freedom [kg, kg m^2]."""
        rows = self._quantities[..., self._bodies :].reshape(*self.shape, kernels.DOF)
        inverse: np.ndarray = rows[..., 6]
        return 1 / inverse

    @property
    def factor(self) -> Factorization:
        """Sparse factors of the mass matrix, equal to those of `ltdl`, but computed without this matrix.

        Cost: O(nv d) for depth d of the tree.
        """
        packed = self._evaluate(articulated_factor_states, quantities=self._quantities)
        return Factorization.of_packed(self.robot.dof_topology, packed)

    def forward_dynamics(self, v: ArrayLike, tau: ArrayLike, f_ext: ArrayLike | None = None) -> np.ndarray:
        """Return the accelerations that generalised forces tau cause; see `treesim.forward_dynamics`.

        Parameters
        ----------
        v, tau : array_like
            (..., nv) velocities [rad/s, m/s] and generalised forces [N m, N].
        f_ext : array_like, optional
            (..., n_bodies, 6) wrenches on the bodies.

        Returns
        -------
        numpy.ndarray
            (..., nv) accelerations.

        Notes
        -----
        The accelerations are M^-1 (tau - C). The method computes the bias forces C by RNEA, and solves once with the
        mass matrix M (Jain 1991, eq. 55). Cost: O(N).
        """
        forward, qdd = kernels.forward_dynamics_states, np.empty(self.robot.nv)
        if f_ext is None and self._call(forward, self._q, v, tau, NO_FORCES, self._quantities, qdd) == FINE:
            return qdd
        wrenches = kernel_wrenches(self.robot, f_ext)
        return self._evaluate(forward, q=self._q, v=v, tau=tau, f_ext=wrenches, quantities=self._quantities)

    def inverse_inertia(self, frames: str | Sequence[str], reference: Reference = "local_world_aligned") -> np.ndarray:
        """Return the inverse operational-space inertia Λ^-1 = J M^-1 J' of k frames.

        Parameters
        ----------
        frames : str or sequence of str
            Names of the frames.
        reference : str
            Axes: "local_world_aligned" or "local", as in `treesim.frame_jacobian`.

        Returns
        -------
        numpy.ndarray
            (..., 6k, 6k) matrices, equal to those of `treesim.inverse_operational_inertia` bit for bit.

        Raises
        ------
        UnknownNameError
            If a frame or the reference is unknown.

        Notes
        -----
        The method is PV-OSIM (Sathya, Decre, Swevers 2023) without the pass that computes articulated-body quantities,
        because this object contains them. Cost: O(k d + k^2 d) for depth d of the tree.
        """
        names = (frames,) if isinstance(frames, str) else checked_frames(frames)
        tables, out = known_frame_codes(self.robot, names, reference), np.empty((6 * len(names),) * 2)
        if self._call(articulated_inverse_inertia_states, *tables, self._quantities, out) == FINE:
            return out
        return self._evaluate(articulated_inverse_inertia_states, *tables, quantities=self._quantities)

    def inertia(self, frame: str) -> np.ndarray:
        """Return the articulated-body inertia I of a frame's body and all bodies further out.

        Suppose that the body is at rest, is not connected to its parent, and carries the bodies further out by joints
        without generalised forces. A force f on the body then causes the acceleration I^-1 f (Featherstone 2008,
        section 7.1).

        Parameters
        ----------
        frame : str
            Name of a frame of the body. The origin of the frame is the point of reference.

        Returns
        -------
        numpy.ndarray
            (..., 6, 6) symmetric matrices that map accelerations to forces, linear before angular, along the axes of
            the frame.

        Raises
        ------
        UnknownNameError
            If the frame is unknown.
        UnsupportedError
            If the frame is fixed to the base, which has no inertia, or the robot has mimic joints.
        """
        found = self.robot.frame(frame)
        if found.body == 0:
            raise UnsupportedError(f"frame {quoted(frame)} is fixed to the base: it has no articulated-body inertia")
        bodies = self._quantities[..., : self._bodies].reshape(*self.shape[:-1], -1, kernels.BODY)
        inertia = bodies[..., found.body, 12:33][..., BLOCKS][..., LINEAR_FIRST, :][..., :, LINEAR_FIRST]
        turn = self.robot.body_rotations[found.body].T  # from the body's axes to those of the kernels
        X = _motion_at_body(turn @ found.placement.rotation, turn @ found.placement.translation)
        return np.asarray(X.T @ inertia @ X, self.dtype)

    def _call(self, entry: Any, *arrays: Any) -> int:
        """Return the status of an entry's fast call on one state in float arrays; BAD_LAYOUT for anything else."""
        if self._engine != "auto":
            return BAD_LAYOUT
        return _fast_entry(entry).call(self.robot.ints, self.robot.reals, *arrays)

    def _evaluate(self, entry: Any, *tables: Any, **named: ArrayLike | None) -> np.ndarray:
        """Return an entry's result for all states, with validation and broadcasting."""
        constants = (self.robot.ints, self.robot.reals, *tables)
        explain = partial(explain_failure, self.robot) if "q" in named else None
        return on_states(entry, self.robot, constants, named, explain, engine=self._engine)[0]

    def _apply(self, operation: int, x: ArrayLike) -> np.ndarray:
        if type(x) is np.ndarray and x.ndim == 1:
            out = np.empty(self.robot.nv)
            if self._call(OPERATIONS[operation], self._quantities, x, out) == FINE:
                return out
        elif operation == SOLVE and type(x) is np.ndarray and x.ndim == 2 and x.shape[1] >= MANY:
            solution = np.empty(x.shape)
            if self._call(solve_columns_states, table_of_count(x.shape[1]), self._q, x, solution) == FINE:
                return solution
        return super()._apply(operation, x)

    def _operate(self, operation: int, rows: np.ndarray) -> np.ndarray:
        return self._evaluate(OPERATIONS[operation], quantities=self._quantities[..., None, :], x=rows)


def _motion_at_body(rotation: np.ndarray, translation: np.ndarray) -> np.ndarray:
    """Return the matrix (6, 6) from motions of a frame, in its axes, to motions of its body; linear first."""
    x, y, z = translation
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.block([[rotation, cross @ rotation], [np.zeros((3, 3)), rotation]])
