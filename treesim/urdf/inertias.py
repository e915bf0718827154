"""Rotational inertias as files give them: which no rigid body has, and the clipping of rounding."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from .findings import Findings

if TYPE_CHECKING:
    from lxml.etree import _Element

ROUNDING = 1e-9  # of the middle moment, which in a rigid body is no less than half the largest ...
CLEAR = 1e-6  # ... and [kg m^2] 1 g at 3 cm: what is so far below zero is no rounding, however large the others are
SUSPECT = 1e-12  # smallest moment over the largest, below which its sign may be rounding of the eigenvalues
TRIANGLE = -1e-6  # A + B - C over the largest: files are written with few digits


def judge(title: str, inertia: np.ndarray, mass: float | None, at: _Element, findings: Findings) -> None:
    """Add what is wrong or doubtful about a link's (3, 3) rotational inertia [kg m^2] about its centre of mass.

    title: the link, for messages. mass: [kg], None if unknown. Indefinite beyond rounding is an error; moments that
    break A + B >= C are a warning, and so is inertia without mass.
    """
    moments = np.linalg.eigvalsh(inertia)
    largest = np.abs(moments).max()
    if largest == 0:
        return
    text = f"{title}: principal moments {', '.join(f'{moment:.6g}' for moment in moments)} kg m^2"
    if _indefinite(inertia, moments):
        findings.add("U305", f"{text}; none may be negative", at, "check the signs and the products of inertia")
    else:
        if moments[0] < 0:
            findings.add("U306", f"{text}: the negative one is rounding, set to zero", at)
        if moments[0] + moments[1] - moments[2] < TRIANGLE * largest:
            findings.add("U307", f"{text}: no rigid body has one above the sum of the others; kept", at)
    if mass == 0:
        findings.add("U308", f"{title} has rotational inertia but no mass; kept", at)


def _indefinite(inertia: np.ndarray, moments: np.ndarray) -> bool:
    """Whether a moment is negative by more than rounding; by exact arithmetic, since beside a large moment the
    eigenvalues are known to no more digits than it has."""
    if moments[0] >= SUSPECT * moments[2]:
        return False
    allowed = min(ROUNDING * max(float(moments[1]), 0.0), CLEAR)
    exact = [[Fraction(entry) for entry in row] for row in inertia.tolist()]
    return not _positive_semidefinite(exact, Fraction(allowed))


def _positive_semidefinite(M: list[list[Fraction]], shift: Fraction) -> bool:
    """Whether no principal minor of the symmetric 3x3 matrix M + shift is negative."""
    a, b, c = (M[i][i] + shift for i in range(3))
    d, e, f = M[0][1], M[0][2], M[1][2]
    minors = (a, b, c, a * b - d * d, a * c - e * e, b * c - f * f)
    return min(minors) >= 0 and a * b * c + 2 * d * e * f - a * f * f - b * e * e - c * d * d >= 0


def clipped(inertia: np.ndarray) -> np.ndarray:
    """Return a (3, 3) inertia with principal moments that are negative by rounding set to zero; others unchanged."""
    moments, axes = np.linalg.eigh(inertia)
    if moments[0] >= 0:
        return inertia
    return np.asarray((axes * np.maximum(moments, 0)) @ axes.T)
