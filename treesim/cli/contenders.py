"""What `treesim bench` times: calls of treesim and of other engines beside each other, and how far each is off."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .timing import Timing, interleaved

OURS = "treesim"
FILL = "memset"  # computes nothing
DOUBLE, SINGLE = "float64", "float32"
Call = Callable[[], Any]


class States(NamedTuple):
    """Where a robot is timed: q (..., nq), v, a, tau (..., nv), in treesim's layout; tau causes the accelerations a."""

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    tau: np.ndarray


class Motion(NamedTuple):
    """What is looped out: q0 (B, nq), v0 (B, nv), forces (B, steps, nv), the step dt [s]."""

    q0: np.ndarray
    v0: np.ndarray
    controls: np.ndarray
    dt: float


class Contender(NamedTuple):
    """One call that is timed.

    quantity: what it computes; calls of one quantity are compared. call: does the work. result: does it once more and
    returns the result in treesim's layout, of all states or of the first few; or None: there is none. does: in words,
    what the call does besides the quantity, or leaves out. states: on how many states, or steps, one call works. truth:
    what the result should be, if not what the quantity's reference says. served: by which of treesim's engines.
    """

    engine: str
    name: str
    quantity: str
    call: Call
    result: Callable[[], np.ndarray | None]
    does: str
    states: int = 1
    numbers: str = DOUBLE
    truth: Callable[[], np.ndarray] | None = None
    served: str | None = None

    @property
    def label(self) -> str:
        """What tells it from the others."""
        return f"{self.quantity}: {self.name}, {self.numbers}"


def measured(
    contenders: Sequence[Contender],
    rounds: int,
    references: Mapping[str, np.ndarray],
    batched: bool = False,
    turn: float = 2e-3,
    pause: float = 0.0,
) -> list[dict[str, Any]]:
    """Time the contenders in turns and return a row for each: who, what, seconds per state (fastest and median turn),
    the error, and for treesim's rows how many times faster they are than each other engine.

    references: true results by quantity; where there is none, the first contender's result stands for it, and that one
    has no error. batched: whether results carry an axis of states. turn, pause [s]: see `interleaved`.
    """
    timings = interleaved({each.label: each.call for each in contenders}, rounds, turn, pause)
    rows = [_row(each, timings[each.label]) for each in contenders]
    truths = dict(references)
    for each, row in zip(contenders, rows, strict=True):
        value = each.result()
        row["error"] = None if value is None else _error(each, value, truths, batched)
        if each.engine == OURS:
            row["times_faster_than"] = _times_faster(row, rows)
    return rows


def _error(each: Contender, value: np.ndarray, truths: dict[str, np.ndarray], batched: bool) -> float | None:
    """The error of a result, which becomes the truth where none is known, and then has none."""
    known = each.quantity in truths or each.truth is not None
    truth = truths.setdefault(each.quantity, value) if each.truth is None else each.truth()
    return relative_error(value, truth, batched) if known else None


def _row(contender: Contender, timing: Timing) -> dict[str, Any]:
    return {
        "quantity": contender.quantity,
        "engine": contender.engine,
        "call": contender.name,
        "numbers": contender.numbers,
        "served_by": contender.served,
        "min_s": 1e-6 * timing.min_us / contender.states,
        "median_s": 1e-6 * timing.median_us / contender.states,
        "does": contender.does,
    }


def _times_faster(row: dict[str, Any], rows: Sequence[dict[str, Any]]) -> dict[str, float]:
    """By engine: its fastest time for the same quantity over this row's."""
    others: dict[str, float] = {}
    for other in rows:
        if other["engine"] != OURS and other["quantity"] == row["quantity"]:
            ratio = other["min_s"] / row["min_s"]
            others[other["engine"]] = min(ratio, others.get(other["engine"], np.inf))
    return others


def relative_error(value: np.ndarray, truth: np.ndarray, batched: bool) -> float:
    """Return the largest deviation over the truth's largest number; of states the largest of all. Only as many states
    are looked at as both have."""
    if not batched:
        value, truth = value[None], truth[None]
    few = min(len(value), len(truth))
    value, truth = value[:few].reshape(few, -1), truth[:few].reshape(few, -1)
    scale = np.abs(truth).max(axis=1)
    return float((np.abs(value - truth).max(axis=1) / np.where(scale > 0, scale, 1.0)).max())
