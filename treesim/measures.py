"""Measures: reductions of states by `treesim.rollout` and `treesim.sweep` during the computation."""

from .rollouts.measured_wrenches import joint_wrench
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
    "Measure", "all_", "any_", "energy", "first_time", "histogram", "joint_wrench", "last", "maximum", "mean",
    "minimum", "position", "stop",
]  # fmt: skip
__dir__ = __all__.copy
