"""Options --policy of commands: a function of a Python file or a trained network; a network with a contract."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeVar

from ..errors import ArgumentError, TreesimError, quoted, reason_of, unknown_name
from ..system.input_files import LARGEST_ARRAYS, read_input, size_of_input
from ..system.installation import installed_by
from .common import CONTROL, given_options, option, option_name
from .simulation_options import SimulationOptions

if TYPE_CHECKING:
    import numpy as np
    import typer

    from ..model.tree import Tree
    from ..policies import Contract, Policy
    from ..simulation.world import World

Options = TypeVar("Options", bound=SimulationOptions)
LARGEST_PROGRAM = 1 << 24  # bytes of a Python file
FORMS = "FILE.py:FUNCTION or FILE.npz:TASK"
OF_TASK = ("dt", "integrator", "substeps", "backend", "contact_solver")  # options that a network's task determines


@dataclass(frozen=True)
class ContractOptions:
    """Options of a network that controls the robot.

    Options
    -------
    --policy
        ONNX file of a trained network that controls the robot. Also give --contract.
    --contract
        TOML file that describes observations, actions and actuators of --policy. The time step and initial
        configuration are those of this file, unless --dt and --q0 are given.
    --command
        Command of --policy: numbers such as 0.5,0,0 in the order of the contract. Default: 0.
    --noise
        Seed of the noise of the contract's observations. Default: no noise.
    """

    policy: Annotated[str | None, option(panel=CONTROL, metavar="FILE.onnx")] = None
    contract: Annotated[str | None, option(panel=CONTROL, metavar="FILE.toml")] = None
    command: Annotated[str | None, option(panel=CONTROL, metavar="X,Y,...")] = None
    noise: Annotated[int | None, option(panel=CONTROL, min=0, metavar="SEED")] = None


class ContractPolicy(NamedTuple):
    """Network file with a contract, before the robot is loaded; command: numbers, or None. noise: seed, or None."""

    network: str
    contract: Contract
    command: np.ndarray | None
    noise: int | None

    def with_step(self, options: Options, context: typer.Context) -> Options:
        """Return options whose time step is that of the contract, unless --dt is given."""
        dt = self.contract.dt
        return options if dt is None or "dt" in given_options(context) else replace(options, dt=dt)

    def policy(self, robot: Tree) -> Policy:
        """Return the policy for a robot."""
        from ..policies import load

        return load(self.network, self.contract, robot)

    def controller(self, policy: Policy, dt: float) -> Any:
        """Return the controller of a simulation with steps of dt [s]."""
        try:
            return policy.controller(dt, self.numbers(policy), self.noise)
        except ArgumentError as error:
            raise ArgumentError(f"--policy: {error}") from None

    def for_sweep(self, policy: Policy, dt: float) -> GivenPolicy:
        """Return the arguments of a sweep with steps of dt [s], whose parameters p are the command."""
        try:
            return GivenPolicy(policy.for_rollouts(dt, noise=self.noise), self.numbers(policy), {})
        except TreesimError as error:
            raise ArgumentError(f"--policy: {error}") from None

    def numbers(self, policy: Policy) -> np.ndarray:
        """Return the command."""
        import numpy as np

        return np.zeros(len(policy.command_names)) if self.command is None else self.command


def contract_policy(
    given: ContractOptions, options: SimulationOptions, command: str = "--command"
) -> ContractPolicy | None:
    """Return the policy of --policy and --contract, None if they are not given; command: name of this option."""
    from ..policies import Contract

    if given.policy is None or given.contract is None:
        options_given = {"--policy": given.policy, "--contract": given.contract, command: given.command}
        for label, value in (*options_given.items(), ("--noise", given.noise)):
            if value is not None:
                raise ArgumentError(f"{label} needs both --policy FILE.onnx and --contract FILE.toml")
        return None
    if options.controller not in (None, "none"):
        raise ArgumentError(f"--policy computes the controls: leave out --controller {options.controller}")
    numbers = _numbers(given.command, command, "numbers")
    return ContractPolicy(given.policy, Contract.from_toml(given.contract), numbers, given.noise)


class GivenPolicy(NamedTuple):
    """Arguments of a sweep under a policy.

    options: others that it determines: gains and steps of a network's task. world, start: of the task; q0 and v0 are in
    the middle of the random range of its episodes.
    """

    control: Callable[..., None]
    policy_parameters: np.ndarray | None
    options: dict[str, Any]
    world: World | Tree | None = None
    start: tuple[np.ndarray, np.ndarray] | None = None

    @property
    def arguments(self) -> dict[str, Any]:
        """Arguments by name."""
        return {"control": self.control, "policy_parameters": self.policy_parameters, **self.options}


def policy_option(text: str, numbers: str | None, robot: Tree, options: SimulationOptions) -> GivenPolicy:
    """Return the policy of --policy, with --parameters; raises ArgumentError with the wrong option."""
    if text.endswith(".onnx"):
        raise ArgumentError("--policy is an ONNX file, which needs --contract FILE.toml")
    file, _, name = text.rpartition(":")
    if not (file.endswith((".py", ".npz")) and name):
        raise ArgumentError(f"--policy takes {FORMS}, got {quoted(text)}")
    if options.controller != "none":
        raise ArgumentError(f"--policy computes the controls: leave out --controller {options.controller}")
    try:
        size_of_input(file, LARGEST_PROGRAM if file.endswith(".py") else LARGEST_ARRAYS)
    except FileNotFoundError:
        raise ArgumentError(f"--policy: there is no file {quoted(file)}") from None
    except (OSError, ValueError) as error:
        raise ArgumentError(f"--policy: cannot read {quoted(file)}: {reason_of(error)}") from None
    own = _numbers(numbers)
    if file.endswith(".py"):
        return GivenPolicy(_function_of(file, name), own, {})
    try:
        return _network_of(file, name, own, robot, options)
    except TreesimError as error:
        raise ArgumentError(f"--policy: {error}") from None


def _numbers(text: str | None, label: str = "--parameters", what: str = "numbers p") -> np.ndarray | None:
    import numpy as np

    if text is None:
        return None
    try:
        found = np.array([float(part) for part in text.split(",")])
    except ValueError:
        raise ArgumentError(f"{label} takes {what}, such as 10,0.5, got {quoted(text)}") from None
    if not np.isfinite(found).all():
        raise ArgumentError(f"{label} must be finite, got {quoted(text)}")
    return found


def _function_of(file: str, name: str) -> Callable[..., None]:
    """Return a function of a Python file, which is run.

    Its module is in no table of modules, so that cloudpickle sends the function to workers by its code.
    """
    module = ModuleType("policy_of_sweep")
    module.__file__ = file
    try:
        exec(compile(read_input(file, LARGEST_PROGRAM), file, "exec"), vars(module))
    except (Exception, SystemExit) as error:
        raise ArgumentError(f"--policy: {file} raises {type(error).__name__}: {reason_of(error)}") from error
    functions = [key for key, value in vars(module).items() if callable(value) and not key.startswith("_")]
    if name not in functions:
        raise ArgumentError(f"--policy: {unknown_name('function', name, functions, of=str(file)).args[0]}")
    return getattr(module, name)


def _network_of(file: str, name: str, given: np.ndarray | None, robot: Tree, options: SimulationOptions) -> GivenPolicy:
    """Return the policy of a network and a task, whose parameters of episodes are given."""
    import numpy as np

    try:
        network, tasks = (import_module(f"treesim_gymnasium.{part}") for part in ("network", "tasks"))
    except ImportError:
        needed = installed_by("./plugins/treesim-gymnasium")
        raise ArgumentError(f"a network needs treesim-gymnasium: {needed}") from None
    found, task = network.load(file), tasks.task_of(name)
    if (task.robot.nq, tuple(task.robot.v_index)) != (robot.nq, tuple(robot.v_index)):
        raise ArgumentError(
            f"task {quoted(name)} is of {quoted(task.robot.name)}, whose joints are not those of {quoted(robot.name)}: "
            "take that robot, and the same --base"
        )
    default = SimulationOptions()
    for label in OF_TASK:
        if getattr(options, label) != getattr(default, label):
            raise ArgumentError(f"{option_name(label)} is that of task {quoted(name)}: leave it out")
    own = np.empty(0) if given is None else given
    if len(own) != task.parameters:
        raise ArgumentError(f"task {quoted(name)} takes {task.parameters} of --parameters, got {len(own)}")
    q, v = robot.neutral(), np.zeros(robot.nv)
    task.reset(np.full(task.random, 0.5), q, v, np.zeros(task.parameters))
    numbers = np.concatenate([own, found.parameters])
    return GivenPolicy(
        network.policy(task, found.sizes, found.activation), numbers, network.rollout_options(task), task.world, (q, v)
    )
