"""Distributions that samples of a sweep are drawn from."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ArgumentError
from ..states.arguments import short_repr
from .elementary import exponential, logarithm, normal_quantile

OUTERMOST = 8.3  # quantile of the normal distribution that uniform numbers in (0, 1) lead to, at most


class Distribution(ABC):
    """What is drawn for a sample: numbers of a shape, from numbers that are uniform in (0, 1).

    One of a user's own has `shape`, and `values`, which takes as many uniform numbers as `needs` says, by default one
    for each number of the shape. What is drawn has the same bits everywhere if `values` uses + - * / and square roots
    alone; NumPy's other functions may differ in the last bit from processor to processor. `values` is called with one
    row at a time, B = 1, so what a sample draws does not depend on the others.

    Example:
        >>> class Triangle(treesim.sweeps.Distribution):
        ...     shape, needs = (), 2
        ...     def values(self, u):
        ...         return u[:, 0] + u[:, 1]
        >>> Triangle().values(np.array([[0.25, 0.5]]))
        array([0.75])
    """

    shape: tuple[int, ...] = ()

    @property
    def needs(self) -> int:
        """How many uniform numbers a draw takes."""
        return math.prod(self.shape)

    @abstractmethod
    def values(self, u: np.ndarray) -> np.ndarray:
        """Return what is drawn (B, *shape) from uniform numbers (B, needs)."""


@dataclass(frozen=True)
class Normal(Distribution):
    """Normal distributions of means and standard deviations, numbers or arrays, which broadcast: each number is drawn
    by itself.

    Raises ArgumentError for a negative deviation, and for what is not finite.

    Example:
        >>> treesim.sweeps.Normal(1.0, 0.1)
        Normal(mean=1.0, sd=0.1)
    """

    mean: Any
    sd: Any

    def __post_init__(self) -> None:
        mean, sd = _settled(self, "mean", "sd")
        if (sd < 0).any():
            raise ArgumentError(f"sd of Normal must not be negative, got {short_repr(self.sd)}")
        _check_reach("mean and sd of Normal", abs(mean), sd, OUTERMOST)
        object.__setattr__(self, "shape", mean.shape)

    def values(self, u: np.ndarray) -> np.ndarray:
        """Return what is drawn (B, *shape)."""
        z = normal_quantile(u).reshape(len(u), *self.shape)
        return np.asarray(self.mean) + np.asarray(self.sd) * z


@dataclass(frozen=True)
class Uniform(Distribution):
    """Uniform distributions between bounds, numbers or arrays, which broadcast: each number is drawn by itself.

    Raises ArgumentError for a lower bound above the upper one, and for what is not finite.

    Example:
        >>> treesim.sweeps.Uniform(0.4, 1.2).values(np.array([[0.5]]))
        array([0.8])
    """

    low: Any
    high: Any

    def __post_init__(self) -> None:
        low, high = _settled(self, "low", "high")
        if (low > high).any():
            raise ArgumentError(
                f"low of Uniform must not be above high, got {short_repr(self.low)} and {short_repr(self.high)}"
            )
        _check_reach("low and high of Uniform", high, low, -1.0)
        object.__setattr__(self, "shape", low.shape)

    def values(self, u: np.ndarray) -> np.ndarray:
        """Return what is drawn (B, *shape)."""
        low, high = np.asarray(self.low), np.asarray(self.high)
        return low + (high - low) * u.reshape(len(u), *self.shape)


@dataclass(frozen=True)
class LogUniform(Distribution):
    """Distributions whose logarithm is uniform between those of two positive bounds: each decade as often.

    Raises ArgumentError for bounds that are not positive, or in the wrong order.

    Example:
        >>> float(treesim.sweeps.LogUniform(1, 100).values(np.array([[0.5]]))[0].round(12))
        10.0
    """

    low: Any
    high: Any

    def __post_init__(self) -> None:
        low, high = _settled(self, "low", "high")
        if not ((low > 0) & (low <= high)).all():
            raise ArgumentError(
                f"bounds of LogUniform must be above 0, low first, got {short_repr(self.low)}, {short_repr(self.high)}"
            )
        object.__setattr__(self, "shape", low.shape)

    def values(self, u: np.ndarray) -> np.ndarray:
        """Return what is drawn (B, *shape)."""
        low, high = logarithm(np.asarray(self.low, float)), logarithm(np.asarray(self.high, float))
        return exponential(low + (high - low) * u.reshape(len(u), *self.shape))


@dataclass(frozen=True)
class Choice(Distribution):
    """One of some values, numbers or arrays of one shape, each as often. In `vary`, a list says the same.

    Raises ArgumentError for no values, and for what is not finite.

    Example:
        >>> treesim.sweeps.Choice([50, 100, 200]).values(np.array([[0.1], [0.9]]))
        array([ 50., 200.])
    """

    options: Any

    def __post_init__(self) -> None:
        (options,) = _settled(self, "options")
        if not options.ndim or not len(options):
            raise ArgumentError(f"options of Choice must be a list of values, got {short_repr(self.options)}")
        object.__setattr__(self, "shape", options.shape[1:])

    @property
    def needs(self) -> int:
        """One uniform number, whatever the shape."""
        return 1

    def values(self, u: np.ndarray) -> np.ndarray:
        """Return what is drawn (B, *shape)."""
        options = np.asarray(self.options, float)
        return options[(u[:, 0] * len(options)).astype(int)]


@dataclass(frozen=True)
class Scale:
    """What is drawn multiplies the nominal value; see `scale`."""

    factor: Distribution


@dataclass(frozen=True)
class Around:
    """Configurations about one, normally distributed in its tangent space; see `around`."""

    q: Any
    sd: Any

    def displacement(self, nv: int) -> Normal:
        """Return the distribution of displacements (nv,); raises ArgumentError for deviations of another shape."""
        sd = np.asarray(self.sd, float)
        if sd.shape not in ((), (nv,)):
            raise ArgumentError(f"sd of around has shape {sd.shape}, but () or ({nv},) is needed")
        return Normal(np.zeros(nv), sd)


def scale(factor: Distribution | Sequence[float]) -> Scale:
    """Return what makes a distribution one of factors: what is drawn multiplies the nominal value, that of the robot
    (or of `q0`, `v0`, `parameters`). Without it, what is drawn is the value.

    Raises ArgumentError for what is no distribution and no list.

    Example:
        >>> from treesim.sweeps import Normal, scale
        >>> scale(Normal(1.0, 0.1))
        Scale(factor=Normal(mean=1.0, sd=0.1))
    """
    return Scale(as_distribution("scale", factor))


def around(q: ArrayLike | None = None, sd: ArrayLike = 0.05) -> Around:
    """Return configurations q (+) d about q (nq,), by default the nominal one, with d normally distributed about 0.

    sd: standard deviation of all degrees of freedom, or (nv,) [rad, m]. Quaternions stay of length 1.

    Example:
        >>> treesim.sweeps.around(sd=0.02)
        Around(q=None, sd=0.02)
    """
    found = Around(None if q is None else _frozen("q", q), _frozen("sd", sd))
    if (np.asarray(found.sd) < 0).any():
        raise ArgumentError(f"sd of around must not be negative, got {short_repr(sd)}")
    return found


def values_of(distribution: Distribution, u: np.ndarray) -> np.ndarray:
    """Return what a distribution draws (B, *shape) from uniform numbers (B, needs), for each row what it would draw
    alone: those of a user's own are asked row by row, since NumPy's functions may compute the last numbers of an array
    by other instructions than the first ones."""
    if type(distribution).__module__ == __name__ or not len(u):
        return distribution.values(u)
    return np.concatenate([distribution.values(row) for row in u[:, None]])


def as_distribution(name: str, given: Any) -> Distribution:
    """Return a distribution as it is, a list as a Choice; raises ArgumentError naming what else is given, and a
    distribution whose values have another shape than it says."""
    if isinstance(given, Distribution):
        try:
            middle = np.asarray(given.values(np.full((1, given.needs), 0.5)), float).shape
        except Exception as error:
            raise ArgumentError(
                f"vary[{name!r}]: {given} cannot draw a value: {type(error).__name__}: {error}"
            ) from error
        if middle != (1, *given.shape):
            raise ArgumentError(
                f"vary[{name!r}]: {given} draws values of shape {middle} for one sample, but says {given.shape}"
            )
        return given
    if isinstance(given, list | tuple | np.ndarray):
        return Choice(given)
    raise ArgumentError(
        f"vary[{name!r}] must be a distribution, such as Normal(1.0, 0.1) of treesim.sweeps, or a list of values, "
        f"got {short_repr(given)}"
    )


def _check_reach(labels: str, a: np.ndarray, b: np.ndarray, factor: float) -> None:
    """Raise ArgumentError where a + factor b, which values are drawn by, is beyond the largest number."""
    with np.errstate(over="ignore"):
        if not np.isfinite(a + factor * b).all():
            raise ArgumentError(f"{labels} are too large: what is drawn would not be finite")


def _settled(of: Any, *labels: str) -> tuple[np.ndarray, ...]:
    """The arrays of these attributes, broadcast, which are kept as numbers and tuples."""
    for label in labels:
        object.__setattr__(of, label, _frozen(f"{label} of {type(of).__name__}", getattr(of, label)))
    try:
        return tuple(np.broadcast_arrays(*(np.asarray(getattr(of, label), float) for label in labels)))
    except ValueError:
        shapes = " and ".join(str(np.shape(getattr(of, label))) for label in labels)
        raise ArgumentError(f"{' and '.join(labels)} of {type(of).__name__} have shapes {shapes}") from None


def _frozen(label: str, value: Any) -> Any:
    try:
        array = np.asarray(value, float)
    except (TypeError, ValueError):
        raise ArgumentError(f"{label} must be a number, or an array of them, got {short_repr(value)}") from None
    if not np.isfinite(array).all():
        raise ArgumentError(f"{label} must be finite, got {short_repr(value)}")
    return _nested(array.tolist())


def _nested(value: Any) -> Any:
    return tuple(map(_nested, value)) if isinstance(value, list) else value
