"""`audit`: every method on one robot beside exact digits, its bound and its neighbours, and identities of mechanics."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from treesim.dynamics.functions import inverse_dynamics
from treesim.errors import ArgumentError
from treesim.model.tree import Tree
from treesim.states.arguments import checked_robot, whole_number

from .report import Audit, Row

if TYPE_CHECKING:
    from .exact import ExactState


def audit(robot: Tree, states: int = 3, seed: int = 0, progress: Callable[[int, int], None] | None = None) -> Audit:
    """Return what every method of treesim makes of a robot, beside exact digits; no other engine is needed.

    robot: a tree that moves. states: how many random states are looked at; forces are those of accelerations of order
    one, so that large numbers cancel. progress(done, total) is called for every state.
    Judged are quantities (mass matrix, bias, Jacobian, each by every method), forward dynamics by every backend, the
    factorizations of M, M^-1, and the inverse operational inertia of two limbs by every method. Exact digits come from
    the kernels' own text on numbers of 40 digits; the acceleration from factors of M there. Bounds come from the
    problem (`treesim.testing.bounds`: what rounding M and the forces once does, Skeel's condition number times eps),
    times what a backend declares to lose. Identities hold on 40 digits, between kernels that share no text: the power
    of the forces is the rate of the energy, weights and the base's wrench are that of momentum, J a + Jdot v is that of
    a frame's velocity, articulated bodies undo Newton and Euler, and M is symmetric and positive definite.
    Returns an Audit. Raises ArgumentError (no robot, nothing moves, no mpmath),
    SingularInertiaError naming the joint. About a second for each state of a humanoid, after what has to be compiled.

    Example:
        >>> from treesim_lab import audit
        >>> found = audit(treesim.load("ur5"), states=1)
        >>> found.passed, min(row.digits for row in found.rows if row.name == "aba") > 12
        (True, True)
    """
    from .exact import many_digits, rounded  # here: nothing else of treesim needs them, and what they import
    from .identities import identities
    from .methods import methods

    robot, count = checked_robot(robot), whole_number("states", states, 1)
    if not robot.nv:
        raise ArgumentError(f"{robot.name!r} cannot move: there is nothing to audit")
    rng, rows, notes = np.random.default_rng(seed), list[Row](), dict[str, None]()
    conditions = []
    with many_digits():
        for k in range(count):
            exact = _random(robot, rng)
            rows += [*methods(exact, notes), *identities(exact)]
            conditions.append(float(np.linalg.cond(rounded(exact.M))))
            if progress is not None:
                progress(k + 1, count)
    return Audit(robot.name, robot.nv, count, seed, (min(conditions), max(conditions)), worst(rows), tuple(notes))


def _random(robot: Tree, rng: np.random.Generator) -> ExactState:
    from .exact import ExactState

    q = robot.random(rng)
    v, a = rng.normal(size=(2, robot.nv))
    return ExactState(robot, q, v, inverse_dynamics(robot, q, v, a))


def worst(rows: Sequence[Row]) -> tuple[Row, ...]:
    """Return one row for every method and identity, in the order in which they come first: that of the state whose
    error is largest beside its bound, with the largest residual and distance of all; refusals count as the largest."""
    found: dict[tuple[str, str], Row] = {}
    for row in rows:
        key = row.group, row.name
        found[key] = _worse(found[key], row) if key in found else row
    return tuple(found.values())


def _worse(one: Row, other: Row) -> Row:
    if one.error is None or other.error is None:
        return one if one.error is None else other
    kept = one if not other.error / other.bound > one.error / one.bound else other
    return replace(kept, residual=_larger(one.residual, other.residual), apart=_larger(one.apart, other.apart))


def _larger(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else max(one, other)
