"""Models in Pinocchio: read from a URDF by its own reader, or built joint by joint from treesim's tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pinocchio as pin

from treesim import Placement
from treesim.errors import UnsupportedError, listed, quoted
from treesim.model.pack import axis_rotation

from .layout import PinocchioLayout
from .model import MimicModel, PinocchioModel

if TYPE_CHECKING:
    from collections.abc import Mapping

    from treesim import Joint, Tree
    from treesim.model.mimic import MimicMap

ROOT_JOINT = "root_joint"  # name in both of the floating base's joint, which is not in the URDF
JOINTS = {
    "revolute": pin.JointModelRevoluteUnaligned,
    "continuous": lambda axis: pin.JointModelRUBZ(),
    "prismatic": pin.JointModelPrismaticUnaligned,
    "planar": lambda axis: pin.JointModelPlanar(),
    "spherical": lambda axis: pin.JointModelSpherical(),
    "floating": lambda axis: pin.JointModelFreeFlyer(),
}
TURNED = ("continuous", "planar")  # types whose axis is z in Pinocchio: their joint frames are rotated to it


def from_urdf(robot: Tree, urdf: str) -> PinocchioModel:
    """Return Pinocchio's model of a URDF text; raises UnsupportedError if it cannot read it."""
    if any(body.joint.type == "spherical" for body in robot.bodies):
        raise UnsupportedError("Pinocchio does not read spherical joints from URDF")
    base = (pin.JointModelFreeFlyer(),) if robot.joint_names[:1] == (ROOT_JOINT,) else ()
    try:
        model = pin.buildModelFromXML(urdf, *base)
    except Exception as error:  # Pinocchio raises bare RuntimeErrors and ValueErrors
        raise UnsupportedError(f"Pinocchio cannot read this URDF ({error})") from error
    return PinocchioModel(robot, model)


def from_tree(robot: Tree) -> PinocchioModel:
    """Return the model built joint by joint, with joints of any type anywhere.

    Bodies have the tree's own numbering, but mimicked joints come before their mimic joints. Raises
    UnsupportedError if a mimic joint is an ancestor of its mimicked joint: Pinocchio's mimic joints cannot
    mimic later ones.
    """
    model, turned = pin.Model(), {}
    turns, numbers = {0: np.eye(3)}, {0: 0}
    for i in mimicked_first(robot):
        body = robot.bodies[i - 1]
        joint, kind = body.joint, joint_type(robot, body.joint)
        turns[i] = axis_rotation(np.array(joint.axis)) if kind in TURNED else np.eye(3)
        turned[joint.name] = turns[i]
        on_parent = Placement(turns[body.parent].T) @ joint.placement @ Placement(turns[i])
        moves = JOINTS[kind](np.array(joint.axis))
        numbers[i] = index = model.addJoint(numbers[body.parent], moves, se3(on_parent), joint.name)
        model.addJointFrame(index, -1)  # at once: Pinocchio reduces only models whose joint frames are in this order
        inertia = body.inertia
        model.appendBodyToJoint(index, pin.Inertia(inertia.mass, inertia.com, inertia.rotational),
                                se3(Placement(turns[i].T)))  # fmt: skip
    if robot.mimic_map is not None:
        model = _with_mimic_joints(model, robot.mimic_map)
    _add_frames(robot, model, numbers, turns)
    model.armature = np.array(robot.armature)[PinocchioLayout(robot, model).v_order]
    return (PinocchioModel if robot.mimic_map is None else MimicModel)(robot, model, turned)


def _add_frames(robot: Tree, model: Any, numbers: Mapping[int, int], turns: Mapping[int, np.ndarray]) -> None:
    """Add the robot's frames to a model, each on the frame of its joint, of its body or of the link that it is on.

    numbers: the bodies' joints in the model. turns: rotations of the joints' frames.
    """
    on = {weld.link: weld.parent for weld in robot.welds}
    added = {"": 0}
    for name in [*robot.body_names, *on, *(name for name in robot.frame_names if name not in on)]:
        if name in added:
            continue
        frame = robot.frames[name]
        kind, link = pin.OP_FRAME, on.get(name, robot.body_names[frame.body - 1] if frame.body else "")
        parent = added.get(link, 0)
        if name in robot.links:
            kind, parent = pin.BODY, model.getFrameId(robot.joint_names[frame.body - 1], pin.JOINT)
        placement = se3(Placement(turns[frame.body].T) @ frame.placement)
        added[name] = model.addFrame(pin.Frame(name, numbers[frame.body], parent, placement, kind))


def joint_type(robot: Tree, joint: Joint) -> str:
    """Return the type of a joint in Pinocchio.

    A continuous mimic joint or mimicked joint becomes revolute, since cosine and sine do not represent whole
    turns.
    """
    mimic_map = robot.mimic_map is not None and joint.name in (*robot.mimic_map.names, *robot.mimic_map.mimicked_joints)
    return "revolute" if mimic_map and joint.type == "continuous" else joint.type


def mimicked_first(robot: Tree) -> list[int]:
    """Return the bodies' numbers, parents before children and mimicked joints before mimic joints, else in order."""
    leads = (
        {}
        if robot.mimic_map is None
        else dict(zip(robot.mimic_map.names, robot.mimic_map.mimicked_joints, strict=True))
    )
    numbers = {body.joint.name: i for i, body in enumerate(robot.bodies, start=1)}
    placed, waiting = {0: None}, list(range(1, robot.n_bodies + 1))
    while waiting:
        for i in waiting:
            body = robot.bodies[i - 1]
            mimicked = leads.get(body.joint.name)
            if body.parent in placed and (mimicked is None or numbers[mimicked] in placed):
                break
        else:
            names = [robot.joint_names[i - 1] for i in waiting if robot.joint_names[i - 1] in leads]
            raise UnsupportedError(
                f"{quoted(robot.name)}: Pinocchio has no joint that follows one which hangs on it, as {listed(names)}"
            )
        placed[i] = None
        waiting.remove(i)
    return list(placed)[1:]


def _with_mimic_joints(model: Any, mimic_map: MimicMap) -> Any:
    """Return the model with mimic joints in place of independent ones."""
    for mimic_joint, (mimicked, multiplier, offset) in mimic_map.lines().items():
        places = model.getJointId(mimicked), model.getJointId(mimic_joint)
        model = pin.transformJointIntoMimic(model, *places, multiplier, offset)
    return model


def se3(placement: Placement) -> Any:
    """Return a placement as pinocchio.SE3."""
    return pin.SE3(np.array(placement.rotation), np.array(placement.translation))
