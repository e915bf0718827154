"""What the derivatives of a step are those of: the state of each contact, joint limit and joint with friction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from ..contact.points import contact_points
from ..kernels.contact.motion_gradient import CLOSED
from ..kernels.contact.row_derivatives import GAP
from ..kernels.contact.set_equations import SEPARATING, SLIDING, STICKING
from ..system.display import ReprMixin
from .contact_gradient import ContactGradient

NEAR = 1e-6  # m/s, rad/s: margin below which a row is about to change
STATES = ("separating", "sticking", "sliding")  # of contacts, by the numbers of the kernel
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
        states = [f"{contacts.count(x)} {x}" for x in STATES if x in contacts]
        held = sum(row.body == row.other and row.state != FREE for row in self._rows)
        parts = [f"{len(contacts)} contact{'s' * (len(contacts) != 1)}" + f": {', '.join(states)}" * bool(states)]
        parts += [f"{held} joint{'s' * (held != 1)} at limits or with friction"] * bool(held)
        return f"<StepGradient: {'; '.join(parts)}{'; one-sided' * self.one_sided}>"


def rows_of_part(contact: ContactGradient, b: int, part: int) -> list[Row]:
    """Return the rows of state b in one part of a step."""
    points = contact.given.points[b, : contact.given.counts[b]]
    names = contact_points(contact.stepper.world.touching, [points])
    return [*_contacts(names, contact, b, part), *_joints(contact, b, part)]


def _contacts(names: np.ndarray, contact: ContactGradient, b: int, part: int) -> list[Row]:
    found = []
    for c, name in enumerate(names):
        positions, velocities = contact.shown[b, :, c]
        gap, separates = contact.contacts[b, c, GAP], [x[0] == SEPARATING for x in (positions, velocities)]
        margins = [positions[1], velocities[1]]
        if separates[0]:
            opening = abs(max(gap, 0.0) / contact.h + positions[2])
            margins = [opening] if separates[1] else [opening, velocities[1]]
        closed = bool(abs(gap) <= CLOSED and not all(separates))
        state = STATES[int(velocities[0])]
        found.append(Row(str(name["body"]), str(name["other"]), part, state, float(min(margins)), closed))
    return found


def _joints(contact: ContactGradient, b: int, part: int) -> list[Row]:
    robot, found, shown = contact.robot, [], contact.shown[b, 1, contact.contacts.shape[1] :]
    rough = dict(zip(contact.touch.friction.tolist(), (contact.h * contact.touch.rough).tolist(), strict=True))
    held = {int(d): float(shown[d, 0]) for d in np.flatnonzero(shown[:, 1])}
    gaps = contact.gaps[b]
    for d in sorted({*rough, *held}):
        force, mobility, bound = abs(held.get(d, 0.0)), shown[d, 2], rough.get(d, 0.0)
        if d in held and force > bound:
            state, margin = AT_LIMIT, mobility * (force - bound)
        elif d in held:
            state, margin = STATES[STICKING], mobility * (bound - force)
        else:
            state, margin = STATES[SLIDING], abs(contact.w[b, 2, d])
        name = robot.dof_name(d)
        closed = state == AT_LIMIT and bool((np.abs(gaps[:, d]) <= CLOSED).any())
        found.append(Row(name, name, part, state, float(margin), closed))
    for d, _, side in contact.touch.limit.tolist():
        margin = gaps[0 if side > 0 else 1, d] / contact.h + side * contact.w[b, 0, d]
        if d not in held and 0 <= margin < NEAR:
            found.append(Row(robot.dof_name(d), robot.dof_name(d), part, FREE, float(margin), False))
    return found
