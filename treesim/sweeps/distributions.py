"""Distributions from which samples of a sweep are drawn."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..engine.reproducible_math import exponential, logarithm
from ..errors import ArgumentError, quoted, reason_of
from ..states.arguments import short_repr
from ..validation.labels import refuse_labels
from .normal_quantile import normal_quantile

OUTERMOST = 8.3  # largest quantile of the normal distribution for the uniform numbers


class Distribution(ABC):
    """Base class of distributions; a distribution maps random numbers uniform in (0, 1) to draws.

    A subclass defines the shape of a draw, `shape`, and the method `values`. It may override `needs`, which is by
    default one uniform number for each value of a draw. Draws have the same bits on every processor if `values` uses
    only + - * / and square roots. Results of other NumPy functions may differ in the last bit between processors.
    treesim calls `values` of a user's subclass with one row at a time, B = 1, so that a draw does not depend on other
    samples.

    Examples
    --------
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
        """Number of uniform numbers for one draw."""
        return math.prod(self.shape)

    @abstractmethod
    def values(self, u: np.ndarray) -> np.ndarray:
        """Return draws (B, *shape) from uniform numbers (B, needs).

        Parameters
        ----------
        u : ndarray, shape (B, needs)
            Numbers uniform in (0, 1).

        Returns
        -------
        ndarray, shape (B, *shape)
            Draws.
        """


@dataclass(frozen=True)
class Normal(Distribution):
    """Independent normal distributions; the arrays of means and of standard deviations are broadcast together.

    Parameters
    ----------
    mean : array_like
        Means.
    sd : array_like
        Standard deviations, not negative.

    Raises
    ------
    ArgumentError
        For a negative deviation, or a number that is not finite.

    Examples
    --------
    >>> treesim.sweeps.Normal(1.0, 0.1)
    Normal(mean=1.0, sd=0.1)
    """

    mean: Any
    sd: Any

    def __post_init__(self) -> None:
        mean, sd = _settled(self, "mean", "sd")
        if (sd < 0).any():
            raise ArgumentError(f"sd of Normal must not be negative, got {short_repr(self.sd)}")
        check_reach("mean and sd of Normal", abs(mean), sd, OUTERMOST)
        object.__setattr__(self, "shape", mean.shape)

    def values(self, u: np.ndarray) -> np.ndarray:
        """Return draws (B, *shape) from uniform numbers u (B, needs)."""
        z = normal_quantile(u).reshape(len(u), *self.shape)
        return np.asarray(self.mean) + np.asarray(self.sd) * z


@dataclass(frozen=True)
class Uniform(Distribution):
    """Independent uniform distributions; the arrays of lower and of upper bounds are broadcast together.

    Parameters
    ----------
    low : array_like
        Lower bounds.
    high : array_like
        Upper bounds.

    Raises
    ------
    ArgumentError
        For a lower bound above the upper one, or a number that is not finite.

    Examples
    --------
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
        check_reach("low and high of Uniform", high, low, -1.0)
        object.__setattr__(self, "shape", low.shape)

    def values(self, u: np.ndarray) -> np.ndarray:
        """Return draws (B, *shape) from uniform numbers u (B, needs)."""
        low, high = np.asarray(self.low), np.asarray(self.high)
        return low + (high - low) * u.reshape(len(u), *self.shape)


@dataclass(frozen=True)
class LogUniform(Distribution):
    """Independent log-uniform distributions: the logarithm of a draw is uniform between the logarithms of the bounds.

    Parameters
    ----------
    low : array_like
        Lower bounds, positive.
    high : array_like
        Upper bounds.

    Raises
    ------
    ArgumentError
        For bounds that are not positive, or in the wrong order.

    Examples
    --------
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
        """Return draws (B, *shape) from uniform numbers u (B, needs)."""
        low, high = logarithm(np.asarray(self.low, float)), logarithm(np.asarray(self.high, float))
        return exponential(low + (high - low) * u.reshape(len(u), *self.shape))


