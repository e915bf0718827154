"""Functions of a bound robot that are one kernel each; see `bound`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...kernels.dynamics.centroidal import (
    centroidal_dynamics_states,
    centroidal_momentum_matrix_states,
    centroidal_momentum_states,
)
from ...kernels.dynamics.coriolis import coriolis_matrix_states
from ...kernels.dynamics.gravity import gravity_forces_states
from ...kernels.dynamics.torque_regressor import torque_regressor_states
from ...kernels.entries.status import FINE
from ...kernels.kinematics.bodies import body_poses_states, energy_and_momentum_states
from ..base import copied
from ..operational.frames import body_poses
from ..operational.motion import massive
from .bound_function import BoundFunction

CENTROIDAL = centroidal_momentum_states, centroidal_momentum_matrix_states, centroidal_dynamics_states
TURNED = body_poses_states, torque_regressor_states  # whose tables end with rotations to the bodies' own axes


class KernelFunctions:
    """Functions that are one kernel each, which is looked up at the first call."""

    robot: Any
    dtype: np.dtype
    _constants: tuple[Any, ...]
    _bind: Callable[[Any, tuple[Any, ...]], BoundFunction]
    _kernels: dict[Any, BoundFunction]

    def _evaluate(self, entry: Any, values: tuple[ArrayLike, ...], out: np.ndarray | None) -> np.ndarray:
        """Return the result of an entry, with an optional array for it."""
        function = self._kernels.get(entry)
        if function is None:
            if entry in CENTROIDAL:
                massive(self.robot)
            more = (self.robot.body_rotations.reshape(-1),) if entry in TURNED else ()
            function = self._kernels[entry] = self._bind(entry, (*self._constants, *more))
        result = np.empty(function.result, self.dtype) if out is None else out
        return result if function.call(*values, result) == FINE else function.checked_call(values, out)

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
        return found[..., 0], found[..., 1]
