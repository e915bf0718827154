"""Actuators of joints as records of their data: motors, and servos of position and velocity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from ..errors import ArgumentError, quoted
from ..validation.values import one_of, short_repr
from .base import Actuator, Law, Line, WithCurve

GAINS = ("implicit", "explicit")


@dataclass(frozen=True, kw_only=True, repr=False)
class Motor(WithCurve):
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
    effort_limit, rotor_inertia, damping, joint_friction, delay, interpolate, before, lag, rate_limit, gear
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
        self._check("gear", "resistance", "torque_constant", "back_emf", "voltage_limit", "current_limit")
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

    def _lines(self, effort: float) -> list[Line]:
        """Return the torque-speed line at the largest voltage; none without one."""
        if self.voltage_limit is None or self.inductance:  # with inductance the voltage is limited, and not the force
            return []
        return [Line(0.0, self._law.gain * self.voltage_limit, self._law.kd)]


@dataclass(frozen=True, kw_only=True, repr=False)
class _Servo(WithCurve):
    """Gains of servos, which may be implicit or explicit."""

    gains: Literal["implicit", "explicit"] = "implicit"
    period: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("gains", self.gains, GAINS)
        self._check("period")
        if self.period is not None and self.gains != "explicit":
            raise ArgumentError(f'{self._label}: period is that of a digital controller: give gains="explicit" with it')
        self._check(*(name for name in ("kp", "kd") if hasattr(self, name)), zero=True)


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
    _takes_position: ClassVar[bool] = True

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
