"""Noise of observations, and model parameters that are drawn for each episode."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from treesim.errors import ArgumentError, quoted
from treesim.simulation.sensor_draws import NOISE, Draws, sensor_number

KINDS = ("uniform", "normal")
OBSERVATIONS = "noise of observations"  # label of random numbers
PARAMETERS = sensor_number("parameters of episodes")  # in counters of random numbers


class ObservationNoise:
    """Noise of the numbers that a task's function `observe` returns.

    size: their number. Raises ArgumentError for noise of another length, negative or not finite.
    """

    def __init__(self, noise: ArrayLike, kind: str, size: int) -> None:
        try:
            wide = np.broadcast_to(np.asarray(noise, float), (size,))
        except (TypeError, ValueError):
            raise ArgumentError(f"noise must be one number, or one for each of {size}, got {quoted(noise)}") from None
        if not np.isfinite(wide).all() or (wide < 0).any():
            raise ArgumentError(f"noise must be finite and not negative, got {quoted(noise)}")
        self._normal, self._which = kind == "normal", np.flatnonzero(wide)
        self._width = wide[self._which]
        self._columns = slice(0, size) if wide.all() else self._which

    def add(self, observations: np.ndarray, draws: Draws) -> None:
        """Add noise to observations (n, m) of steps."""
        count, samples = self._which.size, draws.first[:, None]
        if not count:
            return
        if self._normal:
            x = draws.normals(OBSERVATIONS, NOISE, samples, count)
        else:
            x = draws.numbers(OBSERVATIONS, NOISE, samples, count)
            x -= 0.5
            x *= 2.0
        observations[:, self._columns] += self._width * x[:, 0]


class Together(NamedTuple):
    """Range of model parameters whose elements are drawn together, by one random number.

    Parameters
    ----------
    low : array_like
        Values for the random number 0.
    high : array_like
        Values for the random number 1.

    Examples
    --------
    >>> from treesim_gymnasium import Together
    >>> {"actuator_delay": Together(np.zeros(6), np.full(6, 0.02))}
    {'actuator_delay': Together(low=array([0., ...]), high=array([0.02, ...]))}
    """

    low: ArrayLike
    high: ArrayLike


class Range(NamedTuple):
    """Range of a field of model parameters, or of the part of it that belongs to a link or joint.

    width: of the elements `drawn`; the others are `low`, which may be infinite. count: of random numbers.
    """

    field: str
    name: str | None
    low: np.ndarray
    drawn: np.ndarray
    width: np.ndarray
    count: int


class RandomParameters:
    """Model parameters of episodes, uniform between two bounds.

    Raises ArgumentError for bounds that are no two finite arrays of one shape, or decreasing.
    """

    def __init__(self, given: Mapping[str, Any]) -> None:
        self._ranges = [
            _range(field, name, bounds)
            for field, value in given.items()
            for name, bounds in (value.items() if isinstance(value, Mapping) else [(None, value)])
        ]
        self.count = sum(each.count for each in self._ranges)

    def at(self, x: np.ndarray) -> dict[str, Any]:
        """Return the model parameters for numbers x (n, count) from 0 for the lower bounds to 1 for the upper ones."""
        found: dict[str, Any] = {}
        end = 0
        for field, name, low, drawn, width, count in self._ranges:
            start, end = end, end + count
            values = np.repeat(low[None], len(x), axis=0)
            values[:, drawn] += width * x[:, start:end]
            if name is None:
                found[field] = values
            else:
                found.setdefault(field, {})[name] = values
        return found


def _range(field: str, name: str | None, bounds: Any) -> Range:
    """Return the range of a field, or of one link or joint."""
    label = f"randomize[{quoted(field)}]" + (f"[{quoted(name)}]" if name is not None else "")
    try:
        low, high = (np.asarray(bound, float) for bound in _pair(bounds))
        drawn = np.atleast_1d(low != high)
        width = np.atleast_1d(high)[drawn] - np.atleast_1d(low)[drawn]
        fits = low.shape == high.shape and bool((np.isfinite(width) & (width > 0)).all())
    except (TypeError, ValueError, IndexError):
        fits = False
    if not fits:
        raise ArgumentError(f"{label} must be (low, high), increasing or equal, got {quoted(bounds)}")
    count = min(width.size, 1) if isinstance(bounds, Together) else width.size
    return Range(field, name, low, drawn.reshape(low.shape), width, count)


def _pair(bounds: Any) -> Sequence[Any]:
    if isinstance(bounds, str) or len(bounds) != 2:
        raise ValueError
    return bounds
