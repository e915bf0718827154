"""Numbers in a robot description as other readers see them: unchecked."""

from __future__ import annotations

import math
import re
from pathlib import Path

from lxml.etree import _Element

from treesim.urdf.document import Document
from treesim.urdf.findings import Findings
from treesim.urdf.numbers import BadNumberError, parse_numbers
from treesim.urdf.read import Source, parse
from treesim.urdf.resolve import open_source

WORLD = "world"  # several readers treat a link of this name as the ground
_NUMBER = re.compile(r"\s*([+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?|[+-]?nan)", re.IGNORECASE)
DOFS = {"revolute": 1, "continuous": 1, "prismatic": 1, "planar": 3, "spherical": 3, "floating": 6}


def describe(source: Source | Document) -> Document:
    """Return the document of any source that `treesim.load` reads; raises UrdfError if it is not URDF in XML."""
    findings = Findings("<source>")
    return source if isinstance(source, Document) else parse(open_source(source, findings), findings)


def folder_of(document: Document) -> Path:
    """Return the folder to which mesh names are relative."""
    return Path.cwd() if document.path is None else document.path.resolve().parent


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
