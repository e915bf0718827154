"""Networks that policies consist of."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..engine.call.evaluate import run_states
from ..engine.call.generic import runs_compiled
from ..engine.graph.calls import is_traced, traced_call
from ..errors import ArgumentError, NonFiniteError
from ..kernels.entries.status import FINE
from ..kernels.policies.network import network_of_state, network_on_lanes
from ..system.display import ReprMixin
from ..validation.arrays import Argument, batch_shape, coerce, refuse_non_finite, rows


class Port(NamedTuple):
    """Input, output or state of a network.

    Parameters
    ----------
    name : str
        Its name.
    size : int
        Its number of elements, without batch axes.

    Examples
    --------
    >>> treesim.policies.Port("actions", 12).size
    12
    """

    name: str
    size: int


@dataclass(frozen=True, eq=False, repr=False)
class Network(ReprMixin):
    """Network from observations to actions, evaluated in double precision by compiled code; immutable.

    `treesim.policies.from_onnx` returns networks. Networks with the same layers are equal. A state's results do not
    depend on the number of states, threads or the processor.

    Parameters
    ----------
    inputs : tuple of Port
        Inputs, which an observation consists of, one after the other.
    states : tuple of Port
        States of recurrent layers, in the order in which they are stored in one array.
    output : Port
        Output that is the action.
    operations : tuple of str
        Names of the operations in the file that the output depends on.
    table, weights : ndarray
        Layers, and their numbers.

    Examples
    --------
    >>> from treesim.policies.layers import Layers, Port
    >>> layers = Layers()
    >>> x = layers.inputs(2)
    >>> y = layers.function("tanh", layers.dense(x[None], np.ones((1, 2)), np.zeros(1)))
    >>> network = layers.network([Port("obs", 2)], [], Port("actions", 1), ["Gemm", "Tanh"], [y])
    >>> network
    <Network: obs (2) to actions (1), Gemm, Tanh>
    >>> network([0.25, 0.25]).round(4)
    array([0.4621])
    """

    inputs: tuple[Port, ...]
    states: tuple[Port, ...]
    output: Port
    operations: tuple[str, ...]
    table: np.ndarray
    weights: np.ndarray

    @property
    def observation_size(self) -> int:
        """Number of elements of an observation."""
        return sum(port.size for port in self.inputs)

    @property
    def state_size(self) -> int:
        """Number of elements of all states; 0 for a network without memory."""
        return sum(port.size for port in self.states)

    @cached_property
    def digest(self) -> str:
        """Digest of the layers and weights."""
        found = hashlib.sha256(repr((self.inputs, self.states, self.output)).encode())
        for array in (self.table, self.weights):
            found.update(array.tobytes())
        return found.hexdigest()

    def __call__(
        self, observation: ArrayLike, state: ArrayLike | None = None
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """Return the actions of observations, and the next states if the network has states.

        A policy of `treesim.rollout` may call networks, and store their states in its memory.

        Parameters
        ----------
        observation : array_like, shape (..., observation_size)
            Observations: numbers of all inputs, one after the other.
        state : array_like, shape (..., state_size), optional
            States; zeros by default.

        Returns
        -------
        action : ndarray, shape (..., output.size)
            Actions.
        next_state : ndarray, shape (..., state_size)
            Next states, only of a network with states.

        Raises
        ------
        ArgumentError
            If an array has another shape, or the network has no states, but `state` is given.
        NonFiniteError
            If a number, or an action, is not finite.
        """
        if state is not None and not self.states:
            raise ArgumentError("state is for networks with recurrent layers, and this network has none: leave it out")
        of_states = (self.state_size,)
        given = [Argument(f"observation ({_named(self.inputs)})", observation, (self.observation_size,))]
        if self.states:
            value = np.zeros(of_states) if state is None else state
            given.append(Argument(f"state ({_named(self.states)})", value, of_states))
        if is_traced(observation):
            return self._traced(given, state)
        arrays = [coerce(argument) for argument in given]
        batch = batch_shape(given, arrays)
        x = np.concatenate([rows(array, batch, a.shape) for a, array in zip(given, arrays, strict=True)], axis=1)
        y = np.empty((len(x), self.output.size + self.state_size))
        if len(x) and self.run(x, y) != FINE:
            refuse_non_finite(given, arrays)
            raise NonFiniteError("the network overflows: are the observations of the size that it was trained with?")
        action = y[:, : self.output.size].reshape(*batch, self.output.size)
        return (action, y[:, self.output.size :].reshape(batch + of_states)) if self.states else action

    def _traced(self, given: Sequence[Argument], state: Any) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """Return the symbolic action of an observation in a policy, and the next state if the network has states."""
        if self.states and state is None:
            raise ArgumentError(
                f"this network has states ({_named(self.states)}): store them in the memory m of a policy(t, q, v, p, "
                "u, c, m), and pass them as state"
            )
        for label, x, shape in ((each.label, each.value, each.shape) for each in given):
            if np.shape(x) != shape:
                raise ArgumentError(f"{label} has shape {np.shape(x)}, but {shape} is needed")
        numbers = np.concatenate([np.asarray(each.value, dtype=object) for each in given])
        found = traced_call(self, numbers, self.output.size + self.state_size)
        return (found[: self.output.size], found[self.output.size :]) if self.states else found

    def columns(self, x: np.ndarray) -> np.ndarray:
        """Return the results (B, n) for observations (B, k); they may be NaN or infinite."""
        y = np.empty((len(x), self.output.size + self.state_size))
        if len(x):
            self.run(x, y)
        return y

    def run(self, x: np.ndarray, y: np.ndarray) -> int:
        """Write results y (B, n) for observations and states x (B, k); return FINE, or NOT_FINITE."""
        entry = network_on_lanes if runs_compiled() else network_of_state
        return run_states(entry, (self.table, self.weights), [x], [y], "generic")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Network) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        memory = f", states {_named(self.states)}" if self.states else ""
        return f"<Network: {_named(self.inputs)} to {_named([self.output])}{memory}, {', '.join(self.operations)}>"

    _row_labels = ("inputs", "states", "output", "operations")


def _named(ports: Sequence[Port]) -> str:
    return ", ".join(f"{port.name} ({port.size})" for port in ports)
