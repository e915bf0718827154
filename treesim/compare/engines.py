"""The protocol of an adapter to another engine: `compare`, the benchmark and the tests ask all engines through it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol, cast, runtime_checkable

import numpy as np

from .. import plugins
from ..errors import PluginError, TreesimError, UnsupportedError, installed_by
from ..model.tree import Tree
from ..states.arguments import refuse_mimic_joints
from ..validation.values import checked_parts
from .cases import BenchmarkCase, Motion, Standing, States, Stepping
from .layouts import Layout

RAW = "raw"  # the user's own file: tests our reading of it
CANONICAL = "canonical"  # our bodies, written out again: tests the dynamics alone
INVERSE_MASS_MATRICES = 10  # states; an engine may need nv calls for each
PUBLISHED = {  # plugins in the same repository, by name: what the engine is called, and how to install its plugin
    "pinocchio": ("Pinocchio", installed_by("./plugins/treesim-pinocchio")),
    "mujoco": ("MuJoCo", installed_by("./plugins/treesim-mujoco")),
    "pybullet": ("PyBullet", installed_by("./plugins/treesim-pybullet")),
}
UNTIMED = {"drake": ("Drake", installed_by("./plugins/treesim-drake"))}  # published too, but not for the benchmark


class EngineError(TreesimError):
    """An engine failed on a robot or its states: the message says why."""


@dataclass(frozen=True, eq=False)
class StateBatch:
    """States at which a robot is evaluated, in treesim's layout and units.

    q (K, nq), v, a, tau (K, nv): states for the single evaluations.
    q0 (nq,), v0 (nv,), steps, dt [s]: a free motion under gravity; none if steps is 0.
    refinements: numbers of steps and their dt [s]; further free motions from the same start, of which the ends count.
    """

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    tau: np.ndarray
    q0: np.ndarray
    v0: np.ndarray
    steps: int = 0
    dt: float = 1e-3
    refinements: tuple[tuple[int, float], ...] = ()


@dataclass(frozen=True, eq=False)
class Results:
    """Results by quantity, in treesim's layout; what was left out and why; what was changed to suit the engine; faults
    of the engine that are known to act on this robot, in words.

    Quantities: mass (N,), com (N, 3), inertia (N, 3, 3) about the centre of mass, each in the body's frame;
    pose (K, N, 4, 4), mass_matrix (K, nv, nv), bias, inverse_dynamics, forward_dynamics (K, nv),
    inverse_mass_matrix (first few states, nv, nv), trajectory_q (steps + 1, nq), trajectory_v (steps + 1, nv),
    ends_q (R, nq), ends_v (R, nv) of the R refinements.
    """

    values: Mapping[str, np.ndarray]
    skipped: dict[str, str] = field(default_factory=dict)
    changes: tuple[str, ...] = ()
    known_faults: tuple[str, ...] = ()


class EngineModel:
    """A robot in another engine. Adapters derive from it, and override what their engine has.

    robot: treesim's tree of the same robot, without joint damping, friction and armature. engine: the engine's name, as
    messages and tables have it. layout: between treesim's numbers and the engine's. skipped: quantities that are never
    compared, and why. changes: what was changed in the robot or the engine's settings. known_faults: of the engine that
    would explain a difference on this robot. integrators: names of those that `free_motion` takes. followers: whether
    `robot` may have joints that follow others; else it raises UnsupportedError for those.
    """

    engine = "the engine"
    layout: Layout
    skipped: Mapping[str, str] = {}
    changes: tuple[str, ...] = ()
    known_faults: tuple[str, ...] = ()
    integrators: tuple[str, ...] = ()
    mimic_joints = False

    def __init__(self, robot: Tree) -> None:
        if not self.mimic_joints:
            refuse_mimic_joints(robot, "a model in another engine")
        self.robot = robot

    # single states, in treesim's layout; each raises UnsupportedError where the engine has no such function, which a
    # comparison then leaves out, and says so

    def bodies(self) -> dict[str, np.ndarray]:
        """Return the bodies' mass (N,), com (N, 3) and inertia (N, 3, 3) about it, each in the body's frame."""
        raise self._without("bodies")

    def body_poses(self, q: np.ndarray) -> np.ndarray:
        """Return the bodies' poses (N, 4, 4) in the world."""
        raise self._without("body poses")

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        """Return M (nv, nv)."""
        raise self._without("mass matrix")

    def inverse_mass_matrix(self, q: np.ndarray) -> np.ndarray:
        """Return the inverse of M (nv, nv), by the engine's own means."""
        raise self._without("inverse mass matrix")

    def inverse_dynamics(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Return tau (nv,)."""
        raise self._without("inverse dynamics")

    def forward_dynamics(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """Return the derivative (nv,) of v."""
        raise self._without("forward dynamics")

    def trajectory(self, q0: np.ndarray, v0: np.ndarray, steps: int, dt: float) -> tuple[np.ndarray, np.ndarray]:
        """Return q (steps + 1, nq) and v (steps + 1, nv) of the free motion under gravity from (q0, v0)."""
        raise self._without("trajectories")

    def free_motion(
        self, q0: np.ndarray, v0: np.ndarray, dt: float, steps: int, every: int, integrator: str
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """Return q (K, nq) and v (K, nv) of the free motion, K = steps / every, after every so many steps by one of
        `integrators`, and the seconds that the stepping took."""
        raise self._without("motions by a named integrator")

    def _without(self, what: str) -> UnsupportedError:
        return UnsupportedError(f"{self.engine} has no function for {what}")

    # a batch of states, for `compare`

    def evaluate(self, states: StateBatch) -> Results:
        """Return the results for a batch of states, here one call after the other; raises EngineError if it fails."""
        values: dict[str, np.ndarray] = {}
        skipped = dict(self.skipped)
        try:
            values |= self.bodies()
        except UnsupportedError as error:
            skipped |= dict.fromkeys(("mass", "com", "inertia"), str(error))
        for quantity, evaluation in _evaluations(self, states).items():
            if quantity not in skipped:
                try:
                    values |= evaluation()
                except UnsupportedError as error:
                    skipped[quantity] = str(error)
        return Results(values, skipped, self.changes, self.known_faults)

    # calls to be timed, for the benchmark; a list is empty where the engine has none

    def prepare_timing(self) -> None:
        """Get ready to be timed in this process; raises UnsupportedError or EngineError if that cannot be."""

    def calls(self, state: States) -> list[BenchmarkCase]:
        """Return the calls on one state."""
        return []

    def operational(self, state: States, frames: tuple[str, ...], regular: bool) -> list[BenchmarkCase]:
        """Return the calls for the inverse operational inertia of frames, and, if it can be inverted (`regular`), for
        the whole operational space; quantities as `cases.inverse_inertia` and `cases.operational_space` name them."""
        return []

    def batches(self, states: States, threads: int) -> list[BenchmarkCase]:
        """Return the calls on many states, on so many threads."""
        return []

    def rollouts(self, motion: Motion, threads: int) -> list[BenchmarkCase]:
        """Return the calls that simulate from many states, on so many threads."""
        return []

    def steppings(self, scene: Standing) -> list[Stepping]:
        """Return the ways of stepping the robot as it stands on a plane."""
        return []

    def standing_rollouts(self, scene: Standing, count: int, steps: int, threads: int) -> list[BenchmarkCase]:
        """Return the calls that simulate so many of the robot as it stands on a plane, on so many threads."""
        return []


def _evaluations(model: EngineModel, states: StateBatch) -> dict[str, Callable[[], dict[str, np.ndarray]]]:
    """What evaluates each quantity, state after state."""
    q, v, a, tau = states.q, states.v, states.a, states.tau

    def trajectory() -> dict[str, np.ndarray]:
        names = ("trajectory_q", "trajectory_v")
        return dict(zip(names, model.trajectory(states.q0, states.v0, states.steps, states.dt), strict=True))

    def ends() -> dict[str, np.ndarray]:
        motions = [model.trajectory(states.q0, states.v0, steps, dt) for steps, dt in states.refinements]
        return {"ends_q": np.array([q[-1] for q, _ in motions]), "ends_v": np.array([v[-1] for _, v in motions])}

    calls: dict[str, tuple[Callable[..., np.ndarray], tuple[np.ndarray, ...]]] = {
        "pose": (model.body_poses, (q,)),
        "mass_matrix": (model.mass_matrix, (q,)),
        "inverse_mass_matrix": (model.inverse_mass_matrix, (q[:INVERSE_MASS_MATRICES],)),
        "bias": (model.inverse_dynamics, (q, v, np.zeros_like(a))),
        "inverse_dynamics": (model.inverse_dynamics, (q, v, a)),
        "forward_dynamics": (model.forward_dynamics, (q, v, tau)),
    }
    found = {quantity: partial(_each, quantity, call, arguments) for quantity, (call, arguments) in calls.items()}
    motions = {"trajectory": trajectory} if states.steps else {}
    return {**found, **motions, **({"ends": ends} if states.refinements else {})}


def _each(quantity: str, call: Callable[..., np.ndarray], arguments: tuple[np.ndarray, ...]) -> dict[str, np.ndarray]:
    return {quantity: np.array([call(*state) for state in zip(*arguments, strict=True)])}


@runtime_checkable
class EngineAdapter(Protocol):
    """An adapter to another engine; registered in the group `treesim.engines`, made without arguments.

    name: as registered. title: what tables call the engine. integrator: the name of treesim's integrator with the
    engine's stepping rule; None for no trajectory. levels: of RAW and CANONICAL, the texts of a robot that it takes.
    timed: the level at which the benchmark takes it.
    """

    name: str
    title: str
    integrator: str | None
    levels: tuple[str, ...]
    timed: str

    def version(self) -> str:
        """Return the engine's version."""
        ...

    def refuses(self, robot: Tree) -> str | None:
        """Return why the engine cannot evaluate this robot, or None."""
        ...

    def read(self, robot: Tree, urdf: str, level: str) -> EngineModel:
        """Return the robot in the engine, read from its URDF text at a level.

        robot: treesim's tree of it, without losses. Raises UnsupportedError for what the engine does not know, and
        EngineError when it fails on the text, or reads other joints from it than treesim.
        """
        ...


@runtime_checkable
class ControlledAdapter(EngineAdapter, Protocol):
    """An adapter that can also be set up wrongly, for the negative controls of a comparison."""

    def controls(self) -> Mapping[str, EngineAdapter]:
        """Return the engine set up wrongly, by what is wrong: a comparison with each must fail."""
        ...


def find_engine(name: str) -> EngineAdapter:
    """Return the adapter that is registered under a name; raises PluginError, saying how to install one, if none is.

    Example:
        >>> from treesim.compare import find_engine
        >>> find_engine("pinocchio").title
        'Pinocchio'
    """
    known = plugins.available("engines")
    if name not in known:
        title, install = (PUBLISHED | UNTIMED).get(name, PUBLISHED["pybullet"])
        raise PluginError(
            f"no engine called {name!r} is installed; known are: {', '.join(known) or 'none'}; "
            f"{title} is one: {install}"
        )
    return cast(EngineAdapter, plugins.get("engines", name))


def chosen_engines(label: str, given: object) -> list[EngineAdapter]:
    """Return the adapters that are given, by themselves or by name, one or several; raises ArgumentError for what is
    none, PluginError for a name that is not registered."""
    chosen: tuple[Any, ...] = checked_parts(label, given, (str, EngineAdapter))
    return [find_engine(each) if isinstance(each, str) else each for each in chosen]


def installed_engines(notes: list[str]) -> list[EngineAdapter]:
    """Return the adapters that are installed, the published ones first; notes: is told which are missing, or broken."""
    known = plugins.available("engines")
    found = []
    for name in dict.fromkeys([*PUBLISHED, *known]):
        try:
            if name in known:
                found.append(find_engine(name))
                continue
            title, install = PUBLISHED[name]
            notes.append(f"{title}'s plugin treesim-{name} is not installed ({install}): no comparison")
        except PluginError as error:
            notes.append(f"{error}: no comparison")
    return found


def read_by_engines(
    adapters: Sequence[EngineAdapter], robot: Tree, text: Callable[[str], str], notes: list[str]
) -> list[EngineModel]:
    """Return the robot in each of the engines, ready to be timed; why some do not take it goes to `notes`.

    text: returns the robot's URDF text at a level.
    """
    found = []
    for adapter in adapters:
        try:
            if reason := adapter.refuses(robot):
                raise UnsupportedError(reason)
            model = adapter.read(robot, text(adapter.timed), adapter.timed)
            model.prepare_timing()
        except (UnsupportedError, EngineError) as error:
            notes.append(f"{error}: no comparison")
        else:
            found.append(model)
    return found
