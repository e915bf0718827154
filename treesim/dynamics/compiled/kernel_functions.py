"""Functions of a bound robot whose code is looked up at the first call; see `bound`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ... import plugins
from ...errors import UnsupportedError
from ...kernels.dynamics.centroidal import (
    centroidal_dynamics_states,
    centroidal_momentum_matrix_states,
    centroidal_momentum_states,
)
from ...kernels.dynamics.coriolis import coriolis_matrix_states
from ...kernels.dynamics.gravity import gravity_forces_states
from ...kernels.dynamics.joint_wrenches import joint_wrenches_states
from ...kernels.dynamics.torque_regressor import torque_regressor_states
from ...kernels.entries.status import FINE
from ...kernels.kinematics.bodies import body_poses_states, energy_and_momentum_states, frame_poses_states
from ...kernels.kinematics.jacobians import jacobian_states
from ...states.arguments import checked_frames
from ...types import JacobianReference, OperationalMethod, Reference
from ...validation.values import checked_text, checked_texts
from ..base import copied
from ..joint_wrenches import NO_WELDS, rows_of, weld_tables
from ..operational.base import CompiledMethod
from ..operational.frames import SPATIAL, body_poses, checked_names, frame_codes, frame_poses, move_to_origin
from ..operational.motion import massive
from ..springs import with_spring_energy
from .bound_function import BoundFunction

CENTROIDAL = centroidal_momentum_states, centroidal_momentum_matrix_states, centroidal_dynamics_states
TURNED = body_poses_states, torque_regressor_states, joint_wrenches_states  # tables begin with the bodies' own axes


class KernelFunctions:
    """Functions that are one kernel each, which is looked up at the first call (with certain frames)."""

    robot: Any
    dtype: np.dtype
    _constants: tuple[Any, ...]
    _vector: tuple[int]
    _bind: Callable[..., BoundFunction]
    _explained: Callable[[dict[str, np.ndarray]], Exception]
    _kernels: dict[Any, BoundFunction]
    _frames: dict[tuple[Any, ...], BoundFunction]
    forward_dynamics: Callable[..., np.ndarray]

    def _evaluate(
        self,
        entry: Any,
        values: tuple[ArrayLike, ...],
        out: np.ndarray | None,
        f_ext: ArrayLike | None = None,
        welds: bool = False,
    ) -> np.ndarray:
        """Return the result of an entry, with an optional array for it; welds: whether wrenches across them follow."""
        key = (entry, welds) if welds else entry
        function = self._kernels.get(key)
        if function is None:
            if entry in CENTROIDAL:
                massive(self.robot)
            more: tuple[np.ndarray, ...] = (self.robot.body_rotations.reshape(-1),) if entry in TURNED else ()
            if entry is joint_wrenches_states:
                more += weld_tables(self.robot) if welds else NO_WELDS
            function = self._kernels[key] = self._bind(entry, (*self._constants, *more))
        result = np.empty(function.result, self.dtype) if out is None else out
        if f_ext is None and function.call(*values, result) == FINE:
            return result
        return function.checked_call(values, out, f_ext)

    def gravity_forces(self, q: ArrayLike, out: np.ndarray | None = None) -> np.ndarray:
        """Return the gravity forces; see `treesim.gravity_forces`.

        Parameters
        ----------
        q : array_like
            Configurations (..., nq).
        out : numpy.ndarray, optional
            Array for the result.

        Returns
        -------
        numpy.ndarray
            Gravity forces g (..., nv) [N, N m].
        """
        return self._evaluate(gravity_forces_states, (q,), out)

    def coriolis_matrix(self, q: ArrayLike, v: ArrayLike, out: np.ndarray | None = None) -> np.ndarray:
        """Return the Coriolis matrix; see `treesim.coriolis_matrix`.

        Parameters
        ----------
        q, v : array_like
            Configurations (..., nq), velocities (..., nv).
        out : numpy.ndarray, optional
            Array for the result.

        Returns
        -------
        numpy.ndarray
            Coriolis matrices C (..., nv, nv).
        """
        return self._evaluate(coriolis_matrix_states, (q, v), out)

    def centroidal_momentum(self, q: ArrayLike, v: ArrayLike, out: np.ndarray | None = None) -> np.ndarray:
        """Return the momentum about the centre of mass; see `treesim.centroidal_momentum`.

        Parameters
        ----------
        q, v : array_like
            Configurations (..., nq), velocities (..., nv).
        out : numpy.ndarray, optional
            Array for the result.

        Returns
        -------
        numpy.ndarray
            Linear momenta [N s], then angular momenta [N m s], (..., 6).
        """
        return self._evaluate(centroidal_momentum_states, (q, v), out)

    def centroidal_momentum_matrix(self, q: ArrayLike, out: np.ndarray | None = None) -> np.ndarray:
        """Return the centroidal momentum matrix; see `treesim.centroidal_momentum_matrix`.

        Parameters
        ----------
        q : array_like
            Configurations (..., nq).
        out : numpy.ndarray, optional
            Array for the result.

        Returns
        -------
        numpy.ndarray
            Matrices A (..., 6, nv).
        """
        return self._evaluate(centroidal_momentum_matrix_states, (q,), out)

    def centroidal_dynamics(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, out: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the time derivative of the centroidal momentum; see `treesim.centroidal_dynamics`.

        Parameters
        ----------
        q, v, a : array_like
            Configurations (..., nq), velocities (..., nv), accelerations (..., nv).
        out : numpy.ndarray, optional
            Array for the result.

        Returns
        -------
        numpy.ndarray
            Derivatives of the linear momentum [N], then of the angular momentum [N m], (..., 6).
        """
        return self._evaluate(centroidal_dynamics_states, (q, v, a), out)

    def joint_torque_regressor(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, out: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the regressor of inverse dynamics; see `treesim.joint_torque_regressor`.

        Parameters
        ----------
        q, v, a : array_like
            Configurations (..., nq), velocities (..., nv), accelerations (..., nv).
        out : numpy.ndarray, optional
            Array for the result.

        Returns
        -------
        numpy.ndarray
            Regressors Y (..., nv, 10 n_bodies).
        """
        Y = self._evaluate(torque_regressor_states, (q, v, a), None).swapaxes(-1, -2)
        return Y if out is None else copied(Y, out)

    def joint_wrenches(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        f_ext: ArrayLike | None = None,
        joints: str | Sequence[str] | None = None,
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """Return the wrenches across joints, by forward and inverse dynamics; see `treesim.joint_wrenches`.

        Parameters
        ----------
        q, v, tau : array_like
            Configurations (..., nq), velocities (..., nv), generalised forces (..., nv).
        f_ext : array_like, optional
            (..., n_bodies, 6) wrenches on the bodies.
        joints : str or sequence of str, optional
            Names of k joints or links; all bodies by default.
        out : numpy.ndarray, optional
            Array for the result.

        Returns
        -------
        numpy.ndarray
            Wrenches (..., n_bodies, 6), (..., k, 6), or (..., 6) for one name [N, N m].
        """
        qdd = None
        if f_ext is None and type(q) is np.ndarray and q.ndim == 2:  # a batch; what is broadcast gets its memory there
            shape = len(q), *self._vector
            qdd = np.empty(shape, self.dtype) if np.shape(v) == np.shape(tau) == shape else None
        motion = q, v, self.forward_dynamics(q, v, tau, f_ext, qdd)
        if joints is None:
            return self._evaluate(joint_wrenches_states, motion, out, f_ext)
        rows = rows_of(self.robot, joints)
        return copied(self._evaluate(joint_wrenches_states, motion, None, f_ext, welds=True)[..., rows, :], out)

    def body_poses(self, q: ArrayLike, out: np.ndarray | None = None) -> np.ndarray:
        """Return the poses of the bodies' own frames in the world; see `treesim.body_poses`.

        Parameters
        ----------
        q : array_like
            Configurations (..., nq).
        out : numpy.ndarray, optional
            Array for the result.

        Returns
        -------
        numpy.ndarray
            Homogeneous matrices (..., n_bodies + 1, 4, 4).
        """
        if not self.robot.nq:
            return copied(body_poses(self.robot, q).astype(self.dtype), out)
        return self._evaluate(body_poses_states, (q,), out)

    def energy(self, q: ArrayLike, v: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """Return the kinetic and the potential energy; see `treesim.energy`.

        Parameters
        ----------
        q, v : array_like
            Configurations (..., nq), velocities (..., nv).

        Returns
        -------
        kinetic, potential : numpy.ndarray
            Energies (...) [J].
        """
        found = self._evaluate(energy_and_momentum_states, (q, v), None)
        return found[..., 0], with_spring_energy(self.robot, q, found[..., 1])

    def frame_poses(
        self, q: ArrayLike, frames: Sequence[str] | None = None, out: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the poses of several frames in the world; see `treesim.frame_poses`.

        Parameters
        ----------
        q : array_like
            Configurations (..., nq).
        frames : sequence of str, optional
            Names of the F frames. By default all frames, in the order of `robot.frame_names`.
        out : numpy.ndarray, optional
            Array for the result.

        Returns
        -------
        numpy.ndarray
            Homogeneous matrices (..., F, 4, 4).
        """
        names = frames if frames is None else checked_texts("frames", checked_names(frames))
        function = self._frames.get((names,)) or self._poses_function(names)
        if function is None:
            return copied(frame_poses(self.robot, q, names).astype(self.dtype), out)
        poses = np.empty(function.result, self.dtype) if out is None else out
        return poses if function.call(q, poses) == FINE else function.checked_call((q,), out)

    def frame_jacobian(
        self,
        q: ArrayLike,
        frame: str,
        reference: JacobianReference = "local_world_aligned",
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """Return the Jacobian of a frame; see `treesim.frame_jacobian`.

        Parameters
        ----------
        q : array_like
            Configurations (..., nq).
        frame : str
            Name of the frame.
        reference : str
            As in `treesim.frame_jacobian`.
        out : numpy.ndarray, optional
            Array for the result.

        Returns
        -------
        numpy.ndarray
            Jacobians J (..., 6, nv).
        """
        if not type(frame) is type(reference) is str:
            frame, reference = checked_text("frame", frame), checked_text("reference", reference)  # type: ignore
        if reference == SPATIAL:
            return move_to_origin(self.robot, q, frame, self.frame_jacobian(q, frame, out=out))
        function = self._frames.get((frame, reference)) or self._jacobian_function(frame, reference)
        J = np.empty((6, *self._vector), self.dtype) if out is None else out
        return J if function.call(q, J) == FINE else function.checked_call((q,), out)

    def inverse_operational_inertia(
        self,
        q: ArrayLike,
        frames: str | Sequence[str],
        method: OperationalMethod = "pv_osim",
        reference: Reference = "local_world_aligned",
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """Return the inverse operational-space inertia Λ^-1 of k frames; see `treesim.inverse_operational_inertia`.

        Parameters
        ----------
        q : array_like
            Configurations (..., nq).
        frames : str or sequence of str
            Names of the frames.
        method : str
            Name of a method, see `available("operational")`.
        reference : str
            Axes: "local_world_aligned" or "local".
        out : numpy.ndarray, optional
            Array for the result.

        Returns
        -------
        numpy.ndarray
            Λ^-1 (..., 6k, 6k).
        """
        names = (frames,) if type(frames) is str else checked_texts("frames", checked_frames(frames))
        method, reference = checked_text("method", method), checked_text("reference", reference)  # type: ignore
        function = self._frames.get((names, method, reference)) or self._space_function(names, method, reference)
        inertia = np.empty((6 * len(names),) * 2, self.dtype) if out is None else out
        return inertia if function.call(q, inertia) == FINE else function.checked_call((q,), out)

    def _poses_function(self, names: tuple[str, ...] | None) -> BoundFunction | None:
        """Return the function of the poses of frames; None if there is no code, because nothing moves."""
        frames = self.robot.frame_names if names is None else names
        if not (self.robot.nq and frames):
            return None
        codes = frame_codes(self.robot, frames, "local_world_aligned")
        return self._frames.setdefault((names,), self._bind(frame_poses_states, (*self._constants, *codes)))

    def _jacobian_function(self, frame: str, reference: Reference) -> BoundFunction:
        constants = (*self._constants, *frame_codes(self.robot, (frame,), reference))
        return self._frames.setdefault((frame, reference), self._bind(jacobian_states, constants))

    def _space_function(self, names: tuple[str, ...], method: str, reference: Reference) -> BoundFunction:
        found = plugins.get("operational", method)
        if not isinstance(found, CompiledMethod):
            raise UnsupportedError(f"method {method!r} is no kernel of treesim's: call inverse_operational_inertia")
        constants = (*self._constants, *found.constants(self.robot, names, reference)[2:])
        function = self._bind(type(found).entry, constants, self._explained)
        return self._frames.setdefault((names, method, reference), function)
