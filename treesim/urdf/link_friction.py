"""Friction coefficients of single links in other simulators' formats, which treesim ignores."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from ..errors import listed
from .findings import Findings

if TYPE_CHECKING:
    from lxml.etree import _Element

LINK_FRICTION = "U511"
OF_LINKS = (
    *("contact/lateral_friction", "contact/rolling_friction", "contact/spinning_friction", "contact/friction_anchor"),
    *(".//{*}mu_dynamic", ".//{*}mu_static"),
)
GAZEBO = ("mu", "mu1", "mu2")


def report_link_friction(root: _Element, findings: Findings) -> None:
    """Add one note on links with their own friction: Bullet's `<contact>`, Gazebo's `<mu1>`, Drake's `mu_dynamic`."""
    found: dict[str, _Element] = {}
    for owners, attribute, paths in (("link", "name", OF_LINKS), ("gazebo[@reference]", "reference", GAZEBO)):
        for owner in root.iterfind(owners):
            own = [*chain.from_iterable(map(owner.iterfind, paths))]
            if own:
                found.setdefault(owner.get(attribute) or "", own[0])
    if found:
        what = f"friction of links is ignored: {listed(list(found))}"
        hint = "define it in the world: treesim.World(robot, surfaces={link: treesim.Surface(friction=...)})"
        findings.add(LINK_FRICTION, what, next(iter(found.values())), hint)
