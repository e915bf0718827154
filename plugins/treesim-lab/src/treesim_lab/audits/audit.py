"""`audit`: compare every method on one robot with a high-precision reference, and check identities of mechanics."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from treesim.dynamics.inverse_dynamics import inverse_dynamics
from treesim.errors import ArgumentError
from treesim.model.tree import Tree
from treesim.states.arguments import checked_robot, whole_number

from .report import Audit, Row

if TYPE_CHECKING:
    from .exact import ExactState


def audit(robot: Tree, *, states: int = 3, seed: int = 0, progress: Callable[[int, int], None] | None = None) -> Audit:
    """Compare every method of treesim on a robot with a high-precision reference; no other engine is needed.

    Compared are quantities (mass matrix, bias, Jacobian, each by every method), forward dynamics by every
    backend, the factorizations of M, M^-1, and the inverse operational inertia of two limbs by every method.
    The reference comes from the kernel source evaluated with 40 digits; the acceleration from factors of M with
    as many digits.

    Bounds are those of `treesim.testing.bounds`: the effect of rounding M and the forces once (Skeel's
    condition number times eps), times the error factor that a backend declares.

    Identities are checked with 40 digits, between independent kernels: the power of the forces is the rate of
    the energy; gravity and the base's wrench are the rate of momentum; J a + Jdot v is the rate of a frame's
    velocity; the articulated-body algorithm inverts recursive Newton-Euler; M is symmetric positive definite.

    Takes about a second for each state of a humanoid, after compilation.

    Parameters
    ----------
    robot : Tree
        Robot with at least one degree of freedom.
    states : int
        Number of random states. Their forces belong to accelerations of order one, so that large numbers
        cancel.
    seed : int
        Seed of the random states.
    progress : callable, optional
        Called as progress(done, total) for every state.

    Returns
    -------
    Audit
        One row for every method and identity.

    Raises
    ------
    ArgumentError
        Without a robot, degrees of freedom, or mpmath.
    SingularInertiaError
        If the mass matrix is singular; names the joint.

    Examples
    --------
    >>> from treesim_lab import audit
    >>> found = audit(treesim.load("ur5"), states=1)
    >>> found.passed, min(row.digits for row in found.rows if row.name == "aba") > 12
    (True, True)
    """
    from .exact import many_digits, rounded  # imported here, as only this function needs them
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
    """Return one row for every method and identity, in the order of their first occurrence.

    It is the row of the state with the largest error relative to its bound, with the largest residual and
    distance of all states. A refusal counts as the largest error, and NaN as the next.
    """
    found: dict[tuple[str, str], Row] = {}
    for row in rows:
        key = row.group, row.name
        found[key] = _worse(found[key], row) if key in found else row
    return tuple(found.values())


def _worse(one: Row, other: Row) -> Row:
    if one.error is None or other.error is None:
        return one if one.error is None else other
    kept = one if _or_infinite(one.error / one.bound) >= _or_infinite(other.error / other.bound) else other
    return replace(kept, residual=_larger(one.residual, other.residual), apart=_larger(one.apart, other.apart))


def _or_infinite(error: float) -> float:
    """Return an error, infinite if it is NaN: it is then the largest."""
    return math.inf if math.isnan(error) else error


def _larger(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else float(np.maximum(one, other))  # NaN is larger than all
