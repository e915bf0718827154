"""Properties of links for the user of a viewer."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..model.joints import MOTION_LIMITS, POSITIONS, Joint
from ..model.tree import Tree

UNITS = {"revolute": ("rad", "N m"), "continuous": ("rad", "N m"), "prismatic": ("m", "N")}  # of q and of forces


def link_facts(robot: Tree) -> list[dict[str, Any]]:
    """Return the properties of every body of a robot, the base first, as JSON values.

    Of each: name; mass [kg]; links fixed to it; line of its link in the robot's file, or None; findings of the
    reader on these links. Of moving bodies also the number of the parent, and the joint, see `joint_facts`.

    Examples
    --------
    >>> from treesim.viewing.links import link_facts
    >>> facts = link_facts(treesim.load("ur5"))[3]
    >>> facts["name"], facts["joint"]["name"], facts["joint"]["upper"]
    ('forearm_link', 'elbow_joint', 3.14159265359)
    """
    base: dict[str, Any] = {"name": "base", "mass": 0.0, "line": None}
    bodies: list[dict[str, Any]] = [
        {"name": body.name, "mass": body.inertia.mass, "parent": body.parent, "line": body.line}
        | {"joint": joint_facts(robot, body.joint)}
        for body in robot.bodies
    ]
    facts: list[dict[str, Any]] = [{**body, "links": [], "findings": []} for body in (base, *bodies)]
    for frame in robot.frames.values():
        if frame.name not in (body["name"] for body in facts[1:]):
            facts[frame.body]["links"].append(frame.name)
    for note in robot.notes:
        frame_of_link = robot.frames.get(getattr(note, "link", ""))
        if frame_of_link is not None:
            facts[frame_of_link.body]["findings"].append(getattr(note, "line_and_remark", str(note)))
    return facts


def joint_facts(robot: Tree, joint: Joint) -> dict[str, Any]:
    """Return the properties of a joint as JSON values.

    name, type; axis (3,) in the axes of the moved body, or None; follows: the mimicked joint, or None. Of other
    than mimic joints: q and v, first index and end of its coordinates and velocities. Of those with one
    coordinate: unit, unit of its force, and the limits lower, upper, effort, velocity, acceleration, deceleration,
    jerk, None if infinite.
    """
    facts: dict[str, Any] = {"name": joint.name, "type": joint.type}
    facts["axis"] = np.asarray(joint.axis, float).tolist() if joint.kind.has_axis else None
    facts["follows"] = joint.mimic.joint if joint.mimic is not None else None
    if joint.mimic is not None:
        return facts
    q, v = robot.q_index[joint.name], robot.v_index[joint.name]
    facts |= {"q": [q.start, q.stop], "v": [v.start, v.stop]}
    if joint.type in UNITS:
        facts["unit"], facts["forceUnit"] = UNITS[joint.type]
        for label in ("lower", "upper", "effort_limit", "velocity_limit", *MOTION_LIMITS):
            limit = float(getattr(robot, label)[q if label in POSITIONS else v][0])
            facts[label.removesuffix("_limit")] = limit if math.isfinite(limit) else None
    return facts
