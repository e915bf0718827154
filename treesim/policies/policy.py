"""Policies: a network with a contract, for one robot."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ArgumentError, quoted
from ..model.named_axes import coordinate_argument, velocity_argument
from ..model.tree import Tree
from ..simulation.sensor_draws import LARGEST_SEED
from ..states.arguments import whole_number
from ..system.display import ReprMixin
from ..validation.arrays import Argument, batch_shape, coerce, refuse_non_finite
from .actuators import PolicyActuators, addresses, check_joints, multiple
from .contract import NEWEST, Contract, check_network
from .memory import Memory
from .network import Network
from .noise import PolicyNoise
from .observations import Known, limited, value_of

if TYPE_CHECKING:
    from .controller import PolicyController


class Policy(ReprMixin):
    """Network with a contract, which computes the controls of a robot from states and commands.

    `treesim.policies.load` returns policies. All numbers that a policy stores between its steps are in an array, the
    memory: last actions, histories, delayed values, and states of the network.
    Noise of the contract is added on request.

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
    actuators : dict of str to Motor, PositionServo or VelocityServo
        Actuator of each joint that the policy commands: the argument `actuators` of `World`. Without entries for
        joints whose actions are torques, if the contract has none.

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
        check_joints(contract, robot)
        names = [name for term in contract.terms if term.name == "command" for name in term.settings]
        self.command_names = tuple(dict.fromkeys(names))
        self._values = [value_of(term, contract, robot, self.command_names) for term in contract.terms]
        check_network(contract, network)
        made = PolicyActuators(contract, robot)
        self.actuators, self.posture, self._targets = made.by_joint, made.posture, made.targets
        self._at, self._positions = (addresses(robot, action.joints, axis) for axis in "vq")
        self._scale, self._offset = np.array(action.scale), np.array(action.offset)
        self._memory = Memory(contract, network.state_size)
        self._noise = np.concatenate([np.full(term.size, term.noise) for term in contract.terms])

    @property
    def command_ranges(self) -> dict[str, tuple[float, float]]:
        """Ranges of the numbers of a command by name; -1 to 1 where the contract has none."""
        return {name: self.contract.ranges.get(name, (-1.0, 1.0)) for name in self.command_names}

    @property
    def memory_size(self) -> int:
        """Number of elements of the memory of one state."""
        return self._memory.size

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

    @property
    def noise_size(self) -> int:
        """Number of elements of the noise of one state: observations without histories."""
        return len(self._noise)

    def noise(self, step: int, seed: int = 0, rollouts: ArrayLike | None = None) -> np.ndarray:
        """Return the noise of a step's observations: uniform numbers within the half widths of the contract.

        They depend on their arguments only (Philox 4x64-10), as the noise of sensors.

        Parameters
        ----------
        step : int
            Number of the step of the policy since the start.
        seed : int
            Seed, not negative.
        rollouts : array_like of int, shape (count,), optional
            Numbers of the states' rollouts. None for one state, which is rollout 0.

        Returns
        -------
        ndarray, shape (noise_size,) or (count, noise_size)
            Noise that `observation` and `step` add to the terms, before their clip and scale.

        Raises
        ------
        ArgumentError
            If an argument is no whole number, or negative.
        """
        numbers = [whole_number("rollouts", x, least=0) for x in np.atleast_1d(0 if rollouts is None else rollouts)]
        seed = whole_number("seed", seed, least=0, most=LARGEST_SEED)
        found = PolicyNoise(self._noise, seed).of(whole_number("step", step, least=0), np.array(numbers, np.int64))
        return found[0] if rollouts is None else found

    def observation(
        self, t: ArrayLike, q: ArrayLike, v: ArrayLike, command: ArrayLike, memory: ArrayLike,
        noise: ArrayLike | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
        """Return observations, and the memory with their histories.

        Parameters
        ----------
        t, q, v, command, memory, noise
            As of `step`.

        Returns
        -------
        observation : ndarray, shape (..., n)
            Observations.
        memory : ndarray, shape (..., memory_size)
            New memory.

        Raises
        ------
        ArgumentError, NonFiniteError
            As of `step`.
        """
        return self._observation(*self._arguments(t, q, v, command, memory, noise))

    def step(
        self, t: ArrayLike, q: ArrayLike, v: ArrayLike, command: ArrayLike, memory: ArrayLike,
        noise: ArrayLike | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
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
        noise : array_like, shape (..., noise_size), optional
            Noise of this step, of `noise`. Without noise by default.

        Returns
        -------
        control : ndarray, shape (..., nv)
            Controls of the actuators: target positions or velocities, or torques.
        memory : ndarray, shape (..., memory_size)
            New memory.

        Raises
        ------
        ArgumentError
            If a shape does not fit.
        NonFiniteError
            If a number is not finite, or the network overflows.
        """
        known, memory = self._arguments(t, q, v, command, memory, noise)
        control = np.broadcast_to(self._targets, (*memory.shape[:-1], self.robot.nv)).copy()
        control[..., self._at] = self._actions(known, memory)
        return control, memory

    def _actions(self, known: Known, memory: Any) -> Any:
        """Return the controls of the joints with actions, and update the memory."""
        observation, memory = self._observation(known, memory)
        states, delay = self._memory.parts["states"], self.contract.action.delay
        if self.network.states:
            found, memory[..., states] = self.network(observation, memory[..., states])
        else:
            found = np.asarray(self.network(observation))
        values = self._memory.append("delayed", self._target(found, known.q), delay, memory)
        memory[..., self._memory.parts["last"]] = found
        memory[..., 0] = 1.0
        return values[..., 0, :]

    def _target(self, found: Any, q: Any) -> Any:
        """Return the controls of actions; q: configurations."""
        target = self._scale * limited(found, self.contract.action.clip) + self._offset
        return q[..., self._positions] + target if self.contract.action.kind == "joint_position_delta" else target

    def controller(self, dt: float, command: ArrayLike = (), noise: int | None = None) -> PolicyController:
        """Return a controller for `treesim.Simulation` that evaluates the policy at its rate.

        The world of the simulation needs the actuators of the policy: `World(robot, actuators=policy.actuators)`.

        Parameters
        ----------
        dt : float
            Step of the simulation [s].
        command : array_like, shape (number of command_names,)
            Command; the attribute `command` of the controller may be changed during a run.
        noise : int, optional
            Seed of the noise of observations. Without noise by default.

        Returns
        -------
        PolicyController
            The controller.

        Raises
        ------
        ArgumentError
            If the command does not fit, or the period of the policy is no whole multiple of dt.
        """
        from .controller import PolicyController

        return PolicyController(self, dt, command, noise)

    def for_rollouts(self, dt: float, *, noise: int | None = None) -> Callable[..., None]:
        """Return the policy as the argument `control` of `treesim.rollout` or `treesim.sweep`, which compile it.

        The parameters p are the command. Steps of the rollout are periods of the policy, divided into substeps. The
        world needs the actuators of the policy: `World(robot, actuators=policy.actuators)`.

        Parameters
        ----------
        dt : float
            Step of the rollout [s]: the period of the policy.
        noise : int, optional
            Seed of the noise of observations, which also depends on the number of the rollout. Without noise by
            default.

        Returns
        -------
        callable
            Function of (t, q, v, p, u); of a policy with noise or memory, of (t, q, v, p, u, c, m), with the attribute
            `memory` at the start.

        Raises
        ------
        ArgumentError
            If dt is not the period of the policy.
        """
        if self.steps(dt) != 1:
            raise ArgumentError(f"dt must be the period of the policy, {1 / self.contract.rate:g} s, got {dt:g}")
        terms = self.contract.terms
        needs = any(term.name == "last_action" or term.history + term.delay > 1 for term in terms)
        needs = needs or bool(self.contract.action.delay or self.network.states or noise is not None)
        own = 0 if noise is None else self.noise_size

        def policy(t: Any, q: Any, v: Any, p: Any, u: Any) -> None:
            with_memory(t, q, v, p, u, None, self.begin().astype(object))

        def with_memory(t: Any, q: Any, v: Any, p: Any, u: Any, c: Any, m: Any) -> None:
            u[:] = self._targets
            command, drawn = p[: len(p) - own], p[len(p) - own :] if own else None
            u[self._at] = self._actions(Known(t, q, v, command, m[self._memory.parts["last"]], drawn), m)

        found: Any = with_memory if needs else policy
        found.commanded_actuators = tuple(self.actuators)
        if needs:
            found.memory = self.begin()
        if own:
            found.noise = PolicyNoise(self._noise, whole_number("noise", noise, least=0, most=LARGEST_SEED))
        return found  # type: ignore[no-any-return]

    def command_argument(self, value: ArrayLike) -> Argument:
        """Return the argument of commands."""
        return Argument(f"command ({', '.join(self.command_names) or 'none'})", value, (len(self.command_names),))

    def _arguments(self, t: Any, q: Any, v: Any, command: Any, memory: Any, noise: Any) -> tuple[Known, np.ndarray]:
        given = [
            Argument("t", t, ()), coordinate_argument(self.robot, "q", q), velocity_argument(self.robot, "v", v),
            self.command_argument(command), Argument("memory", memory, (self.memory_size,)),
            *([] if noise is None else [Argument("noise", noise, (self.noise_size,))]),
        ]  # fmt: skip
        arrays = [coerce(argument) for argument in given]
        batch = batch_shape(given, arrays)
        refuse_non_finite(given, arrays)
        wide = [np.broadcast_to(x, batch + argument.shape) for x, argument in zip(arrays, given, strict=True)]
        t, q, v, command = wide[:4]
        return Known(t, q, v, command, wide[4][..., self._memory.parts["last"]], *wide[5:]), wide[4].copy()

    def _observation(self, known: Known, memory: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        terms, batch = self.contract.terms, memory.shape[:-1]
        shown, end = [], 0
        for k, (term, value) in enumerate(zip(terms, self._values, strict=True)):
            noise = None if known.noise is None else known.noise[..., end : end + term.size]
            present, end = np.broadcast_to(value(known, noise), (*batch, term.size)), end + term.size
            values = self._memory.append(k, present, term.history + term.delay - 1, memory)[..., : term.history, :]
            shown.append(values[..., ::-1, :] if term.order == NEWEST else values)
        if self.contract.layout == "frame":
            observation = np.concatenate(shown, axis=-1).reshape(*batch, -1)
        else:
            observation = np.concatenate([x.reshape(*batch, -1) for x in shown], axis=-1)
        return limited(observation, self.contract.clip), memory

    def __reduce__(self) -> tuple[Any, ...]:
        return Policy, (self.network, self.contract, self.robot)

    def __repr__(self) -> str:
        return f"<Policy of {self.robot.name!r}: {self.contract!r}>"

    _row_labels = ("robot", "contract", "network", "command_names", "posture")
