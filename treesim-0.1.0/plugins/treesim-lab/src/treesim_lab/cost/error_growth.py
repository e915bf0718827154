"""Growth of the methods' errors along chains, against the articulated-body kernel with 40 digits.

There are two regimes. Force-driven: the joint forces are random, accelerations are large, and errors are
relative to them. Prescribed motion: the forces are those of a random acceleration of order one, so large
forces cancel. The chains are at rest: velocity forces would grow along them so much that their rounding
would hide the methods' errors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from treesim.dynamics.forward_dynamics import forward_dynamics
from treesim.dynamics.inverse_dynamics import inverse_dynamics
from treesim.engine.interpreter import run
from treesim.errors import ArgumentError
from treesim.kernels.dynamics.aba import forward_dynamics_states
from treesim.model import generators
from treesim.model.generators import Y
from treesim.model.inertia import Inertia
from treesim.model.tree import Body, Tree
from treesim.system.installation import installed_by

DIGITS = 40
LENGTHS = (10, 100, 300, 1000)
BEND = 0.7  # [rad]
KINDS = ("random", "pendulum", "snake")
FORCE_DRIVEN, PRESCRIBED = "force-driven", "prescribed motion"
REGIMES = (FORCE_DRIVEN, PRESCRIBED)


class Case(NamedTuple):
    """A state with known acceleration: robot, q, v, tau, and qdd to double precision."""

    robot: Tree
    q: np.ndarray
    v: np.ndarray
    tau: np.ndarray
    qdd: np.ndarray


def chain(kind: str, n: int, seed: int = 0) -> Tree:
    """Return a chain of `n` revolute joints.

    kind: "random", random placements, axes and inertias; "pendulum", equal rods with parallel, horizontal axes;
    "snake", equal rods with axes vertical and horizontal in turn.
    """
    if kind == "pendulum":
        return generators.chain(n, axes=(Y,))
    if kind == "snake":
        return generators.chain(n)
    bodies = generators.random_tree(np.random.default_rng(seed), max(n, 3), ("revolute",)).bodies[:n]
    return Tree(f"random_chain_{n}", [Body(b.name, i, b.joint, b.inertia) for i, b in enumerate(bodies)])


def configuration(kind: str, robot: Tree, rng: np.random.Generator) -> np.ndarray:
    """Return a random q (nq,) [rad]; a snake is bent by up to BEND at each joint."""
    reach = BEND if kind == "snake" else np.pi
    return rng.uniform(-reach, reach, robot.nq)


def growth_case(kind: str, n: int, regime: str, seed: int = 1) -> Case:
    """Return the case of a chain in a random state; see the module for `regime`."""
    robot, rng = chain(kind, n), np.random.default_rng(seed)
    return _case(robot, configuration(kind, robot, rng), regime, rng)


ILL_CONDITIONED = (
    ("light middle link", FORCE_DRIVEN, "middle", (1e-3, 1e-6, 1e-9)),
    ("heavy tip", FORCE_DRIVEN, "tip", (1e3, 1e6, 1e9)),
    ("heavy tip", PRESCRIBED, "tip", (1e3, 1e6, 1e9)),
    ("light tip", FORCE_DRIVEN, "tip", (1e-12,)),
)


def ill_conditioned_case(where: str, factor: float, regime: str, seed: int = 1) -> Case:
    """Return the case of a random chain of 20 bodies, one of them ("middle" or "tip") `factor` times as heavy."""
    robot, changed = chain("random", 20), 9 if where == "middle" else 19
    bodies = list(robot.bodies)
    body = bodies[changed]
    inertia = Inertia(factor * body.inertia.mass, body.inertia.com, factor * body.inertia.rotational)
    bodies[changed] = Body(body.name, body.parent, body.joint, inertia)
    rng = np.random.default_rng(seed)
    robot = Tree(robot.name, bodies)
    return _case(robot, configuration("random", robot, rng), regime, rng)


def _case(robot: Tree, q: np.ndarray, regime: str, rng: np.random.Generator) -> Case:
    v, random = np.zeros(robot.nv), rng.normal(size=robot.nv)
    tau = random if regime == FORCE_DRIVEN else inverse_dynamics(robot, q, v, random)
    return Case(robot, q, v, tau, exact_acceleration(robot, q, v, tau))


def exact_acceleration(robot: Tree, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
    """Return qdd (nv,) computed with 40 digits and rounded. Raises ArgumentError without mpmath; 2 ms a body."""
    tables, arguments = (robot.ints, robot.reals), (q, v, tau, np.empty(0))
    return exact_results(forward_dynamics_states, tables, arguments, (robot.nv,))


def require_mpmath() -> Any:
    """Return mpmath's context of real numbers; raises ArgumentError with the install command without mpmath."""
    try:
        from mpmath import mp
    except ImportError:
        raise ArgumentError(f"exact digits need mpmath: {installed_by('./plugins/treesim-lab')}") from None
    return mp


def exact_results(
    entry: Callable[..., int], constants: Sequence[Any], arguments: Sequence[Any], shape: tuple[int, ...]
) -> np.ndarray:
    """Return the single result (*shape) of a kernel entry on one state, see `exact_arrays`."""
    return exact_arrays(entry, constants, arguments, [shape])[0]


def exact_arrays(
    entry: Callable[..., int], constants: Sequence[Any], arguments: Sequence[Any], shapes: Sequence[tuple[int, ...]]
) -> list[np.ndarray]:
    """Return the results of a kernel entry on one state, arrays of these shapes, computed with 40 digits and rounded.

    Raises ArgumentError without mpmath. About 10 us per operation.
    """
    mp = require_mpmath()
    with mp.workdps(DIGITS):
        found = unrounded(entry, constants, arguments, shapes)
        return [np.array([float(x) for x in one.reshape(-1)]).reshape(one.shape) for one in found]


def unrounded(
    entry: Callable[..., int], constants: Sequence[Any], arguments: Sequence[Any], shapes: Sequence[tuple[int, ...]]
) -> list[np.ndarray]:
    """Return the results of a kernel entry on one state as object arrays of mpmath's numbers.

    They are computed with the digits set in mpmath; arguments may be such arrays, too. Raises ArgumentError
    without mpmath.
    """
    mp = require_mpmath()
    number: Callable[[float], Any] = lambda x: mp.convert(mp.mpf(x))  # noqa: E731
    return run(entry, constants, arguments, shapes, number)


def relative_error(case: Case, qdd: np.ndarray) -> float:
    """Return |qdd - exact| / |exact| in the Euclidean norm."""
    return float(np.linalg.norm(qdd - case.qdd) / np.linalg.norm(case.qdd))


def error(case: Case, backend: str, refinements: int = 0) -> float:
    """Return a backend's relative error, after a number of refinement steps."""
    robot, q, v, tau, _ = case
    return relative_error(case, forward_dynamics(robot, q, v, tau, backend=backend, refinements=refinements))


def growth_cases(lengths: Sequence[int]) -> Iterator[tuple[str, str, int, Case]]:
    """Yield regime, kind, length and case of the growth tables."""
    for regime in REGIMES:
        for kind in KINDS:
            for n in lengths:
                yield regime, kind, n, growth_case(kind, n, regime)


def ill_conditioned_cases() -> Iterator[tuple[str, str, float, Case]]:
    """Yield name, regime, factor and case of the ill-conditioned chains."""
    for name, regime, where, factors in ILL_CONDITIONED:
        for factor in factors:
            yield name, regime, factor, ill_conditioned_case(where, factor, regime)
