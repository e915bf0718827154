"""What a compiled step reads beside the robot: gains, damping, friction, limits, and where in the step they act."""

from __future__ import annotations

import math
import warnings
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..dynamics.base import singular_inertia
from ..dynamics.tables import constants_of, on_mimicked
from ..errors import ArgumentError, LightJointWarning, UnsupportedError
from ..kernels.algebra.limits import UNLIMITED
from ..kernels.dynamics.crba import mass_matrix_full_states
from ..kernels.stepping.step import COLUMNS
from ..model.tree import Body, Tree
from ..states.arguments import whole_number
from ..states.states import for_mimic_joints
from .control import checked_gain

LONGEST = {"implicit_midpoint": 5e-4}  # s: of a substep, by rule; see docs/simulation.md for what it holds
MOST_SUBSTEPS = 1000
MOST_SHORTENED = 16  # times: substeps are not chosen shorter than the rule's by more; what that costs is seen at once
TURN = 0.8  # rad, of a substep: what a joint may turn that has all the energy which gravity can give the robot
IMPLICIT = ("implicit_midpoint", "semi_implicit_euler")  # rules whose mass matrix has damping and gains
REACH = 3.0  # rad or m, in which inertia is looked for: rounding hides that of a joint that moves kilometres
MANY = 300  # degrees of freedom: the least inertias of more are not looked for, which takes their number's cube


class StepSettings(NamedTuple):
    """The kernel's table of constants (see `kernels.step.Settings`), read-only but in copies; those of joints that
    follow others are 0, as theirs act on their leaders."""

    table: np.ndarray

    @classmethod
    def of(
        cls,
        robot: Tree,
        rule: str,
        h: float,
        kp: ArrayLike = 0.0,
        kd: ArrayLike = 0.0,
        driven: bool = True,
    ) -> StepSettings:
        """Return the settings for steps of h [s]; driven: whether controls are targets where there are gains, else the
        gains are those of a controller that gives forces. Numbers for gains are remembered: a rollout of one step is
        then not longer than its dynamics."""
        if driven and isinstance(kp, int | float) and isinstance(kd, int | float):
            return cls(_remembered(robot, rule, h, float(kp), float(kd)))
        return cls(cls._table(robot, rule, h, kp, kd, driven))

    def copy(self) -> StepSettings:
        """Return settings whose gains `put_gains` may change."""
        return StepSettings(self.table.copy())

    def put_gains(self, robot: Tree, kp: np.ndarray, kd: np.ndarray) -> None:
        """Take other gains (nv,), of the same theta: those of joints that are saturated are left out for a while."""
        columns = self.table[1:].reshape(COLUMNS, robot.spanning.nv)
        columns[0], columns[1] = on_mimicked(robot, kp), on_mimicked(robot, kd)

    @staticmethod
    def _table(robot: Tree, rule: str, h: float, kp: ArrayLike, kd: ArrayLike, driven: bool = True) -> np.ndarray:
        gains = (
            gains_of(robot, kp, kd)
            if driven
            else [np.broadcast_to(np.asarray(x, float), (robot.nv,)) for x in (kp, kd)]
        )
        followed = ((gains[0] != 0) | (gains[1] != 0)) & driven
        effort = np.minimum(robot.effort_limit, UNLIMITED)
        theta = _theta(robot, rule, h, gains)
        columns = [*gains, robot.damping, effort, followed.astype(float), theta]
        table = np.concatenate([[h], *(on_mimicked(robot, column) for column in columns)])
        assert table.size == 1 + COLUMNS * robot.spanning.nv
        table.setflags(write=False)
        return table


@lru_cache(maxsize=64)
def _remembered(robot: Tree, rule: str, h: float, kp: float, kd: float) -> np.ndarray:
    return StepSettings._table(robot, rule, h, kp, kd)


def substeps_of(robot: Tree, rule: str, dt: float, substeps: int | None) -> int:
    """Return how many equal substeps a step of dt [s] has: as many as asked for, else as the rule needs, and the
    robot, whose fastest joint turns by 0.8 rad in one at most; they are 16 times shorter than the rule's at most.

    Raises ArgumentError for no whole number from 1 on, and for a dt that needs too many. Warns with
    LightJointWarning, once for a robot and dt, where shorter substeps would be needed.
    """
    if substeps is not None:
        return whole_number("substeps", substeps, 1, MOST_SUBSTEPS)
    longest = longest_substep(robot, rule)
    needed = dt / longest - 1e-9
    if not needed <= MOST_SUBSTEPS:
        raise ArgumentError(
            f"dt {dt:g} s would be {needed:.6g} substeps of {longest:g} s: robots take steps of about 1e-4 to 1e-2 s"
        )
    count = max(1, math.ceil(needed))
    if rule in LONGEST and dt / count * fastest_rate(robot) > 1.01 * TURN:
        _warn_of_light_joint(robot, dt, count)
    return count


