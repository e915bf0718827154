"""Dynamics compiled for one robot, for loops that evaluate single states at high rates."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from ...engine.call.evaluate import check_engine
from ...engine.threads import checked_threads, use_threads
from ...errors import ArgumentError, UnsupportedError, quoted
from ...kernels.dynamics.crba import mass_matrix_full_states, mass_matrix_packed_states
from ...kernels.dynamics.inverse_dynamics_derivatives import inverse_dynamics_derivatives_states
from ...kernels.dynamics.inverse_mass import inverse_mass_matrix_states, solve_mass_matrix_states
from ...kernels.dynamics.rnea import inverse_dynamics_states
from ...kernels.entries.status import FINE
from ...model.named_axes import velocity_argument
from ...model.tree import Tree
from ...system.display import ReprMixin, vector
from ...types import BackendName, Engine
from ...validation.arrays import coerce
from ..base import DynamicsBackend, check_supported, chosen_backend, copied, explain_failure, is_one_kernel
from ..derivatives import ForwardDynamicsDerivatives, InverseDynamicsDerivatives, with_mimic_joints
from ..forward_dynamics import held_backend
from ..packed_mass_matrix import mass_matrix_pattern
from ..solve import solve_rows
from ..tables import constants_of
from .bound_derivatives import BoundForwardDerivatives
from .bound_function import BoundFunction, Explain, InPython
from .kernel_functions import KernelFunctions


class Dynamics(KernelFunctions, ReprMixin):
    """Dynamics functions compiled for one robot, with little overhead per call.

    Arguments may have leading batch axes; batches of 8 states and more run in SIMD lanes, by code that the first of
    them compiles. Every method except `energy` has an argument `out`, an array of type `dtype`. The method writes its
    result into `out`, and returns `out`. The array `out` may also be one of the other arguments. Several threads may
    use the same object of this class. The last digits of results may differ from those of functions such as
    `treesim.forward_dynamics`.

    Parameters
    ----------
    robot : Tree
        Robot.
    backend : str or DynamicsBackend
        Backend of forward dynamics, or its name, see `available("dynamics")`.
    dtype : dtype
        Type of results, float64 or float32. Calls with single states are fastest if the arguments have this type,
        because other arguments are converted.
    engine : str
        "specialized": code that is compiled for this robot at the first call of a method, in 0.1 to 1 s, and cached on
        disk. "generic": code for any robot, as in functions such as `treesim.forward_dynamics`. "auto": "specialized"
        where possible, except for functions of the mass matrix of long chains, whose generic code is as fast.
    gravity : array_like, optional
        (3,) replaces the robot's gravity [m/s^2].
    armature : array_like, optional
        (nv,) replaces the robot's armature [kg m^2, kg].
    threads : int, optional
        Number of threads for batches. By default the number that `treesim.use_threads` sets.

    Raises
    ------
    UnknownNameError
        If the backend or the engine is unknown.
    ArgumentError
        If an argument does not fit.
    UnsupportedError
        If the backend does not support the robot, or the engine is "specialized", but not possible for the robot.

    Notes
    -----
    Each method raises the errors of the function of the module `treesim` with the same name.

    Examples
    --------
    >>> bound = treesim.Dynamics(treesim.load("ur5"))
    >>> q, v, tau, a = np.full(6, 0.5), np.ones(6), np.zeros(6), np.empty(6)
    >>> bound.forward_dynamics(q, v, tau, out=a) is a
    True
    """

    def __init__(
        self,
        robot: Tree,
        *,
        backend: BackendName | DynamicsBackend = "aba",
        dtype: DTypeLike = np.float64,
        engine: Engine = "auto",
        gravity: ArrayLike | None = None,
        armature: ArrayLike | None = None,
        threads: int | None = None,
    ) -> None:
        if not isinstance(robot, Tree):
            raise ArgumentError(f"robot must be a Tree, as treesim.load returns it, not {quoted(robot)}")
        check_engine(engine)
        self.robot, self.backend, self.engine, self.dtype = robot, backend, engine, _number(dtype)
        self.threads = checked_threads(threads)
        self._constants = constants_of(robot, gravity, armature)
        self._gravity = None if gravity is None else np.array(gravity, float)
        self._armature = None if armature is None else coerce(velocity_argument(robot, "armature", armature)).copy()
        self._solver = chosen_backend(backend)
        check_supported(self._solver, robot, self._armature)
        self._vector, self._matrix = (robot.nv,), (robot.nv, robot.nv)
        self._derivatives = robot.nv, 3, robot.nv
        self._forward = self._forward_function()
        self._inverse = BoundFunction(self, inverse_dynamics_states, self._constants)
        self._mass = BoundFunction(self, mass_matrix_full_states, self._constants)
        self._packed_mass = self._packed_function()
        self._solve = BoundFunction(self, solve_mass_matrix_states, self._constants, self._explained)
        self._inverse_mass = BoundFunction(self, inverse_mass_matrix_states, self._constants, self._explained)
        self._inverse_derivatives = BoundFunction(self, inverse_dynamics_derivatives_states, self._constants)
        self._forward_derivatives = self._forward_derivatives_function()
        self._kernels: dict[Any, BoundFunction] = {}
        self._frames: dict[tuple[Any, ...], BoundFunction] = {}

    def __repr__(self) -> str:
        return f"<Dynamics of {self.robot.name!r}: {self._solver.name}, {self.dtype}, engine {self.engine!r}>"

    def _repr_fields(self) -> list[tuple[str, Any]]:
        gravity = self.robot.gravity if self._gravity is None else self._gravity
        armature = "the robot's" if self._armature is None else vector(self._armature)
        return [("robot", self.robot), ("gravity [m/s^2]", vector(gravity)), ("armature", armature)]

    def __reduce__(self) -> tuple[Any, ...]:
        made = partial(type(self), self.robot, backend=self.backend, dtype=self.dtype, engine=self.engine)
        return partial(made, gravity=self._gravity, armature=self._armature, threads=self.threads), ()

    def forward_dynamics(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, f_ext: ArrayLike | None = None, out: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the accelerations under generalised forces; see `treesim.forward_dynamics`.

        Parameters
        ----------
        q, v, tau : array_like
            Configurations (..., nq), velocities (..., nv), generalised forces (..., nv).
        f_ext : array_like, optional
            (..., n_bodies, 6) wrenches on the bodies.
        out : numpy.ndarray, optional
            Array for the result.

        Returns
        -------
        numpy.ndarray
            Accelerations qdd (..., nv) [m/s^2, rad/s^2].
        """
        qdd = np.empty(self._vector, self.dtype) if out is None else out
        if f_ext is None and self._forward.call(q, v, tau, qdd) == FINE:
            return qdd
        return self._forward.checked_call((q, v, tau), out, f_ext)

    def inverse_dynamics(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, f_ext: ArrayLike | None = None, out: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the generalised forces that cause given accelerations; see `treesim.inverse_dynamics`.

        Parameters
        ----------
        q, v, a : array_like
            Configurations (..., nq), velocities (..., nv), accelerations (..., nv).
        f_ext : array_like, optional
            (..., n_bodies, 6) wrenches on the bodies.
        out : numpy.ndarray, optional
            Array for the result.

        Returns
        -------
        numpy.ndarray
            Generalised forces tau (..., nv) [N, N m].
        """
        tau = np.empty(self._vector, self.dtype) if out is None else out
        if f_ext is None and self._inverse.call(q, v, a, tau) == FINE:
            return tau
        return self._inverse.checked_call((q, v, a), out, f_ext)

    def bias_forces(
        self, q: ArrayLike, v: ArrayLike, f_ext: ArrayLike | None = None, out: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the bias forces at a state; see `treesim.bias_forces`.

        Parameters
        ----------
        q, v : array_like
            Configurations (..., nq), velocities (..., nv).
        f_ext : array_like, optional
            (..., n_bodies, 6) wrenches on the bodies.
        out : numpy.ndarray, optional
            Array for the result.

        Returns
        -------
        numpy.ndarray
            Bias forces C (..., nv) [N, N m].
        """
        return self.inverse_dynamics(q, v, np.zeros(self._vector, self.dtype), f_ext, out)

    def mass_matrix(self, q: ArrayLike, out: np.ndarray | None = None) -> np.ndarray:
        """Return the mass matrix, by the composite-rigid-body algorithm (CRBA); see `treesim.mass_matrix`.

        Parameters
        ----------
        q : array_like
            Configurations (..., nq).
        out : numpy.ndarray, optional
            Array for the result.

        Returns
        -------
        numpy.ndarray
            Mass matrices M (..., nv, nv).
        """
        M = np.empty(self._matrix, self.dtype) if out is None else out
        return M if self._mass.call(q, M) == FINE else self._mass.checked_call((q,), out)

    def packed_mass_matrix(self, q: ArrayLike, out: np.ndarray | None = None) -> np.ndarray:
        """Return the packed mass matrix, by the CRBA; see `packed` in `treesim.mass_matrix`.

        Parameters
        ----------
        q : array_like
            Configurations (..., nq).
        out : numpy.ndarray, optional
            Array for the result.

        Returns
        -------
        numpy.ndarray
            Packed mass matrices (..., nnz).
        """
        M = np.empty(self.robot.nnz, self.dtype) if out is None else out
        return M if self._packed_mass.call(q, M) == FINE else self._packed_mass.checked_call((q,), out)

    def solve_mass_matrix(self, q: ArrayLike, x: ArrayLike, out: np.ndarray | None = None) -> np.ndarray:
        """Return M^-1 x for the mass matrix M, by sparse factors; see `treesim.solve_mass_matrix`.

        Parameters
        ----------
        q, x : array_like
            Configurations (..., nq), generalised forces (..., nv). For forces (k, nv) at one configuration,
            factors are computed once.
        out : numpy.ndarray, optional
            Array for the result.

        Returns
        -------
        numpy.ndarray
            M^-1 x (..., nv).
        """
        solution = np.empty(self._vector, self.dtype) if out is None else out
        if self._solve.call(q, x, solution) == FINE:
            return solution
        rows = None
        if self.engine != "specialized" and self.dtype == float:
            rows = solve_rows(self._constants, self.robot.nv, q, x)
        return self._solve.checked_call((q, x), out) if rows is None else copied(rows, out)

    def inverse_mass_matrix(self, q: ArrayLike, out: np.ndarray | None = None) -> np.ndarray:
        """Return the inverse M^-1 of the mass matrix; see `treesim.inverse_mass_matrix`.

        Parameters
        ----------
        q : array_like
            Configurations (..., nq).
        out : numpy.ndarray, optional
            Array for the result.

        Returns
        -------
        numpy.ndarray
            Matrices M^-1 (..., nv, nv).
        """
        inverse = np.empty(self._matrix, self.dtype) if out is None else out
        return inverse if self._inverse_mass.call(q, inverse) == FINE else self._inverse_mass.checked_call((q,), out)

    def inverse_dynamics_derivatives(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, f_ext: ArrayLike | None = None, out: np.ndarray | None = None
    ) -> InverseDynamicsDerivatives:
        """Return the derivatives of inverse dynamics; see `treesim.inverse_dynamics_derivatives`.

        Parameters
        ----------
        q, v, a : array_like
            Configurations (..., nq), velocities (..., nv), accelerations (..., nv).
        f_ext : array_like, optional
            (..., n_bodies, 6) wrenches on the bodies.
        out : numpy.ndarray, optional
            Array (..., nv, 3, nv) for the result.

        Returns
        -------
        InverseDynamicsDerivatives
            Tuple (dtau_dq, dtau_dv, M) of matrices (..., nv, nv).
        """
        D = np.empty(self._derivatives, self.dtype) if out is None else out
        if f_ext is not None or self._inverse_derivatives.call(q, v, a, D) != FINE:
            D = self._inverse_derivatives.checked_call((q, v, a), out, f_ext)
        return InverseDynamicsDerivatives(D[..., 0, :], D[..., 1, :], D[..., 2, :])

    def forward_dynamics_derivatives(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, f_ext: ArrayLike | None = None, out: np.ndarray | None = None
    ) -> ForwardDynamicsDerivatives:
        """Return the derivatives of forward dynamics; see `treesim.forward_dynamics_derivatives`.

        Parameters
        ----------
        q, v, tau : array_like
            Configurations (..., nq), velocities (..., nv), generalised forces (..., nv).
        f_ext : array_like, optional
            (..., n_bodies, 6) wrenches on the bodies.
        out : numpy.ndarray, optional
            Array (..., nv, 3, nv) for the result.

        Returns
        -------
        ForwardDynamicsDerivatives
            Tuple (dqdd_dq, dqdd_dv, Minv) of matrices (..., nv, nv).
        """
        D = np.empty(self._derivatives, self.dtype) if out is None else out
        if f_ext is not None or self._forward_derivatives.call(q, v, tau, D) != FINE:
            D = self._forward_derivatives.checked_call((q, v, tau), out, f_ext)
        return ForwardDynamicsDerivatives(D[..., 0, :], D[..., 1, :], D[..., 2, :])

    def _bind(self, entry: Any, constants: tuple[Any, ...], explain: Explain | None = None) -> BoundFunction:
        """Return an entry as a function of the robot."""
        return BoundFunction(self, entry, constants, explain)

    def _forward_derivatives_function(self) -> BoundFunction | InPython:
        robot = self.robot
        if robot.mimic_map is None:
            return BoundForwardDerivatives(self, self._constants, self._explained)
        options = {"gravity": self._gravity, "armature": self._armature, "engine": self.engine}

        def in_python(values: tuple[Any, ...], out: Any, f_ext: ArrayLike | None = None) -> np.ndarray:
            q, v, tau = values
            with use_threads(self.threads):
                D = with_mimic_joints(robot, q, v, tau, f_ext, options)
            return copied(D.astype(self.dtype, copy=False), out)

        return InPython(in_python)

    def _explained(self, named: dict[str, np.ndarray]) -> Exception:
        """Return the error for a mass matrix that could not be factored."""
        return explain_failure(self.robot, named, self._armature)

    def _forward_function(self) -> BoundFunction | InPython:
        solver, robot = self._solver, self.robot
        if is_one_kernel(solver, robot):
            constants = solver.constants(robot, self._gravity, self._armature)

            def explain(named: dict[str, np.ndarray]) -> Exception:
                return solver.explained(robot, named, self._gravity, self._armature)

            return BoundFunction(self, type(solver).entry, constants, explain)
        if self.engine == "specialized":
            raise UnsupportedError(
                f"backend {self._solver.name!r} is no kernel of treesim's: it has no specialized code"
            )
        return InPython(self._by_plugin)

    def _by_plugin(self, values: tuple[Any, ...], out: Any, f_ext: ArrayLike | None = None) -> np.ndarray:
        """Return the accelerations of a plugin's backend, or of one of several kernels."""
        with use_threads(self.threads):
            solver = self._solver if self.robot.mimic_map is None else held_backend(self._solver, self.robot)
            qdd = solver.forward_dynamics(self.robot, *values, f_ext, self._gravity, self._armature)
        return copied(np.asarray(qdd).astype(self.dtype, copy=False), out)

    def _packed_function(self) -> BoundFunction | InPython:
        if self.robot.mimic_map is not None:  # no kernel packs it
            pattern = mass_matrix_pattern(self.robot)
            return InPython(lambda values, out: copied(self.mass_matrix(*values)[..., *pattern], out))
        return BoundFunction(self, mass_matrix_packed_states, self._constants)


def _number(dtype: Any) -> np.dtype[Any]:
    try:
        number = np.dtype(dtype)
    except Exception:  # whatever a user's class raises
        number = np.dtype(object)
    if number not in (np.dtype(np.float64), np.dtype(np.float32)):
        raise ArgumentError(f"dtype must be float64 or float32, got {quoted(dtype)}")
    return np.dtype(number.type)  # numpy's own object for it, which one out of a pickle is not
