"""Values of an ONNX graph: constants, or addresses of numbers in a network, and the nodes that compute them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np

from treesim.errors import UnsupportedError
from treesim.policies.layers import Layers

MOST_NUMBERS = 1 << 20  # of a value that is larger than those that it is made of
LARGEST = float(np.finfo(float).max)  # in place of infinity, which compiled code does not expect


class Value(NamedTuple):
    """A tensor, whose numbers are constants, or are computed by layers.

    array: the constants if it is `known`, else the addresses of the numbers (`treesim.policies.layers`).
    """

    array: np.ndarray
    known: bool

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the tensor."""
        return self.array.shape

    def with_array(self, array: np.ndarray) -> Value:
        """Return a value that consists of the same constants or addresses."""
        return self._replace(array=array)


class Node:
    """A node of a graph with its inputs, while the layers of its operation are added.

    outputs: number of its outputs. free: addresses of the network's inputs that are no states.
    """

    def __init__(
        self, place: str, inputs: Sequence[Value | None], attributes: dict[str, Any], layers: Layers,
        outputs: int, free: frozenset[int],
    ) -> None:  # fmt: skip
        self.place, self.inputs, self.layers, self.outputs = place, inputs, layers, outputs
        self.free, self._attributes = free, attributes

    def get(self, name: str, default: Any) -> Any:
        """Return an attribute."""
        return self._attributes.get(name, default)

    def refuse(self, why: str) -> NoReturn:
        """Raise UnsupportedError with the name of the node."""
        raise UnsupportedError(f"{self.place}: {why}")

    def require(self, attributes: dict[str, Any]) -> None:
        """Raise UnsupportedError if an attribute has another value."""
        for name, value in attributes.items():
            if (found := self.get(name, value)) != value:
                self.refuse(f"the attribute {name} is {found!r}, but only {value!r} is supported")

    def given(self, k: int) -> Value | None:
        """Return an input, None if it is left out."""
        return self.inputs[k] if k < len(self.inputs) else None

    def input(self, k: int) -> Value:
        """Return an input that may not be left out."""
        found = self.given(k)
        return self.refuse(f"input {k} is missing") if found is None else found

    def constant(self, k: int, what: str) -> np.ndarray:
        """Return the array of an input that must be constant."""
        found = self.input(k)
        return found.array if found.known else self.refuse(f"{what} must be constant")

    def integers(self, name: str, k: int) -> list[int] | None:
        """Return integers that are an attribute, or in later versions of the operation an input."""
        if self.given(k) is None:
            found = self.get(name, None)
            return None if found is None else [int(x) for x in found]
        array = self.constant(k, name)
        if array.dtype.kind not in "iu" or array.ndim > 1:
            self.refuse(f"{name} must be a list of integers")
        return [int(x) for x in array.ravel()]

    def axis(self, axis: int, axes: int) -> int:
        """Return an axis counted from the front."""
        if not -axes <= axis < axes:
            self.refuse(f"axis {axis} does not exist: the tensor has {axes} axes")
        return axis % axes

    def check_size(self, *lengths: int) -> None:
        """Raise UnsupportedError for too many numbers, before they are in memory."""
        if min(lengths, default=0) < 0 or math.prod(lengths) > MOST_NUMBERS:
            self.refuse(f"its result would have the shape {lengths}, and has {MOST_NUMBERS:,} numbers at most")

    def addresses(self, value: Value) -> np.ndarray:
        """Return the addresses of the numbers of a value, also of constants."""
        return self.layers.constants(value.array) if value.known else value.array

    def broadcast(self, *values: Value) -> list[Value]:
        """Return values of one shape."""
        try:
            shape = np.broadcast_shapes(*(value.shape for value in values))
        except ValueError:
            self.refuse(f"the shapes {', '.join(str(value.shape) for value in values)} do not fit together")
        self.check_size(*shape)
        return [value.with_array(np.broadcast_to(value.array, shape)) for value in values]


def computed(addresses: np.ndarray) -> Value:
    """Return the value at addresses."""
    return Value(addresses, False)
