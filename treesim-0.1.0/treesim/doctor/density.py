"""Check of the density of links."""

from __future__ import annotations

from collections.abc import Iterable

from ..urdf.findings import Findings
from .links import Group

LIGHTEST, DENSEST = 1.0, 11340.0  # [kg/m^3] of air, in which no shell weighs less, and of lead
HUGE = 20.0  # [m] across: a link in millimetres


def check_density(groups: Iterable[Group], findings: Findings) -> None:
    """Warn of links lighter than air or denser than lead, by the volume of their shapes' convex hull.

    The hull contains all shapes of the link, so this density is a lower bound.
    """
    for group in groups:
        if not group.comparable:
            continue
        mass, hull = group.inertia.mass, group.hull
        density = mass / hull.volume
        if LIGHTEST <= density <= DENSEST:
            continue
        text = f"{group.title}: {mass:.3g} kg in shapes of {hull.volume:.3g} m^3, {hull.diameter:.3g} m across"
        if density > DENSEST:
            than, hint = "denser than lead", ""
        elif hull.diameter > HUGE:
            than, hint = "lighter than air", 'meshes in millimetres need scale="0.001 0.001 0.001"'
        else:
            than, hint = "lighter than air", ""
        findings.add("U601", f"{text}, are {density:.3g} kg/m^3: {than}", group.heaviest.inertial, hint)
