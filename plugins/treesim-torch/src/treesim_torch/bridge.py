"""Operations of treesim as functions of `torch.autograd`.

Tensors on the processor are passed as NumPy arrays with the same memory, and so are results; others are copied.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from treesim.differentiation.operations import Operation

Tensors = tuple[torch.Tensor, ...]


class Values(torch.autograd.Function):
    """Results of an operation; primals are broadcast together."""

    @staticmethod
    def forward(operation: Operation, *primals: torch.Tensor) -> Tensors:
        """Return the results, as new tensors of the primals' type and device."""
        return _tensors(operation.values(*_arrays(primals)), primals[0])

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensors) -> None:
        """Store the operation and the primals for the gradients."""
        ctx.operation, *primals = inputs
        ctx.save_for_backward(*primals)

    @staticmethod
    def backward(ctx: Any, *weights: torch.Tensor) -> tuple[Any, ...]:
        """Return the gradients in the primals."""
        return None, *Gradients.apply(ctx.operation, *weights, *ctx.saved_tensors)

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], operation: Operation, *primals: torch.Tensor) -> Any:
        """Return the results of a batch in one call."""
        batched = _batched(primals, in_dims[1:], [*operation.shapes.values()])
        return Values.apply(operation, *batched), (0,) * len(operation.results)


class Gradients(torch.autograd.Function):
    """Gradients of an operation; given: weights of the results, then primals, whose shapes the gradients have."""

    @staticmethod
    def forward(operation: Operation, *given: torch.Tensor) -> Tensors:
        """Return the gradients, summed over the axes along which primals were broadcast."""
        arrays, count = _arrays(given), len(operation.results)
        found = _tensors(operation.gradients(arrays[:count], *arrays[count:]), given[0])
        return tuple(x.sum_to_size(p.shape) for x, p in zip(found, given[count:], strict=True))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensors) -> None:
        """Store the operation, for the error."""
        ctx.operation = inputs[0]

    @staticmethod
    def backward(ctx: Any, *weights: torch.Tensor) -> Any:
        """Raise UnsupportedError: there are no second derivatives."""
        ctx.operation.refuse_second()

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], operation: Operation, *given: torch.Tensor) -> Any:
        """Return the gradients of a batch in one call."""
        shapes = [*operation.results, *operation.shapes.values()]
        batched = _batched(given, in_dims[1:], shapes)
        primals = [x.expand(info.batch_size, *x.shape[1:]) for x in batched[len(operation.results) :]]
        found = Gradients.apply(operation, *batched[: len(operation.results)], *primals)
        return found, (0,) * len(operation.shapes)


def _batched(
    tensors: Sequence[torch.Tensor], in_dims: Sequence[int | None], shapes: Sequence[Any]
) -> list[torch.Tensor]:
    """Return tensors with the axis of vmap in front of all batch axes, of length 1 where a tensor has none."""
    moved = [x[None] if at is None else x.movedim(at, 0) for x, at in zip(tensors, in_dims, strict=True)]
    axes = max(x.ndim - len(shape) for x, shape in zip(moved, shapes, strict=True))
    missing = (axes - (x.ndim - len(shape)) for x, shape in zip(moved, shapes, strict=True))
    return [x.reshape(x.shape[0], *(1,) * count, *x.shape[1:]) for x, count in zip(moved, missing, strict=True)]


def _arrays(tensors: Sequence[torch.Tensor]) -> list[np.ndarray]:
    return [x.detach().cpu().numpy() for x in tensors]


def _tensors(arrays: Sequence[np.ndarray], like: torch.Tensor) -> Tensors:
    own = (x if x.flags.writeable else x.copy() for x in arrays)
    return tuple(torch.from_numpy(np.asarray(x)).to(like.device, like.dtype) for x in own)
