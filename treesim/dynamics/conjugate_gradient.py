"""Conjugate gradients on H qdd = tau - C without forming H, plain or with H's block diagonal as preconditioner."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ConvergenceError
from ..kernels.entries.status import NOT_CONVERGED
from ..kernels.published.conjugate_gradient import (
    STEPS_PER_DOF,
    TOLERANCE,
    forward_dynamics_plain_states,
    forward_dynamics_preconditioned_states,
    forward_dynamics_within_states,
)
from ..kernels.published.residual_check import transforms_first
from ..model.frozen import frozen
from ..model.quaternions import configuration
from ..model.tree import Tree
from ..states.arguments import positive_number, whole_number
from ..states.states import on_states
from ..system.display import arrays, batch, html_table, span
from ..validation.arrays import coerce
from .base import Capabilities, explain_failure, singular_inertia
from .checked import CheckedBackend, explain_lost_digits
from .tables import constants_of, kernel_wrenches

MOST_ITERATIONS = 1_000_000


class Solution(NamedTuple):
    """Accelerations qdd (..., nv), numbers of iterations (...), and residuals (...) |tau - C - H qdd| / |tau - C|."""

    qdd: np.ndarray
    iterations: np.ndarray
    residual: np.ndarray

    def __repr__(self) -> str:
        steps, worst = span(np.ravel(self.iterations).tolist()), np.max(self.residual, initial=0.0)
        return f"<Solution: nv {self.qdd.shape[-1]}, iterations {steps}, residual {worst:.2g}{batch(self.qdd)}>"

    def _repr_html_(self) -> str:
        return html_table(repr(self), arrays(self, *self._fields))


def solve(
    robot: Tree,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    f_ext: ArrayLike | None = None,
    gravity: ArrayLike | None = None,
    armature: ArrayLike | None = None,
    tolerance: float = TOLERANCE,
    preconditioned: bool = True,
    max_iterations: int | None = None,
) -> Solution:
    """Return the accelerations by conjugate gradients, with the number of iterations and the residual.

    Arguments as in `treesim.forward_dynamics`. tolerance: residual at which to stop. It is the residual of the
    recursion, which is equal to the true one up to round-off. preconditioned: use the block diagonal S' R S of H
    (Jain's H R H*). It speeds up short branched robots, and slows down long chains. max_iterations: 20 nv by default,
    1,000,000 at most. No error is raised for a state that does not converge; its residual stays above the tolerance.
    Raises ArgumentError, NonFiniteError, SingularInertiaError (naming the joint). Cost O(N) an iteration. Source: Jain
    1991, section 4, with the coefficient of eq. 30 corrected.

    Examples
    --------
    >>> from treesim.dynamics import conjugate_gradient
    >>> robot = treesim.load("ur5")
    >>> found = conjugate_gradient.solve(robot, np.full(6, 0.5), np.zeros(6), np.zeros(6), tolerance=1e-6)
    >>> bool(found.residual < 1e-6), found.qdd.shape
    (True, (6,))
    """
    values = {"q": q, "v": v, "tau": tau, "f_ext": kernel_wrenches(robot, f_ext)}
    limits = _limits(robot, tolerance, max_iterations)
    return _solve(robot, values, constants_of(robot, gravity, armature), limits, preconditioned, armature)


def _limits(robot: Tree, tolerance: float, max_iterations: int | None) -> np.ndarray:
    most = (
        STEPS_PER_DOF * robot.nv
        if max_iterations is None
        else whole_number("max_iterations", max_iterations, most=MOST_ITERATIONS)
    )
    positive_number("tolerance", tolerance, "number", most=math.inf)
    return frozen([tolerance, most])


def _solve(
    robot: Tree,
    values: Mapping[str, ArrayLike | None],
    constants: tuple[np.ndarray, np.ndarray],
    limits: np.ndarray,
    preconditioned: bool,
    armature: ArrayLike | None,
) -> Solution:
    qdd, report = on_states(
        forward_dynamics_within_states,
        robot,
        (*constants, limits, int(preconditioned)),
        values,
        lambda named: explain_failure(robot, named, armature),
        accepted=NOT_CONVERGED,
    )
    solution = Solution(qdd, report[..., 0].astype(int), report[..., 1])
    stuck = solution.residual >= limits[0]
    if stuck.any():
        q = np.broadcast_to(coerce(configuration(robot, values["q"])), (*stuck.shape, robot.nq))
        singular = singular_inertia(robot, q[stuck], armature)
        if singular is not None:
            raise singular
    return solution


class ConjugateGradient(CheckedBackend):
    """Conjugate gradients without a preconditioner; H p is computed by inverse dynamics at rest."""

    name = "conjugate_gradient"
    capabilities = Capabilities(
        cost="O(N) an iteration", source="Jain 1991, section 4", error_factor=100, worst_error_factor=1e3
    )
    method = forward_dynamics_plain_states
    transforms_in = transforms_first
    preconditioned: ClassVar[bool] = False
    way_out: ClassVar[str] = "backend 'conjugate_gradient_hrh' takes fewer steps on branched robots, 'aba' takes none"

    def explain(
        self, robot: Tree, named: dict[str, np.ndarray], gravity: ArrayLike | None, armature: ArrayLike | None
    ) -> Exception:
        """Return the error of the worst state; a ConvergenceError contains the results of all states."""
        values, constants = {"f_ext": None, **named}, constants_of(robot, gravity, armature)
        solution = _solve(robot, values, constants, _limits(robot, TOLERANCE, None), self.preconditioned, armature)
        if (solution.residual < TOLERANCE).all():
            return explain_lost_digits(self, robot, named, constants, explain_failure(robot, named, armature))
        return not_converged(robot, solution, self.way_out)


class ConjugateGradientHrh(ConjugateGradient):
    """Conjugate gradients preconditioned with the block diagonal S' R S of H, R the composite inertias."""

    name = "conjugate_gradient_hrh"
    capabilities = Capabilities(
        cost="O(N) an iteration",
        source="Jain 1991, section 4, eq. 30 corrected",
        error_factor=30,
        worst_error_factor=1e3,
    )
    method = forward_dynamics_preconditioned_states
    preconditioned = True
    way_out = "backend 'aba' needs no iteration"


def not_converged(robot: Tree, solution: Solution, way_out: str) -> ConvergenceError:
    """Return the error that names the state of a solution with the largest residual."""
    worst = tuple(int(k) for k in np.unravel_index(np.argmax(solution.residual), solution.residual.shape))
    state = f" in state {worst}" if worst else ""
    return ConvergenceError(
        f"conjugate gradients on {robot.name!r} did not converge{state}: {solution.iterations[worst]} iterations "
        f"leave a residual of {solution.residual[worst]:.1e} of |tau - C|, where {TOLERANCE:.0e} is required; "
        f"{way_out}, and treesim.dynamics.conjugate_gradient.solve takes a tolerance (this error's qdd, iterations and "
        f"residual are those of the last iterate)",
        *solution,
    )
