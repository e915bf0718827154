"""The operational space as plain functions of configuration."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ... import plugins
from ...model.tree import Tree
from ...states.arguments import checked_frames, checked_robot
from ...types import Reference
from .mimic import inverse_inertia_by


def inverse_operational_inertia(
    robot: Tree, q: ArrayLike, frames: str | Sequence[str], *, method: str = "pv_osim", reference: Reference = "world"
) -> np.ndarray:
    """Return Λ^-1 = J M^-1 J' (..., 6k, 6k) of k frames, with rows ordered as the frames' Jacobians.

    q (..., nq): configuration. frames: names of frames. method: a name of `available("operational")`.
    reference: "world" or "local" as in `frame_jacobian`. Symmetric, positive semi-definite; a frame fixed to the base
    has zero rows. Raises UnknownNameError (frame, method, reference), ArgumentError, NonFiniteError,
    SingularInertiaError.
    Sources: Featherstone 2010, section 6 (ltl, ltdl), and appendix B with Figure 15 corrected (rjk);
    Sathya, Decre, Swevers 2023 (pv_osim, O(N + m^2 d), the fastest on robots).

    Example:
        >>> robot = treesim.load("ur5")
        >>> treesim.inverse_operational_inertia(robot, np.full(6, 0.5), ["ee_link", "forearm_link"]).shape
        (12, 12)
    """
    if type(robot) is not Tree:
        robot = checked_robot(robot)
    names = (frames,) if isinstance(frames, str) else checked_frames(frames)
    found = plugins.get("operational", method)
    if robot.mimic_map is not None:
        return inverse_inertia_by(found, robot, q, names, reference)
    return found.inverse_inertia(robot, q, names, reference)
