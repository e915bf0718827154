"""Actuators of a policy: those of its joints with actions, and of joints that stay at fixed positions."""

from __future__ import annotations

import math

import numpy as np

from ..actuators.actuators import PositionServo
from ..actuators.base import Actuator
from ..errors import ArgumentError, quoted, unknown_name
from ..model.tree import Tree
from ..states.arguments import positive_number
from .contract import Contract, actuator_of


class PolicyActuators:
    """Actuators of a robot's joints under a contract, and the controls of those without actions.

    by_joint: actuators by name of the joint. targets (nv,): controls of joints without actions. posture (nq,): neutral
    configuration with the default positions, and these targets.
    """

    def __init__(self, contract: Contract, robot: Tree) -> None:
        self.targets, self.posture = np.zeros(robot.nv), robot.neutral()
        for name, value in zip(contract.joints, contract.default, strict=True):
            self.posture[robot.q_index[name]] = value
        actions = contract.action.joints
        self.by_joint: dict[str, Actuator] = dict(zip(actions, contract.actuators, strict=False))
        hold = contract.hold
        joints = [body.joint for body in robot.bodies if body.joint.mimic is None and body.joint.name not in actions]
        others = [joint.name for joint in joints if joint.nv and joint.type != "floating"]
        chosen = hold.matched(others)
        for name in others:
            if name not in chosen:
                raise hold.fault(None, f"has no entry for joint {quoted(name)} of the robot, which has no action")
            if robot.joint(name).nv > 1:
                raise hold.fault(chosen[name], f"matches joint {quoted(name)}, which has several degrees of freedom")
            table = hold.table(chosen[name])
            self.by_joint[name] = actuator_of(table, PositionServo, "at")
            place = robot.q_index[name].start
            self.targets[robot.v_index[name]] = self.posture[place] = table.number("at", self.posture[place])


def addresses(robot: Tree, names: tuple[str, ...], axis: str) -> np.ndarray:
    """Return the places of joints with one degree of freedom along the axis "q" or "v"."""
    index = robot.q_index if axis == "q" else robot.v_index
    return np.array([index[name].start for name in names], int)


def check_joints(contract: Contract, robot: Tree) -> None:
    """Raise ArgumentError for a joint that the robot lacks, or that has no motion of its own of one coordinate."""
    known = [name for name in robot.joint_names if robot.joint(name).type != "floating"]
    for k, name in enumerate(contract.joints):
        fault, path = contract.source.fault, ("joints", "order", k)
        if name not in known:
            raise fault(path, f"is wrong: {unknown_name('joint', name, known, of=quoted(robot.name)).args[0]}")
        joint = robot.joint(name)
        if joint.mimic is not None:
            raise fault(path, f"is {quoted(name)}, a mimic joint: leave it out")
        if joint.nv != 1:
            raise fault(path, f"is {quoted(name)}, which has {joint.nv} degrees of freedom, not one")


def multiple(period: float, dt: float, what: str) -> int:
    """Return period / dt; raises ArgumentError if it is no whole number."""
    ratio = period / positive_number("dt", dt)
    if not math.isclose(ratio, round(ratio), rel_tol=1e-9) or not round(ratio):
        near = period / max(1, round(ratio))
        raise ArgumentError(f"{what}, is no whole multiple of dt = {dt:g} s: take dt = {near:.6g}, for example")
    return round(ratio)
