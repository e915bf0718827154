"""What an entry reports: whether its arguments fitted, its results are numbers, and an iteration came to its end."""

from __future__ import annotations

FINE, NOT_CONVERGED, NOT_FINITE, WRONG_SIZE = 0, 1, 2, 3  # of several states the worst is told


def status_of(results):
    """FINE, or NOT_FINITE if any result is NaN or infinite (x * 0 is 0 only for finite x)."""
    residue = results[0] * 0 if results.size > 0 else 0
    for k in range(1, results.size):
        residue += results[k] * 0
    return FINE if residue == 0 else NOT_FINITE


def undefined(x):
    """NaN, made of a number; only code of this module may count on it."""
    return (x * 0) / (x * 0)
