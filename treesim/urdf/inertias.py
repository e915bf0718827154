"""Checks of rotational inertias: physically impossible ones, rounding errors, and negative moments.

Negative moments are checked for the whole body of which a link is part.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import permutations
from typing import TYPE_CHECKING

import numpy as np

from ..errors import quoted
from ..model.inertia import Inertia
from ..model.matrices import principal_axes, product
from ..model.parts import Body
from .collisions import Collisions
from .findings import Findings, title
from .geometry import reach_of
from .numbers import parse_numbers

if TYPE_CHECKING:
    from lxml.etree import _Element

ROUNDING = 1e-9  # of the link's scale: its middle moment, which in a rigid body is no less than half the largest, or
# m r^2, since what a program made of parts of that size is rounded to their digits ...
CLEAR = 1e-6  # ... and [kg m^2] 1 g at 3 cm: more negative moments are not rounding, however large the scale is
SUSPECT = 1e-12  # smallest moment over the largest, below which its sign may be rounding of the eigenvalues
TRIANGLE = 1e-6  # C - A - B over the largest: files are written with few digits
HINT = "check the signs and the products of inertia; repair=True (treesim check --fix) sets negative moments to zero"
POWERS = "check the powers of ten"
INERTIA_ENTRIES = {"ixx": (0, 0), "ixy": (0, 1), "ixz": (0, 2), "iyy": (1, 1), "iyz": (1, 2), "izz": (2, 2)}


class Inertias:
    """Checks of the inertias of a document's links.

    Each is checked on its own; those with negative moments are checked by `report`, once bodies exist.
    collisions: collision shapes of the links, from which their size is estimated.
    """

    def __init__(self, collisions: Collisions, findings: Findings) -> None:
        self.collisions, self.findings = collisions, findings
        self._negative: dict[str, tuple[_Element, _Element, np.ndarray]] = {}  # link -> it, its <inertia>, its moments
        self._rounded: set[str] = set()  # links with moments that only rounding made negative
        self._bodies: dict[str, int] = {}  # bodies of the links with negative moments

    def check(self, link: _Element, inertia: np.ndarray, mass: float | None, at: _Element) -> None:
        """Add findings on a link's (3, 3) rotational inertia [kg m^2] about its centre of mass.

        Moments that violate A + B >= C are a warning, and so is inertia without mass. Moments that are negative by
        more than rounding are stored for `report`. mass: [kg], None if unknown.
        """
        name, moments = link.get("name", ""), principal_moments(inertia)
        largest = np.abs(moments).max()
        if largest == 0:
            return
        excess = moments[2] - moments[0] - moments[1]
        doubtful = moments[0] < SUSPECT * moments[2] or excess > TRIANGLE * largest
        scale = (mass or 0.0) * reach_of(link, self.collisions.of_link(name)) ** 2 if doubtful else 0.0  # m r^2
        if _indefinite(inertia, moments, scale):
            self._negative[name] = link, at, moments
        else:
            if moments[0] < 0:
                self._rounded.add(name)
                text = f"{_named_moments(link, moments)}: the negative one is a rounding error and is set to zero"
                self.findings.add("U306", text, at)
            if excess > TRIANGLE * largest + ROUNDING * scale:
                hint = "check the order of ixx, iyy, izz" if _possible_in_another_order(inertia) else POWERS
                text = f"{_named_moments(link, moments)}: one exceeds the sum of the others; used unchanged"
                self.findings.add("U307", text, at, hint)
        if mass == 0:
            self.findings.add("U308", f"{title(link)} has rotational inertia but no mass; used unchanged", at)

    def of_body(self, link: str, inertia: np.ndarray, body: int) -> np.ndarray:
        """Return the (3, 3) inertia that a link adds to its body; moments negative by rounding are set to zero."""
        if link not in self._negative:
            return clipped(inertia) if link in self._rounded else inertia
        self._bodies[link] = body
        return inertia

    def report(self, bodies: Sequence[Body]) -> None:
        """Add a warning for each link with a negative moment in an otherwise valid body, else an error.

        Links of the world (body 0) get a warning.
        """
        for name, (link, at, moments) in self._negative.items():
            text, number = _named_moments(link, moments), self._bodies[name]
            if not number:
                self.findings.add("U313", f"{text}; no effect, because the link does not move", at, HINT)
                continue
            body = bodies[number - 1]
            whole = f"body {quoted(body.name)} with it has {listed_moments(principal_moments(body.inertia.rotational))}"
            if _sound(body.inertia):
                self.findings.add("U313", f"{text}; used unchanged, because {whole}", at, HINT)
            else:
                self.findings.add("U305", f"{text}; none may be negative, and {whole}", at, HINT)


def inertia_in(inertial: _Element) -> Inertia:
    """Return the inertia of a complete `<inertial>` about its origin, in the origin's axes.

    Raises BadNumberError for what are no numbers, ModelError for what is no inertia.
    """
    mass, inertia = inertial.find("mass"), inertial.find("inertia")
    entries = [parse_numbers(inertia, name, 1)[0] for name in INERTIA_ENTRIES]
    return Inertia(parse_numbers(mass, "value", 1)[0], np.zeros(3), inertia_matrix(entries))


def inertia_matrix(entries: Sequence[float]) -> np.ndarray:
    """Return the symmetric (3, 3) matrix of six entries in the order of INERTIA_ENTRIES."""
    xx, xy, xz, yy, yz, zz = entries
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]], dtype=float)


def _named_moments(link: _Element, moments: np.ndarray) -> str:
    return f"{title(link)}: principal moments {listed_moments(moments)}"


def listed_moments(moments: np.ndarray) -> str:
    """Return three principal moments as text for messages."""
    return f"{', '.join(f'{moment:.6g}' for moment in moments)} kg m^2"


def principal_moments(inertia: np.ndarray) -> np.ndarray:
    """Return the principal moments of a (3, 3) inertia, in ascending order.

    LAPACK's last digits, which depend on the processor, would decide whether a moment near zero is negative.
    """
    moments = np.linalg.eigvalsh(inertia)
    return np.asarray(moments if moments[0] > SUSPECT * moments[2] else principal_axes(inertia)[0])


def _sound(inertia: Inertia) -> bool:
    """Return whether the 6x6 spatial inertia is positive definite."""
    moments = principal_moments(inertia.rotational)
    return bool(inertia.mass > 0 and moments[0] > SUSPECT * moments[2])


def _possible_in_another_order(inertia: np.ndarray) -> bool:
    """Return whether a rigid body can have a (3, 3) inertia with its diagonal in another order."""
    products = inertia - np.diag(np.diag(inertia))
    for order in permutations(np.diag(inertia)):
        moments = principal_moments(products + np.diag(order))
        if moments[0] >= 0 and moments[2] - moments[0] - moments[1] <= TRIANGLE * moments[2]:
            return True
    return False


def _indefinite(inertia: np.ndarray, moments: np.ndarray, scale: float) -> bool:
    """Return whether a moment is negative by more than rounding.

    Uses exact arithmetic: next to a large moment, small eigenvalues have no correct digits.
    """
    if moments[0] >= SUSPECT * moments[2]:
        return False
    allowed = min(ROUNDING * max(float(moments[1]), scale), CLEAR)
    exact = [[Fraction(entry) for entry in row] for row in inertia.tolist()]
    return not _positive_semidefinite(exact, Fraction(allowed))


def _positive_semidefinite(M: list[list[Fraction]], shift: Fraction) -> bool:
    """Return whether no principal minor of the symmetric 3x3 matrix M + shift 1 is negative."""
    a, b, c = (M[i][i] + shift for i in range(3))
    d, e, f = M[0][1], M[0][2], M[1][2]
    minors = (a, b, c, a * b - d * d, a * c - e * e, b * c - f * f)
    return min(minors) >= 0 and a * b * c + 2 * d * e * f - a * f * f - b * e * e - c * d * d >= 0


def clipped(inertia: np.ndarray) -> np.ndarray:
    """Return a (3, 3) inertia with negative principal moments set to zero; other inertias are unchanged."""
    if principal_moments(inertia)[0] >= 0:
        return inertia
    moments, axes = principal_axes(inertia)
    return product(axes * np.maximum(moments, 0), axes.T)


def without_negative_moments(inertia: np.ndarray) -> np.ndarray:
    """Return the nearest (3, 3) inertia without negative principal moments, also after rounding of its entries.

    Its smallest moment is zero if the principal axes are the frame's; otherwise it is as small as rounding
    permits.
    """
    moments, axes = principal_axes(inertia)
    least, repaired = 0.0, inertia
    while principal_moments(repaired)[0] < 0:
        matrix = product(axes * np.maximum(moments, least), axes.T)
        repaired = (matrix + matrix.T) / 2
        least = 2 * least or 1e-16 * np.abs(moments).max()
    return repaired
