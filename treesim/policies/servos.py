"""Actuators of a policy: gains, limits and torques of a robot's joints."""

from __future__ import annotations

import math

import numpy as np

from ..errors import ArgumentError, quoted, unknown_name
from ..model.tree import Tree
from ..states.arguments import positive_number
from .contract import Contract, Servo


class Servos:
    """Gains, limits and fixed targets of a robot's joints under a contract.

    kp, kd: gains (nv,). targets: target positions (nv,) of joints without actions. posture: configuration (nq,) with
    the default positions, and these targets. actions, driven: places in v of joints with actions, and of joints with
    gains. positions: places in q of the latter. period: of explicit gains [s], None for implicit ones.
    """

    def __init__(self, contract: Contract, robot: Tree) -> None:
        self.kp, self.kd, self.targets = np.zeros(robot.nv), np.zeros(robot.nv), np.zeros(robot.nv)
        self._effort, self._top_speed = robot.effort_limit.copy(), np.full(robot.nv, np.inf)
        self.posture = robot.neutral()
        for name, value in zip(contract.joints, contract.default, strict=True):
            self.posture[robot.q_index[name]] = value
        self.period = contract.servos[0].period if contract.servos else None
        for name, servo in zip(contract.action.joints, contract.servos, strict=False):
            self._put(servo, name, contract, robot)
        self._fix_others(contract, robot)
        self.actions = addresses(robot, contract.action.joints, "v")
        self.has_gains = bool(contract.servos)
        names = [name for name, part in robot.v_index.items() if (self.kp + self.kd)[part].any()]
        self.driven, self.positions = (addresses(robot, tuple(names), axis) for axis in "vq")

    def _put(self, servo: Servo, name: str, contract: Contract, robot: Tree) -> None:
        """Set gains and limits of a joint with actions; raises ArgumentError for a limit that steps would not apply."""
        k = robot.v_index[name].start
        own = robot.effort_limit[k]
        limit = own if servo.effort_limit is None else servo.effort_limit
        if limit > own or (servo.period is None and limit < own):
            needed = "equal to" if servo.period is None else "at most"
            text = f"effort_limit of joint {quoted(name)} must be {needed} the robot's limit {own:g}, got {limit:g}"
            raise contract.source.fault(("actuators",), text)
        self.kp[k], self.kd[k], self._effort[k] = servo.kp, servo.kd, limit
        if servo.velocity_limit is not None:
            self._top_speed[k] = servo.velocity_limit

    def _fix_others(self, contract: Contract, robot: Tree) -> None:
        """Set gains and targets of the joints without actions."""
        hold, actions = contract.hold, contract.action.joints
        joints = [body.joint for body in robot.bodies if body.joint.mimic is None and body.joint.name not in actions]
        others = [joint.name for joint in joints if joint.nv and joint.type != "floating"]
        chosen = hold.matched(others)
        for name in others:
            if name not in chosen:
                raise hold.fault(None, f"has no entry for joint {quoted(name)} of the robot, which has no action")
            if robot.joint(name).nv > 1:
                raise hold.fault(chosen[name], f"matches joint {quoted(name)}, which has several degrees of freedom")
            if not contract.servos:
                raise hold.fault(None, "needs actions that are positions, and the actions are torques")
            table = hold.table(chosen[name]).known(("kp", "kd", "at"))
            k, place = robot.v_index[name].start, robot.q_index[name].start
            self.kp[k], self.kd[k] = table.number("kp", least=0), table.number("kd", least=0)
            self.targets[k] = self.posture[place] = table.number("at", self.posture[place])

    def torque(self, u: np.ndarray, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the torques (..., nv) of controls u (..., nv) at states q (..., nq), v (..., nv)."""
        if not self.has_gains:
            return np.clip(u, -self._effort, self._effort)
        tau = np.zeros(np.broadcast_shapes(u.shape, v.shape, (*q.shape[:-1], u.shape[-1])))
        limit, speed = self._effort[self.driven], v[..., self.driven]
        wanted = self.kp[self.driven] * (u[..., self.driven] - q[..., self.positions]) - self.kd[self.driven] * speed
        part = np.clip(speed / self._top_speed[self.driven], -2.0, 2.0)  # 0 without a torque-speed line
        limit = np.where(np.isfinite(limit), limit, np.finfo(float).max)  # infinity times 0 would be NaN
        tau[..., self.driven] = np.clip(wanted, -limit * np.minimum(1, 1 + part), limit * np.minimum(1, 1 - part))
        return tau


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
