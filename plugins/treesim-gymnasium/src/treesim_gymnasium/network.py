"""Policies that are trained networks, for rollouts, sweeps and ONNX files."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from treesim.errors import ArgumentError, reason_of
from treesim.numbers import exp, maximum, minimum, tanh
from treesim.system.archives import open_arrays
from treesim.system.files import DAMAGED
from treesim.system.input_files import LARGEST_ARRAYS
from treesim.validation.values import known_name

from .task import Task

CLIP = 10.0  # of normalized observations, as VecNormalize of stable-baselines3 has it
OPSET, IR = 17, 8  # versions of ONNX's operations, and of its files


class Activation(NamedTuple):
    """Function of NumPy arrays, and of one number, which may be symbolic."""

    of_array: Callable[[np.ndarray], np.ndarray]
    of_number: Callable[[Any], Any]


ACTIVATIONS = {
    "tanh": Activation(np.tanh, tanh),
    "elu": Activation(
        lambda x: np.maximum(x, 0.0) + np.expm1(np.minimum(x, 0.0)),
        lambda x: maximum(x, 0.0) + (exp(minimum(x, 0.0)) - 1.0),
    ),
}


class Network(NamedTuple):
    """Feed-forward network with one function between its layers, whose last layer yields the action.

    Parameters
    ----------
    layers : sequence of (ndarray, ndarray)
        Weights (n_out, n_in) and biases (n_out,) of each layer.
    mean : ndarray, shape (n,)
        Mean of the observations, which is subtracted.
    scale : ndarray, shape (n,)
        Standard deviation, by which they are divided; the quotient is clipped at 10.
    activation : {"tanh", "elu"}
        Function of the outputs of each layer but the last.

    Examples
    --------
    >>> from treesim_gymnasium.network import Network
    >>> Network([(np.ones((1, 2)), np.zeros(1))], np.zeros(2), np.ones(2)).sizes
    (2, 1)
    """

    layers: Sequence[tuple[np.ndarray, np.ndarray]]
    mean: np.ndarray
    scale: np.ndarray
    activation: str = "tanh"

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of observations, units of each hidden layer, and number of actions."""
        return (self.layers[0][0].shape[1], *(len(bias) for _, bias in self.layers))

    @property
    def parameters(self) -> np.ndarray:
        """All numbers (k,), as `policy` takes them: mean, scale, then weights and biases of each layer."""
        return np.concatenate([self.mean, self.scale, *(np.ravel(x) for layer in self.layers for x in layer)])

    def action(self, observation: ArrayLike) -> np.ndarray:
        """Return the actions (..., m) of observations (..., n), from -1 to 1."""
        x = np.clip((np.asarray(observation) - self.mean) / self.scale, -CLIP, CLIP)
        for k, (weight, bias) in enumerate(self.layers):
            x = x @ weight.T + bias
            x = ACTIVATIONS[self.activation].of_array(x) if k < len(self.layers) - 1 else np.clip(x, -1.0, 1.0)
        return x

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the network to a .npz file."""
        arrays = {f"{kind}_{k}": x for k, layer in enumerate(self.layers) for kind, x in zip("Wb", layer, strict=True)}
        np.savez(Path(path), mean=self.mean, scale=self.scale, activation=np.array(self.activation), **arrays)

    def to_onnx(self) -> bytes:
        """Return the network as an ONNX file with weights of 32 bits, input "obs" and output "actions".

        The file contains the normalization of observations and the limits of actions. Needs the package onnx.
        """
        from onnx import TensorProto, helper, numpy_helper

        numbers = {"mean": self.mean, "scale": self.scale, "least": -CLIP, "most": CLIP, "low": -1.0, "high": 1.0}
        nodes = [
            helper.make_node("Sub", ["obs", "mean"], ["centred"]),
            helper.make_node("Div", ["centred", "scale"], ["divided"]),
            helper.make_node("Clip", ["divided", "least", "most"], ["y_0"]),
        ]
        for k, (weight, bias) in enumerate(self.layers):
            numbers |= {f"W_{k}": weight, f"b_{k}": bias}
            nodes.append(helper.make_node("Gemm", [f"y_{k}", f"W_{k}", f"b_{k}"], [f"x_{k + 1}"], transB=1))
            if k < len(self.layers) - 1:
                nodes.append(helper.make_node(self.activation.capitalize(), [f"x_{k + 1}"], [f"y_{k + 1}"]))
        nodes.append(helper.make_node("Clip", [f"x_{len(self.layers)}", "low", "high"], ["actions"]))
        ports = [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", size])
            for name, size in (("obs", self.sizes[0]), ("actions", self.sizes[-1]))
        ]
        weights = [numpy_helper.from_array(np.asarray(x, np.float32), name) for name, x in numbers.items()]
        graph = helper.make_graph(nodes, "policy", ports[:1], ports[1:], weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR)
        content: bytes = model.SerializeToString(deterministic=True)
        return content


def load(path: str | os.PathLike[str]) -> Network:
    """Return the network of a .npz file of `Network.save`; raises ArgumentError for other files."""
    try:
        with open_arrays(path, LARGEST_ARRAYS) as arrays:
            count = sum(name.startswith("W_") for name in arrays)
            layers = [(_real(arrays, f"W_{k}", 2), _real(arrays, f"b_{k}", 1)) for k in range(count)]
            activation = str(arrays["activation"]) if "activation" in arrays else "tanh"
            return checked(Network(layers, _real(arrays, "mean", 1), _real(arrays, "scale", 1), activation))
    except OSError as error:
        raise ArgumentError(f"cannot read {os.fspath(path)}: {reason_of(error)}") from None
    except DAMAGED as error:
        raise ArgumentError(f"{os.fspath(path)} holds no network of Network.save: {reason_of(error)}") from None


def _real(arrays: Any, name: str, axes: int) -> np.ndarray:
    """Return an array of an archive; raises ValueError unless it has real numbers and so many axes."""
    found = arrays[name]
    if found.dtype.kind not in "fiu" or found.ndim != axes:
        what = f"{found.dtype} of shape {found.shape}"
        raise ValueError(f"{name} must be an array of real numbers with {axes} axes, and is {what}")
    return np.asarray(found, float)


def checked(network: Network) -> Network:
    """Return the network; raises ArgumentError if its layers do not fit together, or numbers are not finite."""
    if not network.layers:
        raise ArgumentError("the network has no layers")
    known_name("activation", network.activation, ACTIVATIONS)
    count = len(network.mean)
    if np.shape(network.scale) != (count,) or not (network.scale > 0).all():
        raise ArgumentError(f"scale must be {count} positive numbers, one for each observation")
    for k, (weight, bias) in enumerate(network.layers):
        if weight.ndim != 2 or weight.shape != (len(bias), count):
            raise ArgumentError(f"layer {k} has weights {weight.shape}, but ({len(bias)}, {count}) are needed")
        count = len(bias)
    if not np.isfinite(network.parameters).all():
        raise ArgumentError("the network holds a number that is not finite")
    return network


def policy(task: Task, sizes: Sequence[int], activation: str = "tanh") -> Callable[..., None]:
    """Return the policy of networks for `treesim.rollout`.

    `policy_parameters` are the parameters of the episode, if the task has any, then those of `Network.parameters`.

    One step of the rollout is one action: take dt = task.dt * task.steps, and substeps = task.steps times those of the
    task's step; `rollout_options` returns these.

    Parameters
    ----------
    task : Task
        Task that observes states and parameters of episodes alone.
    sizes : sequence of int
        `Network.sizes`.
    activation : str
        `Network.activation`.

    Returns
    -------
    callable
        policy(t, q, v, p, u).

    Raises
    ------
    ArgumentError
        If the numbers of observations or actions do not agree, or the task observes contact, an inertial unit or
        heights.

    Examples
    --------
    >>> from treesim_gymnasium import balance, network
    >>> rule = network.policy(balance(), (8, 16, 1))
    >>> options = network.rollout_options(balance())
    >>> p = np.zeros(8 + 8 + 16 * 9 + 17) + 1e-3
    >>> treesim.rollout(balance().world, np.zeros(3), np.zeros(3), rule, steps=10, policy_parameters=p, **options)
    <Rollouts: 1 of 10 states, 0.05 ... 0.5 s, float64>
    """
    low, high = task.range
    driven = task.driven
    function = ACTIVATIONS[known_name("activation", activation, ACTIVATIONS)].of_number
    for label in ("contact_links", "imu", "heights", "last_action"):
        if getattr(task, label):
            raise ArgumentError(f"the task observes {label}, which a rollout's policy does not get: train it without")
    if sizes[-1] != len(driven):
        raise ArgumentError(f"the network has {sizes[-1]} actions, but the task has {len(driven)}")

    def rule(t: Any, q: Any, v: Any, p: Any, u: Any) -> None:
        n, k = sizes[0], task.parameters
        x, p = np.array([*task.observe(t, q, v, p[:k])]), p[k:]
        if len(x) != n:
            raise ArgumentError(f"the network takes {n} observations, but the task has {len(x)}")
        x = np.array([maximum(minimum(each, CLIP), -CLIP) for each in (x - p[:n]) / p[n : 2 * n]])
        at = 2 * n
        for k, (before, after) in enumerate(itertools.pairwise(sizes)):
            weight, bias = p[at : at + before * after].reshape(after, before), p[at + before * after :][:after]
            x, at = weight @ x + bias, at + (before + 1) * after
            x = (
                np.array([*map(function, x)])
                if k < len(sizes) - 2
                else np.array([maximum(minimum(each, 1.0), -1.0) for each in x])
            )
        u[driven] = (low + high) / 2 + (high - low) / 2 * x

    return rule


def rollout_options(task: Task) -> dict[str, Any]:
    """Return arguments of `treesim.rollout` for the steps of a task: dt, substeps, gains and methods."""
    kp, kd = task.gains
    return {
        "dt": task.dt * task.steps,
        "substeps": task.steps * (1 if task.substeps is None else task.substeps),
        "kp": kp,
        "kd": kd,
        "integrator": task.integrator,
        "backend": task.backend,
        "contact_solver": task.contact_solver,
    }
