"""Interface of the factors L and D of H = L' D L: products, solves, determinant, and white noise."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ArgumentError, quoted
from ..system.display import ReprMixin
from ..validation.arrays import Argument, check_copy, real_numbers, refuse_non_finite
from ..validation.values import parts_or_none, whole_number

MULTIPLY, MULTIPLY_TRANSPOSED, SOLVE_LOWER, SOLVE_LOWER_TRANSPOSED, SOLVE = range(5)
Size = int | Sequence[int]


class TriangularFactors(ReprMixin, ABC):
    """Factors H = L' D L of matrices (..., n, n), L lower triangular.

    Arguments x are vectors (..., n), or matrices (..., n, k) of k columns: any array whose last axis but one has the
    length n, except one of the shape of a vector for each H. Forces tau, velocities v and white noise z have the same
    shapes. Leading axes of arguments are broadcast with those of H. Results have the shape of the argument.
    Methods raise ArgumentError for other shapes, and NonFiniteError for numbers that are not finite.
    """

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """Shape (..., n) of one vector for each matrix: an argument x of products and solves."""

    @property
    @abstractmethod
    def L(self) -> np.ndarray:
        """Lower triangular factor (..., n, n)."""

    @property
    @abstractmethod
    def D(self) -> np.ndarray:
        """Diagonal factor (..., n)."""

    @property
    @abstractmethod
    def dtype(self) -> np.dtype:
        """Number type of the results."""

    @abstractmethod
    def _operate(self, operation: int, rows: np.ndarray) -> np.ndarray:
        """Apply an operation to k vectors (..., k, n) for each matrix."""

    def multiply(self, x: ArrayLike) -> np.ndarray:
        """Return L x."""
        return self._apply(MULTIPLY, x)

    def multiply_transposed(self, x: ArrayLike) -> np.ndarray:
        """Return L' x."""
        return self._apply(MULTIPLY_TRANSPOSED, x)

    def solve_lower(self, x: ArrayLike) -> np.ndarray:
        """Return L^-1 x."""
        return self._apply(SOLVE_LOWER, x)

    def solve_lower_transposed(self, x: ArrayLike) -> np.ndarray:
        """Return L'^-1 x."""
        return self._apply(SOLVE_LOWER_TRANSPOSED, x)

    def solve(self, x: ArrayLike) -> np.ndarray:
        """Return H^-1 x."""
        return self._apply(SOLVE, x)

    @property
    def log_det(self) -> np.ndarray:
        """Natural logarithm (...) of the determinant of H."""
        return np.log(self.D).sum(axis=-1)

    def whiten_forces(self, tau: ArrayLike) -> np.ndarray:
        """Return z = D^-1/2 L'^-1 tau, for which z' z = tau' H^-1 tau.

        Generalised forces with the covariance H become white noise.
        """
        return self._mapped("tau", tau, lambda x: self._divided_by_root(self._operated(SOLVE_LOWER_TRANSPOSED, x)))

    def whiten_velocities(self, v: ArrayLike) -> np.ndarray:
        """Return z = D^1/2 L v, for which z' z = v' H v, twice the kinetic energy.

        Velocities with the covariance H^-1 become white noise.
        """
        return self._mapped("v", v, lambda x: self._times_root(self._operated(MULTIPLY, x)))

    def color_forces(self, z: ArrayLike) -> np.ndarray:
        """Return tau = L' D^1/2 z, which has the covariance H for white noise z; inverse of `whiten_forces`."""
        return self._mapped("z", z, lambda x: self._operated(MULTIPLY_TRANSPOSED, self._times_root(x)))

    def color_velocities(self, z: ArrayLike) -> np.ndarray:
        """Return v = L^-1 D^-1/2 z, which has the covariance H^-1 for white noise z; inverse of `whiten_velocities`."""
        return self._mapped("z", z, lambda x: self._operated(SOLVE_LOWER, self._divided_by_root(x)))

    def sample(self, rng: np.random.Generator, size: Size = ()) -> np.ndarray:
        """Return random vectors of the normal distribution N(0, H^-1).

        Velocities with this distribution have a mean kinetic energy of 1/2 for each degree of freedom (equipartition of
        statistical mechanics at temperature 1). Therefore heavy bodies move less than light ones.

        Parameters
        ----------
        rng : numpy.random.Generator
            Source of random numbers.
        size : int or sequence of int
            Number of vectors for each matrix, as axes before the others.

        Returns
        -------
        numpy.ndarray
            `(*size, ..., n)` vectors.

        Raises
        ------
        ArgumentError
            If rng is not a generator, or a size no whole number.
        """
        if not isinstance(rng, np.random.Generator):
            raise ArgumentError(
                f"rng must be a numpy.random.Generator (numpy.random.default_rng(0)), got {quoted(rng)}"
            )
        parts = parts_or_none(size)
        axes = tuple(whole_number("size", k) for k in ((size,) if parts is None else parts))
        check_copy("the samples", (*axes, *self.shape))
        noise = rng.standard_normal((math.prod(axes), *self.shape))
        found = self.color_velocities(np.moveaxis(noise, 0, -1))
        return np.ascontiguousarray(np.moveaxis(found, -1, 0)).reshape(*axes, *self.shape)

    def _inverse_product(self, J: ArrayLike) -> np.ndarray:
        """Return J H^-1 J' for J (..., m, n), symmetric to the bit."""
        rows = real_numbers("J", J, self.dtype.type)
        if rows.ndim != len(self.shape) + 1 or rows.shape[-1:] + rows.shape[:-2] != self.shape[-1:] + self.shape[:-1]:
            leading = "".join(f"{k}, " for k in self.shape[:-1])
            raise ArgumentError(f"J has shape {rows.shape}, but ({leading}m, {self.shape[-1]}) is needed")
        check_copy("J H^-1 J'", (*rows.shape[:-1], rows.shape[-2]))
        z = self.whiten_forces(np.swapaxes(rows, -1, -2))
        product = np.swapaxes(z, -1, -2) @ z
        return (product + np.swapaxes(product, -1, -2)) / 2

    def _root(self, x: np.ndarray) -> np.ndarray:
        """Return D^1/2 for vectors or columns x; square roots have the same bits on every processor."""
        root = np.sqrt(self.D)
        return root if x.ndim == root.ndim else root[..., None]

    def _times_root(self, x: np.ndarray) -> np.ndarray:
        return x * self._root(x)

    def _divided_by_root(self, x: np.ndarray) -> np.ndarray:
        return x / self._root(x)

    def _apply(self, operation: int, x: ArrayLike) -> np.ndarray:
        return self._mapped("x", x, lambda vectors: self._operated(operation, vectors))

    def _operated(self, operation: int, x: np.ndarray) -> np.ndarray:
        """Apply an operation to a vector for each matrix, or to columns."""
        if x.ndim > len(self.shape):
            return self._operate_on_columns(operation, x)
        return self._operate(operation, x[..., None, :])[..., 0, :]

    def _operate_on_columns(self, operation: int, x: np.ndarray) -> np.ndarray:
        found = self._operate(operation, np.ascontiguousarray(np.swapaxes(x, -1, -2)))
        return np.ascontiguousarray(np.swapaxes(found, -1, -2))

    def _mapped(self, name: str, x: ArrayLike, function: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """Apply a function of a vector for each matrix, or of columns, to vectors or columns with any leading axes.

        Axes in front of those of the matrices become further columns.
        """
        given, own = real_numbers(name, x, self.dtype.type), self.shape[:-1]
        full, tail = self._axes(name, given.shape)
        check_copy(name, (*full, *tail))
        refuse_non_finite([Argument(name, x, self.shape)], [given])
        vectors = np.broadcast_to(given, (*full, *tail))
        if full == own:
            return function(vectors)
        count, columns = math.prod(full[: len(full) - len(own)]), math.prod(tail[1:])
        parts = np.moveaxis(vectors.reshape(count, *own, *tail), 0, -1)
        found = function(np.ascontiguousarray(parts).reshape(*self.shape, columns * count)).reshape(parts.shape)
        return np.ascontiguousarray(np.moveaxis(found, -1, 0)).reshape(vectors.shape)

    def _axes(self, name: str, shape: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the leading axes of an argument after broadcasting, and those of a vector or of columns."""
        own, n = self.shape[:-1], self.shape[-1]
        columns = shape != self.shape and shape[-2:-1] == (n,)
        tail = shape[-2:] if columns else shape[-1:]
        with suppress(ValueError):  # of axes that do not fit
            full = np.broadcast_shapes(shape[: len(shape) - len(tail)], own)
            if tail[:1] == (n,) and full[len(full) - len(own) :] == own:
                return full, tail
        leading = f", whose first axes can be broadcast to {own}" if own else ""
        raise ArgumentError(f"{name} has shape {shape}, but (..., {n}) or (..., {n}, k){leading} is needed")
