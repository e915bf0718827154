"""Conformance checks of a contact solver (`treesim.contact.base.ContactSolver`)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from ..contact.ground import Ground
from ..kernels.contact.problem import Problem, residual
from ..model.inertia import Inertia, Placement
from ..model.joints import Joint
from ..model.shapes import CollisionShape
from ..model.tree import Body, Tree
from ..simulation.simulation import Simulation
from ..simulation.world import World
from .report import Conformance, begin, demand

TOLERANCE, MOST = 1e-9, 5000  # [m/s, rad/s] tolerance and iteration limit of the solvers
MISSED = 1e-6  # [m/s, rad/s] allowed complementarity residual, and error of known velocities and impulses of 1 kg
SPARE = 3  # rows of the arrays beyond those of the problem, as in steps
MASS, MU, G, DT, LENGTH = 2.0, 0.5, 9.81, 1e-3, 0.1  # [kg], [m/s^2], [s], [m]
ANSWERS = {  # of one contact of MASS with MU: the relative velocity before the impulse [m/s]
    "leaves open what parts": (0.1, -0.2, 0.3),
    "sticks below Coulomb's bound": (0.1, -0.1, -0.5),
    "slides at Coulomb's bound": (0.6, -0.8, -0.5),
}


class Solved(NamedTuple):
    """Impulses, and the velocities that the solver returns for them (rows,), without the spare rows."""

    impulse: np.ndarray
    sigma: np.ndarray


def check_contact_solver(solver: str | Any) -> Conformance:
    """Check that a contact solver meets the protocol of the class `ContactSolver`.

    The kernel of the solver runs uncompiled on problems with known impulses. Some problems consist of one contact that
    opens, sticks or slides, or of stacked cubes. Other problems contain joint limits, joint friction and constrained
    rows. For random problems, the complementarity residual (natural map) must be small, and impulses must not increase
    the energy. An exact solution must be a fixed point of the solver. The solver may change nothing except for the
    impulses. The compiled solver is also tested in a simulation of a cube that slides on a plane. A solver of the
    convex relaxation of the contact problem is tested with a cube at rest instead. The check takes seconds, mostly for
    compilation.

    Parameters
    ----------
    solver : str or ContactSolver
        Name in `available("contact_solvers")`, or an object.

    Returns
    -------
    Conformance
        All requirements, which are met.

    Raises
    ------
    ConformanceError
        If a requirement is not met. The message lists all such requirements.

    Examples
    --------
    >>> from treesim import testing
    >>> testing.check_contact_solver("pgs")
    <Conformance of contact solver 'pgs': 13 requirements met>
    """
    solver, checks = begin("contact_solvers", solver)
    kinds = checks.has(solver, name=str, exact=bool)
    with checks.require("has the static methods 'kernel' and 'memory'"):
        for label in ("kernel", "memory"):
            demand(callable(getattr(type(solver), label, None)), f"{type(solver).__name__} has no {label!r}")
    if not kinds or checks.findings[-1].problem:
        return checks.report()
    for requirement, velocity in ANSWERS.items():
        with checks.require(requirement):
            _demand_known(solver, _one_contact(velocity), _one_impulse(solver, np.array(velocity)))
    with checks.require("holds joint limits, joint friction and rows"):
        for problem, impulse in _scalar_rows():
            _demand_known(solver, problem, impulse)
    with checks.require("carries the loads of a stack"):
        _demand_loads(solver, 2)
    problems = [_random_problem(seed) for seed in range(3)]
    with checks.require("satisfies the contact model on random problems"):
        _demand_laws(solver, problems)
    with checks.require("adds no energy"):
        _demand_energy(solver, problems)
    with checks.require("stays at a solution"):
        _demand_rest(solver, problems[0])
    with checks.require("leaves its arguments alone and remembers nothing"):
        _demand_stateless(solver, *problems[:2])
    if not any(finding.problem for finding in checks.findings):
        with checks.require("compiles, and moves a cube on a plane"):
            _demand_motion(solver)
    return checks.report()


def solved(solver: Any, problem: Problem, start: np.ndarray | None = None) -> Solved:
    """Return a solver's result for a problem from initial impulses `start`, by default zero.

    Raises Unmet unless the returned velocities belong to the impulses.
    """
    rows = problem.rows
    impulse, sigma = np.zeros(rows + SPARE), np.zeros(rows + SPARE)
    if start is not None:
        impulse[:rows] = start
    exact = problem._replace(exact=float(solver.exact), factored=np.zeros(1))
    type(solver).kernel(exact, impulse, sigma, TOLERANCE, MOST, type(solver).memory(rows + SPARE, impulse))
    found = Solved(impulse[:rows], sigma[:rows])
    demand(bool(np.isfinite(found).all()), "impulses or velocities are not finite")
    off = np.abs(found.sigma - _velocities(problem, found.impulse)).max()
    demand(off < MISSED, f"sigma is off from G lambda + g by {off:.2g} m/s")
    return found


def _problem(matrix: Any, g: Any, contacts: int = 0, low: Any = 0.0, high: Any = 0.0, mu: Any = MU) -> Problem:
    """Return a problem in arrays with spare rows."""
    rows, full = len(g), len(g) + SPARE
    G_full, tables = np.zeros((full, full)), np.zeros((3, full))
    G_full[:rows, :rows] = matrix
    tables[:, :rows] = g, np.broadcast_to(low, rows), np.broadcast_to(high, rows)
    friction, factored = np.broadcast_to(mu, contacts).copy(), np.zeros(1)
    return Problem(contacts, rows, 1.0, G_full, tables[0], friction, tables[1], tables[2], factored)


def _velocities(problem: Problem, impulse: np.ndarray) -> np.ndarray:
    rows = problem.rows
    return problem.G[:rows, :rows] @ impulse + problem.g[:rows]


def _one_contact(velocity: Any) -> Problem:
    return _problem(np.eye(3) / MASS, np.array(velocity), contacts=1)


def _one_impulse(solver: Any, velocity: np.ndarray) -> np.ndarray:
    """Return the impulse on a point of MASS.

    It is Coulomb's, or for a relaxation the point of the friction cone nearest to the impulse that stops it.
    """
    slide, stop = float(np.hypot(*velocity[:2])), -float(velocity[2])
    if slide <= MU * stop:
        return -MASS * velocity
    normal = max(stop if solver.exact else (stop + MU * slide) / (1 + MU**2), 0.0)
    return MASS * np.array([*(-MU * normal / slide * velocity[:2]), normal])


def _scalar_rows() -> Iterable[tuple[Problem, np.ndarray]]:
    """Yield problems without contacts, and their impulses.

    Two coupled limits of which one opens, sliding and sticking friction, and two constrained rows.
    """
    coupled = np.array([[2.0, 1.0], [1.0, 2.0]])
    yield _problem(coupled, [-1.0, -0.2], high=np.inf), np.array([0.5, 0.0])
    yield _problem([[2.0]], [0.5], low=-0.1, high=0.1), np.array([-0.1])
    yield _problem([[2.0]], [0.1], low=-0.1, high=0.1), np.array([-0.05])
    yield _problem(coupled, [0.3, -0.4], low=-np.inf, high=np.inf), -np.linalg.solve(coupled, [0.3, -0.4])


def _stack(cubes: int) -> Problem:
    """Return the problem of stacked cubes of MASS, for one step from rest under gravity.

    Four contacts between neighbours, the ground's first.
    """
    half, blocks = LENGTH / 2, []
    for k in range(cubes):
        for x, y in ((-half, -half), (-half, half), (half, half), (half, -half)):
            J = np.zeros((3, 6 * cubes))
            for cube, z, sign in ((k, -half, 1), (k - 1, half, -1)):
                if cube >= 0:
                    arm = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
                    J[:, 6 * cube : 6 * cube + 6] = sign * np.hstack([np.eye(3), -arm])
            blocks.append(J)
    J = np.vstack(blocks)
    inertia = np.tile(np.r_[np.full(3, MASS), np.full(3, MASS * LENGTH**2 / 6)], cubes)
    return _problem(J / inertia @ J.T, J @ np.tile([0, 0, -G * DT, 0, 0, 0], cubes), contacts=4 * cubes)


def _random_problem(seed: int, contacts: int = 4, freedom: int = 16) -> Problem:
    """Return a problem with contacts, a joint limit, joint friction and a constrained row, with random velocities."""
    rng, rows = np.random.default_rng(seed), 3 * contacts + 3
    J, v = rng.normal(size=(rows, freedom)), rng.normal(size=freedom)
    low, high = np.zeros(rows), np.zeros(rows)
    low[-3:], high[-3:] = (0.0, -0.1, -np.inf), (np.inf, 0.1, np.inf)
    return _problem(J @ J.T + 1e-6 * np.eye(rows), J @ v, contacts, low, high, rng.uniform(0, 1, contacts))


def _demand_known(solver: Any, problem: Problem, impulse: np.ndarray) -> None:
    found = solved(solver, problem)
    off = np.abs(found.impulse - impulse).max()
    demand(off < MISSED, f"the impulse is {found.impulse.tolist()}, {impulse.tolist()} is right")


def _demand_loads(solver: Any, cubes: int) -> None:
    """Check the sum of the loads on four points; their distribution is not unique."""
    loads = solved(solver, _stack(cubes)).impulse.reshape(cubes, 4, 3).sum(axis=1)
    weights = MASS * G * DT * np.arange(cubes, 0, -1)
    off = np.abs(loads - np.outer(weights, [0, 0, 1])).max()
    demand(off < 1e-3 * weights[-1], f"the loads are {loads.tolist()}, {weights.tolist()} upwards are right")


def _demand_laws(solver: Any, problems: list[Problem]) -> None:
    for problem in problems:
        found = solved(solver, problem)
        missed = residual(problem._replace(exact=float(solver.exact)), found.impulse, found.sigma)
        demand(missed < MISSED, f"the residual is {missed:.2g} m/s, {MISSED:g} is allowed")


def _demand_energy(solver: Any, problems: list[Problem]) -> None:
    """Check T(v+) - T(v) = lambda' (sigma + g) / 2 <= 0, which every contact model satisfies."""
    for problem in problems:
        found = solved(solver, problem)
        gained = found.impulse @ (found.sigma + problem.g[: problem.rows]) / 2
        demand(gained < MISSED, f"impulses raise the kinetic energy by {gained:.2g} J")


