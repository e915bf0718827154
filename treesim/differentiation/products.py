"""Products of derivatives with vectors: `jvp` in forward mode, `vjp` in reverse mode."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import accumulate, compress
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ArgumentError, quoted
from ..validation.arrays import (
    Argument,
    Shape,
    batch_shape,
    check_copy,
    precision,
    real_numbers,
    refuse_non_finite,
)
from .traced_function import TracedFunction, traced_function

Pullback = Callable[[ArrayLike], tuple[np.ndarray, ...]]


class Primals(NamedTuple):
    """Primals of a function as arrays of float64, their shape in one state, batch axes, and the type of results."""

    arrays: list[np.ndarray]
    shapes: list[Shape]
    batch: Shape
    number: type[np.floating]


def jvp(
    function: Callable[..., object], primals: Sequence[ArrayLike], tangents: Sequence[ArrayLike | None]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the value of a function, and its derivative along a direction (Jacobian-vector product).

    Parameters
    ----------
    function : callable
        Function of as many arrays as there are primals, of one state each, that returns one array or number. It may
        call treesim's functions of states (`forward_dynamics`, `frame_pose`, `mass_matrix`, `Tree.integrate`, ...), and
        compute with its arguments as the functions of `treesim.BatchFunction` do. It cannot branch on its arguments, so
        it cannot call backends of `forward_dynamics` that branch, such as those that check their accuracy.
    primals : sequence of array_like
        Arguments (..., n) of the function, whose leading axes are broadcast together, or numbers. The function is
        called with arrays (n,).
    tangents : sequence of array_like or None
        Direction of each primal: an array of the primal's shape, or (K, ...) for K directions at once. None is a
        primal that does not change; no operations are then done for it.

    Returns
    -------
    value : numpy.ndarray
        (...) + shape of the function's result.
    tangent : numpy.ndarray
        Derivative of the value along the direction, of the same shape, or (K, ...) with K directions.

    Raises
    ------
    ArgumentError
        If an array has another type or shape, or the function does not take these arguments or return one array.
    NonFiniteError
        If an argument is not finite, or the value or the derivative is not, as that of sqrt(x) at x = 0.
    UnsupportedError
        If the function cannot be traced. The message contains the line, or the limit of operations.

    Notes
    -----
    Results are exact to rounding, and float32 if all primals are; they are computed in double precision. Derivatives in
    q are those in its numbers, so a quaternion has four. For derivatives along the velocities, let the function take a
    displacement d, and compute the configuration by ``robot.integrate(q, d)``; then differentiate at d = 0.

    At kinks the derivative is the mean of both sides: 0 for the absolute value at 0, half for the maximum of equal
    numbers. The functions `less`, and conditions of `select`, have the derivative 0.

    Code is compiled for each function and its shapes, and cached on disk. It takes 0.05 to 3 s for the dynamics of a
    robot, and up to 20 s for the 150,000 operations that a function and its derivative may have together. The code is
    used again for functions with the same code that refer to the same values, and compiled again if a number that the
    function refers to changes; numbers that change often should be primals. Changes in objects of other libraries are
    not noticed. A single state runs as straight-line code; batches and K directions run on SIMD lanes. Cost: 2 to 4
    times the function's.

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> height = lambda q: treesim.frame_pose(robot, q, "ee_link")[2, 3]
    >>> value, slope = treesim.jvp(height, (np.full(6, 0.5),), (np.eye(6),))
    >>> slope.round(3)
    array([ 0.   , -0.493, -0.12 ,  0.092, -0.072,  0.   ])
    """
    given = _primals(primals)
    directions, count = _tangents(tangents, given)
    traced = traced_function(function, given.shapes)
    moving = tuple(t is not None for t in directions)
    batch, size, states = count + given.batch, math.prod(traced.result), math.prod(given.batch)
    arrays = [*given.arrays, *(t for t in directions if t is not None)]
    shapes = [*given.shapes, *compress(given.shapes, moving)]
    found = traced.run(traced.tangents(moving), batch, arrays, shapes, size)
    value = traced.shaped(found[:states, :size], given.batch + traced.result, given.number)
    return value, traced.shaped(found[:, size:], batch + traced.result, given.number)


