"""Operations that only move numbers: they act on arrays of constants and of addresses alike, and add no layers."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import onnx

from .values import Node, Value

NUMBERS = {onnx.TensorProto.DOUBLE, onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16}
WHOLE = {onnx.TensorProto.INT64, onnx.TensorProto.INT32}


def identity(node: Node) -> Value:
    """Return the input."""
    return node.input(0)


def dropout(node: Node) -> Value:
    """Return the input: nothing is dropped after training."""
    training = node.given(2)
    if node.outputs > 1 or (training is not None and not (training.known and not training.array.any())):
        node.refuse("only Dropout of inference, with one output, is supported")
    return node.input(0)


def cast(node: Node) -> Value:
    """Return the input in another type of numbers."""
    x, to = node.input(0), node.get("to", onnx.TensorProto.FLOAT)
    if to in NUMBERS:
        return x.with_array(x.array.astype(float)) if x.known else x
    if not x.known or to not in WHOLE | {onnx.TensorProto.BOOL}:
        node.refuse("only casts to real numbers, and of constants to integers, are supported")
    return x.with_array(x.array.astype(np.int64 if to in WHOLE else bool))


def constant(node: Node) -> Value:
    """Return a constant that is an attribute."""
    found = [x for x in (node.get(name, None) for name in CONSTANTS) if x is not None]
    if len(found) != 1:
        node.refuse("it must have one of the attributes " + ", ".join(CONSTANTS))
    x = np.asarray(found[0])
    return Value(x.astype(float if x.dtype.kind == "f" else np.int64), True)


CONSTANTS = ("value", "value_float", "value_floats", "value_int", "value_ints")


def constant_of_shape(node: Node) -> Value:
    """Return a constant repeated."""
    shape, value = node.constant(0, "the shape").astype(int), np.ravel(node.get("value", np.zeros(1)))
    node.check_size(*map(int, shape))
    return Value(np.full(shape, value[0]), True)


def shape_of(node: Node) -> Value:
    """Return the shape of the input."""
    found = np.array(node.input(0).shape, np.int64)
    return Value(found[node.get("start", 0) : node.get("end", len(found))], True)


def number_range(node: Node) -> Value:
    """Return numbers with a constant distance."""
    start, limit, delta = (node.constant(k, "a limit").ravel()[0] for k in range(3))
    if delta == 0:
        node.refuse("delta is 0")
    node.check_size(max(0, math.ceil((limit - start) / delta)))
    return Value(np.arange(start, limit, delta), True)


def reshape(node: Node) -> Value:
    """Return the input in another shape."""
    x, shape = node.input(0), [int(n) for n in node.constant(1, "the shape").ravel()]
    if not node.get("allowzero", 0):
        if any(n == 0 and k >= len(x.shape) for k, n in enumerate(shape)):
            node.refuse(f"the shape {shape} copies an axis that the input, of shape {x.shape}, does not have")
        shape = [x.shape[k] if n == 0 else n for k, n in enumerate(shape)]
    return _in_shape(node, x, shape)


def flatten(node: Node) -> Value:
    """Return the input with two axes."""
    x, axis = node.input(0), node.get("axis", 1)
    first = axis if axis == len(node.input(0).shape) else node.axis(axis, max(1, len(x.shape)))
    return _in_shape(node, x, [math.prod(x.shape[:first]), -1])


def squeeze(node: Node) -> Value:
    """Return the input without axes of length 1."""
    x, axes = node.input(0), node.integers("axes", 1)
    given = [k for k, n in enumerate(x.shape) if n == 1] if axes is None else axes
    gone = {node.axis(axis, len(x.shape)) for axis in given}
    if any(x.shape[k] != 1 for k in gone):
        node.refuse(f"an axis of {sorted(gone)} of the input, of shape {x.shape}, has not the length 1")
    return _in_shape(node, x, [n for k, n in enumerate(x.shape) if k not in gone])


def unsqueeze(node: Node) -> Value:
    """Return the input with more axes of length 1."""
    x, axes = node.input(0), node.integers("axes", 1) or []
    count = len(x.shape) + len(axes)
    new, left = {node.axis(axis, count) for axis in axes}, iter(x.shape)
    if len(new) != len(axes) or count > 32:
        node.refuse(f"the axes {axes} do not fit to the shape {x.shape}")
    return _in_shape(node, x, [1 if k in new else next(left) for k in range(count)])


def transpose(node: Node) -> Value:
    """Return the input with its axes in another order."""
    x = node.input(0)
    order = list(node.get("perm", range(len(x.shape))[::-1]))
    if sorted(order) != list(range(len(x.shape))):
        node.refuse(f"perm is {order}, but the input has the shape {x.shape}")
    return x.with_array(x.array.transpose(order))


def concat(node: Node) -> Value:
    """Return inputs one after the other along an axis."""
    values = [node.input(k) for k in range(len(node.inputs))]
    node.check_size(sum(math.prod(value.shape) for value in values))
    known = all(value.known for value in values)
    arrays = [value.array if known else node.addresses(value) for value in values]
    axis = node.axis(node.get("axis", 0), len(arrays[0].shape))
    try:
        return Value(np.concatenate(arrays, axis), known)
    except ValueError:
        node.refuse(f"the shapes {', '.join(str(x.shape) for x in arrays)} do not fit together")


def take_slice(node: Node) -> Value:
    """Return a part of the input."""
    x = node.input(0)
    starts, ends = node.integers("starts", 1) or [], node.integers("ends", 2) or []
    axes = node.integers("axes", 3) or list(range(len(starts)))
    steps = node.integers("steps", 4) or [1] * len(starts)
    if not len(starts) == len(ends) == len(axes) == len(steps) or 0 in steps:
        node.refuse(f"starts {starts}, ends {ends}, axes {axes} and steps {steps} do not fit together")
    where = [slice(None)] * len(x.shape)
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        place = node.axis(axis, len(x.shape))
        before = step < 0 and end < -x.shape[place]  # the first element, too
        where[place] = slice(start, None if before else end, step)
    return x.with_array(x.array[tuple(where)])


def split(node: Node) -> list[Value]:
    """Return parts of the input along an axis."""
    x, sizes = node.input(0), node.integers("split", 1)
    axis, count = node.axis(node.get("axis", 0), len(node.input(0).shape)), node.get("num_outputs", node.outputs)
    length = x.shape[axis]
    if sizes is None:
        each = -(-length // max(1, count))
        sizes = [max(0, min(each, length - k * each)) for k in range(node.outputs)]
    if sum(sizes) != length or len(sizes) != node.outputs or min(sizes) < 0:
        node.refuse(f"the parts {sizes} do not fit to an axis of length {length} and {node.outputs} outputs")
    return [x.with_array(part) for part in np.split(x.array, np.cumsum(sizes)[:-1], axis)]


def gather(node: Node) -> Value:
    """Return elements of the input at constant indices."""
    x, indices = node.input(0), node.constant(1, "indices")
    axis = node.axis(node.get("axis", 0), len(x.shape))
    if indices.dtype.kind not in "iu" or (indices.size and not -x.shape[axis] <= indices.min() <= indices.max()):
        node.refuse("indices must be integers within the axis")
    if indices.size and indices.max() >= x.shape[axis]:
        node.refuse(f"index {indices.max()} is beyond an axis of length {x.shape[axis]}")
    node.check_size(*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :])
    return x.with_array(np.take(x.array, indices, axis))


def expand(node: Node) -> Value:
    """Return the input repeated."""
    shape = tuple(int(n) for n in node.constant(1, "the shape").ravel())
    node.check_size(*shape)
    x, _ = node.broadcast(node.input(0), Value(np.broadcast_to(0, shape), True))
    return x


def tile(node: Node) -> Value:
    """Return copies of the input one after the other."""
    x, repeats = node.input(0), node.integers("repeats", 1) or []
    if len(repeats) != len(x.shape):
        node.refuse(f"repeats are {repeats}, but the input has the shape {x.shape}")
    node.check_size(*(n * many for n, many in zip(x.shape, repeats, strict=True)))
    return x.with_array(np.tile(x.array, repeats))


def pad(node: Node) -> Value:
    """Return the input with constants around."""
    node.require({"mode": b"constant"})
    x, pads, value = node.input(0), node.integers("pads", 1) or [], node.given(2)
    if len(pads) != 2 * len(x.shape) or node.given(3) is not None or min(pads, default=0) < 0:
        node.refuse(f"pads are {pads}; two numbers that are not negative are needed for each axis of {x.shape}")
    fill = np.zeros(()) if value is None else node.constant(2, "the value").reshape(())
    return padded(node, x, list(zip(pads[: len(x.shape)], pads[len(x.shape) :], strict=True)), fill)


def padded(node: Node, x: Value, pads: Sequence[tuple[int, int]], fill: np.ndarray) -> Value:
    """Return a value with a constant before and after the numbers along each axis."""
    node.check_size(*(n + before + after for n, (before, after) in zip(x.shape, pads, strict=True)))
    around = fill if x.known else node.layers.constants(fill)
    return x.with_array(np.pad(x.array, pads, constant_values=around))


def where(node: Node) -> Value:
    """Return elements of two inputs, selected by a constant condition."""
    condition = Value(node.constant(0, "the condition"), True)
    chosen, x, y = node.broadcast(condition, node.input(1), node.input(2))
    known = x.known and y.known
    a, b = (value.array if known else node.addresses(value) for value in (x, y))
    return Value(np.where(chosen.array, a, b), known)


def _in_shape(node: Node, x: Value, shape: Sequence[int]) -> Value:
    try:
        return x.with_array(x.array.reshape(shape))
    except (ValueError, OverflowError):
        node.refuse(f"an input of shape {x.shape} cannot have the shape {list(shape)}")
