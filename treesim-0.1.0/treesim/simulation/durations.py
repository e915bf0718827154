"""Numbers and times of the steps in a run."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..errors import ArgumentError
from ..model.tree import Tree
from ..states.arguments import MOST, positive_number
from ..system.memory import check_memory, free_memory

UNEVEN = 1e-5  # of a duration: tolerated difference from a whole number of steps


def step_count(duration: Any, dt: float, labels: tuple[str, str] = ("duration", "dt")) -> int:
    """Return the number of steps of dt [s] in a duration [s]; labels: names of the two in an error.

    Raises ArgumentError unless it is a whole number, to a relative 1e-5.
    """
    length = positive_number(labels[0], duration, zero=True)
    ratio = length / dt
    if not ratio < MOST:
        raise ArgumentError(
            f"{labels[0]} {length:g} s would be {ratio:.3g} steps of {labels[1]} {dt:g} s: far too many; "
            "robots take steps of about 1e-4 to 1e-2 s"
        )
    steps = round(ratio)
    if abs(ratio - steps) <= ratio * UNEVEN and (steps or not length):
        return steps
    if ratio < 1:
        raise ArgumentError(f"{labels[0]} {length:g} s is shorter than one step, {labels[1]} {dt:g} s")
    below, above = math.floor(ratio), math.ceil(ratio)
    raise ArgumentError(
        f"{labels[0]} {length:g} s is no whole number of steps of {labels[1]} {dt:g} s: "
        f"take {labels[0]} {below * dt:.6g} or {above * dt:.6g}, or {labels[1]} {length / above:.6g}"
    )


def check_room(robot: Tree, steps: int, remedy: str = "take a shorter duration or a larger dt") -> None:
    """Raise ArgumentError, with the number of steps that would fit, if a trajectory does not fit in free memory."""
    state = 8 * (robot.nq + 2 * robot.nv + 10)  # with its time, its energy, and what that is computed from
    free = free_memory()
    fitting = "" if free is None else f" ({free // state:,} steps would fit)"
    check_memory(state * (steps + 1), f"a trajectory of {steps:,} steps", f"{remedy}{fitting}")


def times_of_steps(start: float, dt: float) -> Callable[[int], float]:
    """Return the function of k that computes the time [s] of the k-th state of a run that starts at `start` [s].

    If `start` is a multiple of dt, the times are the same multiples of dt as in one run from t = 0.
    """
    before = round(start / dt)
    if before * dt == start:
        return lambda k: (before + k) * dt
    return lambda k: start + k * dt
