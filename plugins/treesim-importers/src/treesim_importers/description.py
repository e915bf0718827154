"""Robot description as other readers see it: unchecked elements with their lines."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from treesim.urdf.findings import Findings
from treesim.urdf.numbers import BadNumberError, parse_numbers
from treesim.urdf.read import parse
from treesim.urdf.resolve import open_source

if TYPE_CHECKING:
    from lxml.etree import _Element

    from treesim.urdf.read import Source

WORLD = "world"  # several readers treat a link of this name as the ground
_NUMBER = re.compile(r"\s*([+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?|[+-]?nan)", re.IGNORECASE)
DOFS = {"revolute": 1, "continuous": 1, "prismatic": 1, "planar": 3, "spherical": 3, "floating": 6}


@dataclass(frozen=True)
class Description:
    """Parsed document whose errors are not corrected.

    root: its root element. file: name in messages. path: of the file, if it has one. codes: of the findings at
    parsing.
    """

    root: _Element
    file: str
    path: Path | None = None
    codes: tuple[str, ...] = ()

    @cached_property
    def links(self) -> list[_Element]:
        """Links, in the order of the file."""
        return list(self.root.findall("link"))

    @cached_property
    def joints(self) -> list[_Element]:
        """Joints, in the order of the file."""
        return list(self.root.findall("joint"))

    @cached_property
    def by_name(self) -> dict[str, _Element]:
        """First link of each name."""
        return {name_of(link): link for link in reversed(self.links)}

    @cached_property
    def above(self) -> dict[str, _Element]:
        """First parent joint of each link, by the link's name."""
        return {child_of(joint): joint for joint in reversed(self.joints)}

    @cached_property
    def roots(self) -> list[str]:
        """Links without a parent joint."""
        return [name for name in self.by_name if name not in self.above]

    @property
    def root_link(self) -> str:
        """First link without a parent joint; "" if there is none."""
        return self.roots[0] if self.roots else ""

    @property
    def folder(self) -> Path:
        """Folder to which mesh names are relative."""
        return Path.cwd() if self.path is None else self.path.resolve().parent

    def path_to(self, link: str) -> Iterator[_Element]:
        """Yield the joints from a link to the root, the nearest first; ends at a cycle."""
        seen: set[str] = set()
        while link in self.above and link not in seen:
            seen.add(link)
            yield self.above[link]
            link = parent_of(self.above[link])

    def carried_by(self, link: str) -> list[str]:
        """Return a link and all links below it."""
        return [name for name in self.by_name if name == link or link in map(parent_of, self.path_to(name))]

    def holder(self, link: str) -> str:
        """Return the first link of a link's rigid group: the nearest towards the root whose joint moves."""
        for joint in self.path_to(link):
            if joint.get("type") != "fixed":
                break
            link = parent_of(joint)
        return link


def describe(source: Source) -> Description:
    """Return the description of any source that `treesim.load` reads; raises UrdfError if it is not URDF in XML."""
    findings = Findings("<source>")
    document = open_source(source, findings)
    findings.file = document.label
    root = parse(document, findings)
    return Description(root, document.label, document.path, tuple(found.code for found in findings))


def name_of(element: _Element) -> str:
    """Return an element's name, "" if it has none."""
    return str(element.get("name") or "")


def parent_of(joint: _Element) -> str:
    """Return the name of a joint's parent link."""
    return _end(joint, "parent")


def child_of(joint: _Element) -> str:
    """Return the name of a joint's child link."""
    return _end(joint, "child")


def _end(joint: _Element, role: str) -> str:
    element = joint.find(role)
    return "" if element is None else str(element.get("link") or "")


def numbers(element: _Element | None, attribute: str, count: int) -> tuple[float, ...] | None:
    """Return the finite numbers of an attribute; None if it is missing or contains anything else."""
    if element is None or attribute not in element.attrib:
        return None
    try:
        return parse_numbers(element, attribute, count, math.inf)
    except BadNumberError:
        return None


def number(element: _Element | None, attribute: str) -> float | None:
    """Return the single finite number of an attribute; None if it is missing or contains anything else."""
    found = numbers(element, attribute, 1)
    return None if found is None else found[0]


def mass_of(link: _Element) -> float:
    """Return the mass [kg] of a link, of "2kg" the leading number; 0 if it has none."""
    mass = link.find("inertial/mass")
    found = None if mass is None else _NUMBER.match(mass.get("value") or "")
    return 0.0 if found is None else float(found[0])


def moments_of(link: _Element) -> tuple[float, ...] | None:
    """Return ixx, ixy, ixz, iyy, iyz, izz [kg m^2] of a link; None unless all six are given."""
    inertia = link.find("inertial/inertia")
    found = [number(inertia, name) for name in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")]
    given = tuple(value for value in found if value is not None)
    return given if len(given) == len(found) else None
