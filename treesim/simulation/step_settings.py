"""Settings of a compiled step: gains, damping, friction, limits, and the implicitness theta."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..actuators.table import ActuatorTable
from ..dynamics.base import singular_inertia
from ..dynamics.springs import sprung
from ..dynamics.tables import constants_of, on_mimicked
from ..errors import ArgumentError, LightJointWarning, TreesimError, UnsupportedError, quoted
from ..kernels.algebra.limits import UNLIMITED
from ..kernels.dynamics.crba import mass_matrix_full_states
from ..kernels.stepping.rules import RULES, Rule
from ..kernels.stepping.step import COLUMNS, PIECE, Settings
from ..model.frozen import frozen
from ..model.tree import Tree
from ..plugins import DEFAULT_INTEGRATOR
from ..states.arguments import whole_number
from ..states.states import serving
from ..system.user_warnings import warn
from .control import checked_gain

MOST_SUBSTEPS = 1000
MOST_SHORTENED = 16  # largest factor by which automatic substeps are shorter than the integrator's
TURN = 0.8  # rad: largest rotation in a substep of a joint with all the energy that gravity can supply
REACH = 3.0  # rad or m: range of configurations in which inertia is searched; rounding hides it in larger ones
MANY = 300  # degrees of freedom: least inertias of more are not computed, at a cost of their number cubed


class StepSettings(NamedTuple):
    """Table of the kernel's constants (see `kernels.step.Settings`); read-only except in copies.

    Values of mimic joints are 0: theirs act on the mimicked joints. pieces: number of pieces of torque-speed curves
    behind the first, with columns of their own.
    """

    table: np.ndarray
    pieces: int = 0

    @classmethod
    def of(
        cls,
        robot: Tree,
        rule: Rule,
        h: float,
        kp: ArrayLike = 0.0,
        kd: ArrayLike = 0.0,
        driven: bool = True,
        actuators: ActuatorTable | None = None,
    ) -> StepSettings:
        """Return the settings for steps of h [s].

        driven: whether controls are position targets where there are gains; otherwise the gains are those of a
        controller that returns forces. actuators: those of the world. Tables of scalar gains are cached, so that a
        rollout of one step costs no more than its dynamics.
        """
        pieces = 0 if actuators is None else len(actuators.pieces)
        if driven and isinstance(kp, int | float) and isinstance(kd, int | float):
            try:
                return cls(_remembered(robot, rule, h, float(kp), float(kd), actuators), pieces)
            except TreesimError:
                raise
            except Exception:  # integers of Python are unbounded, and a subclass of float may raise anything
                pass
        return cls(cls._table(robot, rule, h, kp, kd, driven, actuators), pieces)

    @property
    def has_gains(self) -> bool:
        """Whether any joint has gains or a torque-speed line, or may have later."""
        columns = self._columns
        return bool(self.table.flags.writeable or columns.kp.any() or columns.kd.any() or columns.slope.any())

    @property
    def _columns(self) -> Settings:
        return Settings(self.table[0], *self.columns)

    @property
    def columns(self) -> np.ndarray:
        """Columns (COLUMNS, nv) of `Settings`, views of the table."""
        return self.table[1:].reshape(COLUMNS + PIECE * self.pieces, -1)[:COLUMNS]

    def lines(self, robot: Tree, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return stall and slope (..., nv) of the torque-speed lines at velocities (..., nv)."""
        rows = self.table[1:].reshape(-1, robot.spanning.nv)[:, robot.kept()[1]]
        stall, slope = rows[Settings._fields.index("stall") - 1], rows[Settings._fields.index("slope") - 1]
        for least, *line in rows[COLUMNS:].reshape(self.pieces, PIECE, robot.nv):
            stall, slope = (np.where(np.abs(v) > least, *both) for both in zip(line, (stall, slope), strict=True))
        return stall, slope

    def may_saturate(self, rule: Rule, own_gains: bool) -> bool:
        """Return whether steps of an integrator may have to limit a force at the acceleration that it causes.

        own_gains: whether gains or limits are those of each state.
        """
        own = self._columns
        gains = ((own.kp != 0) | (own.kd != 0)) & (own.effort_limit < UNLIMITED)
        return rule.implicit and (own_gains or bool((gains | (own.slope != 0)).any()))

    def put_gains(self, robot: Tree, kp: np.ndarray, kd: np.ndarray) -> None:
        """Overwrite the gains (nv,) without changing theta, for controllers that leave out saturated joints."""
        columns = self.columns
        columns[0], columns[1] = on_mimicked(robot, kp), on_mimicked(robot, kd)

    @staticmethod
    def _table(
        robot: Tree, rule: Rule, h: float, kp: ArrayLike, kd: ArrayLike, driven: bool, actuators: ActuatorTable | None
    ) -> np.ndarray:
        gains = (
            gains_of(robot, kp, kd)
            if driven
            else [np.broadcast_to(np.asarray(x, float), (robot.nv,)) for x in (kp, kd)]
        )
        followed = (((gains[0] != 0) | (gains[1] != 0)) & driven).astype(float)
        effort, more = np.minimum(robot.effort_limit, UNLIMITED), [np.zeros(robot.nv)] * 4
        implicit = laws = gains
        if actuators is not None:
            gains = actuators.with_gains(*gains)
            followed, implicit = np.maximum(followed, actuators.driven), actuators.implicit(*gains)
            laws = actuators.of_laws(*gains)
            more = [actuators.gain, actuators.explicit, actuators.stall, actuators.slope]
            _warn_of_explicit_gains(actuators, h)
        if actuators is None or not actuators.time_constant.any():
            theta = _theta(robot, rule, h, implicit)
        else:
            theta, share = _with_inductance(robot, rule, h, implicit, actuators)
            gains, laws, more = [gains[0], gains[1] * share], [laws[0], laws[1] * share], [more[0] * share, *more[1:]]
        columns = [*gains, robot.damping, effort, followed, theta, robot.stiffness, robot.rest, *more]
        limited = has_limited_gains(robot, rule, laws[0], laws[1], effort)
        columns.append(compliance(lightest(robot) if limited.any() else np.zeros(robot.nv), limited))
        assert len(columns) == COLUMNS
        if actuators is not None:
            columns += [*actuators.pieces.reshape(-1, robot.nv)]
        table = np.concatenate([[h], *(on_mimicked(robot, column) for column in columns)])
        return frozen(table)


