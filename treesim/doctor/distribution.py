"""Checks of the distribution of a link's mass against its shapes: density, rotational inertia, centre of mass."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..system.display import vector
from ..urdf.findings import Findings
from .links import Group

LIGHTEST, DENSEST = 1.0, 11340.0  # [kg/m^3] of air, in which no shell weighs less, and of lead
HUGE = 20.0  # [m] across: a link in millimetres
MARGIN = 1.1  # of widths: shapes leave out covers and screws
POINT = 0.02  # radius of gyration over diameter below which a link is a point mass; a ball's is 0.22
OUTSIDE = 0.05  # of the diameter: shapes leave out covers and cables


def check_distribution(groups: Sequence[Group], findings: Findings) -> None:
    """Check the groups that have mass and shapes: first all densities, then all inertias, then all centres of mass."""
    for check in (_check_density, _check_gyration, _check_center_of_mass):
        for group in groups:
            if group.comparable:
                check(group, findings)


def _check_density(group: Group, findings: Findings) -> None:
    """Warn of a link lighter than air or denser than lead, by the volume of its shapes' convex hull.

    The hull contains all shapes of the link, so this density is a lower bound.
    """
    mass, hull = group.inertia.mass, group.hull
    density = mass / hull.volume
    if LIGHTEST <= density <= DENSEST:
        return
    text = f"{group.title}: {mass:.3g} kg in shapes of {hull.volume:.3g} m^3, {hull.diameter:.3g} m across"
    than, hint = "denser than lead" if density > DENSEST else "lighter than air", ""
    if density < LIGHTEST and hull.diameter > HUGE:
        hint = 'meshes in millimetres need scale="0.001 0.001 0.001"'
    findings.add("U601", f"{text}, are {density:.3g} kg/m^3: {than}", group.heaviest.inertial, hint)


def _check_gyration(group: Group, findings: Findings) -> None:
    """Warn of a rotational inertia that no distribution of mass within the link's shapes has; note a point mass.

    With S = 1/2 tr(I) 1 - I the second moment of the mass about its centre, the variance of the mass's position
    along a unit vector u is u . S u / m. It is at most w^2 / 4 in a body of width w along u (Popoviciu 1935).
    """
    mass, inertia = group.inertia.mass, group.inertia.rotational
    moments, axes = np.linalg.eigh(0.5 * np.trace(inertia) * np.eye(3) - inertia)
    spreads, widths = np.sqrt(np.maximum(moments / mass, 0)), group.hull.widths(axes)
    worst, at = int(np.argmax(spreads / widths)), group.heaviest.inertial
    gyration = float(np.linalg.norm(spreads))
    if spreads[worst] > MARGIN * widths[worst] / 2:
        direction = f"({', '.join(f'{x:.2g}' for x in axes[:, worst].round(2) + 0.0)})"
        text = (
            f"{group.title}: its rotational inertia spreads the mass by {spreads[worst]:.3g} m (standard deviation)"
            f" along {direction}, where its shapes, {widths[worst]:.3g} m wide, allow {widths[worst] / 2:.3g} m"
        )
        factor = (2 * spreads[worst] / widths[worst]) ** 2
        times = f"{factor:.2g}" if factor < 10 else f"{factor:,.0f}"
        findings.add("U602", text, at, f"the inertia is at least {times} times too large")
    elif gyration < POINT * group.hull.diameter:
        text = f"{group.title}: radius of gyration {gyration:.3g} m, but shapes {group.hull.diameter:.3g} m across"
        findings.add("U603", text, at)


def _check_center_of_mass(group: Group, findings: Findings) -> None:
    """Warn of a centre of mass outside the convex hull of the link's shapes.

    No distribution of the mass within the shapes has such a centre.
    """
    hull, com = group.hull, group.inertia.com
    distance = hull.outside(com)
    if distance > OUTSIDE * hull.diameter:
        at = group.heaviest
        own = at.place.inverse()
        place = own.rotation @ com + own.translation
        text = f"{group.title}: centre of mass {vector(place)}, in the link's axes, is {distance:.3g} m outside"
        findings.add("U604", f"{text} the hull of its shapes, {hull.diameter:.3g} m across", at.inertial)
