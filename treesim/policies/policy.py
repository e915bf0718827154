"""Policies: a network with a contract, for one robot."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ArgumentError, UnsupportedError, quoted, unknown_name
from ..model.named_axes import coordinate_argument, velocity_argument
from ..model.tree import Tree
from ..states.arguments import checked_robot, positive_number, whole_number
from ..system.display import ReprMixin
from ..validation.arrays import Argument, batch_shape, coerce, refuse_non_finite
from .contract import NEWEST, Contract
from .network import Network
from .observations import Known, value_of
from .onnx import from_onnx
from .servos import Servos, addresses

if TYPE_CHECKING:
    from .controller import PolicyController


def load(
    network: Network | str | os.PathLike[str] | bytes, contract: Contract | str | os.PathLike[str] | bytes, robot: Tree
) -> Policy:
    """Return the policy of a network, whose observations and actions a contract describes, for a robot.

    Parameters
    ----------
    network : Network, path-like or bytes
        The network, or an ONNX file as for `from_onnx`.
    contract : Contract, path-like or bytes
        The contract, or a TOML file as for `Contract.from_toml`.
    robot : Tree
        The robot, without a world's free bodies.

    Returns
    -------
    Policy
        The policy.

    Raises
    ------
    ArgumentError
        If contract, network and robot do not fit; the message names the line and the key of the contract.

    Examples
    --------
    >>> treesim.policies.load("missing.onnx", "missing.toml", treesim.load("ur5"))
    Traceback (most recent call last):
        ...
    treesim.errors.ArgumentError: cannot read 'missing.toml': No such file or directory
    """
    found = contract if isinstance(contract, Contract) else Contract.from_toml(contract)
    if not isinstance(network, Network):
        network = from_onnx(network, states=found.states or None)
    return Policy(network, found, checked_robot(robot))


class Policy(ReprMixin):
    """Network with a contract, which computes the controls of a robot from states and commands.

    `treesim.policies.load` returns policies. All numbers that a policy stores between its steps are in an array, the
    memory: last actions, histories, delayed values, and states of the network. Noise of the contract is not added.

    Attributes
    ----------
    robot : Tree
        The robot.
    contract : Contract
        The contract.
    network : Network
        The network.
    command_names : tuple of str
        Names of the numbers of a command, in their order.
    posture : ndarray, shape (nq,)
        Neutral configuration with the default positions of the contract's joints.
    kp, kd : ndarray, shape (nv,)
        Gains of the actuators [N m/rad, N m s/rad, N/m, N s/m]; 0 for joints whose actions are torques.

    Examples
    --------
    >>> from treesim.policies.layers import Layers, Port
    >>> layers = Layers()
    >>> y = layers.dense(layers.inputs(2)[None], np.eye(2), np.zeros(2))
    >>> network = layers.network([Port("obs", 2)], [], Port("actions", 2), ["Gemm"], [y])
    >>> text = b'''
    ... policy = 1
    ... rate = 50
    ... joints = {order = ["shoulder_pan_joint", "elbow_joint"]}
    ... observation = {terms = [{term = "joint_position"}]}
    ... action = {kind = "joint_position", scale = 0.5}
    ... actuators = {"*" = {type = "PositionServo", kp = 100, kd = 10}}
    ... hold = {"*" = {kp = 300, kd = 30}}
    ... '''
    >>> policy = treesim.policies.load(network, text, treesim.load("ur5"))
    >>> control, memory = policy.step(0.0, np.full(6, 0.4), np.zeros(6), [], policy.begin())
    >>> control
    array([0.2, 0. , 0.2, 0. , 0. , 0. ])
    """

    def __init__(self, network: Network, contract: Contract, robot: Tree) -> None:
        self.network, self.contract, self.robot = network, contract, robot
        fault, action = contract.source.fault, contract.action
        if contract.robot not in (None, robot.name):
            raise fault(("robot",), f"is {quoted(contract.robot)}, but the robot is {quoted(robot.name)}")
        _check_joints(contract, robot)
        names = [name for term in contract.terms if term.name == "command" for name in term.settings]
        self.command_names = tuple(dict.fromkeys(names))
        self._values = [value_of(term, contract, robot, self.command_names) for term in contract.terms]
        self._check_network()
        self.servos = Servos(contract, robot)
        self.posture, self.kp, self.kd = self.servos.posture, self.servos.kp, self.servos.kd
        self._at, self._positions = (addresses(robot, action.joints, axis) for axis in "vq")
        self._scale, self._offset = np.array(action.scale), np.array(action.offset)
        self._parts = dict(self._slices())

    def _check_network(self) -> None:
        network, contract = self.network, self.contract
        wanted, size = network.observation_size, contract.observation_size
        if wanted != size:
            ports = ", ".join(f"{port.name} ({port.size})" for port in network.inputs)
            text = f"have {size} numbers, but the network takes {wanted}: {ports}\n{contract.columns()}"
            raise contract.source.fault(("observation", "terms"), text)
        if network.output.size != len(contract.action.joints):
            text = f"is for {len(contract.action.joints)} joints, but the network has {network.output.size} actions"
            raise contract.source.fault(("action",), text)
        states = [port.name for port in network.states]
        for name in contract.states:
            if name not in states:
                text = f"is wrong: {unknown_name('state', name, states, of='the network').args[0]}"
                raise contract.source.fault(("network", "state", name), text)

    def _slices(self) -> Iterator[tuple[str | int, slice]]:
        """Yield the name and place of each part of the memory; the first number is 1 after the first step."""
        action, end = self.contract.action, 1
        sizes: list[tuple[str | int, int]] = [
            ("last", len(action.joints)), ("states", self.network.state_size),
            ("delayed", action.delay * len(action.joints)),
        ]  # fmt: skip
        sizes += [(k, (term.history + term.delay - 1) * term.size) for k, term in enumerate(self.contract.terms)]
        for name, size in sizes:
            yield name, slice(end, end := end + size)

    @property
    def memory_size(self) -> int:
        """Number of elements of the memory of one state."""
        return max(part.stop for part in self._parts.values())

    @property
    def gains(self) -> Mapping[str, np.ndarray]:
        """Arguments kp and kd of a Stepper, BatchStepper or rollout under this policy, whose gains are implicit.

        Raises UnsupportedError for explicit gains; the method `torque` computes their torques.
        """
        if self.servos.period is not None:
            raise UnsupportedError(
                f"the gains of the contract are explicit: every {self.servos.period:g} s, pass the result of "
                "policy.torque(control, q, v) to a stepper without gains"
            )
        return {"kp": self.kp, "kd": self.kd}

    def steps(self, dt: float) -> int:
        """Return the number of steps of length dt [s] in a period of the policy.

        Parameters
        ----------
        dt : float
            Step [s].

        Returns
        -------
        int
            Number of steps.

        Raises
        ------
        ArgumentError
            If the period is no whole multiple of dt.
        """
        return multiple(1 / self.contract.rate, dt, f"the period of the policy, {self.contract.rate:g} Hz")

    def begin(self, count: int | None = None) -> np.ndarray:
        """Return the memory at the start, (memory_size,), or (count, memory_size) for several states.

        Parameters
        ----------
        count : int, optional
            Number of states. None for one state without a batch axis.

        Returns
        -------
        ndarray
            Zeros. The first step fills histories and delays with its own values.
        """
        return np.zeros((self.memory_size,) if count is None else (whole_number("count", count), self.memory_size))

    def observation(
        self, t: ArrayLike, q: ArrayLike, v: ArrayLike, command: ArrayLike, memory: ArrayLike
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return observations, and the memory with their histories.

        Parameters
        ----------
        t : float or array_like, shape (...)
            Time [s].
        q : array_like, shape (..., nq)
            Configurations.
        v : array_like, shape (..., nv)
            Velocities.
        command : array_like, shape (..., number of command_names)
            Commands.
        memory : array_like, shape (..., memory_size)
            Memory of the step before, or of `begin`.

        Returns
        -------
        observation : ndarray, shape (..., n)
            Observations.
        memory : ndarray, shape (..., memory_size)
            New memory.

        Raises
        ------
        ArgumentError
            If a shape does not fit.
        NonFiniteError
            If a number is not finite.
        """
        return self._observation(*self._arguments(t, q, v, command, memory))

    def step(
        self, t: ArrayLike, q: ArrayLike, v: ArrayLike, command: ArrayLike, memory: ArrayLike
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the controls of a period, and the memory for the next step.

        Parameters
        ----------
        t : float or array_like, shape (...)
            Time [s].
        q : array_like, shape (..., nq)
            Configurations.
        v : array_like, shape (..., nv)
            Velocities.
        command : array_like, shape (..., number of command_names)
            Commands.
        memory : array_like, shape (..., memory_size)
            Memory of the step before, or of `begin`.

        Returns
        -------
        control : ndarray, shape (..., nv)
            Target positions of joints with gains, else torques.
        memory : ndarray, shape (..., memory_size)
            New memory.

        Raises
        ------
        ArgumentError
            If a shape does not fit.
        NonFiniteError
            If a number is not finite, or the network overflows.
        """
        known, memory = self._arguments(t, q, v, command, memory)
        observation, memory = self._observation(known, memory)
        states, action = self._parts["states"], self.contract.action
        if self.network.states:
            found, memory[..., states] = self.network(observation, memory[..., states])
        else:
            found = np.asarray(self.network(observation))
        used = found if action.clip is None else np.clip(found, *action.clip)
        target = self._scale * used + self._offset
        if action.kind == "joint_position_delta":
            target = known.q[..., self._positions] + target
        values = self._remembered("delayed", target, action.delay, memory)
        memory[..., self._parts["last"]] = found
        memory[..., 0] = 1.0
        control = np.broadcast_to(self.servos.targets, (*target.shape[:-1], self.robot.nv)).copy()
        control[..., self._at] = values[..., 0, :]
        return control, memory

    def torque(self, control: ArrayLike, q: ArrayLike, v: ArrayLike) -> np.ndarray:
        """Return the torques of the actuators: kp (control - q) - kd v within the limits, or the control itself.

        Parameters
        ----------
        control : array_like, shape (..., nv)
            Controls of `step`.
        q : array_like, shape (..., nq)
            Configurations.
        v : array_like, shape (..., nv)
            Velocities.

        Returns
        -------
        ndarray, shape (..., nv)
            Generalised forces [N m, N].
        """
        given = velocity_argument(self.robot, "control", control), *self._of_state(q, v)
        u, q, v = (coerce(argument) for argument in given)
        return self.servos.torque(u, q, v)

    def controller(self, dt: float, command: ArrayLike = ()) -> PolicyController:
        """Return a controller for `treesim.Simulation` that evaluates the policy at its rate.

        Parameters
        ----------
        dt : float
            Step of the simulation [s].
        command : array_like, shape (number of command_names,)
            Command; the attribute `command` of the controller may be changed during a run.

        Returns
        -------
        PolicyController
            The controller.

        Raises
        ------
        ArgumentError
            If the command does not fit, or a period of the contract is no whole multiple of dt.
        """
        from .controller import PolicyController

        return PolicyController(self, dt, command)

    def command_argument(self, value: ArrayLike) -> Argument:
        """Return the argument of commands."""
        return Argument(f"command ({', '.join(self.command_names) or 'none'})", value, (len(self.command_names),))

    def _of_state(self, q: ArrayLike, v: ArrayLike) -> tuple[Argument, Argument]:
        return coordinate_argument(self.robot, "q", q), velocity_argument(self.robot, "v", v)

    def _arguments(self, t: Any, q: Any, v: Any, command: Any, memory: Any) -> tuple[Known, np.ndarray]:
        given = [
            Argument("t", t, ()), *self._of_state(q, v), self.command_argument(command),
            Argument("memory", memory, (self.memory_size,)),
        ]  # fmt: skip
        arrays = [coerce(argument) for argument in given]
        batch = batch_shape(given, arrays)
        refuse_non_finite(given, arrays)
        wide = [np.broadcast_to(x, batch + argument.shape) for x, argument in zip(arrays, given, strict=True)]
        t, q, v, command = wide[:4]
        return Known(t, q, v, command, wide[4][..., self._parts["last"]]), wide[4].copy()

    def _observation(self, known: Known, memory: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        terms, batch = self.contract.terms, memory.shape[:-1]
        shown = []
        for k, (term, value) in enumerate(zip(terms, self._values, strict=True)):
            present = np.broadcast_to(value(known), (*batch, term.size))
            values = self._remembered(k, present, term.history + term.delay - 1, memory)[..., : term.history, :]
            shown.append(values[..., ::-1, :] if term.order == NEWEST else values)
        if self.contract.layout == "frame":
            observation = np.concatenate(shown, axis=-1).reshape(*batch, -1)
        else:
            observation = np.concatenate([x.reshape(*batch, -1) for x in shown], axis=-1)
        return (observation if self.contract.clip is None else np.clip(observation, *self.contract.clip)), memory

    def _remembered(self, part: str | int, present: np.ndarray, count: int, memory: np.ndarray) -> np.ndarray:
        """Return the `count` values (..., count + 1, n) before the present one, and that; store all but the oldest.

        Before the first step, the present value stands for those before.
        """
        if not count:
            return present[..., None, :]
        before = memory[..., self._parts[part]].reshape(*present.shape[:-1], count, present.shape[-1])
        before = np.where(memory[..., 0, None, None] > 0, before, present[..., None, :])
        values = np.concatenate([before, present[..., None, :]], axis=-2)
        memory[..., self._parts[part]] = values[..., 1:, :].reshape(*present.shape[:-1], -1)
        return values

    def __repr__(self) -> str:
        return f"<Policy of {self.robot.name!r}: {self.contract!r}>"

    _row_labels = ("robot", "contract", "network", "command_names", "posture")


def _check_joints(contract: Contract, robot: Tree) -> None:
    """Raise ArgumentError for a joint that the robot lacks, or that has no motion of its own of one coordinate."""
    known = [name for name in robot.joint_names if robot.joint(name).type != "floating"]
    for k, name in enumerate(contract.joints):
        fault, path = contract.source.fault, ("joints", "order", k)
        if name not in known:
            raise fault(path, f"is wrong: {unknown_name('joint', name, known, of=quoted(robot.name)).args[0]}")
        joint = robot.joint(name)
        if joint.mimic is not None:
            raise fault(path, f"is {quoted(name)}, a mimic joint: leave it out")
        if joint.nv != 1:
            raise fault(path, f"is {quoted(name)}, which has {joint.nv} degrees of freedom, not one")


def multiple(period: float, dt: float, what: str) -> int:
    """Return period / dt; raises ArgumentError if it is no whole number."""
    ratio = period / positive_number("dt", dt)
    if not math.isclose(ratio, round(ratio), rel_tol=1e-9) or not round(ratio):
        near = period / max(1, round(ratio))
        raise ArgumentError(f"{what}, is no whole multiple of dt = {dt:g} s: take dt = {near:.6g}, for example")
    return round(ratio)
