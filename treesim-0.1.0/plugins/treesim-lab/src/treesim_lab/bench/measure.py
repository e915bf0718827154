"""Calls of treesim and of other engines, timed in turns, with the error of each result."""

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
    """Time the cases in turns and return a row for each.

    Rows contain engine, call, seconds per state (fastest and median turn), the error, and for treesim the speed
    ratio to each other engine. references: correct results by quantity; if one is missing, the first case's
    result is the reference, and this case has no error. batched: True if results have a leading axis of states.
    turn, pause [s]: see `interleaved`.
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
    """Return the error of a result; None if there is no reference, and the result becomes the reference."""
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
    """Return each engine's fastest time for the same quantity over this row's."""
    others: dict[str, float] = {}
    for other in rows:
        if other["engine"] != OURS and other["quantity"] == row["quantity"]:
            ratio = other["min_s"] / row["min_s"]
            others[other["engine"]] = min(ratio, others.get(other["engine"], np.inf))
    return others


def relative_error(value: np.ndarray, truth: np.ndarray, batched: bool) -> float:
    """Return the largest deviation, relative to the reference's largest number; for batches the worst state.

    If the numbers of states differ, the first ones are compared.
    """
    if not batched:
        value, truth = value[None], truth[None]
    few = min(len(value), len(truth))
    value, truth = value[:few].reshape(few, -1), truth[:few].reshape(few, -1)
    scale = np.abs(truth).max(axis=1)
    return float((np.abs(value - truth).max(axis=1) / np.where(scale > 0, scale, 1.0)).max())
