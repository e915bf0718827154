"""Reader of ONNX files: checks, pruning, and evaluation of the graph on addresses of numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from google.protobuf.message import DecodeError
from onnx import numpy_helper

from treesim.errors import ArgumentError, TreesimError, UnsupportedError, quoted, reason_of
from treesim.policies import Network, Port
from treesim.policies.layers import Layers

from .operations import OPERATIONS
from .values import Node, Value, computed

MOST_NODES = 10_000
MOST_PRODUCED = 1 << 26  # numbers of the inputs and results of all nodes together
OLDEST = 11  # version of ONNX's operations
ACTIONS = ("actions", "action")  # outputs that are taken for the action
STANDARD = ("", "ai.onnx")  # domains of ONNX's own operations
FAULTS = ArithmeticError, AttributeError, LookupError, TypeError, ValueError  # of files that contradict themselves
INSIDE = "give a file with its weights inside"


def read_network(content: bytes, label: str, output: str | None, states: Mapping[str, str] | None) -> Network:
    """Return the network of an ONNX file; label: its name in messages, see `treesim.policies.from_onnx`."""
    try:
        model = onnx.load_model_from_string(content)
    except (DecodeError, ValueError) as error:
        raise ArgumentError(f"{label} is not an ONNX file: {reason_of(error)}") from None
    try:
        _check_model(model)
        return _Graph(model).network(output, states)
    except TreesimError as error:
        raise type(error)(f"{label}: {error}") from None
    except FAULTS as error:  # such as names that are no text
        raise ArgumentError(f"{label} is a damaged ONNX file: {reason_of(error)}") from None


def _check_model(model: onnx.ModelProto) -> None:
    """Raise an error for what no part of a supported file may contain."""
    graph = model.graph
    if not graph.output:
        raise ArgumentError("it contains no graph with outputs: is it an ONNX file?")
    versions = [x.version for x in model.opset_import if x.domain in STANDARD]
    newest = onnx.defs.onnx_opset_version()
    if not versions or not OLDEST <= max(versions) <= newest:
        found = max(versions, default="none")
        raise UnsupportedError(f"its operations have the version {found}, but {OLDEST} to {newest} are supported")
    if len(graph.node) > MOST_NODES:
        raise UnsupportedError(f"it has {len(graph.node):,} nodes, but {MOST_NODES:,} are supported at most")
    for what, found in (("functions", model.functions), ("training information", model.training_info)):
        if len(found):
            raise UnsupportedError(f"it contains {what}, which is not supported: export it for inference")
    if len(graph.sparse_initializer):
        raise UnsupportedError("it contains sparse weights, which are not supported: export dense ones")
    for tensor in graph.initializer:
        _refuse_external(tensor, f"the weights {quoted(tensor.name)}")


def _refuse_external(tensor: onnx.TensorProto, what: str) -> None:
    if tensor.data_location == onnx.TensorProto.EXTERNAL or len(tensor.external_data):
        raise UnsupportedError(f"{what} are in another file (external data), which is not read: {INSIDE}")


class _Graph:
    """Graph of a model, from which a network is built."""

    def __init__(self, model: onnx.ModelProto) -> None:
        graph = model.graph
        self._version = max(x.version for x in model.opset_import if x.domain in STANDARD)
        self._nodes, self._weights = list(graph.node), {x.name: x for x in graph.initializer}
        self._inputs = {x.name: x for x in graph.input if x.name not in self._weights}
        self._outputs = [x.name for x in graph.output]
        self._produced = 0

    def network(self, output: str | None, states: Mapping[str, str] | None) -> Network:
        """Return the network from the inputs that the output depends on."""
        pairs = self._pairs(states)
        action = self._action(output, pairs)
        nodes, inputs, pairs = self._needed(action, pairs)
        names = [name for name in inputs if name not in pairs] + [*pairs]
        shapes = {name: self._shape(self._inputs[name]) for name in names}
        if not names:
            raise ArgumentError(f"the output {quoted(action)} depends on no input")
        layers = Layers()
        values = {name: computed(layers.inputs(math.prod(shapes[name])).reshape(shapes[name])) for name in names}
        ports = {name: Port(name, math.prod(shapes[name])) for name in names}
        free = frozenset(int(x) for name in names if name not in pairs for x in values[name].array.ravel())
        results = [action, *pairs.values()]
        self._evaluate(nodes, values, layers, free, results)
        for name, after in pairs.items():
            if values[after].array.size != ports[name].size:
                shape = values[after].shape
                raise ArgumentError(f"the state {quoted(name)} has the shape {shapes[name]}, but its output {shape}")
        return layers.network(
            [ports[name] for name in names if name not in pairs], [ports[name] for name in pairs],
            Port(action, values[action].array.size), sorted({node.op_type for node in nodes}),
            [layers.constants(values[x].array) if values[x].known else values[x].array for x in results],
        )  # fmt: skip

    def _pairs(self, states: Mapping[str, str] | None) -> dict[str, str]:
        """Return the output of each input that is a state."""
        if states is None:
            found = {name: name.removesuffix("_in") + "_out" for name in self._inputs if name.endswith("_in")}
            return {before: after for before, after in found.items() if after in self._outputs}
        if not isinstance(states, Mapping):
            raise ArgumentError(f"states must be {{input: output}}, got {type(states).__name__}")
        for name, known in [(x, self._inputs) for x in states] + [(x, self._outputs) for x in states.values()]:
            if name not in known:
                what = "input" if known is self._inputs else "output"
                raise ArgumentError(f"states: there is no {what} {quoted(name)}; {_listed(what, known)}")
        return dict(states)

    def _action(self, output: str | None, pairs: Mapping[str, str]) -> str:
        """Return the name of the output that is the action."""
        if output is not None:
            if output not in self._outputs:
                raise ArgumentError(f"there is no output {quoted(output)}; {_listed('output', self._outputs)}")
            return output
        others = [name for name in self._outputs if name not in pairs.values()]
        found = [*(name for name in ACTIONS if name in others), *others]
        if not found:
            raise ArgumentError(f"all outputs are states: give output=; {_listed('output', self._outputs)}")
        return found[0]

    def _needed(
        self, action: str, pairs: Mapping[str, str]
    ) -> tuple[list[onnx.NodeProto], list[str], dict[str, str]]:  # fmt: skip
        """Return the nodes, inputs and states that the action depends on, also by the next states."""
        wanted, states = {action}, dict[str, str]()
        while True:
            found, nodes = set(wanted), []
            for node in reversed(self._nodes):
                if found.intersection(filter(None, node.output)):
                    nodes.append(node)
                    found.update(filter(None, node.input))
            states = {name: after for name, after in pairs.items() if name in found}
            if wanted.issuperset(states.values()):
                return nodes[::-1], [name for name in self._inputs if name in found], states
            wanted.update(states.values())

    def _shape(self, given: onnx.ValueInfoProto) -> tuple[int, ...]:
        """Return the shape of an input for one state: an axis without a number is that of the batch."""
        tensor = given.type.tensor_type
        name, kind = quoted(given.name), tensor.elem_type
        if kind not in (onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE):
            raise UnsupportedError(f"the input {name} must be a tensor of real numbers")
        if not tensor.HasField("shape"):
            raise UnsupportedError(f"the input {name} has no shape: export the network with shapes")
        axes = [axis.dim_value if axis.HasField("dim_value") else 0 for axis in tensor.shape.dim]
        if axes.count(0) > 1 or min(axes, default=0) < 0:
            raise UnsupportedError(f"the input {name} has several axes without a length: only that of the batch may be")
        shape = tuple(max(1, n) for n in axes)
        if math.prod(shape) > MOST_PRODUCED:
            raise UnsupportedError(f"the input {name} of shape {shape} is too large")
        return shape

    def _evaluate(
        self, nodes: Sequence[onnx.NodeProto], values: dict[str, Value], layers: Layers, free: frozenset[int],
        results: Sequence[str],
    ) -> None:  # fmt: skip
        """Add the layers of all nodes; write the values of their outputs."""
        last = {name: k for k, node in enumerate(nodes) for name in node.input}
        for k, proto in enumerate(nodes):
            place = f"node {quoted(proto.name or f'number {k}')} ({proto.op_type})"
            try:
                found = self._outputs_of(proto, place, values, layers, free)
            except (ArgumentError, UnsupportedError) as error:
                text = str(error)
                raise type(error)(text if text.startswith(place) else f"{place}: {text}") from None
            except FAULTS as error:
                raise UnsupportedError(f"{place} has arguments that do not fit: {reason_of(error)}") from None
            values.update(zip(proto.output, found, strict=False))
            for name in proto.input:
                if last[name] == k and name not in results:
                    values.pop(name, None)
        missing = [name for name in results if name not in values]
        if missing:
            raise ArgumentError(f"no node computes the output {quoted(missing[0])}")

    def _outputs_of(
        self, proto: onnx.NodeProto, place: str, values: dict[str, Value], layers: Layers, free: frozenset[int]
    ) -> list[Value]:
        operation = OPERATIONS.get(proto.op_type) if proto.domain in STANDARD else None
        if operation is None:
            own = f" of the domain {quoted(proto.domain)}" if proto.domain not in STANDARD else ""
            raise UnsupportedError(f"the operation{own} is not supported; supported are {', '.join(OPERATIONS)}")
        if self._version < operation.first:
            raise UnsupportedError(f"it is supported from version {operation.first} of the operations on")
        attributes = {x.name: _attribute(x) for x in proto.attribute}
        if unknown := attributes.keys() - operation.attributes:
            known = ", ".join(sorted(operation.attributes)) or "none"
            raise UnsupportedError(f"the attribute {min(unknown)} is not supported; supported are {known}")
        inputs = [self._value(name, values) if name else None for name in proto.input]
        while inputs and inputs[-1] is None:
            inputs.pop()
        self._produced += sum(value.array.size for value in inputs if value is not None)
        if self._produced > MOST_PRODUCED:
            raise UnsupportedError(f"the inputs of all nodes have more than {MOST_PRODUCED:,} numbers")
        used = [k for k, name in enumerate(proto.output) if name]
        node = Node(place, inputs, attributes, layers, max(used, default=-1) + 1, free)
        made = operation.lower(node)
        found = made if isinstance(made, list) else [made]
        if node.outputs > len(found):
            node.refuse(f"it has {node.outputs} outputs, but {len(found)} are supported")
        self._produced += sum(value.array.size for value in found)
        if any(value.array.size == 0 and not value.known for value in found):
            node.refuse("its result is empty")
        return found

    def _value(self, name: str, values: dict[str, Value]) -> Value:
        if name in values:
            return values[name]
        if name not in self._weights:
            raise ArgumentError(f"its input {quoted(name)} is computed by no node before it")
        return Value(_numbers(self._weights[name], f"the weights {quoted(name)}"), True)


def _attribute(given: onnx.AttributeProto) -> Any:
    """Return the value of an attribute; raises UnsupportedError for graphs and references."""
    kinds = onnx.AttributeProto
    if given.type in (kinds.GRAPH, kinds.GRAPHS) or given.ref_attr_name:
        raise UnsupportedError(f"the attribute {given.name} is a graph or a reference, which is not supported")
    if given.type == kinds.TENSOR:
        return _numbers(given.t, f"the attribute {given.name}")
    if given.type not in (kinds.FLOAT, kinds.INT, kinds.STRING, kinds.FLOATS, kinds.INTS, kinds.STRINGS):
        raise UnsupportedError(f"the attribute {given.name} is of a kind that is not supported")
    found = onnx.helper.get_attribute_value(given)
    return found if isinstance(found, (int, float, bytes)) else list(found)


def _numbers(tensor: onnx.TensorProto, what: str) -> np.ndarray:
    """Return the numbers of a tensor: float64, int64 or bool."""
    _refuse_external(tensor, what)
    try:
        array = numpy_helper.to_array(tensor)
    except (ValueError, TypeError, KeyError, IndexError) as error:
        raise ArgumentError(f"{what} cannot be read: {reason_of(error)}") from None
    kinds = {"f": float, "i": np.int64, "u": np.int64, "b": bool}
    if array.dtype.kind not in kinds and array.dtype.name != "bfloat16":
        raise UnsupportedError(f"{what} are of type {array.dtype}, but real numbers are needed")
    with np.errstate(all="ignore"):  # what is not finite is refused where it is used
        return array.astype(kinds.get(array.dtype.kind, float))


def _listed(what: str, names: Iterable[str]) -> str:
    return f"its {what}s are {', '.join(map(quoted, names))}"
