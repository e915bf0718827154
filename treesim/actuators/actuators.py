"""Actuators of joints as records of their data: motors, and servos of position and velocity."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np

from ..errors import ArgumentError, quoted
from ..system.display import ReprMixin
from ..validation.values import checked_flag, finite_or_nan, one_of, parts_or_none, positive_number, short_repr

LARGEST = 1e12  # of parameters, so that products do not overflow
GAINS = ("implicit", "explicit")
MOST_POINTS = 8  # of a torque-speed curve
BEFORE = ("zero", "first", "start")  # commands that act until the first one arrives
OPTIONAL = (  # None: see the classes
    "effort_limit", "velocity_limit", "voltage_limit", "current_limit", "rate_limit", "period",
)  # fmt: skip


class Law(NamedTuple):
    """Force of a joint, gain u + kp (u - q) - kd v of a control u; explicit: constant during a substep."""

    gain: float = 0.0
    kp: float = 0.0
    kd: float = 0.0
    explicit: bool = False


class Late(NamedTuple):
    """How commands reach an actuator: the control is delayed, then its rate is limited, then it is filtered.

    least, most: delay [s]; each rollout has a constant one between these. interpolate: whether delayed controls are
    linear between steps. rate: largest rate [unit of the control/s], infinity without a limit. lag: time constant [s].
    before: a number of BEFORE.
    """

    least: float = 0.0
    most: float = 0.0
    interpolate: bool = False
    rate: float = math.inf
    lag: float = 0.0
    before: int = 0


class Line(NamedTuple):
    """Torque-speed line: abs(force) is at most stall - slope abs(v) where the force drives, in SI units."""

    stall: float = 0.0
    slope: float = 0.0


@dataclass(frozen=True, kw_only=True, repr=False)
class Actuator(ReprMixin):
    """Parameters of all actuators, at the joint, and the inertia of their rotor. `Motor` explains them."""

    effort_limit: float | None = None
    rotor_inertia: float = 0.0
    damping: float = 0.0
    joint_friction: float = 0.0
    delay: float | tuple[float, float] = 0.0
    interpolate: bool = False
    before: Literal["zero", "first", "start"] | None = None
    lag: float = 0.0
    rate_limit: float | None = None

    def __post_init__(self) -> None:
        for name in ("effort_limit", "rotor_inertia", "damping", "joint_friction", "lag"):
            self._check(name, zero=True)
        self._check("rate_limit")
        checked_flag("interpolate", self.interpolate)
        object.__setattr__(self, "delay", self._checked_delay())
        if self.before is not None:
            self._check_before()
        if self.interpolate and not self._late.most:
            raise ArgumentError(f"interpolate of {self._label} is for delayed controls: give delay= in seconds")

    def _checked_delay(self) -> float | tuple[float, float]:
        bounds = parts_or_none(self.delay)
        given = [self.delay] if bounds is None else bounds
        times = [finite_or_nan(part) for part in given]
        ordered = bounds is None or (len(times) == 2 and times[0] <= times[1])
        if not ordered or not all(0 <= time <= LARGEST for time in times):
            raise ArgumentError(
                f"delay of {self._label} must be a time in seconds, not negative, or a pair (least, most) of them, got "
                f"{short_repr(self.delay)}"
            )
        return times[0] if bounds is None else (times[0], times[1])

    def _check_before(self) -> None:
        one_of("before", self.before, BEFORE)
        late = self._late
        if not (late.most or late.lag or late.rate < math.inf):
            raise ArgumentError(f"before of {self._label} needs delay, lag or rate_limit: without, the control acts")
        if self.before == "start" and not isinstance(self, PositionServo):
            raise ArgumentError(f'before="start" of {self._label} would be a position: only PositionServo takes it')

    @property
    def _late(self) -> Late:
        """How commands reach the actuator."""
        least, most = self.delay if isinstance(self.delay, tuple) else (self.delay, self.delay)
        rate = math.inf if self.rate_limit is None else self.rate_limit
        default = "start" if isinstance(self, PositionServo) else "zero"
        before = BEFORE.index(self.before or default)
        return Late(least, most, self.interpolate, rate, self.lag, before)

    @property
    def _label(self) -> str:
        return type(self).__name__

    @property
    def _law(self) -> Law:
        """Law of the force at the joint."""
        raise NotImplementedError

    @property
    def _period(self) -> float | None:
        """Period [s] of a digital controller that evaluates the law; None if integrators do."""
        return getattr(self, "period", None)

    @property
    def _time_constant(self) -> float:
        """Inductance by resistance of the winding [s]."""
        return 0.0

    @property
    def _armature(self) -> float:
        """Inertia of the rotor at the joint [kg m^2, kg]; servos have no gear."""
        turns: float = getattr(self, "gear", 1.0)
        return turns**2 * self.rotor_inertia

    def _effort(self, of_joint: float) -> float:
        """Return the effort limit [N m, N], for a joint with its own."""
        return of_joint if self.effort_limit is None else self.effort_limit

    def _line(self, effort: float) -> Line:
        """Return the torque-speed line of an actuator with this effort limit; zeros without one."""
        return Line()

    @property
    def _further_lines(self) -> list[tuple[float, Line]]:
        """Pieces of a torque-speed curve behind the first, which is `_line`, each with its least speed."""
        return []

    def _check(self, name: str, *, zero: bool = False) -> None:
        """Replace a field by a checked float, unless it is optional and None; zero: whether it may be zero."""
        value = getattr(self, name)
        if value is not None or name not in OPTIONAL:
            checked = positive_number(f"{name} of {self._label}", value, "number", zero=zero, most=LARGEST)
            object.__setattr__(self, name, checked)

    def __repr__(self) -> str:
        given = [f"{name}={value!r}" for name, value in self._repr_fields()]
        return f"<{self._label}{': ' * bool(given)}{', '.join(given)}>"

    def _repr_fields(self) -> list[tuple[str, Any]]:
        """Return the arguments that are not the default."""
        ordered = sorted(fields(self), key=lambda field: bool(field.kw_only))
        given = [(field, getattr(self, field.name)) for field in ordered]
        return [(field.name, value) for field, value in given if value != field.default]


@dataclass(frozen=True, kw_only=True, repr=False)
class _WithLine(Actuator):
    """Parameters of actuators whose torque-speed line is given."""

    velocity_limit: float | None = None
    curve: Sequence[Sequence[float]] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check("velocity_limit")
        if self.curve is not None:
            if self.velocity_limit is not None:
                raise ArgumentError(f"{self._label}: curve replaces the line to velocity_limit: leave one out")
            object.__setattr__(self, "curve", self._checked_curve())

    def _checked_curve(self) -> tuple[tuple[float, ...], ...]:
        points = [parts_or_none(point) for point in parts_or_none(self.curve) or ()]
        numbers = [tuple(map(finite_or_nan, point)) for point in points if point is not None and len(point) == 2]
        if len(numbers) == len(points) and 2 <= len(points) <= MOST_POINTS:
            falls = all(v0 < v1 and f0 > f1 for (v0, f0), (v1, f1) in pairwise(numbers))
            if falls and all(0 <= x <= LARGEST for point in numbers for x in point):
                return tuple(numbers)
        raise ArgumentError(
            f"curve of {self._label} must be two to {MOST_POINTS} points (speed, force) with increasing speed and "
            f"decreasing force, none negative, such as ((0, 60), (20, 0)), got {short_repr(self.curve)}"
        )

    @property
    def _further_lines(self) -> list[tuple[float, Line]]:
        """Pieces of a torque-speed curve behind the first, which is `_line`, each with its least speed."""
        points = () if self.curve is None else self.curve[1:]
        return [(ends[0][0], _line_through(*ends)) for ends in pairwise(points)]

    def _line(self, effort: float) -> Line:
        """Return the torque-speed line of an actuator with this effort limit; zeros without one."""
        if self.curve is not None:
            return _line_through(*self.curve[:2])
        if self.velocity_limit is None:
            return Line()
        if np.any(effort > LARGEST):
            raise ArgumentError(
                f"{self._label}: velocity_limit needs an effort_limit, from which the force falls: the joint has none"
            )
        return Line(effort, effort / self.velocity_limit)


def _line_through(one: Sequence[float], other: Sequence[float]) -> Line:
    """Return the torque-speed line through two points (speed, force)."""
    (v0, f0), (v1, f1) = one, other
    slope = (f0 - f1) / (v1 - v0)
    return Line(f0 + slope * v0, slope)


@dataclass(frozen=True, kw_only=True, repr=False)
class Motor(_WithLine):
    """Motor with a gear, whose control is the torque of its rotor [N m].

    Parameters
    ----------
    effort_limit : float, optional
        Largest force at the joint [N m, N]. By default the joint's own limit, from the URDF.
    rotor_inertia : float
        Inertia of the rotor [kg m^2]. Gear^2 times this inertia is added to the joint's armature. Gyroscopic torques
        of the rotor are not simulated.
    damping : float
        Viscous damping, added to the joint's own [N m s/rad, N s/m].
    joint_friction : float
        Coulomb friction, added to the joint's own [N m, N].
    delay : float or (float, float)
        Time after which a control acts [s]. Controls change at the beginning of a step, so a delay of several steps
        shifts the response by this number of steps. (least, most): each rollout has a constant delay, drawn from the
        uniform distribution by its seed and number.
    interpolate : bool
        Delayed controls are linear between the beginnings of steps, instead of constant.
    before : {"zero", "first", "start"}, optional
        What acts until the first delayed control arrives, and from where lag and rate limit start: a control of zero,
        the first control, or the position at the start. The default is "start" for `PositionServo`, "zero" for others.
    lag : float
        Time constant of a first-order filter of the control [s]. Its mean over each substep acts.
    rate_limit : float, optional
        Largest rate of the control, in its unit per second. Delay, rate limit and lag act in this order.
    velocity_limit : float, optional
        Speed of the joint [rad/s, m/s] at which the largest force has fallen linearly from the effort limit to 0. Above
        this speed, the motor can only brake. By default the largest force does not depend on the speed.
    curve : two to eight points, optional
        Points (speed, force) at the joint of a piecewise linear curve that replaces the line to velocity_limit, for
        example ((0, stall torque), (no-load speed, 0)). Speeds increase, and forces decrease. In a substep, the line of
        the piece acts that contains the speed at its start; the outer pieces continue. The force also stays within the
        effort limit.
    gear : float
        Turns of the rotor for a turn of the joint; for prismatic joints [rad/m]. The force of the joint is gear times
        the torque.

    Raises
    ------
    ArgumentError
        If a parameter is no finite number, or negative.

    Examples
    --------
    >>> treesim.Motor(gear=100, effort_limit=150, velocity_limit=3, rotor_inertia=1e-5)
    <Motor: effort_limit=150.0, rotor_inertia=1e-05, velocity_limit=3.0, gear=100.0>
    """

    gear: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check("gear")

    @property
    def _law(self) -> Law:
        """Law of the force at the joint."""
        return Law(gain=self.gear)


@dataclass(frozen=True, kw_only=True, repr=False)
class DCMotor(Actuator):
    """Direct-current motor, whose control is its voltage [V].

    Without inductance, the force of the joint is gear * torque_constant * (voltage - back_emf * gear * v) / resistance
    at its velocity v. With inductance, the current is a state.

    Parameters
    ----------
    effort_limit, rotor_inertia, damping, joint_friction, delay, interpolate, before, lag, rate_limit
        As of `Motor`.
    gear : float
        As of `Motor`.
    resistance : float
        Resistance of the winding [ohm].
    torque_constant : float
        Torque of the rotor for a current [N m/A].
    back_emf : float, optional
        Voltage for a speed of the rotor [V s/rad]. By default the torque constant, of which it is the same number.
    inductance : float
        Inductance of the winding [H]. Implicit integrators simulate it: the current is evaluated at the time within a
        step at which damping is.
    voltage_limit : float, optional
        Largest voltage [V]. Without inductance, it gives the motor its torque-speed line.
    current_limit : float, optional
        Largest current [A].

    Raises
    ------
    ArgumentError
        If a parameter is no finite number, or negative.

    Examples
    --------
    >>> treesim.DCMotor(resistance=0.5, torque_constant=0.05, voltage_limit=24)
    <DCMotor: resistance=0.5, torque_constant=0.05, back_emf=0.05, voltage_limit=24.0>
    """

    gear: float = 1.0
    resistance: float
    torque_constant: float
    back_emf: float | None = None
    inductance: float = 0.0
    voltage_limit: float | None = None
    current_limit: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.back_emf is None:
            object.__setattr__(self, "back_emf", self.torque_constant)
        for name in ("gear", "resistance", "torque_constant", "back_emf", "voltage_limit", "current_limit"):
            self._check(name)
        self._check("inductance", zero=True)

    @property
    def _law(self) -> Law:
        """Law of the force at the joint, without inductance."""
        gain = self.gear * self.torque_constant / self.resistance
        return Law(gain=gain, kd=gain * self.gear * self.back_emf)  # type: ignore[operator]

    @property
    def _time_constant(self) -> float:
        """Inductance by resistance of the winding [s]."""
        return self.inductance / self.resistance

    def _effort(self, of_joint: float) -> float:
        """Return the effort limit [N m, N], for a joint with its own."""
        limit = of_joint if self.effort_limit is None else self.effort_limit
        if self.current_limit is None:
            return limit
        return np.minimum(limit, self.gear * self.torque_constant * self.current_limit)  # type: ignore[no-any-return]

    def _line(self, effort: float) -> Line:
        """Return the torque-speed line at the largest voltage; zeros without one."""
        if self.voltage_limit is None or self.inductance:  # else the voltage is limited, and not the force
            return Line()
        return Line(self._law.gain * self.voltage_limit, self._law.kd)


@dataclass(frozen=True, kw_only=True, repr=False)
class _Servo(_WithLine):
    """Gains of servos, which may be implicit or explicit."""

    gains: Literal["implicit", "explicit"] = "implicit"
    period: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("gains", self.gains, GAINS)
        self._check("period")
        if self.period is not None and self.gains != "explicit":
            raise ArgumentError(f'{self._label}: period is that of a digital controller: give gains="explicit" with it')
        for name in ("kp", "kd"):
            if hasattr(self, name):
                self._check(name, zero=True)


@dataclass(frozen=True, repr=False)
class PositionServo(_Servo):
    """Servo whose control is the target position of its joint [rad, m]. Its force is kp (target - q) - kd v.

    Parameters
    ----------
    kp : float
        Position gain [N m/rad, N/m].
    kd : float
        Velocity gain [N m s/rad, N s/m].
    effort_limit, rotor_inertia, damping, joint_friction
        As of `Motor`; a rotor's inertia is that at the joint, behind its gear.
    delay, interpolate, before, lag, rate_limit, velocity_limit, curve
        As of `Motor`.
    gains : {"implicit", "explicit"}
        "implicit": integrators evaluate the gains within the step, as those of `Stepper`, so that stiff gains are
        stable. "explicit": the force at the start of a substep acts during all of it, as in a digital controller.
    period : float, optional
        Period of explicit gains [s]: the force is evaluated at its multiples, and constant between. It must be a
        multiple of the substep, which is the default.

    Raises
    ------
    ArgumentError
        If a parameter is no finite number, or negative.

    Examples
    --------
    >>> treesim.PositionServo(25, 0.5, effort_limit=23.5, velocity_limit=30)
    <PositionServo: kp=25.0, kd=0.5, effort_limit=23.5, velocity_limit=30.0>
    """

    kp: float
    kd: float

    @property
    def _law(self) -> Law:
        """Law of the force at the joint."""
        return Law(kp=self.kp, kd=self.kd, explicit=self.gains == "explicit")


@dataclass(frozen=True, repr=False)
class VelocityServo(_Servo):
    """Servo whose control is the target velocity of its joint [rad/s, m/s]. Its force is kd (target - v).

    Parameters
    ----------
    kd : float
        Velocity gain [N m s/rad, N s/m].
    effort_limit, rotor_inertia, damping, joint_friction
        As of `PositionServo`.
    delay, interpolate, before, lag, rate_limit, velocity_limit, curve
        As of `Motor`.
    gains, period
        As of `PositionServo`.

    Raises
    ------
    ArgumentError
        If a parameter is no finite number, or negative.

    Examples
    --------
    >>> treesim.VelocityServo(2.0)
    <VelocityServo: kd=2.0>
    """

    kd: float

    @property
    def _law(self) -> Law:
        """Law of the force at the joint."""
        return Law(gain=self.kd, kd=self.kd, explicit=self.gains == "explicit")


def checked_actuator(name: str, value: Any) -> Actuator:
    """Return `value` if it is an actuator; raises ArgumentError for the joint `name` otherwise."""
    if not isinstance(value, Motor | DCMotor | PositionServo | VelocityServo):
        raise ArgumentError(
            f"actuators[{quoted(name)}] must be a Motor, DCMotor, PositionServo or VelocityServo, got "
            f"{short_repr(value)}"
        )
    return value
