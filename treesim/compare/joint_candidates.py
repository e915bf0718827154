"""Misreadings of a joint's <origin> and <axis>, each a function of the numbers in the file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from lxml.etree import _Element

from ..model.joints import JOINT_TYPES
from ..model.matrices import rotation_from_rpy
from ..urdf.document import numbers
from ..urdf.origins import rpy_from_rotation
from .candidates import Candidate, written
from .description import Description, origin_numbers, rotation_xyz, write

ZERO = np.zeros(3)
DEGREE = np.pi / 180
SWAPPED = {"revolute": "prismatic", "continuous": "prismatic", "prismatic": "revolute"}


@dataclass(frozen=True, eq=False)
class Place:
    """Numbers of a joint: xyz (3,) [m] and rpy (3,) [rad] of its <origin>, its axis (3,), and its type."""

    xyz: np.ndarray
    rpy: np.ndarray
    axis: np.ndarray
    type: str

    @property
    def rotation(self) -> np.ndarray:
        """Rotation (3, 3) of <origin rpy>."""
        return rotation_from_rpy(self.rpy.tolist())

    def same(self, other: Place) -> bool:
        """Return whether both describe the same joint, up to rounding; the axis counts only for types with an axis."""
        has_axis = self.type in JOINT_TYPES and JOINT_TYPES[self.type].has_axis
        numbers_of = ([x.xyz, x.rotation, *([x.axis] if has_axis else [])] for x in (self, other))
        alike = (np.allclose(a, b, rtol=1e-12, atol=1e-15) for a, b in zip(*numbers_of, strict=True))
        return self.type == other.type and all(alike)


Misreading = Callable[[Place], Place]


def _turned(place: Place, rotation: np.ndarray) -> Place:
    return replace(place, rpy=np.array(rpy_from_rotation(rotation)))


def _with_sign(k: int) -> Misreading:
    signs = np.where(np.arange(3) == k, -1.0, 1.0)
    return lambda p: replace(p, xyz=signs * p.xyz)


def _along(k: int) -> Misreading:
    return lambda p: replace(p, axis=np.eye(3)[k])


ORIGIN: dict[str, tuple[str, str, Misreading]] = {  # kind: (element, words, what is read)
    "rpy_ignored": ("origin", "the rotation of <origin> is ignored", lambda p: replace(p, rpy=ZERO)),
    "xyz_ignored": ("origin", "<origin xyz> is ignored", lambda p: replace(p, xyz=ZERO)),
    "rpy_order": (
        "origin", "<origin rpy> is applied in the order Rx Ry Rz", lambda p: _turned(p, rotation_xyz(p.rpy))),
    "rpy_backwards": (
        "origin", "the inverse of the rotation <origin rpy> is applied", lambda p: _turned(p, p.rotation.T)),
    "rpy_as_degrees": ("origin", "<origin rpy> is taken as degrees", lambda p: replace(p, rpy=p.rpy * DEGREE)),
    "rpy_in_degrees": ("origin", "<origin rpy> is given in degrees", lambda p: replace(p, rpy=p.rpy / DEGREE)),
    "xyz_in_millimetres": ("origin", "<origin xyz> is given in mm", lambda p: replace(p, xyz=p.xyz * 1e3)),
    "xyz_as_millimetres": ("origin", "<origin xyz> is taken as mm", lambda p: replace(p, xyz=p.xyz * 1e-3)),
    **{f"xyz_{'xyz'[k]}_flipped": ("origin", f"{'xyz'[k]} of <origin xyz> has the opposite sign", _with_sign(k))
       for k in range(3)},
    "xyz_in_child_axes": (
        "origin", "<origin xyz> is taken along the turned axes", lambda p: replace(p, xyz=p.rotation @ p.xyz)),
}  # fmt: skip
AXIS: dict[str, tuple[str, str, Misreading]] = {  # changes no joint without an axis
    "axis_flipped": ("axis", "the axis points the other way", lambda p: replace(p, axis=-p.axis)),
    "axis_in_parent": (
        "axis", "the axis is taken along the parent's axes", lambda p: replace(p, axis=p.rotation.T @ p.axis)),
    **{f"axis_{'xyz'[k]}": ("axis", f"the axis is {'xyz'[k]}", _along(k)) for k in range(3)},
    "type_swapped": (
        "type", "the joint turns where it slides, or slides where it turns",
        lambda p: replace(p, type=SWAPPED.get(p.type, p.type))),
}  # fmt: skip


def place_of(joint: _Element) -> Place:
    """Return the numbers of a joint, with URDF's defaults."""
    return Place(*origin_numbers(joint), numbers(joint, "axis", "xyz", (1.0, 0.0, 0.0)), joint.get("type", ""))


def write_place(joint: _Element, place: Place) -> None:
    """Write the numbers into a joint."""
    write(joint, "origin", xyz=place.xyz, rpy=place.rpy)
    if place.type in JOINT_TYPES and JOINT_TYPES[place.type].has_axis:
        write(joint, "axis", xyz=place.axis)
    joint.set("type", place.type)


def with_place(kind: str, cause: str, name: str, place: Place, tag: str, description: Description) -> Candidate:
    """Return the candidate that gives a joint the numbers `place`; tag: the misread element within it."""
    change, path = written("joint", write_place, {name: place}), ("joint", name, tag)
    return Candidate(kind, f"joint {name!r}", cause, change, description.place(*path), path)


def joint_candidates(description: Description, name: str) -> Iterator[Candidate]:
    """Yield the candidates at one joint: every misreading that changes its numbers."""
    place = place_of(description.joint[name])
    for kind, (tag, cause, misread) in (ORIGIN | AXIS).items():
        changed = misread(place)
        if not changed.same(place):
            yield with_place(kind, cause, name, changed, tag, description)


def joint_candidates_everywhere(description: Description) -> Iterator[Candidate]:
    """Yield the candidates that misread all joints, or all fixed joints, in the same way."""
    for which, words in ((None, "joints"), ("fixed", "fixed joints")):
        places = {
            name: place_of(joint) for name, joint in description.joint.items() if which in (None, joint.get("type"))
        }
        for kind, (tag, cause, misread) in (ORIGIN if which else ORIGIN | AXIS).items():
            changed = {name: misread(place) for name, place in places.items()}
            where = [name for name, place in changed.items() if not place.same(places[name])]
            if len(where) > 1:
                place = description.place("joint", where[0], tag)
                text = f"{cause} ({where[0]!r} first)"
                yield Candidate(kind, f"{len(where)} {words}", text, written("joint", write_place, changed), place)