def _demand_rest(solver: Any, problem: Problem) -> None:
    first = solved(solver, problem)
    moved = np.abs(solved(solver, problem, first.impulse).sigma - first.sigma).max()
    demand(moved < MISSED, f"velocities change by {moved:.2g} m/s when it starts from its own solution")


def _demand_stateless(solver: Any, problem: Problem, other: Problem) -> None:
    before = [np.array(part) for part in problem]
    first = solved(solver, problem)
    same = all(np.array_equal(x, y) for x, y in zip(problem, before, strict=True))
    demand(same, "it writes to the problem")
    solved(solver, other)
    again = np.array_equal(solved(solver, problem).impulse, first.impulse)
    demand(again, "the same problem gives other bits after another one")


def _demand_motion(solver: Any) -> None:
    """Check that the cube decelerates by mu g, and neither rises nor sinks; at rest it stays in place."""
    inertia = Inertia(MASS, rotational=np.eye(3) * MASS * LENGTH**2 / 6)
    box = CollisionShape(1, Placement(), "box", size=(LENGTH,) * 3, link="cube")
    cube = Tree("cube", [Body("cube", 0, Joint("free", "floating"), inertia)], gravity=(0, 0, -G), shapes=[box])
    world, steps, speed = World(cube, ground=Ground(friction=MU)), 20, float(solver.exact)
    q0, v0 = np.array([0, 0, LENGTH / 2, 0, 0, 0, 1]), np.array([speed, 0, 0, 0, 0, 0])
    run = Simulation(world, dt=DT, contact_solver=solver).run(steps * DT, q0, v0)
    right = np.array([max(speed - MU * G * steps * DT, 0.0), 0, 0, 0, 0, 0])
    off = np.abs(run.v[-1] - right).max()
    demand(off < MISSED, f"after {steps} steps its velocity is {run.v[-1].tolist()}, {right.tolist()} is right")
    rise = np.abs(run.q[:, 2] - LENGTH / 2).max()
    demand(rise < MISSED, f"it rises or sinks by {rise:.2g} m")
    gained = run.energy_certificate.max()
    demand(gained < MISSED, f"impulses raise the kinetic energy by {gained:.2g} J in a step")
