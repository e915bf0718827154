"""Interface of methods of constrained forward dynamics, and the base class of compiled methods."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from ...errors import ConvergenceError
from ...model.tree import Tree
from ...states.states import mimic_constants, on_states
from ...system.display import ReprMixin, Sourced, arrays, batch, span
from ..base import explain_failure
from ..tables import constants_of, kernel_wrenches
from .constraints import ConstraintTables


@dataclass(frozen=True, eq=False, repr=False)
class ConstrainedAcceleration(ReprMixin):
    """Result of `treesim.constrained_dynamics`: accelerations and constraint forces.

    Parameters
    ----------
    acceleration : numpy.ndarray
        (..., nv) accelerations qdd [m/s^2, rad/s^2].
    force : numpy.ndarray
        (..., m) constraint forces [N, N m], one for each row of the constraints.
    residual : numpy.ndarray
        (..., m) target minus actual time derivative of the constrained velocity [m/s^2, rad/s^2].
    iterations : numpy.ndarray
        (...) numbers of iterations; 1 for direct methods.
    robot_name : str
        Name of the robot; may be empty.

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> q, still = np.full(6, 0.5), np.zeros(6)
    >>> held = treesim.constrained_dynamics(robot, q, still, still, treesim.FrameConstraint("ee_link"))
    >>> np.allclose(held.acceleration, 0)  # six rows leave six joints no freedom
    True
    """

    acceleration: np.ndarray
    force: np.ndarray
    residual: np.ndarray
    iterations: np.ndarray
    robot_name: str = ""

    def __repr__(self) -> str:
        name = f" of {self.robot_name!r}" if self.robot_name else ""
        nv, m = np.shape(self.acceleration)[-1], np.shape(self.force)[-1]
        worst, steps = np.abs(self.residual).max(initial=0.0), span(np.ravel(self.iterations).tolist())
        what = f"nv {nv}, {m} rows, residual {worst:.2g}, iterations {steps}"
        return f"<ConstrainedAcceleration{name}: {what}{batch(self.acceleration)}>"

    def _repr_fields(self) -> list[tuple[str, Any]]:
        return arrays(self, "acceleration", "force", "residual", "iterations")


class Problem(NamedTuple):
    """Arguments of `treesim.constrained_dynamics`; wanted (..., m) is the constraints' right-hand side."""

    robot: Tree
    q: ArrayLike
    v: ArrayLike
    tau: ArrayLike
    f_ext: ArrayLike | None
    gravity: ArrayLike | None
    armature: ArrayLike | None
    tables: ConstraintTables
    wanted: np.ndarray
    operational: str
    mu: float
    tolerance: float
    max_iterations: int

    @property
    def m(self) -> int:
        """Number of rows."""
        return len(self.tables.rows)


class ConstrainedMethod(Protocol):
    """Interface of a method of constrained dynamics, registered in the entry-point group `treesim.constrained`."""

    name: str
    source: str

    def solve(self, problem: Problem) -> ConstrainedAcceleration:
        """Return accelerations and constraint forces; errors as in `treesim.constrained_dynamics`."""


class Method(Sourced):
    """Base class of treesim's own methods: their representation."""

    what = "method of constrained dynamics"


class CompiledConstrained(Method):
    """A method that is one kernel entry.

    `kernels.constrained.constrained_dynamics_entries` declares `entry`, and `mimic_entry`, its variant for robots with
    mimic joints. The entry's settings are mu, tolerance and the largest number
    of iterations. A negative number of iterations in its result means failure.
    """

    name: ClassVar[str]
    source: ClassVar[str]
    entry: ClassVar[Callable[..., int]]
    mimic_entry: ClassVar[Callable[..., int]]

    def solve(self, problem: Problem) -> ConstrainedAcceleration:
        """Return accelerations and constraint forces; see `treesim.constrained_dynamics`."""
        robot = problem.robot
        entry = type(self).entry if robot.mimic_map is None else type(self).mimic_entry
        settings = np.array([problem.mu, problem.tolerance, problem.max_iterations], dtype=float)
        constants = (
            *mimic_constants(robot, constants_of(robot, problem.gravity, problem.armature)),
            problem.tables.layout,
            problem.tables.geometry,
            settings,
        )
        f_ext = kernel_wrenches(robot, problem.f_ext)
        values = {"q": problem.q, "v": problem.v, "tau": problem.tau, "f_ext": f_ext, "target": problem.wanted}
        qdd, force, residual, steps = on_states(
            entry, robot, constants, values, lambda named: self.explain(problem, named)
        )
        iterations = steps[..., 0]
        found = ConstrainedAcceleration(qdd, force, residual, np.abs(iterations).astype(int), robot.name)
        if (iterations < 0).any():
            raise self.failure(problem, found)
        return found

    def explain(self, problem: Problem, named: dict[str, np.ndarray]) -> Exception:
        """Return the error for finite arguments whose results are not finite."""
        return explain_failure(problem.robot, named, problem.armature)

    def failure(self, problem: Problem, found: ConstrainedAcceleration) -> Exception:
        """Return the error for a result with a negative number of iterations."""
        return not_converged(problem, found.residual, found.iterations, found.acceleration)


def not_converged(
    problem: Problem, residual: np.ndarray, iterations: np.ndarray, acceleration: np.ndarray | None = None
) -> ConvergenceError:
    """Return the error for iterations that ended with a residual (..., m): its largest value, and in which row."""
    left = np.abs(residual).reshape(-1, problem.m).max(axis=0)
    worst = int(np.nanargmax(left))
    return ConvergenceError(
        f"{problem.robot.name!r}: after {int(iterations.max())} iterations with mu = {problem.mu:g} the constrained "
        f"acceleration still deviates by {left[worst]:.3g} in {problem.tables.name_of_row(worst)}: either the "
        f"constraints contradict each other, or some nearly repeat others: then a smaller mu or more iterations help",
        acceleration,
        iterations,
        residual,
    )
