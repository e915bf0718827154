"""Checks of implausible joint limits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from ..errors import quoted
from ..model.joints import Joint
from ..model.tree import Tree
from ..urdf.findings import Findings
from ..urdf.versions import LATER_LIMITS

if TYPE_CHECKING:
    from lxml.etree import _Element


def check_limits(robot: Tree, joints: Mapping[str, _Element], findings: Findings) -> None:
    """Report position limits with a single position or without the neutral one, and zero limits of effort or speed.

    joints: elements of the document, by name.
    """
    for body in robot.bodies:
        joint = body.joint
        limit = joints[joint.name].find("limit") if joint.name in joints else None
        if limit is not None:
            _check_positions(joint, limit, findings)
            _check_zero(joint, limit, findings)


def _check_positions(joint: Joint, limit: _Element, findings: Findings) -> None:
    if joint.nq > 1:
        return
    lower, upper = float(np.ravel(joint.lower)[0]), float(np.ravel(joint.upper)[0])
    owner, unit = f"joint {quoted(joint.name)}", "m" if joint.type == "prismatic" else "rad"
    if lower == upper:
        findings.add("U611", f"{owner}: lower and upper limit are both {lower:g} {unit}", limit)
    elif not lower <= 0 <= upper:
        text = f"{owner}: 0 {unit} is not within {lower:g} ... {upper:g} {unit}"
        findings.add("U609", text, limit)


def _check_zero(joint: Joint, limit: _Element, findings: Findings) -> None:
    names = ("effort", "velocity", *LATER_LIMITS)
    zero = [name for name in names if not np.any(getattr(joint, f"{name}_limit"))]
    if zero:
        text = f"joint {quoted(joint.name)}: {' and '.join(zero)} limit{'s' * (len(zero) > 1)} of 0"
        findings.add("U610", text, limit)
