"""Errors of sensors: noise, bias, resolution, range, lost samples, delay and sampling rate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import ArgumentError, UnsupportedError, quoted
from ..model.tree import Tree
from ..system.display import ReprMixin
from ..validation.arrays import real_numbers
from ..validation.values import finite_or_nan, parts_or_none, positive_number, short_repr
from .sensor_draws import NOISE, Draws

if TYPE_CHECKING:
    from .sensors import Sensor

LONGEST_DELAY = 256  # steps
NEAR = 1e-9  # of a whole number of steps
Amount = float | Sequence[float]


@dataclass(frozen=True, kw_only=True, repr=False)
class SensorErrors(ReprMixin):
    """Errors of a sensor's readings, which every sensor takes as keyword arguments; by default there are none.

    A sample is the exact reading, `delay` before, plus noise and bias; `limits` and `quantization` then apply. Noise
    also changes the quaternions of `FramePose`, whose length is then not 1.

    Parameters
    ----------
    noise : float or sequence of float, shape (n,)
        Standard deviation of the white noise of a sample, in the unit of the reading, for all columns or each one.
    bias_walk : float or sequence of float, shape (n,)
        Rate of the random walk of the bias, whose standard deviation after t [s] is bias_walk sqrt(t) [unit/sqrt(s)].
        The bias is 0 at the start.
    quantization : float or sequence of float, shape (n,)
        Resolution: samples are rounded to multiples of it. 0 means no rounding.
    drop : float
        Probability that a sample is lost: the reading is then the sample before. The first sample is never lost.
    limits : pair of (float or sequence of float, shape (n,)), optional
        Range of the sensor: smallest and largest reading.
    delay : float
        Age of a sample [s]: a reading belongs to the last step that began at least this time before. Before that, it
        belongs to the first step. At most 256 steps.
    rate : float, optional
        Samples per second [Hz], a whole number of steps apart: readings are constant between two samples. By default
        every step is a sample.

    Examples
    --------
    >>> imu = treesim.Imu("tool0", noise=[0.05] * 3 + [0.002] * 3, bias_walk=1e-3, rate=200.0)
    >>> world = treesim.World(treesim.load("ur5"), sensors=imu)
    >>> treesim.Simulation(world, seed=1).run(0.01).sensors["imu_tool0"].shape
    (11, 6)
    """

    noise: Amount = 0.0
    bias_walk: Amount = 0.0
    quantization: Amount = 0.0
    drop: float = 0.0
    limits: tuple[Amount, Amount] | None = None
    delay: float = 0.0
    rate: float | None = None

    def __post_init__(self) -> None:
        self._check_errors()

    def __repr__(self) -> str:
        return f"<SensorErrors: {', '.join(f'{name} {value}' for name, value in self._repr_fields()) or 'none'}>"

    def _repr_fields(self) -> list[tuple[str, Any]]:
        given = [each for each in fields(SensorErrors) if getattr(self, each.name) != each.default]
        return [(each.name, getattr(self, each.name)) for each in given]

    def _check_errors(self) -> None:
        """Convert the values to floats and tuples; raises ArgumentError for invalid ones."""
        kind = type(self).__name__
        for name in ("noise", "bias_walk", "quantization"):
            object.__setattr__(self, name, _amount(f"{kind}: {name}", getattr(self, name), least=0.0))
        chance = finite_or_nan(self.drop)
        if not 0 <= chance <= 1:
            raise ArgumentError(f"{kind}: drop must be a probability between 0 and 1, got {short_repr(self.drop)}")
        object.__setattr__(self, "drop", chance)
        object.__setattr__(self, "delay", positive_number(f"{kind}: delay", self.delay, zero=True))
        if self.rate is not None:
            object.__setattr__(
                self, "rate", positive_number(f"{kind}: rate", self.rate, "number of samples per second")
            )
        if self.limits is not None:
            object.__setattr__(self, "limits", _range(f"{kind}: limits", self.limits))

    def _check_columns(self, label: str, columns: Sequence[str]) -> None:
        """Raise ArgumentError for values that are not one for each column."""
        low, high = self.limits or (0.0, 0.0)
        given = {"noise": self.noise, "bias_walk": self.bias_walk, "quantization": self.quantization}
        for name, value in [*given.items(), ("limits", low), ("limits", high)]:
            if isinstance(value, tuple) and len(value) != len(columns):
                raise ArgumentError(
                    f"sensor {quoted(label)}: {name} has {len(value)} numbers, but the columns are "
                    f"{', '.join(columns)}: give one number, or {len(columns)}"
                )

    @property
    def is_exact(self) -> bool:
        """True if the sensor has no errors."""
        amounts = self.noise, self.bias_walk, self.quantization, self.drop, self.delay
        return self.limits is None and self.rate is None and not any(map(np.any, amounts))


def _amount(label: str, value: Any, least: float = -math.inf) -> Amount:
    """Return a finite number, or several as a tuple; raises ArgumentError for others, or below the least."""
    found = real_numbers(label, value)
    if found.ndim > 1 or not found.size or not (np.isfinite(found) & (found >= least)).all():
        what = "finite" if least < 0 else "finite and not negative"
        raise ArgumentError(f"{label} must be one number, or one for each column, {what}, got {short_repr(value)}")
    return tuple(found.tolist()) if found.ndim else float(found)


def _range(label: str, value: Any) -> tuple[Amount, Amount]:
    """Return a pair of a smallest and a largest reading; raises ArgumentError for others."""
    parts = parts_or_none(value)
    if parts is None or len(parts) != 2:
        raise ArgumentError(f"{label} must be a pair (smallest, largest), got {short_repr(value)}")
    low, high = (_amount(f"{label}[{k}]", part) for k, part in enumerate(parts))
    both = [len(x) for x in (low, high) if isinstance(x, tuple)]
    if len({*both}) == 2:
        raise ArgumentError(f"{label} has {both[0]} smallest readings, but {both[1]} largest")
    if np.any(np.greater(low, high)):
        raise ArgumentError(f"{label}: the smallest reading is above the largest in {short_repr(value)}")
    return low, high


class ErrorModel(NamedTuple):
    """Errors of one sensor of n columns in steps of dt [s].

    period: steps between two samples. delay: steps. size: numbers of memory of one rollout, the current reading and
    exact readings of the last steps, where readings depend on earlier steps.
    """

    sensor: Sensor
    n: int
    dt: float
    period: int
    delay: int
    size: int

    @staticmethod
    def of(sensor: Sensor, robot: Tree, dt: float) -> ErrorModel:
        """Return the errors of a sensor; raises ArgumentError for a rate or delay that does not fit dt."""
        label, period, n = quoted(sensor.label), 1, len(sensor._columns(robot))
        if sensor.rate is not None:
            steps = 1 / (sensor.rate * dt)
            period = max(1, round(steps))
            if abs(steps - period) > NEAR * period:
                raise ArgumentError(
                    f"sensor {label}: a rate of {sensor.rate:.10g} Hz is a sample every {steps:.10g} steps of "
                    f"{dt:g} s: give {1 / (period * dt):.10g} Hz, or another rate with whole numbers of steps"
                )
        delay = math.ceil(sensor.delay / dt - NEAR)
        if delay > LONGEST_DELAY:
            raise ArgumentError(
                f"sensor {label}: a delay of {sensor.delay:g} s is {delay} steps of {dt:g} s, but at most "
                f"{LONGEST_DELAY} are stored"
            )
        remembers = period > 1 or delay or sensor.drop
        return ErrorModel(sensor, n, dt, period, delay, (1 + delay) * n if remembers else 0)

    def readings(self, exact: np.ndarray, draws: Draws, memory: np.ndarray, fresh: np.ndarray) -> np.ndarray:
        """Return the readings (B, K, n) of K steps in a row from the exact ones; memory (B, size) is overwritten.

        fresh (B,): whether memory is that of no step.
        """
        B, K, n = exact.shape
        steps = draws.first[:, None] + np.arange(K)
        if not self.size:
            return self._samples(exact, draws, steps)
        if not K:
            return exact
        held, line = memory[:, :n], memory[:, n:].reshape(B, self.delay, n)
        line = np.concatenate([np.where(fresh[:, None, None], exact[:, :1], line), exact], axis=1)
        numbers, phases = np.divmod(steps, self.period)
        taken = phases == 0
        if self.sensor.drop:
            taken &= draws.uniforms(self.sensor.label, numbers) >= self.sensor.drop
        taken[:, 0] |= fresh
        columns = np.flatnonzero(taken.any(axis=0))
        samples = self._samples(line[:, columns], draws, numbers[:, columns])
        last = np.maximum.accumulate(np.where(taken[:, columns], np.arange(1, len(columns) + 1), 0), axis=1)
        last = np.concatenate([np.zeros((B, 1), int), last], axis=1)[:, np.searchsorted(columns, np.arange(K), "right")]
        found = np.take_along_axis(np.concatenate([held[:, None], samples], axis=1), last[..., None], axis=1)
        memory[:, :n], memory[:, n:] = found[:, -1], line[:, K:].reshape(B, -1)
        return found

    def _samples(self, exact: np.ndarray, draws: Draws, numbers: np.ndarray) -> np.ndarray:
        """Return samples (B, K, n) with the increasing numbers (B, K), from exact readings."""
        sensor, found = self.sensor, exact
        if not found.size:
            return found
        if np.any(sensor.noise):
            found = found + np.asarray(sensor.noise) * draws.normals(sensor.label, NOISE, numbers, self.n)
        if np.any(sensor.bias_walk):
            start = np.maximum(numbers[:, 0], 0)
            place = np.maximum(numbers, 0) - start[:, None]
            walk = draws.walk(sensor.label, start, int(place.max()) + 1, self.n)
            scale = np.asarray(sensor.bias_walk) * math.sqrt(self.period * self.dt)
            found = found + scale * np.take_along_axis(walk, place[..., None], axis=1)
        if sensor.limits is not None:
            found = np.clip(found, *sensor.limits)
        if np.any(sensor.quantization):
            unit = np.asarray(sensor.quantization)
            found = np.where(unit > 0, np.rint(found / np.where(unit > 0, unit, 1.0)) * unit, found)
        return found


class WorldErrors:
    """Errors of the sensors of a world in steps of dt [s].

    size: numbers of memory of one rollout. sensors of a world without errors have no WorldErrors, see `errors_of`.
    """

    def __init__(self, sensors: Sequence[Sensor], robot: Tree, dt: float) -> None:
        self.models = {each.label: None if each.is_exact else ErrorModel.of(each, robot, dt) for each in sensors}
        sizes = [0 if model is None else model.size for model in self.models.values()]
        ends = np.cumsum(sizes, dtype=int)
        self.size = int(sum(sizes))
        self._parts = [slice(end - size, end) for end, size in zip(ends, sizes, strict=True)]

    def readings(
        self, exact: Sequence[np.ndarray], draws: Draws, memory: np.ndarray, fresh: np.ndarray
    ) -> list[np.ndarray]:
        """Return the readings (B, K, n) of each sensor; memory (B, size) is overwritten, fresh as `ErrorModel`."""
        found = []
        for model, part, x in zip(self.models.values(), self._parts, exact, strict=True):
            own = memory[:, part]
            found.append(x if model is None else model.readings(x, draws, own, fresh))
        return found

    def of_run(
        self, exact: Sequence[np.ndarray], seed: int, first: int, memory: np.ndarray | None
    ) -> tuple[list[np.ndarray], np.ndarray]:
        """Return the readings (K, n) of K steps from `first` on, and the memory (size,) after them.

        memory: that before, None for none.
        """
        draws, fresh = Draws.of(seed, np.zeros(1, np.int64), first), np.array([memory is None])
        own = np.zeros((1, self.size)) if memory is None else memory[None].copy()
        found = self.readings([x[None] for x in exact], draws, own, fresh)
        return [x[0] for x in found], own[0]

    def of_one_step(self, label: str, exact: np.ndarray, draws: Draws) -> np.ndarray:
        """Return the readings (B, n) of one sensor in one step; raises UnsupportedError if it needs earlier steps."""
        model = self.models[label]
        if model is None:
            return exact
        if model.size:
            raise UnsupportedError(
                f"sensor {quoted(label)} has drop, delay or rate, so its readings depend on earlier steps, which a "
                "single step does not know: take Simulation.run, rollout or BatchStepper"
            )
        none = np.empty((len(exact), 0))
        return model.readings(exact[:, None], draws, none, np.ones(len(exact), bool))[:, 0]


def errors_of(sensors: Sequence[Sensor], robot: Tree, dt: float) -> WorldErrors | None:
    """Return the errors of sensors in steps of dt [s], None if they have none."""
    if all(each.is_exact for each in sensors):
        return None
    return WorldErrors(sensors, robot, dt)
