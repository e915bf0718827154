"""The inverse operational-space inertia as a function of configuration."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ... import plugins
from ...model.tree import Tree
from ...states.arguments import checked_frames, checked_robot
from ...types import OperationalMethod, Reference
from .frames import in_world_axes
from .mimic import inverse_inertia_by


def inverse_operational_inertia(
    robot: Tree,
    q: ArrayLike,
    frames: str | Sequence[str],
    *,
    method: OperationalMethod = "pv_osim",
    reference: Reference = "local_world_aligned",
) -> np.ndarray:
    """Return the inverse operational-space inertia Λ^-1 = J M^-1 J' of k frames.

    The matrix J contains the Jacobians of the frames, and M is the mass matrix. Λ^-1 is symmetric and positive
    semi-definite. For a frame that is fixed to the base, the rows and columns of Λ^-1 are zero.

    Parameters
    ----------
    robot, q
        As in `treesim.forward_dynamics`.
    frames : str or sequence of str
        Names of the frames.
    method : str
        Name of a method, see `available("operational")`.
    reference : str
        Axes: "local_world_aligned" or "local", as in `treesim.frame_jacobian`.

    Returns
    -------
    numpy.ndarray
        (..., 6k, 6k) matrices, with rows in the order of the frames' Jacobians.

    Raises
    ------
    UnknownNameError
        If a frame, the method or the reference is unknown.
    ArgumentError
        If an argument has another type or shape.
    NonFiniteError
        If q is not finite, or a result overflows.
    SingularInertiaError
        If a joint moves no inertia.

    Notes
    -----
    Sources: Featherstone 2010, section 6 ("ltl", "ltdl"), and appendix B with a corrected Figure 15 ("rjk"). Sathya,
    Decre, Swevers 2023 ("pv_osim", the fastest method for common robots: its cost is O(N + m^2 d) for N bodies, m rows
    and tree depth d).

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> treesim.inverse_operational_inertia(robot, np.full(6, 0.5), ["ee_link", "forearm_link"]).shape
    (12, 12)
    """
    if type(robot) is not Tree:
        robot = checked_robot(robot)
    names = (frames,) if isinstance(frames, str) else checked_frames(frames)
    found = plugins.get("operational", method)
    reference = "local_world_aligned" if in_world_axes(reference) else "local"  # plugins know one name of each
    if robot.mimic_map is not None:
        return inverse_inertia_by(found, robot, q, names, reference)
    return found.inverse_inertia(robot, q, names, reference)
