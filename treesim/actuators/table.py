"""Actuators of a robot's joints: assignment by names and patterns, and the tables that steps read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from ..errors import ArgumentError, UnsupportedError, quoted, unknown_name
from ..kernels.algebra.limits import UNLIMITED
from ..model.frozen import frozen
from ..model.joints import Joint
from ..model.parts import changed_joints
from ..model.tree import Tree
from ..validation.values import checked_text, short_repr
from .actuators import checked_actuator
from .base import Actuator, Law, Line


@dataclass(frozen=True, eq=False)
class ActuatorTable:
    """Numbers (nv,) of the actuators of a robot, 0 for joints without one.

    by_joint: the actuators. driven: 1 for joints with an actuator. gain, kp, kd, explicit: see `Law`. stall, slope: see
    `Line`. time_constant: inductance by resistance of the winding [s]. pieces (P, 3, nv): least speed, stall and slope
    of further pieces of torque-speed curves.
    """

    robot: Tree
    by_joint: Mapping[str, Actuator]
    driven: np.ndarray
    gain: np.ndarray
    kp: np.ndarray
    kd: np.ndarray
    explicit: np.ndarray
    stall: np.ndarray
    slope: np.ndarray
    time_constant: np.ndarray
    pieces: np.ndarray

    def electrical_theta(self, h: float, least: float) -> np.ndarray:
        """Return the point (nv,) within a step of h [s] at which currents are evaluated, at least `least`."""
        return np.clip(1 - self.time_constant / h, least, 1.0) * (self.time_constant > 0)

    def admittance(self, h: float, theta: np.ndarray) -> np.ndarray:
        """Return R / (L/(theta h) + R), by which inductance reduces the law of a motor in a step of h [s]."""
        share: np.ndarray = 1 / (1 + self.time_constant / (theta * h))
        return share

    def with_gains(self, kp: np.ndarray, kd: np.ndarray) -> list[np.ndarray]:
        """Return gains kp and kd (nv,) with those of actuators; raises ArgumentError for a joint that has both."""
        both = np.flatnonzero((self.driven > 0) & ((kp != 0) | (kd != 0)))
        if both.size:
            raise ArgumentError(
                f"joint {quoted(self.robot.dof_name(int(both[0])))} has an actuator in its World, and gains kp or kd: "
                f"leave one of them out"
            )
        return [kp + self.kp, kd + self.kd]

    def of_laws(self, kp: np.ndarray, kd: np.ndarray) -> list[np.ndarray]:
        """Return the implicit ones of gains (..., nv), those of actuators included."""
        return [gain * (1 - self.explicit) for gain in (kp, kd)]

    def implicit(self, kp: np.ndarray, kd: np.ndarray, slope: np.ndarray | None = None) -> list[np.ndarray]:
        """Return the largest gains (..., nv) that steps may treat implicitly: of laws, or of torque-speed lines.

        slope (..., nv): of these lines, if not the table's.
        """
        kp, kd = self.of_laws(kp, kd)
        steepest = self.pieces[:, 2].max(axis=0, initial=0.0)
        return [kp, np.maximum(np.maximum(kd, steepest), self.slope if slope is None else slope)]


def with_actuators(
    robot: Tree, actuators: Mapping[str, Actuator]
) -> tuple[dict[str, Actuator], Tree, ActuatorTable | None]:
    """Return actuators by name or pattern, checked, the robot with what they change in it, and their table.

    The table is None without actuators. Raises ArgumentError and UnsupportedError, naming what is wrong.
    """
    try:
        given = dict(actuators)
    except Exception:  # whatever a user's class raises
        raise ArgumentError(
            f"actuators must be {{joint name or pattern: actuator}}, got {short_repr(actuators)}"
        ) from None
    given = {checked_text("a key of actuators", key): checked_actuator(key, value) for key, value in given.items()}
    by_joint = assigned(robot, given)
    if not by_joint:
        return given, robot, None
    whole = equipped(robot, by_joint)
    return given, whole, actuator_table(whole, by_joint)


def assigned(robot: Tree, actuators: Mapping[str, Actuator]) -> dict[str, Actuator]:
    """Return the actuator of each joint that has one, from a mapping of names and patterns.

    Names come first, then patterns in their order, as of `fnmatch`; patterns match joints with one degree of freedom
    that are no mimic joints. Raises ArgumentError and UnsupportedError, naming what is wrong.
    """
    joints = {body.joint.name: body.joint for body in robot.bodies}
    found = {name: actuator for name, actuator in actuators.items() if name in joints}
    for name in found:
        _refuse_unsupported(name, joints)
    for pattern, actuator in actuators.items():
        if pattern in joints:
            continue
        simple = [name for name, joint in joints.items() if joint.nv == 1 and joint.mimic is None]
        matched = [name for name in simple if fnmatchcase(name, pattern)]
        new = [name for name in matched if name not in found]
        if matched and not new:
            raise ArgumentError(
                f"actuators[{quoted(pattern)}]: joint {quoted(matched[0])} has two actuators, as all that the pattern "
                f"matches: remove one, or write the narrower pattern first"
            )
        if not matched:
            raise unknown_name("joint or pattern of actuators", pattern, simple, of=quoted(robot.name))
        found |= dict.fromkeys(new, actuator)
    return {name: found[name] for name in joints if name in found}


def _refuse_unsupported(name: str, joints: Mapping[str, Joint]) -> None:
    mimicked = joint = joints[name]
    while mimicked.mimic is not None:
        mimicked = joints[mimicked.mimic.joint]
    if mimicked is not joint:
        raise UnsupportedError(
            f"joint {quoted(name)} mimics joint {quoted(mimicked.name)}: give that joint the actuator"
        )
    if joint.nv != 1:
        raise UnsupportedError(f"joint {quoted(name)} is {joint.type}: actuators drive joints of one degree of freedom")


def equipped(robot: Tree, actuators: Mapping[str, Actuator]) -> Tree:
    """Return the robot with what actuators (by joint) change in it: armature, damping, friction and limits."""

    def changes(joint: Joint) -> dict[str, float]:
        actuator = actuators.get(joint.name)
        if actuator is None:
            return {}
        added = {"armature": actuator._armature, "damping": actuator.damping, "joint_friction": actuator.joint_friction}
        new = {name: float(np.ravel(getattr(joint, name))[0]) + value for name, value in added.items()}
        new["effort_limit"] = actuator._effort(float(np.ravel(joint.effort_limit)[0]))
        return new

    return robot._with(bodies=changed_joints(robot.bodies, changes))


def actuator_table(robot: Tree, actuators: Mapping[str, Actuator]) -> ActuatorTable:
    """Return the table of actuators (by joint) of an `equipped` robot."""
    numbers, lines = np.zeros((8, robot.nv)), dict[int, list[Line]]()
    for name, actuator in actuators.items():
        k, law = robot.v_index[name].start, Law(gain=1.0) if actuator._period else actuator._law
        lines[k] = actuator._lines(min(float(robot.effort_limit[k]), UNLIMITED))
        _, stall, slope = next(iter(lines[k]), Line())
        numbers[:, k] = 1, law.gain, law.kp, law.kd, law.explicit, stall, slope, actuator._time_constant
    pieces = np.zeros((max(0, max(map(len, lines.values())) - 1), 3, robot.nv))
    pieces[:, 0] = UNLIMITED  # those of joints with fewer begin at no speed
    for k, own in lines.items():
        pieces[: len(own[1:]), :, k] = np.reshape(own[1:], (-1, 3))
    return ActuatorTable(robot, dict(actuators), *(frozen(column) for column in (*numbers, pieces)))


def check_commanded(by: Any, table: ActuatorTable | None) -> None:
    """Raise ArgumentError if a controller or policy commands actuators of joints that have none in the world."""
    known = {} if table is None else table.by_joint
    for name in getattr(by, "commanded_actuators", ()):
        if name not in known:
            raise ArgumentError(
                f"the policy commands an actuator of joint {quoted(name)}, which has none in the world: take "
                "treesim.World(robot, actuators=policy.actuators)"
            )