def longest_substep(robot: Tree, rule: str) -> float:
    """Return the longest substep [s] that a rule should take with a robot, a sixteenth of the rule's at least; infinity
    for rules that know none."""
    if rule not in LONGEST:
        return math.inf
    own = TURN / max(fastest_rate(robot), TURN)
    return min(LONGEST[rule], max(own, LONGEST[rule] / MOST_SHORTENED))


class Light(NamedTuple):
    """The degree of freedom that moves the least: its number, the inertia [kg m^2, kg] that it moves, and how fast it
    can become [rad/s, m/s]."""

    dof: int
    inertia: float
    rate: float


def fastest_rate(robot: Tree) -> float:
    """Return a bound on how fast joints can become [rad/s, m/s] that start from rest: sqrt(2 E / (I + h d)) with all
    energy E that gravity can give the robot, the least inertia I that a joint moves, and its damping d, which takes all
    energy of faster motion within the rule's substep h; joints of a floating base are left out.

    0 where the mass matrix cannot be inverted, or has more than 300 rows. Cost: five mass matrices in the interpreter
    and their inverses, once for each robot.
    """
    found = _lightest_joint(robot)
    return 0.0 if found is None else found.rate


@lru_cache(maxsize=64)
def _lightest_joint(robot: Tree) -> Light | None:
    """The joint that can become fastest, by `fastest_rate`; None where there is no bound."""
    joints = [body.joint for body in robot.bodies if body.joint.mimic is None]
    driven = np.array([joint.type != "floating" for joint in joints for _ in range(joint.nv)], bool)
    if robot.nv > MANY or not driven.any():
        return None
    least = lightest(robot)
    if not least[driven].min() > 0:
        return None
    moved = np.where(driven, least + LONGEST["implicit_midpoint"] * np.maximum(robot.damping, 0), np.inf)
    k = int(np.argmin(moved))
    return Light(k, float(least[k]), math.sqrt(2 * _energy_of_gravity(robot) / moved[k]))


@lru_cache(maxsize=64)
def _warn_of_light_joint(robot: Tree, dt: float, count: int) -> None:
    """Warn once of the joint that needs shorter substeps than a step of dt [s] in `count` parts has."""
    found = _lightest_joint(robot)
    assert found is not None
    types = [body.joint.type for body in robot.bodies if body.joint.mimic is None for _ in range(body.joint.nv)]
    unit = "kg" if types[found.dof] == "prismatic" else "kg m^2"
    warnings.warn(
        f"joint {robot.dof_name(found.dof)!r} of {robot.name!r} moves an inertia of {found.inertia:.3g} {unit} only: "
        f"to follow it at its fastest, dt {dt:g} s would need {dt * found.rate / TURN:.3g} substeps, and has {count}. "
        f"Give the joint armature (or load the robot with repair='armature'), make it a fixed joint, or say substeps=",
        LightJointWarning,
        stacklevel=5,
    )


def check_inertia(robot: Tree, rule: str | None, h: float, kp: np.ndarray, kd: np.ndarray) -> None:
    """Raise SingularInertiaError, naming the joint, where one moves no inertia in any configuration, nor has armature,
    damping or gains (nv,) that a rule takes implicitly, in steps of h [s]; rule: None for one of Python's own.

    Singularities of single configurations, as of aligned axes, are found when a step meets them.
    """
    stiffness = step_stiffness(h, robot.damping, kp, kd) if rule in IMPLICIT else 0.0
    diagonal = robot.armature + stiffness
    if (diagonal > 0).all() or all(map(_is_solid, robot.bodies)):
        return
    for q in tried_configurations(robot)[1:]:  # singular in one of any kind is singular in all
        error = singular_inertia(robot, np.fmod(q, REACH), diagonal)
        if error is not None:
            raise error


def _is_solid(body: Body) -> bool:
    return bool(body.inertia.mass > 0 and np.linalg.eigvalsh(body.inertia.rotational)[0] > 0)


def speed_hint(robot: Tree) -> str:
    """Return what to do about joints whose speed nothing bounds, to be put behind what else is to be done; empty where
    there are none: those of links without inertia that carry such links, as in ball joints made of three axes, of which
    the outer two can align."""
    bare = [not (body.inertia.mass or body.inertia.rotational.any()) for body in robot.bodies]
    carriers = {body.parent for body, own in zip(robot.bodies, bare, strict=True) if own}
    found = [
        body.joint.name
        for i, body in enumerate(robot.bodies, start=1)
        if bare[i - 1] and i in carriers and not np.any(body.joint.armature)
    ]
    if not found:
        return ""
    more = f" and {len(found) - 1} more" if len(found) > 1 else ""
    return (
        f"; nothing bounds the speed of joint {found[0]!r}{more}, between links without inertia, where axes align: "
        f"give these links inertia, or their joints armature"
    )


