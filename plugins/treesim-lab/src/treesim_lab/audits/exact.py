"""One state of a robot with 40 digits: the kernel source evaluated on mpmath's numbers, and derived quantities."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import numpy as np

from treesim.dynamics.operational.frames import frame_codes
from treesim.dynamics.solve import solve_mass_matrix
from treesim.engine.interpreter import converted
from treesim.errors import SingularInertiaError
from treesim.kernels.dynamics.aba import forward_dynamics_states
from treesim.kernels.dynamics.crba import mass_matrix_full_states
from treesim.kernels.dynamics.rnea import inverse_dynamics_states
from treesim.kernels.kinematics.bodies import energy_and_momentum_states
from treesim.kernels.kinematics.configuration import integrate_states
from treesim.kernels.kinematics.jacobians import jacobian_states
from treesim.model.tree import Tree
from treesim.states.states import serving
from treesim.types import Reference

from ..cost.error_growth import DIGITS, require_mpmath, unrounded
from ..cost.factorization_errors import ExactSolver

STEP = 1e-13  # [s] of central differences, which are accurate to about 25 of 40 digits
NOTHING = np.empty(0)


@contextmanager
def many_digits() -> Iterator[None]:
    """Context that computes with 40 digits; raises ArgumentError with the install command without mpmath."""
    with require_mpmath().workdps(DIGITS):
        yield


def numbers(x: np.ndarray) -> np.ndarray:
    """Convert an array of floats to high-precision numbers."""
    return converted(x, require_mpmath().mpf)


def rounded(x: np.ndarray) -> np.ndarray:
    """Convert an array of high-precision numbers to floats."""
    return np.array([float(one) for one in np.ravel(x)]).reshape(np.shape(x))


def largest(x: np.ndarray) -> float:
    """Return the largest absolute value, 0 for an empty array, NaN if there is one."""
    return float(np.abs(rounded(x)).max(initial=0.0))


class ExactState:
    """A robot at q (nq,), v (nv,) under forces tau (nv,), in high precision.

    These floats and the robot's own are taken as exact, but rotations are orthogonalized. To be created and
    used within `many_digits`. Takes some 10 us per operation.
    """

    def __init__(self, robot: Tree, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> None:
        self.robot, self.q, self.v, self.tau = robot, q, v, tau

    def of(
        self, entry: Callable[..., int], arguments: Sequence[Any], shape: tuple[int, ...], tables: Sequence[Any] = ()
    ) -> np.ndarray:
        """Return the result (*shape) of an entry; tables: further arguments after the robot's."""
        robot = self.robot
        entry, (ints, _, *others) = serving(entry, robot, (robot.ints, robot.reals, *tables))
        return unrounded(entry, (ints, self._reals, *others), arguments, [shape])[0]

    @cached_property
    def _reals(self) -> np.ndarray:
        """The robot's table of numbers with rotations orthogonalized to 40 digits.

        Floats are orthogonal to 16 digits only, and kernels that assume orthogonality in different places would
        differ by the rest. The iteration R <- R (3 - R' R) / 2 doubles the digits.
        """
        reals = numbers(self.robot.spanning_tables()[1])
        for row in reals[: 12 * (self.robot.n_bodies + 1)].reshape(-1, 12):
            R = row[:9].reshape(3, 3)
            for _ in range(2):
                R = R @ (3 * np.eye(3, dtype=int) - R.T @ R) / 2
            row[:9] = R.ravel()
        return reals

    @cached_property
    def M(self) -> np.ndarray:
        """Mass matrix (nv, nv)."""
        return self.of(mass_matrix_full_states, (self.q,), (self.robot.nv,) * 2)

    @cached_property
    def b(self) -> np.ndarray:
        """Bias forces (nv,)."""
        return self.inverse_dynamics(np.zeros(self.robot.nv))

    @cached_property
    def _solver(self) -> ExactSolver:
        try:
            return ExactSolver(self.M)
        except ZeroDivisionError:
            solve_mass_matrix(self.robot, self.q, self.tau)  # raises, naming the joint
            raise SingularInertiaError(f"the mass matrix of {self.robot.name!r} is singular") from None

    def solve(self, forces: np.ndarray) -> np.ndarray:
        """Return M^-1 forces (nv,), by factors of M."""
        return np.array(list(self._solver.solve(forces)), dtype=object)

    @cached_property
    def a(self) -> np.ndarray:
        """Acceleration (nv,): M a = tau - b."""
        return self.solve(self.tau - self.b)

    def articulated(self) -> np.ndarray:
        """Return the acceleration (nv,) by the articulated-body algorithm, without forming M."""
        given = (self.q, self.v, self.tau, NOTHING)
        return self.of(forward_dynamics_states, given, (self.robot.nv,))

    def inverse_dynamics(self, a: np.ndarray) -> np.ndarray:
        """Return the forces (nv,) of an acceleration, by the recursive Newton-Euler algorithm."""
        return self.of(inverse_dynamics_states, (self.q, self.v, a, NOTHING), (self.robot.nv,))

    def residual(self, a: np.ndarray) -> np.ndarray:
        """Return M a + b - tau (nv,)."""
        return self.M @ np.asarray(a, object) + self.b - self.tau

    def jacobian(self, frames: Sequence[str], reference: Reference) -> np.ndarray:
        """Return J (6k, nv) of k frames."""
        codes = frame_codes(self.robot, tuple(frames), reference)
        return self.of(jacobian_states, (self.q,), (6 * len(frames), self.robot.nv), codes)

    def inverse_inertia(self, J: np.ndarray) -> np.ndarray:
        """Return J M^-1 J' (m, m) of J (m, nv)."""
        return J @ np.array([self.solve(row) for row in J], dtype=object).T

    def energy(self, q: np.ndarray, v: np.ndarray) -> Any:
        """Return kinetic plus potential energy."""
        out = self.of(energy_and_momentum_states, (q, v), (8,))
        return out[0] + out[1]

    def momentum(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return linear, then angular momentum (6,) about the world's origin."""
        return self.of(energy_and_momentum_states, (q, v), (8,))[2:]

    def moved(self, h: float) -> tuple[np.ndarray, np.ndarray]:
        """Return q and v at time h [s] along the motion, to first order in h.

        Second-order terms are even in h and vanish in central differences.
        """
        step = require_mpmath().mpf(h)
        return self.of(integrate_states, (self.q, step * self.v), (self.robot.nq,)), self.v + step * self.a

    def rate(self, quantity: Callable[[np.ndarray, np.ndarray], Any]) -> Any:
        """Return the time derivative of quantity(q, v) along the motion, by a central difference."""
        return (quantity(*self.moved(STEP)) - quantity(*self.moved(-STEP))) / (2 * require_mpmath().mpf(STEP))
