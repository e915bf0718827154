"""Rotational inertias as files give them: which no rigid body has, and the clipping of rounding."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .findings import Findings

if TYPE_CHECKING:
    from lxml.etree import _Element

INDEFINITE = -1e-9  # smallest principal moment over the largest, below which it is no rounding
TRIANGLE = -1e-6  # likewise for A + B - C: files are written with few digits


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
    if moments[0] < INDEFINITE * largest:
        findings.add("U305", f"{text}; none may be negative", at, "check the signs and the products of inertia")
    elif moments[0] < 0:
        findings.add("U306", f"{text}: the negative one is rounding, set to zero", at)
    if moments[0] >= INDEFINITE * largest and moments[0] + moments[1] - moments[2] < TRIANGLE * largest:
        findings.add("U307", f"{text}: no rigid body has one above the sum of the others; kept", at)
    if mass == 0:
        findings.add("U308", f"{title} has rotational inertia but no mass; kept", at)


def clipped(inertia: np.ndarray) -> np.ndarray:
    """Return a (3, 3) inertia with principal moments that are negative by rounding set to zero; others unchanged."""
    moments, axes = np.linalg.eigh(inertia)
    if moments[0] >= 0:
        return inertia
    return np.asarray((axes * np.maximum(moments, 0)) @ axes.T)
