"""Warnings of what a robot has and a simulation leaves out."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TypeVar

import numpy as np

from .. import plugins
from ..errors import EffortWarning, FrictionWarning
from ..model.tree import Tree
from ..system.user_warnings import warn

Made = TypeVar("Made")


def unwarned(made: Callable[[], Made]) -> Made:
    """Return `made()` without its FrictionWarning: for copies, whose original has warned already."""
    with warnings.catch_warnings(action="ignore", category=FrictionWarning):
        return made()


def warn_of_friction(robot: Tree, integrator: str) -> None:
    """Warn of joints whose Coulomb friction an integrator leaves out."""
    if not robot.joint_friction.any() or plugins.get("integrators", integrator).joint_friction:
        return
    rough = [robot.dof_name(int(k)) for k in np.flatnonzero(robot.joint_friction)]
    names = ", ".join(rough[:3]) + (f", ... ({len(rough)} in all)" if len(rough) > 3 else "")
    warn(
        f"integrator {integrator!r} leaves out the Coulomb friction of joints {names}; "
        f"{plugins.DEFAULT_INTEGRATOR!r} simulates it",
        FrictionWarning,
    )


def warn_of_limits(robot: Tree) -> None:
    """Warn of a robot whose effort limits are all 0."""
    if robot.nv and not robot.effort_limit.any():
        warn(
            f"every effort limit of {robot.name!r} is 0, so no control drives it: give its joints higher ones, or none",
            EffortWarning,
        )
