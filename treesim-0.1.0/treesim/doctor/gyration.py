"""Check that a link's rotational inertia is possible within its shapes."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ..urdf.findings import Findings
from .links import Group

MARGIN = 1.1  # shapes leave out covers and screws
POINT = 0.02  # radius of gyration over diameter below which a link is a point mass; a ball's is 0.22


def check_gyration(groups: Iterable[Group], findings: Findings) -> None:
    """Warn of rotational inertias that no distribution of mass within the link's shapes has; note point masses.

    With S = 1/2 tr(I) 1 - I the second moment of the mass about its centre, the variance of the mass's position
    along a unit vector u is u . S u / m. It is at most w^2 / 4 in a body of width w along u (Popoviciu 1935).
    """
    for group in groups:
        if not group.comparable:
            continue
        mass, inertia = group.inertia.mass, group.inertia.rotational
        moments, axes = np.linalg.eigh(0.5 * np.trace(inertia) * np.eye(3) - inertia)
        spreads, widths = np.sqrt(np.maximum(moments / mass, 0)), group.hull.widths(axes)
        worst, at = int(np.argmax(spreads / widths)), group.heaviest.inertial
        gyration = float(np.linalg.norm(spreads))
        if spreads[worst] > MARGIN * widths[worst] / 2:
            text = (
                f"{group.title}: its rotational inertia spreads the mass by {spreads[worst]:.3g} m (standard deviation)"
                f" along {_direction(axes[:, worst])}, where its shapes, {widths[worst]:.3g} m wide, allow "
                f"{widths[worst] / 2:.3g} m"
            )
            factor = (2 * spreads[worst] / widths[worst]) ** 2
            times = f"{factor:.2g}" if factor < 10 else f"{factor:,.0f}"
            findings.add("U602", text, at, f"the inertia is at least {times} times too large")
        elif gyration < POINT * group.hull.diameter:
            text = f"{group.title}: radius of gyration {gyration:.3g} m, but shapes {group.hull.diameter:.3g} m across"
            findings.add("U603", text, at)


def _direction(axis: np.ndarray) -> str:
    return f"({', '.join(f'{x:.2g}' for x in axis.round(2) + 0.0)})"