@dataclass(frozen=True)
class Choice(Distribution):
    """Distribution over several values with equal probability; in `vary`, a list has the same effect.

    Parameters
    ----------
    options : array_like
        Numbers, or arrays of one shape, along the first axis.

    Raises
    ------
    ArgumentError
        For no values, or a number that is not finite.

    Examples
    --------
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
        """Number of uniform numbers for one draw: 1 for any shape."""
        return 1

    def values(self, u: np.ndarray) -> np.ndarray:
        """Return draws (B, *shape) from uniform numbers u (B, 1)."""
        options = np.asarray(self.options, float)
        return options[(u[:, 0] * len(options)).astype(int)]


@dataclass(frozen=True)
class Scale:
    """Distribution of factors of the nominal value; see `scale`."""

    factor: Distribution


@dataclass(frozen=True)
class Around:
    """Normal distribution of configurations in the tangent space at one; see `around`."""

    q: Any
    sd: Any

    def displacement(self, nv: int) -> Normal:
        """Return the distribution of displacements (nv,); raises ArgumentError for deviations of another shape."""
        sd = np.asarray(self.sd, float)
        if sd.shape not in ((), (nv,)):
            raise ArgumentError(f"sd of around has shape {sd.shape}, but () or ({nv},) is needed")
        return Normal(np.zeros(nv), sd)


def scale(factor: Distribution | Sequence[float]) -> Scale:
    """Return an entry of `vary` whose draws multiply the nominal value instead of replacing it.

    The nominal value is a parameter of the robot, or an argument of `treesim.sweep` such as `q0` or
    `policy_parameters`.

    Parameters
    ----------
    factor : Distribution or sequence of float
        Distribution of the factor; a list is a `Choice`.

    Returns
    -------
    Scale
        An entry for `vary`.

    Raises
    ------
    ArgumentError
        If `factor` is neither a distribution nor a list.

    Examples
    --------
    >>> from treesim.sweeps import Normal, scale
    >>> scale(Normal(1.0, 0.1))
    Scale(factor=Normal(mean=1.0, sd=0.1))
    """
    return Scale(as_distribution("scale", factor))


def around(q: ArrayLike | None = None, sd: ArrayLike = 0.05) -> Around:
    """Return the distribution of configurations q displaced along the degrees of freedom by normal draws with mean 0.

    Quaternions of the drawn configurations have unit length.

    Parameters
    ----------
    q : array_like, shape (nq,), optional
        Configuration, by default the nominal one.
    sd : array_like, scalar or shape (nv,)
        Standard deviations of the displacements [rad, m].

    Returns
    -------
    Around
        An entry for `vary["q0"]`.

    Examples
    --------
    >>> treesim.sweeps.around(sd=0.02)
    Around(q=None, sd=0.02)
    """
    found = Around(None if q is None else frozen_numbers("q", q), frozen_numbers("sd", sd))
    if (np.asarray(found.sd) < 0).any():
        raise ArgumentError(f"sd of around must not be negative, got {short_repr(sd)}")
    return found


def values_of(distribution: Distribution, u: np.ndarray) -> np.ndarray:
    """Return draws (B, *shape) from uniform numbers (B, needs); each row has the bits that it would have alone.

    Distributions of users are evaluated row by row: NumPy may compute the last numbers of an array by other
    instructions than the first ones.
    """
    if type(distribution).__module__.startswith(f"{__package__}.") or not len(u):
        return distribution.values(u)
    return np.concatenate([distribution.values(row) for row in u[:, None]])


def as_distribution(name: str, given: Any) -> Distribution:
    """Return a distribution unchanged, a list as a Choice.

    Raises ArgumentError for anything else, and for a distribution whose values do not have its `shape`.
    """
    if isinstance(given, Distribution):
        try:
            middle = np.asarray(given.values(np.full((1, given.needs), 0.5)), float).shape
        except Exception as error:
            raise ArgumentError(
                f"vary[{quoted(name)}]: {given} cannot draw a value: {type(error).__name__}: {reason_of(error)}"
            ) from error
        if middle != (1, *given.shape):
            raise ArgumentError(
                f"vary[{quoted(name)}]: {given} draws values of shape {middle} for one sample, but its shape is "
                f"{given.shape}"
            )
        return given
    if isinstance(given, list | tuple | np.ndarray):
        return Choice(given)
    raise ArgumentError(
        f"vary[{quoted(name)}] must be a distribution, such as Normal(1.0, 0.1) of treesim.sweeps, or a list of "
        f"values, got {short_repr(given)}"
    )


def check_reach(labels: str, a: np.ndarray, b: np.ndarray, factor: float) -> None:
    """Raise ArgumentError if a + factor b, the largest possible draw, overflows."""
    with np.errstate(over="ignore"):
        if not np.isfinite(a + factor * b).all():
            raise ArgumentError(f"{labels} are too large: what is drawn would not be finite")


def _settled(of: Any, *labels: str) -> tuple[np.ndarray, ...]:
    """Return the arrays of the named attributes, broadcast; the attributes become numbers and tuples."""
    for label in labels:
        object.__setattr__(of, label, frozen_numbers(f"{label} of {type(of).__name__}", getattr(of, label)))
    try:
        return tuple(np.broadcast_arrays(*(np.asarray(getattr(of, label), float) for label in labels)))
    except ValueError:
        shapes = " and ".join(str(np.shape(getattr(of, label))) for label in labels)
        raise ArgumentError(f"{' and '.join(labels)} of {type(of).__name__} have shapes {shapes}") from None


def frozen_numbers(label: str, value: Any) -> Any:
    """Return a number, or nested tuples of them, from a number or an array; raises ArgumentError for other values."""
    refuse_labels(label, value)
    try:
        array = np.asarray(value, float)
    except (TypeError, ValueError):
        raise ArgumentError(f"{label} must be a number, or an array of them, got {short_repr(value)}") from None
    if not np.isfinite(array).all():
        raise ArgumentError(f"{label} must be finite, got {short_repr(value)}")
    return _nested(array.tolist())


def _nested(value: Any) -> Any:
    return tuple(map(_nested, value)) if isinstance(value, list) else value
