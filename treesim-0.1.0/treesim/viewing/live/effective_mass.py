"""Effective mass of a frame: operational-space inertia of its origin."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...dynamics.operational.frames import frame_pose
from ...dynamics.operational.functions import inverse_operational_inertia
from ...model.tree import Tree

UNMOVED = 1e-9  # times the largest eigenvalue of Λ^-1: smaller ones count as 0


def effective_mass(robot: Tree, q: np.ndarray, frame: str) -> dict[str, Any]:
    """Return the operational-space inertia Λ = (J H^-1 J')^-1 of a frame's origin along its principal axes.

    q (nq,): configuration. J (3, nv): Jacobian of the origin. The result is for JSON: "frame": its name; "at"
    (3,): its origin [m]; "axes" (3, 3): the principal axes as columns, right-handed, in the world; "masses"
    (3,): effective mass along each [kg], largest first, None along an axis in which the joints allow no motion.
    Raises UnknownNameError for an unknown frame. Cost: that of `treesim.inverse_operational_inertia`. Source:
    Featherstone 2010, section 4, with the three rows of the origin's velocity.

    Examples
    --------
    >>> from treesim.viewing.live.effective_mass import effective_mass
    >>> effective = effective_mass(treesim.load("ur5"), np.full(6, 0.5), "ee_link")
    >>> np.round(effective["masses"], 1)
    array([14.7,  7.5,  3.7])
    """
    inverse = inverse_operational_inertia(robot, q, frame)[:3, :3]
    mobility, axes = np.linalg.eigh(inverse)
    axes[:, 2] *= np.sign(np.linalg.det(axes))
    least = UNMOVED * max(float(mobility[-1]), np.finfo(float).tiny)
    return {
        "frame": frame,
        "at": frame_pose(robot, q, frame)[:3, 3].tolist(),
        "axes": axes.tolist(),
        "masses": [float(1 / w) if w > least else None for w in mobility],
    }
