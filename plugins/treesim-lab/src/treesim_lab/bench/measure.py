"""Calls of treesim and of other engines, timed beside each other, and how far the result of each is off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from treesim.compare.cases import OURS, BenchmarkCase

from .timing import Timing, interleaved

UNITS = {"us": 1e6, "ns": 1e9}  # of a second


def measured(
    cases: Sequence[BenchmarkCase],
    rounds: int,
    references: Mapping[str, np.ndarray],
    batched: bool = False,
    turn: float = 2e-3,
    pause: float = 0.0,
) -> list[dict[str, Any]]:
    """Time the cases in turns and return a row for each: who, what, seconds per state (fastest and median turn),
    the error, and for treesim's rows how many times faster they are than each other engine.

    references: true results by quantity; where there is none, the first case's result stands for it, and that one
    has no error. batched: whether results carry an axis of states. turn, pause [s]: see `interleaved`.
    """
    timings = interleaved({each.label: each.call for each in cases}, rounds, turn, pause)
    rows = [_row(each, timings[each.label]) for each in cases]
    truths = dict(references)
    for each, row in zip(cases, rows, strict=True):
        value = each.result()
        row["error"] = None if value is None else _error(each, value, truths, batched)
        if each.engine == OURS:
            row["times_faster_than"] = _times_faster(row, rows)
    return rows


def _error(each: BenchmarkCase, value: np.ndarray, truths: dict[str, np.ndarray], batched: bool) -> float | None:
    """The error of a result, which becomes the truth where none is known, and then has none."""
    known = each.quantity in truths or each.truth is not None
    truth = truths.setdefault(each.quantity, value) if each.truth is None else each.truth()
    return relative_error(value, truth, batched) if known else None


def _row(case: BenchmarkCase, timing: Timing) -> dict[str, Any]:
    return {
        "quantity": case.quantity,
        "engine": case.engine,
        "call": case.name,
        "numbers": case.numbers,
        "served_by": case.served,
        "min_s": 1e-6 * timing.min_us / case.states,
        "median_s": 1e-6 * timing.median_us / case.states,
        "does": case.does,
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
