"""`replay`: a recorded simulation runs again from what its file tells, and every bit is compared."""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ArgumentError, ContactWarning, EnergyWarning, TreesimError, unknown_name
from ..model.tree import Tree
from ..simulation.continuation import first_state
from ..simulation.control import Controller
from ..simulation.provenance import Recipe, controller_of, surroundings, unpacked, world_of
from ..simulation.serialization import restored
from ..simulation.simulation import Simulation
from ..simulation.trajectory import Trajectory
from ..system.display import ReprMixin
from ..system.files import path_of
from ..urdf.findings import Findings
from ..urdf.read import Source
from ..urdf.resolve import open_source
from ..validation.values import positive_number, short_repr
from .files import LABELS

UNKNOWN = "unknown: versions and arguments are those of the recording"
PROCESSOR = ("processor", "features")  # of the surroundings: compiled code gives the same bits on any
OTHER_PROCESSOR = (
    "another processor: NumPy and the C library may round differently there what a controller in Python, or kernels "
    "that are interpreted, ask of them; compiled kernels do not"
)
DIGITS = 12  # of a hash that a message tells
SETTINGS = ("backend", "integrator", "dt", "gravity", "engine", "substeps", "contact_solver", "duration")
AT_ONCE = 1 << 20  # numbers that are compared at a time


@dataclass(frozen=True)
class Difference:
    """Where a run first differs from its recording.

    step, t [s]: of the state. quantity: an array of the trajectory. name: whose number it is, a joint's where it has
    one. recorded, repeated: the two numbers. largest: by how much the quantity differs at most in the whole run.
    """

    step: int
    t: float
    quantity: str
    name: str
    recorded: float
    repeated: float
    largest: float

    def __str__(self) -> str:
        return (
            f"{self.quantity} of {self.name!r} at step {self.step}, t = {self.t:.6g} s: {self.repeated!r} "
            f"in the place of {self.recorded!r}; at most {self.largest:.3g} apart in the whole run"
        )


@dataclass(frozen=True, eq=False, repr=False)
class Repetition(ReprMixin):
    """What came of running a recorded simulation again.

    robot_name. states: how many there were to compare. first: where the run first differs, None where every bit of
    every state is the same. reasons: what may have changed bits, as far as it is known: versions,
    interpreter, libraries on another processor; empty where nothing differs. notes: what else has changed, without
    changing the run, such as the processor, or the file that the robot was read from. trajectory: the new run.

    Example:
        >>> run = treesim.Simulation(treesim.load("ur5")).run(0.01)
        >>> treesim.replay(run)
        <Repetition of 'ur5': 11 states, the same bits>
    """

    robot_name: str
    states: int
    first: Difference | None
    reasons: tuple[str, ...]
    notes: tuple[str, ...]
    trajectory: Trajectory = field(repr=False)

    @property
    def same(self) -> bool:
        """Whether every bit is the same."""
        return self.first is None

    def __repr__(self) -> str:
        outcome = "the same bits" if self.first is None else f"other bits from step {self.first.step} on"
        return f"<Repetition of {self.robot_name!r}: {self.states} states, {outcome}>"

    def _repr_fields(self) -> Iterator[tuple[str, Any]]:
        yield "states", self.states
        yield "again", self.trajectory
        if self.first is not None:
            yield "first difference", self.first
        yield from (("reason", reason) for reason in self.reasons)
        yield from (("note", note) for note in self.notes)