@lru_cache(maxsize=64)
def _remembered(robot: Tree, rule: Rule, h: float, kp: float, kd: float, actuators: ActuatorTable | None) -> np.ndarray:
    return StepSettings._table(robot, rule, h, kp, kd, True, actuators)


def substeps_of(robot: Tree, rule: Rule, dt: float, substeps: int | None) -> int:
    """Return the number of equal substeps of a step of dt [s]: `substeps`, or as many as integrator and robot need.

    By default the fastest joint turns by at most 0.8 rad in a substep; a substep is at least 1/16 of the
    integrator's longest one. Raises ArgumentError for an invalid number, or a dt that needs too many. Warns
    with LightJointWarning, once for a robot and dt, if shorter substeps would be needed.
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
    if rule.longest_substep < math.inf and dt / count * fastest_rate(robot) > 1.01 * TURN:
        _warn_of_light_joint(robot, dt, count)
    return count


def longest_substep(robot: Tree, rule: Rule) -> float:
    """Return the longest substep [s] of an integrator for a robot; infinity for integrators without a limit.

    It is at least 1/16 of the integrator's own limit.
    """
    longest = rule.longest_substep
    if longest == math.inf:
        return longest
    own = TURN / max(fastest_rate(robot), TURN)
    return min(longest, max(own, longest / MOST_SHORTENED))


class Light(NamedTuple):
    """Degree of freedom with the least effective inertia.

    dof: its index. inertia: effective inertia [kg m^2, kg]. rate: bound on its speed [rad/s, m/s].
    """

    dof: int
    inertia: float
    rate: float


def fastest_rate(robot: Tree) -> float:
    """Return a bound on the speed [rad/s, m/s] of joints that start from rest: sqrt(2 E / (I + h d)).

    E: all energy that gravity and joint springs can supply to the robot. I: least effective inertia of a joint. d:
    its damping, which removes the energy of faster motion within the integrator's substep h. Joints of a floating
    base are left out.

    0 if the mass matrix is singular or has more than 300 rows. Cost: five mass matrices in the interpreter and
    their inverses, once for each robot.
    """
    found = _lightest_joint(robot)
    return 0.0 if found is None else found.rate


@lru_cache(maxsize=64)
def _lightest_joint(robot: Tree) -> Light | None:
    """Return the joint with the highest bound on its speed, see `fastest_rate`; None if there is no bound."""
    joints = [body.joint for body in robot.bodies if body.joint.mimic is None]
    driven = np.array([joint.type != "floating" for joint in joints for _ in range(joint.nv)], bool)
    if robot.nv > MANY or not driven.any():
        return None
    least = lightest(robot)
    if not least[driven].min() > 0:
        return None
    moved = np.where(driven, least + RULES[DEFAULT_INTEGRATOR].longest_substep * np.maximum(robot.damping, 0), np.inf)
    k = int(np.argmin(moved))
    return Light(k, float(least[k]), math.sqrt(2 * (_energy_of_gravity(robot) + _energy_of_springs(robot)) / moved[k]))


@lru_cache(maxsize=64)
def _warn_of_light_joint(robot: Tree, dt: float, count: int) -> None:
    """Warn once of the joint that needs more substeps than the `count` in a step of dt [s]."""
    found = _lightest_joint(robot)
    assert found is not None
    types = [body.joint.type for body in robot.bodies if body.joint.mimic is None for _ in range(body.joint.nv)]
    unit = "kg" if types[found.dof] == "prismatic" else "kg m^2"
    warn(
        f"joint {robot.dof_name(found.dof)!r} of {robot.name!r} moves an inertia of {found.inertia:.3g} {unit} only: "
        f"to follow it at its fastest, dt {dt:g} s would need {dt * found.rate / TURN:.3g} substeps, and has {count}. "
        f"Give the joint armature (or load the robot with repair='armature'), make it a fixed joint, or set substeps=",
        LightJointWarning,
    )


@lru_cache(maxsize=64)
def _warn_of_explicit_gains(actuators: ActuatorTable, h: float) -> None:
    """Warn once of servos that oscillate, since steps of h [s] or a period T sample their gains explicitly.

    A sampled servo on an inertia I is stable if kp T/2 < kd + damping and kd < 2 I/T, by Jury's criterion.
    """
    robot, found = actuators.robot, []
    for name, actuator in actuators.by_joint.items() if robot.nv <= MANY else ():
        law, k = actuator._law, robot.v_index[name].start
        if not law.explicit:
            continue
        period, inertia = actuator._period or h, lightest(robot)[k]
        least, most = law.kp * period / 2 - max(robot.damping[k], 0.0), 2 * inertia / period
        if not least <= law.kd <= most:
            wrong = f"at least {least:.3g}" if law.kd < least else f"at most {most:.3g}"
            found.append(
                f"joint {quoted(name)} of {quoted(robot.name)} has explicit gains kp = {law.kp:g}, kd = {law.kd:g}, "
                f"sampled every {period:g} s: on its least inertia of {inertia:.3g} they are stable for kd of {wrong}"
            )
    if found:
        more = f" (and {len(found) - 1} more joints)" if len(found) > 1 else ""
        warn(f"{found[0]}{more}. Change kd, sample more often, or take implicit gains", LightJointWarning)


def check_inertia(
    robot: Tree, rule: Rule, h: float, kp: np.ndarray, kd: np.ndarray, *, actuators: ActuatorTable | None = None
) -> None:
    """Raise SingularInertiaError, naming the joint, if a joint moves no inertia in any configuration.

    Armature counts as inertia. So do damping and gains (nv,), also of actuators, that an integrator treats implicitly
    in steps of h [s]. Singularities of single configurations, as of aligned axes, are found when a step meets them.
    """
    if actuators is not None:
        kp, kd = actuators.of_laws(*actuators.with_gains(kp, kd))
    stiffness = step_stiffness(h, robot.damping, kp, kd) if rule.implicit else 0.0
    diagonal = robot.armature + stiffness
    if (diagonal > 0).all() or _are_solid(robot):
        return
    for q in tried_configurations(robot)[1:]:  # singular in one general configuration means in all
        error = singular_inertia(robot, np.fmod(q, REACH), diagonal)
        if error is not None:
            raise error


@lru_cache(maxsize=64)
def _are_solid(robot: Tree) -> bool:
    """Return whether each body has mass, and inertia about every axis."""
    return all(body.inertia.mass > 0 and np.linalg.eigvalsh(body.inertia.rotational)[0] > 0 for body in robot.bodies)


def speed_hint(robot: Tree) -> str:
    """Return advice on joints of unbounded speed, to be appended to other advice; empty if there are none.

    These joints move links without inertia that have such links as children, as in ball joints made of three
    axes. The outer two axes can align.
    """
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
    """Return a bound on half the range of the potential energy [J]: all bodies at full reach below their roots."""
    reach, total = [0.0], 0.0
    for body in robot.bodies:
        step = np.linalg.norm(body.joint.placement.translation) if body.joint.type != "floating" else 0.0
        reach.append(reach[body.parent] + float(step))
        total += body.inertia.mass * (reach[-1] + float(np.linalg.norm(body.inertia.com)))
    return total * float(np.linalg.norm(robot.gravity))


def _energy_of_springs(robot: Tree) -> float:
    """Return the energy of joint springs [J] at the limits of their joints, at most 3 rad or m away from rest."""
    at, v = sprung(robot)
    far = np.maximum(robot.rest[v] - robot.lower[at], robot.upper[at] - robot.rest[v])
    return float((robot.stiffness[v] / 2 * np.minimum(far, REACH) ** 2).sum())


def _theta(robot: Tree, rule: Rule, h: float, gains: list[np.ndarray]) -> np.ndarray:
    """Return theta (nv,), the point within the step at which damping and gains act: 0.5 is the middle, 1 the end.

    It is the integrator's own unless they are stiff. Explicit integrators ignore theta.
    """
    stiffness = step_stiffness(h, robot.damping, *gains)
    if rule.theta < 1 and stiffness.any():
        return implicitness(stiffness, lightest(robot), rule)
    return np.full(robot.nv, rule.theta)


def _with_inductance(
    robot: Tree, rule: Rule, h: float, gains: list[np.ndarray], actuators: ActuatorTable
) -> tuple[np.ndarray, np.ndarray]:
    """Return theta (nv,) with windings whose currents are slower than a step, and by what inductance reduces laws."""
    theta = np.maximum(actuators.electrical_theta(h, rule.theta), rule.theta)
    theta = np.maximum(theta, _theta(robot, rule, h, [gains[0], gains[1] * actuators.admittance(h, theta)]))
    return theta, actuators.admittance(h, theta)


def step_stiffness(h: float, damping: np.ndarray, kp: np.ndarray, kd: np.ndarray) -> np.ndarray:
    """Return the inertia (..., nv) that damping and gains add in a step of h [s]: h (d + kd) + h^2 kp."""
    return h * (np.maximum(damping, 0) + kd) + h * h * kp


def implicitness(stiffness: np.ndarray, least: np.ndarray, rule: Rule) -> np.ndarray:
    """Return theta (..., nv) of an integrator for joints with the least effective inertia `least` (..., nv).

    See `kernels.stepping.step`.
    """
    with np.errstate(all="ignore"):
        theta: np.ndarray = np.clip(1 - least / stiffness, rule.theta, 1.0)
    theta[~np.isfinite(theta)] = rule.theta
    return theta


def has_limited_gains(robot: Tree, rule: Rule, kp: np.ndarray, kd: np.ndarray, effort: np.ndarray) -> np.ndarray:
    """Return whether joints (..., nv) have implicit gains (..., nv) and an effort limit (..., nv)."""
    possible = rule.implicit and robot.nv <= MANY
    limited: np.ndarray = ((kp != 0) | (kd != 0)) & (effort < UNLIMITED) & possible
    return limited


def compliance(least: np.ndarray, limited: np.ndarray) -> np.ndarray:
    """Return the inverse of the least effective inertias (..., nv) of joints with limited gains (..., nv), else 0."""
    least, limited = np.broadcast_arrays(least, limited)
    return np.divide(1.0, least, out=np.zeros(limited.shape), where=limited & (least > 0))


@lru_cache(maxsize=64)
def lightest(robot: Tree) -> np.ndarray:
    """Return the least effective inertia (nv,) of each degree of freedom over a few configurations: 1 / (M^-1)_kk.

    0 if M is singular.
    """
    entry, tables = serving(mass_matrix_full_states, robot, constants_of(robot))
    least, M = np.full(robot.nv, np.inf), np.zeros((robot.nv, robot.nv))
    for q in tried_configurations(robot):
        entry(*tables, q, M.reshape(-1))  # in the interpreter, without waiting for compilation
        try:
            least = np.minimum(least, 1 / np.diag(np.linalg.inv(M)))
        except np.linalg.LinAlgError:
            return np.zeros(robot.nv)
    return np.maximum(least, 0)


@lru_cache(maxsize=64)
def simple_joints(robot: Tree) -> np.ndarray:
    """Return 1 for the degrees of freedom (nv,) of joints with one degree of freedom, else 0; read-only."""
    sizes = np.array([body.joint.nv for body in robot.bodies if body.joint.mimic is None], int)
    return frozen(np.repeat(sizes == 1, sizes).astype(float))


def tried_configurations(robot: Tree) -> list[np.ndarray]:
    """Return the configurations (nq,) in which a robot's least effective inertias are searched."""
    rng = np.random.default_rng(0)
    return [robot.neutral(), *(robot.random(rng) for _ in range(4))]


def gains_of(robot: Tree, kp: ArrayLike, kd: ArrayLike, *, actuators: ActuatorTable | None = None) -> list[np.ndarray]:
    """Return kp and kd (nv,), with those of actuators; a scalar applies to joints with one degree of freedom only.

    Raises ArgumentError, also for a joint with gains and an actuator, and UnsupportedError for an array with gains for
    joints of several.
    """
    gains = [_gain(robot, label, value) for label, value in (("kp", kp), ("kd", kd))]
    return gains if actuators is None else actuators.with_gains(*gains)


def _gain(robot: Tree, label: str, value: ArrayLike) -> np.ndarray:
    gain = checked_gain(label, value, robot)
    simple = simple_joints(robot)
    if np.ndim(value) and (gain * (1 - simple)).any():
        name = robot.dof_name(int(np.flatnonzero(gain * (1 - simple))[0]))
        raise UnsupportedError(
            f"{label}: joint {quoted(name)} has several degrees of freedom: it takes forces, not targets"
        )
    return gain * simple
