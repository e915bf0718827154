"""Check for angles in degrees, where URDF has radians."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import chain
from typing import TYPE_CHECKING

from .findings import Findings, title
from .numbers import BadNumberError, parse_numbers

if TYPE_CHECKING:
    from lxml.etree import _Element

SLACK = 1.001  # for turns that are rounded up, such as 6.2832
LARGEST_RPY = 2 * math.pi * SLACK  # [rad] one turn
LARGEST_LIMIT = 4 * math.pi * SLACK  # [rad] two turns
UNLIMITED_ABOVE = 3600.0  # ten turns in degrees: larger limits, such as 1e16, are written for "no limit"
OWNERS = ("link", "joint", "loop_joint")


def report_degrees(root: _Element, findings: Findings) -> None:
    """Warn of limits of revolute joints beyond two turns, and of roll, pitch or yaw beyond one."""
    for owner in root.iterchildren(*OWNERS):
        limit = owner.find("limit")
        if owner.get("type") == "revolute" and limit is not None:
            _check(owner, limit, ("lower", "upper"), 1, LARGEST_LIMIT, findings)
        for element in owner.iter("origin", "link1", "link2"):
            _check(owner, element, ("rpy",), 3, LARGEST_RPY, findings)


def _check(
    owner: _Element, element: _Element, names: tuple[str, ...], count: int, largest: float, findings: Findings
) -> None:
    """Add a finding if an angle of an element is larger than `largest`, with all its angles in radians as hint."""
    given: dict[str, tuple[float, ...]] = {}
    try:
        for name in names:
            if name in element.attrib:
                given[name] = parse_numbers(element, name, count)
    except BadNumberError:
        return  # reported where the numbers are read
    if not largest < max(map(abs, chain(*given.values())), default=0.0) <= UNLIMITED_ABOVE:
        return
    text = " ".join(f'{name}="{_listed(angles)}"' for name, angles in given.items())
    hint = " ".join(f'{name}="{_listed(map(math.radians, angles))}"' for name, angles in given.items())
    message = f"{title(owner)}: <{element.tag} {text}>: the values look like degrees, but are read as radians"
    findings.add("U315", message, element, f"if in degrees, write {hint}")


def _listed(angles: Iterable[float]) -> str:
    return " ".join(f"{angle:.6g}" for angle in angles)