def vjp(function: Callable[..., object], *primals: ArrayLike) -> tuple[np.ndarray, Pullback]:
    """Return the value of a function, and a function that returns gradients (vector-Jacobian products).

    Parameters
    ----------
    function, *primals
        As in `treesim.jvp`.

    Returns
    -------
    value : numpy.ndarray
        (...) + shape of the function's result.
    pullback : callable
        Function of weights w, an array of the value's shape, or (K, ...) for K sets of weights. It returns a tuple with
        the gradient of sum(w * value) in each primal: (..., n), with the leading axes of the value also where the
        primal has none, or (K, ..., n).

    Raises
    ------
    ArgumentError, NonFiniteError, UnsupportedError
        As `treesim.jvp`; also raised by the pullback.

    Notes
    -----
    See `treesim.jvp`. The cost of a gradient, 2 to 5 times that of the function, does not grow with the number of
    primals. Its code is compiled at the first call of the pullback; that of one state also returns the value, and is
    compiled at once.

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> effort = lambda q, v, a: np.sum(treesim.inverse_dynamics(robot, q, v, a) ** 2)
    >>> value, pullback = treesim.vjp(effort, np.full(6, 0.5), np.ones(6), np.zeros(6))
    >>> in_q, in_v, in_a = pullback(1.0)
    >>> bool(abs(in_a - 2 * treesim.mass_matrix(robot, np.full(6, 0.5)) @ treesim.bias_forces(
    ...     robot, np.full(6, 0.5), np.ones(6))).max() < 1e-12 * value)
    True
    """
    given = _primals(primals)
    given = given._replace(arrays=[x.copy() for x in given.arrays])  # which the caller may overwrite
    traced = traced_function(function, given.shapes)
    size = math.prod(traced.result)
    code = traced.value_of_pullback if math.prod(given.batch) == 1 else traced.value
    found = traced.run(code, given.batch, given.arrays, given.shapes, size)
    value = traced.shaped(found, given.batch + traced.result, given.number)

    def pullback(w: ArrayLike) -> tuple[np.ndarray, ...]:
        """Return the gradient of sum(w * value) in each primal."""
        return gradients_of(traced, given, w)

    return value, pullback


def gradients_of(traced: TracedFunction, given: Primals, w: ArrayLike) -> tuple[np.ndarray, ...]:
    """Return the gradients of sum(w * value) in the primals; w: weights of the value, or of K sets."""
    weights, count = _of_shape("w", w, given.batch + traced.result, "the value")
    batch, flat = count + given.batch, (math.prod(traced.result),)
    arrays, shapes = [*given.arrays, weights.reshape(batch + flat)], [*given.shapes, flat]
    size = math.prod(traced.result)
    found = traced.run(traced.gradients(), batch, arrays, shapes, size)[:, size:]
    starts = accumulate(map(math.prod, given.shapes), initial=0)
    return tuple(
        traced.shaped(found[:, start : start + math.prod(shape)], batch + shape, given.number)
        for start, shape in zip(starts, given.shapes, strict=False)
    )


def _primals(primals: Any) -> Primals:
    """Return validated primals, in double precision."""
    if not isinstance(primals, tuple | list) or not primals:
        raise ArgumentError(f"primals must be a tuple of arrays, one for each argument, got {quoted(primals)}")
    arrays = [real_numbers(f"primals[{k}]", x) for k, x in enumerate(primals)]
    shapes = [x.shape[-1:] for x in arrays]
    arguments = [Argument(f"primals[{k}]", x, shape) for k, (x, shape) in enumerate(zip(arrays, shapes, strict=True))]
    if not any(map(math.prod, shapes)):
        raise ArgumentError("primals contain no number: there is nothing to differentiate in")
    batch = batch_shape(arguments, arrays)
    for argument in arguments:
        check_copy(argument.label, batch + argument.shape)
    refuse_non_finite(arguments, arrays)
    return Primals(arrays, shapes, batch, precision(*primals))


def _tangents(tangents: Any, given: Primals) -> tuple[list[np.ndarray | None], Shape]:
    """Return tangents that broadcast with the batch, None for constant primals, and the axis (K,) of directions."""
    if not isinstance(tangents, tuple | list) or len(tangents) != len(given.arrays):
        wanted = f"a tuple of {len(given.arrays)}, one for each primal"
        raise ArgumentError(f"tangents must be {wanted}, got {quoted(tangents)}")
    found: list[np.ndarray | None] = []
    counts: dict[Shape, int] = {}
    for k, (t, primal, shape) in enumerate(zip(tangents, given.arrays, given.shapes, strict=True)):
        if t is None:
            found.append(None)
            continue
        array, count = _of_shape(f"tangents[{k}]", t, primal.shape, f"primals[{k}]")
        if count:
            counts.setdefault(count, k)
            missing = len(given.batch) + len(shape) - primal.ndim
            array = array.reshape(count + (1,) * missing + primal.shape)
        found.append(array)
    if len(counts) > 1:
        (one, k), (other, i) = [*counts.items()][:2]
        raise ArgumentError(f"tangents[{k}] has {one[0]} directions, but tangents[{i}] has {other[0]}")
    return found, next(iter(counts), ())


def _of_shape(label: str, value: ArrayLike, shape: Shape, of: str) -> tuple[np.ndarray, Shape]:
    """Return finite numbers of a shape or, with an axis (K,) in front, of several, and that axis."""
    array = real_numbers(label, value)
    count = array.shape[: array.ndim - len(shape)]
    if array.shape != count + shape or len(count) > 1 or count == (0,):
        several = f"({', '.join(['K', *map(str, shape)])})"
        raise ArgumentError(f"{label} has shape {array.shape}, but that of {of}, {shape}, or {several} is needed")
    check_copy(label, array.shape)
    refuse_non_finite([Argument(label, array, shape)], [array])
    return array, count
