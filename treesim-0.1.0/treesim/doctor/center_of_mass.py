"""Check that a link's centre of mass is inside its shapes."""

from __future__ import annotations

from collections.abc import Iterable

from ..system.display import vector
from ..urdf.findings import Findings
from .links import Group

TOLERANCE = 0.05  # of the diameter: shapes leave out covers and cables


def check_center_of_mass(groups: Iterable[Group], findings: Findings) -> None:
    """Warn of links whose centre of mass is outside the convex hull of their shapes.

    No distribution of the mass within the shapes has such a centre.
    """
    for group in groups:
        if not group.comparable:
            continue
        hull, com = group.hull, group.inertia.com
        distance = hull.outside(com)
        if distance > TOLERANCE * hull.diameter:
            at = group.heaviest
            own = at.place.inverse()
            place = own.rotation @ com + own.translation
            text = f"{group.title}: centre of mass {vector(place)}, in the link's axes, is {distance:.3g} m outside"
            findings.add("U604", f"{text} the hull of its shapes, {hull.diameter:.3g} m across", at.inertial)
