"""Check that joints can support the weight of their subtrees."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from ..dynamics.inverse_dynamics import bias_forces
from ..errors import quoted
from ..model.tree import Tree
from ..urdf.findings import Findings
from .poses import poses_of

if TYPE_CHECKING:
    from lxml.etree import _Element


def check_weight(robot: Tree, joints: Mapping[str, _Element], findings: Findings) -> None:
    """Warn of joints whose effort limit is below the gravity load in the neutral pose.

    Joints that are too weak only in sampled poses get a note. The base is upright and fixed, without contact,
    so the load on a standing leg is not checked. Zero limits are reported by `check_limits`. joints: elements
    of the document, by name.
    """
    if robot.nv == 0:
        return
    poses = poses_of(robot)
    needed = np.abs(bias_forces(robot, poses, np.zeros((len(poses), robot.nv))))
    for name, where in robot.v_index.items():
        limit, asked = robot.effort_limit[where], needed[:, where]
        weak = (asked > limit) & (limit > 0)
        if name not in joints or not weak.any():
            continue
        shares = np.where(weak, asked / np.where(limit > 0, limit, 1.0), 0.0)
        pose, k = np.unravel_index(shares.argmax() if not weak[0].any() else shares[0].argmax(), shares.shape)
        unit = "N" if robot.joint(name).type == "prismatic" else "N m"
        needs = f"gravity requires {asked[pose, k]:.3g} {unit}, but the effort limit is {limit[k]:.3g} {unit}"
        limits = joints[name].find("limit")
        at = joints[name] if limits is None else limits
        if weak[0].any():
            findings.add("U606", f"joint {quoted(name)}: in the neutral pose {needs}", at)
        else:
            text = f"in {weak.any(axis=1).sum()} of {len(poses)} poses it is too weak; in the worst pose {needs}"
            findings.add("U607", f"joint {quoted(name)}: {text}", at)
