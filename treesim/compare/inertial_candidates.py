"""Misreadings of a link's <inertial>, each a function of the numbers in the file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from lxml.etree import SubElement, _Element

from ..model.inertia import Inertia, Placement
from ..model.matrices import cross_matrix, rotation_from_rpy
from ..urdf.document import numbers
from ..urdf.origins import rpy_from_rotation
from .candidates import Candidate, written
from .description import Description, origin_numbers, rotation_xyz, write

BOX = (0.002**2 + 0.002**2) / 12  # m^2, of 1 kg: what Bullet gives to a link without shapes
ENTRIES = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
ROWS, COLUMNS = np.triu_indices(3)
PRODUCTS = (("ixy", 0, 1), ("ixz", 0, 2), ("iyz", 1, 2))
ZERO = np.zeros(3)
DEGREE = np.pi / 180


@dataclass(frozen=True, eq=False)
class Inertial:
    """Numbers of an <inertial> element.

    mass [kg], xyz (3,) [m], rpy (3,) [rad], inertia (3, 3) [kg m^2] about the centre of mass along axes rotated by rpy.
    """

    mass: float
    xyz: np.ndarray
    rpy: np.ndarray
    inertia: np.ndarray

    @property
    def rotation(self) -> np.ndarray:
        """Rotation (3, 3) of <origin rpy>."""
        return rotation_from_rpy(self.rpy.tolist())

    @property
    def in_link(self) -> Inertia:
        """Inertia in the link's frame."""
        return Inertia(self.mass, rotational=self.inertia).in_frame(Placement(self.rotation, self.xyz))

    def same(self, other: Inertial) -> bool:
        """Return whether both describe the same rigid body, up to rounding."""
        ours, theirs = ((x.mass, x.xyz, x.rotation @ x.inertia @ x.rotation.T) for x in (self, other))
        return all(np.allclose(a, b, rtol=1e-12, atol=1e-15) for a, b in zip(ours, theirs, strict=True))


Misreading = Callable[[Inertial], Inertial]


def parallel_axis(part: Inertial) -> np.ndarray:
    """Return m (|c|^2 1 - c c^T) (3, 3) along the axes rotated by rpy."""
    c = cross_matrix(part.rotation.T @ part.xyz)
    return -part.mass * c @ c


def _with_sign(row: int, column: int) -> Misreading:
    def flipped(part: Inertial) -> Inertial:
        inertia = part.inertia.copy()
        inertia[row, column] = inertia[column, row] = -inertia[row, column]
        return replace(part, inertia=inertia)

    return flipped


def _times(factor: float) -> Misreading:
    return lambda p: replace(p, inertia=p.inertia * factor)


def _diagonal(part: Inertial) -> np.ndarray:
    return np.diag(np.diag(part.inertia))


def _mirrored(part: Inertial) -> Inertial:
    """Return the inertial mirrored at the plane y = 0."""
    S = np.diag([1.0, -1.0, 1.0])
    return Inertial(part.mass, S @ part.xyz, np.array(rpy_from_rotation(S @ part.rotation @ S)), S @ part.inertia @ S)


def _principal(part: Inertial, order: int) -> Inertial:
    return replace(part, inertia=np.diag(np.linalg.eigvalsh(part.inertia)[::order]))