def replay(
    run: str | os.PathLike[str] | Trajectory,
    *,
    controller: Controller | Callable[[float, np.ndarray, np.ndarray], ArrayLike] | None = None,
    progress: Callable[[int, int], None] | None = None,
    source: Source | None = None,
) -> Repetition:
    """Run a recorded simulation again, from what the recording itself tells, and compare every bit.

    run: a file that `Trajectory.save` wrote, or the trajectory. It holds the robot, its world and treesim's own
    controllers; the file that the robot came from is not needed, and no file that the recording names is opened.
    controller: what drove the robot, where that was Python of the user's own, in the state in which it was at the
    start. progress(done, total) is called about a hundred times. source: the robot's description, as `treesim.load`
    takes it, whose SHA-256 is compared with the recorded one: a note tells if it has changed. A run that was
    interrupted is repeated up to there.
    Returns a Repetition. Raises ArgumentError for files that treesim did not write, or that do not tell how they were
    made, UnsupportedError for what a file cannot hold (a controller, a backend of no name), and what
    `treesim.Simulation` raises, such as UnknownNameError where a plugin is missing. Costs what the run cost.

    Example:
        >>> robot = treesim.load("ur5")
        >>> run = treesim.Simulation(robot, controller=treesim.Hold(robot, robot.neutral())).run(0.02)
        >>> treesim.replay(run).same
        True
    """
    trajectory = run if isinstance(run, Trajectory) else _loaded(run)
    if not len(trajectory):
        raise ArgumentError("the recording has no states: there is nothing to repeat")
    recipe = _recipe(trajectory)
    simulation, duration = _simulation(recipe, controller)
    cut = _is_cut(trajectory)
    steps = len(trajectory) - cut  # one more than were recorded, in which a run that stopped will stop again
    duration = steps * simulation.dt if cut else min(duration, steps * simulation.dt)
    with warnings.catch_warnings():
        for known in (EnergyWarning, ContactWarning):  # the recorded run gave them
            warnings.simplefilter("ignore", known)
        again = simulation.run_from(duration, first_state(trajectory), progress)
    first = first_difference(trajectory, again, cut)
    then, now = recipe.surroundings, surroundings()
    processor = changes(*({name: some[name] for name in PROCESSOR if name in some} for some in (then, now)))
    others = tuple(change for change in changes(then, now) if change not in processor)
    causes = (*others, *((OTHER_PROCESSOR,) if processor else ())) or (UNKNOWN,)
    reasons = () if first is None else causes
    notes = (*(others if first is None else ()), *processor, *_source_notes(trajectory, source))
    return Repetition(trajectory.robot_name, len(trajectory), first, reasons, notes, again)


def _loaded(path: str | os.PathLike[str]) -> Trajectory:
    name = path_of(path, "run: a recording's name").name.removesuffix(".part")
    if name.endswith((*(f"_{label}.npy" for label in LABELS), "_unfinished.json")):
        raise ArgumentError(
            f"{path} is of rollouts (treesim.rollout(..., out=)): such files hold states alone, neither robot nor "
            "the controls that they were made from; call treesim.rollout with the same arguments again, and compare "
            "the arrays: the same processor and versions give the same bits"
        )
    return Trajectory.load(path)


def _recipe(trajectory: Trajectory) -> Recipe:
    if trajectory.recipe is None:
        raise ArgumentError(
            "the recording does not tell how it was made: an older version of treesim wrote it, or it is no "
            "simulation's"
        )
    return unpacked(trajectory.recipe() if callable(trajectory.recipe) else trajectory.recipe)


def recorded_robot(trajectory: Trajectory) -> Tree | None:
    """Return the robot that moved, as the recording's recipe holds it, without what is only looked at; None where it
    holds none. Raises ArgumentError where it is damaged."""
    if trajectory.recipe is None:
        return None
    recipe = _recipe(trajectory)
    return None if "world" in recipe.missing else world_of(recipe).robot


