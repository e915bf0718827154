"""Rotational inertias as files give them: which no rigid body has, the clipping of rounding, and negative moments,
judged by the body that a link is part of."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol

import numpy as np

from ..errors import quoted
from ..model.inertia import Inertia
from .collisions import Collisions
from .findings import Findings, title
from .geometry import reach_of

if TYPE_CHECKING:
    from lxml.etree import _Element

ROUNDING = 1e-9  # of the link's scale: its middle moment, which in a rigid body is no less than half the largest, or
# m r^2, since what a program made of parts of that size is rounded to their digits ...
CLEAR = 1e-6  # ... and [kg m^2] 1 g at 3 cm: what is so far below zero is no rounding, however large the scale is
SUSPECT = 1e-12  # smallest moment over the largest, below which its sign may be rounding of the eigenvalues
TRIANGLE = 1e-6  # C - A - B over the largest: files are written with few digits
HINT = "check the signs and the products of inertia; repair=True (treesim check --fix) sets negative moments to zero"
INERTIA_ENTRIES = {"ixx": (0, 0), "ixy": (0, 1), "ixz": (0, 2), "iyy": (1, 1), "iyz": (1, 2), "izz": (2, 2)}


class _Body(Protocol):
    name: str
    inertia: Inertia


class Inertias:
    """The inertias of a document's links: each judged alone while it is checked, and those with negative moments once
    bodies are known, by `report`. collisions: the links' shapes that touch, which tell of their size."""

    def __init__(self, collisions: Collisions, findings: Findings) -> None:
        self.collisions, self.findings = collisions, findings
        self._negative: dict[str, tuple[_Element, _Element, np.ndarray]] = {}  # link -> it, its <inertia>, its moments
        self._bodies: dict[str, int] = {}  # what these links are part of

    def judge(self, link: _Element, inertia: np.ndarray, mass: float | None, at: _Element) -> None:
        """Add what is doubtful about a link's (3, 3) rotational inertia [kg m^2] about its centre of mass, but for
        moments that are negative by more than rounding, which are remembered.

        mass: [kg], None if unknown. Moments that break A + B >= C are a warning, and so is inertia without mass.
        """
        moments = np.linalg.eigvalsh(inertia)
        largest = np.abs(moments).max()
        if largest == 0:
            return
        owner, text = title(link), f"{title(link)}: principal moments {listed_moments(moments)}"
        excess = moments[2] - moments[0] - moments[1]
        doubtful = moments[0] < SUSPECT * moments[2] or excess > TRIANGLE * largest
        scale = (mass or 0.0) * self._reach(link) ** 2 if doubtful else 0.0  # m r^2
        if _indefinite(inertia, moments, scale):
            self._negative[link.get("name", "")] = link, at, moments
        else:
            if moments[0] < 0:
                self.findings.add("U306", f"{text}: the negative one is rounding, set to zero", at)
            if excess > TRIANGLE * largest + ROUNDING * scale:
                self.findings.add("U307", f"{text}: no rigid body has one above the sum of the others; kept", at)
        if mass == 0:
            self.findings.add("U308", f"{owner} has rotational inertia but no mass; kept", at)

    def of_body(self, link: str, inertia: np.ndarray, body: int) -> np.ndarray:
        """Return the (3, 3) inertia of a link as the body that it is part of gets it, rounding below zero clipped."""
        if link not in self._negative:
            return clipped(inertia)
        self._bodies[link] = body
        return inertia

    def report(self, bodies: Sequence[_Body]) -> None:
        """Add a warning for each link with a negative moment whose body (0: the world) is sound all the same, and an
        error for each other one."""
        for name, (link, at, moments) in self._negative.items():
            text, number = f"{title(link)}: principal moments {listed_moments(moments)}", self._bodies[name]
            if not number:
                self.findings.add("U313", f"{text}; kept, without effect: the link does not move", at, HINT)
                continue
            body = bodies[number - 1]
            whole = f"body {quoted(body.name)} with it has {listed_moments(_moments(body.inertia))}"
            if _sound(body.inertia):
                self.findings.add("U313", f"{text}; kept, since {whole}", at, HINT)
            else:
                self.findings.add("U305", f"{text}; none may be negative, and {whole}", at, HINT)

    def _reach(self, link: _Element) -> float:
        """How far a link's shapes reach [m]."""
        return reach_of(link, self.collisions.of_link(link.get("name", "")))


def inertia_matrix(entries: Sequence[float]) -> np.ndarray:
    """Return the symmetric (3, 3) matrix of six entries in the order of INERTIA_ENTRIES."""
    xx, xy, xz, yy, yz, zz = entries
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]], dtype=float)


def listed_moments(moments: np.ndarray) -> str:
    """Return three principal moments as messages tell them."""
    return f"{', '.join(f'{moment:.6g}' for moment in moments)} kg m^2"


def _moments(inertia: Inertia) -> np.ndarray:
    return np.asarray(np.linalg.eigvalsh(inertia.rotational))


def _sound(inertia: Inertia) -> bool:
    """Whether a rigid body with this inertia resists every motion: its 6x6 inertia is positive definite."""
    moments = _moments(inertia)
    return bool(inertia.mass > 0 and moments[0] > SUSPECT * moments[2])


def _indefinite(inertia: np.ndarray, moments: np.ndarray, scale: float) -> bool:
    """Whether a moment is negative by more than rounding; by exact arithmetic, since beside a large moment the
    eigenvalues are known to no more digits than it has."""
    if moments[0] >= SUSPECT * moments[2]:
        return False
    allowed = min(ROUNDING * max(float(moments[1]), scale), CLEAR)
    exact = [[Fraction(entry) for entry in row] for row in inertia.tolist()]
    return not _positive_semidefinite(exact, Fraction(allowed))


def _positive_semidefinite(M: list[list[Fraction]], shift: Fraction) -> bool:
    """Whether no principal minor of the symmetric 3x3 matrix M + shift is negative."""
    a, b, c = (M[i][i] + shift for i in range(3))
    d, e, f = M[0][1], M[0][2], M[1][2]
    minors = (a, b, c, a * b - d * d, a * c - e * e, b * c - f * f)
    return min(minors) >= 0 and a * b * c + 2 * d * e * f - a * f * f - b * e * e - c * d * d >= 0


def clipped(inertia: np.ndarray) -> np.ndarray:
    """Return a (3, 3) inertia with negative principal moments set to zero; others unchanged."""
    moments, axes = np.linalg.eigh(inertia)
    return inertia if moments[0] >= 0 else np.asarray((axes * np.maximum(moments, 0)) @ axes.T)


def without_negative_moments(inertia: np.ndarray) -> np.ndarray:
    """Return the nearest (3, 3) inertia of which no principal moment comes out negative when its entries are read: its
    least one is zero where the axes are the frame's, or else as little above as the rounding of the entries takes."""
    moments, axes = np.linalg.eigh(inertia)
    least, mended = 0.0, inertia
    while np.linalg.eigvalsh(mended)[0] < 0:
        matrix = (axes * np.maximum(moments, least)) @ axes.T
        mended = (matrix + matrix.T) / 2
        least = 2 * least or 1e-16 * np.abs(moments).max()
    return mended
