"""How Pinocchio gets a robot: from a URDF by its own reader, or built joint by joint from treesim's tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pinocchio as pin

from treesim import Placement
from treesim.errors import UnsupportedError
from treesim.model.pack import axis_rotation

from .model import PinocchioModel

if TYPE_CHECKING:
    from treesim import Tree

ROOT_JOINT = "root_joint"  # what both call the joint of a floating base that no URDF mentions
JOINTS = {
    "revolute": pin.JointModelRevoluteUnaligned,
    "continuous": lambda axis: pin.JointModelRUBZ(),
    "prismatic": pin.JointModelPrismaticUnaligned,
    "planar": lambda axis: pin.JointModelPlanar(),
    "spherical": lambda axis: pin.JointModelSpherical(),
    "floating": lambda axis: pin.JointModelFreeFlyer(),
}
TURNED = ("continuous", "planar")  # types whose axis is z in Pinocchio: their joint frames are turned to it


def from_urdf(robot: Tree, urdf: str) -> PinocchioModel:
    """Return what Pinocchio reads from a URDF text; raises UnsupportedError where it cannot read it."""
    if any(body.joint.type == "spherical" for body in robot.bodies):
        raise UnsupportedError("Pinocchio does not read spherical joints from URDF")
    base = (pin.JointModelFreeFlyer(),) if robot.joint_names[:1] == (ROOT_JOINT,) else ()
    try:
        model = pin.buildModelFromXML(urdf, *base)
    except Exception as error:  # Pinocchio raises bare RuntimeErrors and ValueErrors
        raise UnsupportedError(f"Pinocchio cannot read this URDF ({error})") from error
    return PinocchioModel(robot, model)


def from_tree(robot: Tree) -> PinocchioModel:
    """Return the model built joint by joint, in the tree's own numbering, with joints of any type anywhere."""
    model, turned = pin.Model(), {}
    turns = {0: np.eye(3)}
    for i, body in enumerate(robot.bodies, start=1):
        joint = body.joint
        turns[i] = axis_rotation(np.array(joint.axis)) if joint.type in TURNED else np.eye(3)
        turned[joint.name] = turns[i]
        on_parent = Placement(turns[body.parent].T) @ joint.placement @ Placement(turns[i])
        index = model.addJoint(body.parent, JOINTS[joint.type](np.array(joint.axis)), se3(on_parent), joint.name)
        inertia = body.inertia
        model.appendBodyToJoint(index, pin.Inertia(inertia.mass, inertia.com, inertia.rotational),
                                se3(Placement(turns[i].T)))  # fmt: skip
    for name, frame in robot.frames.items():
        placement = Placement(turns[frame.body].T) @ frame.placement
        kind = pin.BODY if name in robot.body_names else pin.OP_FRAME
        model.addFrame(pin.Frame(name, frame.body, 0, se3(placement), kind))
    model.armature = np.array(robot.armature)
    return PinocchioModel(robot, model, turned)


def se3(placement: Placement) -> Any:
    """Return Pinocchio's form of a placement."""
    return pin.SE3(np.array(placement.rotation), np.array(placement.translation))
