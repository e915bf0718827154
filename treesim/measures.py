"""Measures: numbers that `treesim.rollout` and `treesim.sweep` reduce from states while these are computed."""

from __future__ import annotations

from .rollouts.measures import (
    Measure,
    all_,
    any_,
    energy,
    first_time,
    histogram,
    last,
    maximum,
    mean,
    minimum,
    position,
    stop,
)

__all__ = [
    "Measure", "all_", "any_", "energy", "first_time", "histogram", "last", "maximum", "mean", "minimum", "position",
    "stop",
]  # fmt: skip