MISREADINGS: dict[str, tuple[str, str, Misreading]] = {  # kind: (element, words, what is read)
    "inertia_not_rotated": (
        "origin", "the inertia is not turned by the rotation of <origin>", lambda p: replace(p, rpy=ZERO)),
    "com_not_moved": (
        "origin", "the centre of mass is not moved by <origin xyz>", lambda p: replace(p, xyz=ZERO)),
    "inertial_origin_ignored": (
        "origin", "<origin> of the inertial is ignored", lambda p: replace(p, xyz=ZERO, rpy=ZERO)),
    "mass_dropped": (
        "mass", "mass and inertia are left out", lambda p: Inertial(0.0, p.xyz, p.rpy, 0 * p.inertia)),
    "inertia_dropped": (
        "inertia", "the inertia is left out, the mass is kept", lambda p: replace(p, inertia=0 * p.inertia)),
    "products_flipped": (
        "inertia", "the products of inertia have the opposite sign",
        lambda p: replace(p, inertia=2 * _diagonal(p) - p.inertia)),
    **{f"{name}_flipped": ("inertia", f"{name} has the opposite sign", _with_sign(row, column))
       for name, row, column in PRODUCTS},
    "products_dropped": (
        "inertia", "the products of inertia are left out", lambda p: replace(p, inertia=_diagonal(p))),
    "principal_axes_dropped": (
        "inertia", "principal moments stand along the link's axes, their own axes are lost",
        lambda p: _principal(p, 1)),
    "principal_axes_dropped_descending": (
        "inertia", "principal moments stand along the link's axes, the largest first; their own axes are lost",
        lambda p: _principal(p, -1)),
    "inertia_about_frame_as_com": (
        "inertia", "the inertia is taken about the link's frame instead of the centre of mass",
        lambda p: replace(p, inertia=p.inertia - parallel_axis(p))),
    "parallel_axis_twice": (
        "inertia", "the inertia is given about the link's frame: the parallel-axis term counts twice",
        lambda p: replace(p, inertia=p.inertia + parallel_axis(p))),
    "inertia_rotated_backwards": (
        "origin", "the inertia is turned by the inverse of <origin rpy>",
        lambda p: replace(p, rpy=np.array(rpy_from_rotation(p.rotation.T)))),
    "inertia_rpy_order": (
        "origin", "<origin rpy> turns the inertia in the order Rx Ry Rz",
        lambda p: replace(p, rpy=np.array(rpy_from_rotation(rotation_xyz(p.rpy))))),
    "inertial_rpy_as_degrees": (
        "origin", "<origin rpy> of the inertial is taken as degrees", lambda p: replace(p, rpy=p.rpy * DEGREE)),
    "inertial_rpy_in_degrees": (
        "origin", "<origin rpy> of the inertial is given in degrees", lambda p: replace(p, rpy=p.rpy / DEGREE)),
    "inertia_of_box": (
        "inertia", "the inertia is that of a box of 2 mm, which Bullet gives to links without shapes",
        lambda p: replace(p, rpy=ZERO, inertia=p.mass * BOX * np.eye(3))),
    "inertial_mirrored": ("origin", "the inertial is mirrored in y", _mirrored),
    "one_kilogram": (
        "mass", "1 kg and 1 kg m^2 stand for what has none",
        lambda p: p if p.mass else replace(p, mass=1.0, inertia=np.eye(3))),
    "com_in_millimetres": (
        "origin", "the centre of mass is given in mm", lambda p: replace(p, xyz=p.xyz * 1e3)),
    "com_as_millimetres": (
        "origin", "the centre of mass is taken as mm", lambda p: replace(p, xyz=p.xyz * 1e-3)),
    "mass_in_grams": ("mass", "the mass is given in g", lambda p: replace(p, mass=p.mass * 1e3)),
    "mass_as_grams": ("mass", "the mass is taken as g", lambda p: replace(p, mass=p.mass * 1e-3)),
    **{f"inertia_times_1e{power:+d}": (
        "inertia", f"the inertia is 10^{power} times as large: other units", _times(10.0**power))
       for power in (-9, -6, -3, 3, 6, 9)},
}  # fmt: skip


def inertial_of(link: _Element) -> Inertial:
    """Return the numbers of a link's <inertial>; zeros if it has none."""
    inertial = link.find("inertial")
    entries = np.zeros((3, 3))
    found = [numbers(inertial, "inertia", name, (0.0,))[0] for name in ENTRIES]
    entries[ROWS, COLUMNS] = entries[COLUMNS, ROWS] = found
    return Inertial(float(numbers(inertial, "mass", "value", (0.0,))[0]), *origin_numbers(inertial), entries)


def write_inertial(link: _Element, part: Inertial) -> None:
    """Write an inertial into a link."""
    inertial = link.find("inertial")
    if inertial is None:
        inertial = SubElement(link, "inertial")
    write(inertial, "origin", xyz=part.xyz, rpy=part.rpy)
    write(inertial, "mass", value=part.mass)
    write(inertial, "inertia", **dict(zip(ENTRIES, part.inertia[ROWS, COLUMNS], strict=True)))


def with_inertial(kind: str, cause: str, name: str, part: Inertial, tag: str, description: Description) -> Candidate:
    """Return the candidate that gives a link the inertial `part`; tag: the misread element within it."""
    change = written("link", write_inertial, {name: part})
    path = ("link", name, "inertial", *([tag] if tag else []))
    return Candidate(kind, f"link {name!r}", cause, change, description.place(*path), path, part.in_link)


def inertial_candidates(description: Description, name: str) -> Iterator[Candidate]:
    """Yield the candidates at one link: every misreading that changes its numbers."""
    part = inertial_of(description.link[name])
    for kind, (tag, cause, misread) in MISREADINGS.items():
        changed = misread(part)
        if not changed.same(part):
            yield with_inertial(kind, cause, name, changed, tag, description)


def inertial_candidates_everywhere(description: Description) -> Iterator[Candidate]:
    """Yield the candidates that misread the inertials of all links in the same way."""
    parts = {name: inertial_of(link) for name, link in description.link.items()}
    for kind, (tag, cause, misread) in MISREADINGS.items():
        changed = {name: misread(part) for name, part in parts.items()}
        where = [name for name, part in parts.items() if not changed[name].same(part)]
        if len(where) > 1:
            place = description.place("link", where[0], "inertial", tag)
            change = written("link", write_inertial, {name: changed[name] for name in where})
            yield Candidate(kind, f"{len(where)} links", f"{cause} ({where[0]!r} first)", change, place)
