"""Base classes of actuators: limits, torque-speed lines, delays, and checks of the data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from ..errors import ArgumentError
from ..system.display import ReprMixin
from ..validation.values import checked_flag, finite_or_nan, one_of, parts_or_none, positive_number, short_repr

LARGEST = 1e12  # of parameters, so that products do not overflow
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
    """Piece of a torque-speed curve: above a least speed, abs(force) is at most stall - slope abs(v), in SI units."""

    least: float = 0.0
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
    _takes_position: ClassVar[bool] = False  # whether the control is a position of the joint

    def __post_init__(self) -> None:
        self._check("effort_limit", "rotor_inertia", "damping", "joint_friction", "lag", zero=True)
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
        if self.before == "start" and not self._takes_position:
            raise ArgumentError(f'before="start" of {self._label} would be a position: only PositionServo takes it')

    @property
    def _late(self) -> Late:
        """How commands reach the actuator."""
        least, most = self.delay if isinstance(self.delay, tuple) else (self.delay, self.delay)
        rate = math.inf if self.rate_limit is None else self.rate_limit
        before = BEFORE.index(self.before or ("start" if self._takes_position else "zero"))
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

    def _lines(self, effort: float) -> list[Line]:
        """Return the pieces of the torque-speed curve of an actuator with this effort limit; none without one."""
        return []

    def _check(self, *names: str, zero: bool = False) -> None:
        """Replace fields by checked floats, unless they are optional and None; zero: whether they may be zero."""
        for name in names:
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
class WithCurve(Actuator):
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

    def _lines(self, effort: float) -> list[Line]:
        """Return the pieces of the torque-speed curve of an actuator with this effort limit; none without one."""
        if self.curve is not None:
            return [_line_through(*ends) for ends in pairwise(self.curve)]
        if self.velocity_limit is None:
            return []
        if np.any(effort > LARGEST):
            raise ArgumentError(
                f"{self._label}: velocity_limit needs an effort_limit, from which the force falls: the joint has none"
            )
        return [Line(0.0, effort, effort / self.velocity_limit)]


def _line_through(one: Sequence[float], other: Sequence[float]) -> Line:
    """Return the torque-speed line through two points (speed, force)."""
    (v0, f0), (v1, f1) = one, other
    slope = (f0 - f1) / (v1 - v0)
    return Line(v0, f0 + slope * v0, slope)
