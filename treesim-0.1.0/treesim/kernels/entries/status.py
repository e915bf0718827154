"""Status codes of entries: whether arguments fitted, all numbers are finite, and iterations converged.

The engine checks the arguments and results of all entries itself (engine.argument_checks); entries report the rest.
"""

from __future__ import annotations

from ..algebra.joints import FLOATING, SPHERICAL
from ..algebra.tables import HEADER, NQ, QUATERNIONS
from .annotations import Reals, TableOfIntegers

FINE, NOT_CONVERGED, NOT_FINITE, WRONG_SIZE = 0, 1, 2, 3  # of several states the worst is returned
ROUNDED = 1e-3  # largest difference of a quaternion's length from 1: more is a mistake, not rounding
SHORTEST, LONGEST = (1 - ROUNDED) ** 2, (1 + ROUNDED) ** 2  # squares of lengths


def status_of(results: Reals) -> int:
    """Return FINE, or NOT_FINITE if any result is NaN or infinite (x * 0 is 0 only for finite x)."""
    residue = results[0] * 0 if results.size > 0 else 0
    for k in range(1, results.size):
        residue += results[k] * 0
    return FINE if residue == 0 else NOT_FINITE


def quaternion_start(ints, i):
    """Return the index of joint i's quaternion in a configuration, or -1 if it has none."""
    rows = ints[0] + 1
    code, start = ints[HEADER + rows + i], ints[HEADER + 3 * rows + i]
    return start + 3 if code == FLOATING else start if code == SPHERICAL else -1


def status_of_quaternions(ints: TableOfIntegers, q: Reals) -> int:
    """Return FINE, or NOT_FINITE if a quaternion in the concatenated configurations q does not have length 1."""
    left, i = ints[QUATERNIONS], 0
    while left > 0:
        i += 1
        start = quaternion_start(ints, i)
        if start >= 0:
            left -= 1
            for k in range(start, q.size - 3, ints[NQ]):
                square = q[k] * q[k] + q[k + 1] * q[k + 1] + q[k + 2] * q[k + 2] + q[k + 3] * q[k + 3]
                if not SHORTEST <= square <= LONGEST:  # so that NaN is none
                    return NOT_FINITE
    return FINE


def status_of_mimic_quaternions(ints: TableOfIntegers, mimic_ints: TableOfIntegers, q: Reals) -> int:
    """Return FINE, or NOT_FINITE if a quaternion in configurations q of independent coordinates does not have length 1.

    mimic_ints: the integer table of mimic joints, whose coordinates are not in q (see `mimic`).
    """
    left, i = ints[QUATERNIONS], 0
    while left > 0:
        i += 1
        start = mimic_quaternion_start(ints, mimic_ints, i)
        if start >= 0:
            left -= 1
            for k in range(start, q.size - 3, mimic_ints[1]):
                square = q[k] * q[k] + q[k + 1] * q[k + 1] + q[k + 2] * q[k + 2] + q[k + 3] * q[k + 3]
                if not SHORTEST <= square <= LONGEST:  # so that NaN is none
                    return NOT_FINITE
    return FINE


def mimic_quaternion_start(ints, mimic_ints, i):
    """Return the index of joint i's quaternion among independent coordinates, or -1 if it has none."""
    start = quaternion_start(ints, i)
    before = 0
    for b in range(mimic_ints[0]):
        if mimic_ints[3 + b] < start:
            before += 1
    return start - before


def undefined(x):
    """Return NaN, computed from a number; only code of this module may rely on it."""
    return (x * 0) / (x * 0)
