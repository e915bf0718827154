"""Actuators of joints as records of their data: motors, and servos of position and velocity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

from ..errors import ArgumentError, quoted
from ..system.display import ReprMixin
from ..validation.values import finite_or_nan, one_of, parts_or_none, positive_number, short_repr

LARGEST = 1e12  # of parameters, so that products do not overflow
GAINS = ("implicit", "explicit")
OPTIONAL = ("effort_limit", "velocity_limit", "voltage_limit", "current_limit")  # None: see the classes


class Law(NamedTuple):
    """Force of a joint, gain u + kp (u - q) - kd v of a control u; explicit: constant during a substep."""

    gain: float = 0.0
    kp: float = 0.0
    kd: float = 0.0
    explicit: bool = False


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

    def __post_init__(self) -> None:
        for name in ("effort_limit", "rotor_inertia", "damping", "joint_friction"):
            self._check(name, zero=True)

    @property
    def _label(self) -> str:
        return type(self).__name__

    @property
    def _law(self) -> Law:
        """Law of the force at the joint."""
        raise NotImplementedError

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

    def _checked_curve(self) -> tuple[tuple[float, float], tuple[float, float]]:
        points = [parts_or_none(point) for point in parts_or_none(self.curve) or ()]
        numbers = [tuple(map(finite_or_nan, point)) for point in points if point is not None and len(point) == 2]
        if len(numbers) == len(points) == 2:
            (v0, f0), (v1, f1) = numbers
            if 0 <= v0 < v1 <= LARGEST and LARGEST >= f0 > f1 >= 0:
                return (v0, f0), (v1, f1)
        raise ArgumentError(
            f"curve of {self._label} must be two points (speed, force) with increasing speed and decreasing force, "
            f"none negative, such as ((0, 60), (20, 0)), got {short_repr(self.curve)}"
        )

    def _line(self, effort: float) -> Line:
        """Return the torque-speed line of an actuator with this effort limit; zeros without one."""
        if self.curve is not None:
            (v0, f0), (v1, f1) = self.curve
            slope = (f0 - f1) / (v1 - v0)
            return Line(f0 + slope * v0, slope)
        if self.velocity_limit is None:
            return Line()
        if effort > LARGEST:
            raise ArgumentError(
                f"{self._label}: velocity_limit needs an effort_limit, from which the force falls: the joint has none"
            )
        return Line(effort, effort / self.velocity_limit)


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
    velocity_limit : float, optional
        Speed of the joint [rad/s, m/s] at which the largest force has fallen linearly from the effort limit to 0. Above
        this speed, the motor can only brake. By default the largest force does not depend on the speed.
    curve : two points, optional
        Two points (speed, force) at the joint of a line that replaces the one to velocity_limit, for example
        ((0, stall torque), (no-load speed, 0)). The force also stays within the effort limit.
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
    """Direct-current motor without inductance, whose control is its voltage [V].

    The force of the joint is gear * torque_constant * (voltage - back_emf * gear * v) / resistance at its velocity v.

    Parameters
    ----------
    effort_limit, rotor_inertia, damping, joint_friction
        As of `Motor`.
    gear : float
        As of `Motor`.
    resistance : float
        Resistance of the winding [ohm].
    torque_constant : float
        Torque of the rotor for a current [N m/A].
    back_emf : float, optional
        Voltage for a speed of the rotor [V s/rad]. By default the torque constant, of which it is the same number.
    voltage_limit : float, optional
        Largest voltage [V]. It gives the motor its torque-speed line.
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
    voltage_limit: float | None = None
    current_limit: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.back_emf is None:
            object.__setattr__(self, "back_emf", self.torque_constant)
        for name in ("gear", "resistance", "torque_constant", "back_emf", "voltage_limit", "current_limit"):
            self._check(name)

    @property
    def _law(self) -> Law:
        """Law of the force at the joint."""
        gain = self.gear * self.torque_constant / self.resistance
        return Law(gain=gain, kd=gain * self.gear * self.back_emf)  # type: ignore[operator]

    def _effort(self, of_joint: float) -> float:
        """Return the effort limit [N m, N], for a joint with its own."""
        limit = super()._effort(of_joint)
        if self.current_limit is None:
            return limit
        return min(limit, self.gear * self.torque_constant * self.current_limit)

    def _line(self, effort: float) -> Line:
        """Return the torque-speed line at the largest voltage; zeros without one."""
        return Line() if self.voltage_limit is None else Line(self._law.gain * self.voltage_limit, self._law.kd)


@dataclass(frozen=True, kw_only=True, repr=False)
class _Servo(_WithLine):
    """Gains of servos, which may be implicit or explicit."""

    gains: str = "implicit"

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("gains", self.gains, GAINS)
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
    effort_limit, rotor_inertia, damping, joint_friction, velocity_limit, curve
        As of `Motor`; a rotor's inertia is that at the joint, behind its gear.
    gains : {"implicit", "explicit"}
        "implicit": integrators evaluate the gains within the step, as those of `Stepper`, so that stiff gains are
        stable. "explicit": the force at the start of a substep acts during all of it, as in a digital controller.

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
    effort_limit, rotor_inertia, damping, joint_friction, velocity_limit, curve, gains
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