def _simulation(recipe: Recipe, controller: Any) -> tuple[Simulation, float]:
    """The simulation that a recipe tells of, and its duration [s]."""
    for label, reason in recipe.missing.items():
        if label not in ("world", "controller"):
            raise ArgumentError(f"it cannot be repeated: {reason}")
    world = world_of(recipe)
    drive = controller_of(recipe, world) if controller is None else controller
    others = [name for name in recipe.settings if name not in SETTINGS]
    if others:
        raise unknown_name("setting of the recording", others[0], SETTINGS)
    settings = {name: restored(value) for name, value in recipe.settings.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the recorded run told of what it left out
        try:
            duration = positive_number("duration", settings.pop("duration"), zero=True)
            return Simulation(world, controller=drive, **settings), duration
        except (KeyError, TypeError) as error:
            if isinstance(error, ArgumentError):  # a name that is not known, which is a KeyError too
                raise
            raise ArgumentError(f"the recording's settings do not fit: {error}") from None


def _is_cut(trajectory: Trajectory) -> bool:
    """Whether something outside the dynamics ended the run, which will not happen again."""
    stopped = trajectory.stopped or ""
    return stopped == "interrupted" or stopped.partition(":")[0].isidentifier()


def first_difference(recorded: Trajectory, repeated: Trajectory, cut: bool = False) -> Difference | None:
    """Return where two runs first differ in any bit, None where they do not.

    cut: whether the recording was cut short: its last torque is then not compared.
    """
    states = min(len(recorded), len(repeated))
    found = []
    for quantity, (one, other, names) in _pairs(recorded, repeated).items():
        count = states - (quantity == "tau" and cut)
        k = _first_row(one[:count], other[:count])
        if k is not None:
            found.append((k, quantity, one, other, names))
    if found:
        k, quantity, one, other, names = min(found, key=lambda entry: entry[0])
        return _difference(recorded, k, quantity, (one[:states], other[:states]), names)
    if len(recorded) == len(repeated):
        return None
    t = float(recorded.t[states - 1])
    lengths = float(len(recorded)), float(len(repeated))
    return Difference(states, t, "number of states", recorded.robot_name, *lengths, abs(lengths[0] - lengths[1]))


def _pairs(recorded: Trajectory, repeated: Trajectory) -> dict[str, tuple[np.ndarray, np.ndarray, tuple[str, ...]]]:
    """Every quantity (K, numbers) of the two, in the order in which a step computes them, and the numbers' names."""
    v_names, work = recorded.v_names, ("controls", "damping, friction, limits and contacts")
    names = {"t": ("t",), "tau": v_names, "q": recorded.q_names, "v": v_names, "energy": ("energy",), "work": work}
    pairs = {
        label: (_rows(getattr(recorded, label)), _rows(getattr(repeated, label)), of) for label, of in names.items()
    }
    one, other = recorded.contact, repeated.contact
    if one is not None and other is not None and one.bodies == other.bodies:
        axes = ("fx", "fy", "fz", "mx", "my", "mz")
        bodies = tuple(f"{body}.{axis}" for body in one.bodies for axis in axes)
        pairs["contact wrench"] = _rows(one.wrench), _rows(other.wrench), bodies
        pairs["contact"] = one.solver_info, other.solver_info, ("penetration", "residual", "energy certificate")
    return pairs


def _rows(x: np.ndarray) -> np.ndarray:
    return x.reshape(len(x), -1)


def _first_row(one: np.ndarray, other: np.ndarray) -> int | None:
    """The first row in which any bit differs."""
    block = max(1, AT_ONCE // max(1, one.shape[1]))
    for start in range(0, len(one), block):
        a, b = (np.ascontiguousarray(x[start : start + block]).view(np.int64) for x in (one, other))
        rows = np.flatnonzero((a != b).any(axis=1))
        if len(rows):
            return start + int(rows[0])
    return None


def _difference(
    recorded: Trajectory, k: int, quantity: str, numbers: tuple[np.ndarray, np.ndarray], names: tuple[str, ...]
) -> Difference:
    one, other = numbers
    place = int(np.flatnonzero(one[k].view(np.int64) != other[k].view(np.int64))[0])
    with np.errstate(invalid="ignore"):
        apart = np.abs(one - other)
    largest = float(np.nanmax(apart)) if np.isfinite(apart).any() else float("nan")
    values = float(one[k, place]), float(other[k, place])
    return Difference(k, float(recorded.t[k]), quantity, names[place], *values, largest)


def changes(then: Mapping[str, str], now: Mapping[str, str]) -> tuple[str, ...]:
    """Return in words what differs between two surroundings, as `recipe.surroundings` tells them.

    Example:
        >>> from treesim.rollouts.replay import changes
        >>> changes({"numpy": "2.3.0", "processor": "znver4"}, {"numpy": "2.3.0", "processor": "znver5"})
        ('processor: znver5 now, znver4 then',)
    """
    found = []
    for name in dict.fromkeys((*then, *now)):
        before, here = then.get(name, "not told"), now.get(name, "not told")
        if name == "features":
            found += _feature_changes(before, here)
        elif before != here:
            found.append(f"{name}: {here} now, {before} then")
    return tuple(found)


def _feature_changes(before: str, here: str) -> list[str]:
    """What differs between two processors' features; of processor levels, whose names tell them, none are listed."""
    if not (before and here):
        return []
    old, new = ({feature[1:] for feature in text.split(",") if feature[:1] == "+"} for text in (before, here))
    parts = [
        f"{word} {', '.join(sorted(some))}" for word, some in (("without", old - new), ("with", new - old)) if some
    ]
    return [f"processor features: now {' and '.join(parts)}"] if parts else []


def source_digest(source: Any) -> str | None:
    """Return the SHA-256 of the description that a robot's source names, in hexadecimal digits; None where it cannot be
    read. source: as `treesim.load` takes it; open files are not read."""
    if not isinstance(source, (str, bytes, Path)):
        return None
    try:
        return hashlib.sha256(open_source(source, Findings("<source>", False)).data).hexdigest()
    except (TreesimError, OSError):
        return None


def _source_notes(trajectory: Trajectory, source: Any) -> Iterator[str]:
    """Whether the robot's description, where it is given, is what it was."""
    if source is None:
        return
    now, then = source_digest(source), trajectory.metadata.get("sha256")
    if now is None:
        raise ArgumentError(f"source: the description {short_repr(source)} cannot be read")
    if not isinstance(then, str):
        yield "the recording does not tell the SHA-256 of the robot's description"
    elif now != then:
        yield (
            f"the robot's description {short_repr(source)} has changed (SHA-256 {now[:DIGITS]}... now, "
            f"{then[:DIGITS]}... then): the recording's own robot ran"
        )
