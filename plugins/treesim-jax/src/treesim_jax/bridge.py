"""Operations of treesim as functions of JAX, which call treesim on the host.

JAX traces, batches and transposes these functions; treesim computes the numbers on the processor. `jax.vmap` makes one
call with a batch.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import jax
import numpy as np

from treesim.differentiation.operations import Operation

MOST = 64  # operations whose functions are kept, so that JAX does not compile them again

Arrays = tuple[jax.Array, ...]


class OnHost:
    """Call of treesim with all arrays of JAX as NumPy arrays; results have the type of the arguments."""

    def __init__(self, operation: Operation) -> None:
        self.operation, self.shapes = operation, [*operation.shapes.values()]

    def values(self, *primals: Any) -> tuple[np.ndarray, ...]:
        """Return the results of the operation."""
        arrays = [np.asarray(x) for x in primals]
        return self._filled(self.operation.values(*arrays), self.operation.results, arrays, self.shapes)

    def gradients(self, *given: Any) -> tuple[np.ndarray, ...]:
        """Return the gradients; given: weights, then primals."""
        arrays, count = [np.asarray(x) for x in given], len(self.operation.results)
        found = self.operation.gradients(arrays[:count], *arrays[count:])
        return self._filled(found, self.shapes, arrays, [*self.operation.results, *self.shapes])

    def _filled(self, found: Any, shapes: Any, arrays: list[np.ndarray], own: Any) -> tuple[np.ndarray, ...]:
        """Return results broadcast to the batch of all arrays: JAX gives arrays without a batch an axis of length 1."""
        batch = np.broadcast_shapes(*(x.shape[: x.ndim - len(s)] for x, s in zip(arrays, own, strict=True)))
        number = arrays[0].dtype
        return tuple(
            np.broadcast_to(x.astype(number, copy=False), batch + tuple(s)) for x, s in zip(found, shapes, strict=True)
        )


@lru_cache(maxsize=MOST)
def differentiable(operation: Operation) -> Callable[..., Arrays]:
    """Return the operation as a function of JAX arrays of one type and one batch, with gradients."""
    host, shapes, count = OnHost(operation), [*operation.shapes.values()], len(operation.results)

    def batch_of(array: jax.Array, shape: tuple[int, ...]) -> tuple[int, ...]:
        return array.shape[: array.ndim - len(shape)]

    @jax.jit  # also where the caller does not compile: JAX would compile the call again and again
    @jax.custom_vjp
    def call(*primals: jax.Array) -> Arrays:
        return _on_host(host.values, batch_of(primals[0], shapes[0]), operation.results, *primals)

    @jax.jit
    @jax.custom_jvp
    def gradients(*given: jax.Array) -> Arrays:
        return _on_host(host.gradients, batch_of(given[count], shapes[0]), shapes, *given)

    @gradients.__wrapped__.defjvp
    def _second(primals: Any, tangents: Any) -> Any:
        operation.refuse_second()

    def forward(*primals: jax.Array) -> tuple[Arrays, Arrays]:
        return call(*primals), primals

    def backward(primals: Arrays, weights: Arrays) -> Arrays:
        return gradients(*weights, *primals)

    call.__wrapped__.defvjp(forward, backward)
    return call


def _on_host(function: Callable[..., Any], batch: Any, shapes: Any, *arrays: jax.Array) -> Arrays:
    results = tuple(jax.ShapeDtypeStruct((*batch, *shape), arrays[0].dtype) for shape in shapes)
    found: Arrays = jax.pure_callback(function, results, *arrays, vmap_method="expand_dims")
    return found