def _energy_of_gravity(robot: Tree) -> float:
    """A bound on half the span of the potential energy [J]: every body as far below its root as its joints allow."""
    reach, total = [0.0], 0.0
    for body in robot.bodies:
        step = np.linalg.norm(body.joint.placement.translation) if body.joint.type != "floating" else 0.0
        reach.append(reach[body.parent] + float(step))
        total += body.inertia.mass * (reach[-1] + float(np.linalg.norm(body.inertia.com)))
    return total * float(np.linalg.norm(robot.gravity))


def _theta(robot: Tree, rule: str, h: float, gains: list[np.ndarray]) -> np.ndarray:
    """Where in the step damping and gains act, as a part of it: at its end by the semi-implicit rule, and where they
    are stiff; else in the middle, which is exact to second order. Explicit rules do not ask."""
    end, middle = np.ones(robot.nv), np.full(robot.nv, 0.5)
    if rule != "implicit_midpoint":
        return end
    stiffness = step_stiffness(h, robot.damping, *gains)
    return implicitness(stiffness, lightest(robot)) if stiffness.any() else middle


def step_stiffness(h: float, damping: np.ndarray, kp: np.ndarray, kd: np.ndarray) -> np.ndarray:
    """Return the inertia (..., nv) that damping and gains are worth in a step of h [s], h (d + kd) + h^2 kp."""
    stiffness: np.ndarray = h * (np.maximum(damping, 0) + kd) + h * h * kp
    return stiffness


def implicitness(stiffness: np.ndarray, least: np.ndarray) -> np.ndarray:
    """Return theta (..., nv) of `implicit_midpoint` for joints that move this inertia at least, see
    `kernels.stepping.step`."""
    with np.errstate(all="ignore"):
        theta: np.ndarray = np.clip(1 - least / stiffness, 0.5, 1.0)
    theta[~np.isfinite(theta)] = 0.5
    return theta


@lru_cache(maxsize=64)
def lightest(robot: Tree) -> np.ndarray:
    """Return the least inertia (nv,) that each degree of freedom moves when the others are free, over a few
    configurations: 1 / (M^-1)_kk; 0 where M cannot be inverted."""
    entry = mass_matrix_full_states
    tables: tuple[np.ndarray, ...] = constants_of(robot)
    if robot.mimic_map is not None:
        entry, tables = for_mimic_joints(entry, robot, tables)
    least, M = np.full(robot.nv, np.inf), np.zeros((robot.nv, robot.nv))
    for q in tried_configurations(robot):
        entry(*tables, q, M.reshape(-1))  # in the interpreter: no wait for compiled code
        try:
            least = np.minimum(least, 1 / np.diag(np.linalg.inv(M)))
        except np.linalg.LinAlgError:
            return np.zeros(robot.nv)
    return np.maximum(least, 0)


def simple_joints(robot: Tree) -> np.ndarray:
    """Return 1 for degrees of freedom (nv,) of joints that have no other, else 0."""
    joints = [body.joint for body in robot.bodies if body.joint.mimic is None]
    return np.concatenate([np.full(joint.nv, joint.nv == 1) for joint in joints] or [np.empty(0)])


def tried_configurations(robot: Tree) -> list[np.ndarray]:
    """Return the few configurations (nq,) in which a robot's least inertias are looked for."""
    rng = np.random.default_rng(0)
    return [robot.neutral(), *(robot.random(rng) for _ in range(4))]


def gains_of(robot: Tree, kp: ArrayLike, kd: ArrayLike) -> list[np.ndarray]:
    """Return gains (nv,) each; of numbers those of joints with one degree of freedom. Raises ArgumentError, and
    UnsupportedError for those given to joints of several."""
    return [_gain(robot, label, value) for label, value in (("kp", kp), ("kd", kd))]


def _gain(robot: Tree, label: str, value: ArrayLike) -> np.ndarray:
    gain = checked_gain(label, value, robot.nv)
    simple = simple_joints(robot)
    if np.ndim(value) and (gain * (1 - simple)).any():
        name = robot.dof_name(int(np.flatnonzero(gain * (1 - simple))[0]))
        raise UnsupportedError(f"{label}: joint {name!r} has several degrees of freedom: it takes forces, not targets")
    return gain * simple
