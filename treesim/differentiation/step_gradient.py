"""What the derivatives of a step are those of: the state of each contact, joint limit and joint with friction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from ..contact.points import contact_points
from ..contact.tables import Touching
from ..model.tree import Tree
from ..system.display import ReprMixin
from .contact_tangents import CLOSED, SEPARATING, SLIDING, STICKING, ContactDerivatives, RowSet, StepRows

NEAR = 1e-6  # m/s, rad/s: margin below which a row is about to change
AT_LIMIT, FREE = "at limit", "free"


class Row(NamedTuple):
    """A contact, limit or joint with friction in one part of a step.

    body, other: names of bodies or surfaces; of a joint, its name twice. substep: number of the part. state:
    "separating", "sticking" or "sliding"; of joints "at limit", "sticking", "sliding" or "free". margin [m/s, rad/s]:
    of velocities, to another state. closed: whether the gap is zero, so that the derivative towards an overlap
    differs.
    """

    body: str
    other: str
    substep: int
    state: str
    margin: float
    closed: bool


class StepGradient(ReprMixin):
    """State of contacts and joints at which a step was differentiated.

    Parameters
    ----------
    parts : sequence of callable
        For each part of the step, a function that returns its rows (`Row`): contacts, then joints. It is called once,
        when the gradient is first looked at.

    Examples
    --------
    >>> ball = treesim.free_body("ball", "sphere", (0.1,), 1.0)
    >>> world = treesim.World(ball, ground=treesim.Ground(friction=0.5))
    >>> stepper = treesim.Stepper(world, integrator="semi_implicit_euler")
    >>> *_, gradient = treesim.linearize(stepper, [0, 0, 0.0999, 0, 0, 0, 1], [1, 0, 0, 0, 0, 0], None)
    >>> gradient, gradient.rows["state"].tolist(), gradient.one_sided
    (<StepGradient: 1 contact: 1 sliding>, ['sliding'], False)
    """

    _row_labels = ("one_sided", "changes", "rows")

    def __init__(self, parts: Sequence[Callable[[], list[Row]]]) -> None:
        self._parts = tuple(parts)

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes, with rows instead of the functions that return them."""
        return {"_parts": (partial(list, self._rows),)}

    @cached_property
    def _rows(self) -> tuple[Row, ...]:
        return tuple(row for part in self._parts for row in part())

    @property
    def rows(self) -> np.ndarray:
        """Rows as a structured array with the fields body, other, substep, state, margin and closed.

        `body` and `other` are bodies or surfaces that touch, or twice the name of a joint. `state` is "separating",
        "sticking" or "sliding" of contacts; "at limit", "sticking", "sliding" or "free" of joints. `margin` [m/s,
        rad/s] is how far velocities are from another state. `closed` is True where a gap is zero to 1e-9 m.
        """
        longest = max((len(name) for row in self._rows for name in (row.body, row.other)), default=1)
        text = f"U{longest}"
        kind = [
            ("body", text),
            ("other", text),
            ("substep", int),
            ("state", "U10"),
            ("margin", float),
            ("closed", bool),
        ]
        return np.array([tuple(row) for row in self._rows], dtype=kind)

    @property
    def changes(self) -> int:
        """Number of rows whose state changes within 1e-6 m/s or rad/s, or whose gap is zero."""
        return sum(row.margin < NEAR or row.closed for row in self._rows)

    @property
    def one_sided(self) -> bool:
        """Whether the step has other derivatives on the other side of a change."""
        return self.changes > 0

    def __repr__(self) -> str:
        contacts = [row.state for row in self._rows if row.body != row.other]
        states = [f"{contacts.count(x)} {x}" for x in (SEPARATING, STICKING, SLIDING) if x in contacts]
        held = sum(row.body == row.other and row.state != FREE for row in self._rows)
        parts = [f"{len(contacts)} contact{'s' * (len(contacts) != 1)}" + f": {', '.join(states)}" * bool(states)]
        parts += [f"{held} joint{'s' * (held != 1)} at limits or with friction"] * bool(held)
        return f"<StepGradient: {'; '.join(parts)}{'; one-sided' * self.one_sided}>"


def rows_of_part(touching: Touching, contact: ContactDerivatives, rows: StepRows, part: int) -> list[Row]:
    """Return the rows of one part of a step."""
    names = contact_points(touching, [contact.points])
    return [*_contacts(names, contact, rows, part), *_joints(contact, rows, part)]


def _contacts(names: np.ndarray, contact: ContactDerivatives, rows: StepRows, part: int) -> list[Row]:
    found = []
    for c, name in enumerate(names):
        pressed = rows.positions.states[c] != SEPARATING or rows.velocities.states[c] != SEPARATING
        margins = [_margin(contact, each, c) for each in (rows.positions, rows.velocities)]
        if rows.positions.states[c] == SEPARATING:
            opening = max(contact.gap[c], 0.0) / contact.h + rows.positions.sigma[3 * c + 2]
            margins = [abs(opening)] if rows.velocities.states[c] == SEPARATING else [abs(opening), margins[1]]
        closed = bool(pressed and abs(contact.gap[c]) <= CLOSED)
        state = rows.velocities.states[c]
        found.append(Row(str(name["body"]), str(name["other"]), part, state, float(min(margins)), closed))
    return found


def _margin(contact: ContactDerivatives, rows: RowSet, c: int) -> float:
    """Return how far velocities are from another state of a contact that is pressed."""
    own = slice(3 * c, 3 * c + 3)
    impulse, velocity = rows.impulse[own], rows.sigma[own]
    J = contact.J[own]
    mobility = np.trace(J @ contact.W @ J.T) / 3
    if rows.states[c] == SEPARATING:
        return float(abs(velocity[2]))
    slack = rows.mu[c] * impulse[2] - np.hypot(*impulse[:2])
    sticks = rows.states[c] == STICKING
    return float(min(mobility * impulse[2], mobility * slack if sticks or rows.mu[c] == 0 else np.hypot(*velocity[:2])))


def _joints(contact: ContactDerivatives, rows: StepRows, part: int) -> list[Row]:
    robot: Tree = contact.robot
    found, rough, held = [], contact.friction(2), {}
    for k, d in enumerate(rows.velocities.dofs):
        held[d] = rows.velocities.impulse[len(contact.J) + k]
    for d in sorted({*rough, *held}):
        force, mobility, bound = abs(held.get(d, 0.0)), contact.W[d, d], rough.get(d, 0.0)
        if d in held and force > bound:
            state, margin = AT_LIMIT, mobility * (force - bound)
        elif d in held:
            state, margin = STICKING, mobility * (bound - force)
        else:
            state, margin = SLIDING, abs(contact.w[2, d])
        name = robot.dof_name(d)
        closed = state == AT_LIMIT and any(abs(contact.limit_gap(d, s)) <= CLOSED for s in (1, -1))
        found.append(Row(name, name, part, state, float(margin), closed))
    for d, _, side in contact.limits:
        margin = contact.limit_gap(d, side) / contact.h + side * contact.w[0, d]
        if d not in held and 0 <= margin < NEAR:
            found.append(Row(robot.dof_name(d), robot.dof_name(d), part, FREE, float(margin), False))
    return found
