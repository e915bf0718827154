"""Effort limits, and torque-speed lines."""

from .numbers import less, select

UNLIMITED = 1e30  # stands for an effort limit that is none: infinity must not enter compiled arithmetic


def within(x, limit):
    """x clamped to +-limit if the limit is below UNLIMITED; NaN stays NaN."""
    nearest = select(less(limit, x), limit, select(less(x, -limit), -limit, x))
    return select(less(limit, UNLIMITED), nearest, x)
