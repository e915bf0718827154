"""`replay`: run a recorded simulation again from its provenance and compare every bit."""

from __future__ import annotations

import hashlib
import os
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import (
    ArgumentError,
    ContactWarning,
    DivergedWarning,
    EnergyWarning,
    TreesimError,
    reason_of,
    unknown_name,
)
from ..model.tree import Tree
from ..simulation.continuation import first_state
from ..simulation.control import Controller
from ..simulation.provenance import SETTINGS, Provenance, controller_of, recorded_provenance, surroundings, world_of
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
PROCESSOR = ("processor", "features")  # among the surroundings; compiled code has the same bits on any processor
OTHER_PROCESSOR = (
    "another processor: NumPy and the C library may round differently there what a controller in Python, or kernels "
    "that are interpreted, ask of them; compiled kernels do not"
)
DIGITS = 12  # of a hash in a message
AT_ONCE = 1 << 20  # numbers that are compared at a time


@dataclass(frozen=True)
class Difference:
    """First difference between a run and its recording.

    step, t [s]: of the state. quantity: an array of the trajectory. name: the joint or other name of the
    number. recorded, repeated: the two numbers. largest: largest difference of the quantity in the whole run.
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
    """Result of `treesim.replay`.

    Parameters
    ----------
    robot_name : str
        Name of the robot.
    states : int
        Number of recorded states.
    first : Difference or None
        First difference. None if every bit of every state is equal.
    reasons : tuple of str
        Possible causes of a difference: versions, the interpreter, or libraries on another processor. Empty if there is
        no difference.
    notes : tuple of str
        Changes since the recorded run that had no effect, such as another processor or a changed file of the robot.
    trajectory : Trajectory
        Trajectory of the repetition.

    Examples
    --------
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
        """True if the recorded run and the repeated run are equal, bit for bit."""
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
    controller: Controller | Callable[..., ArrayLike] | None = None,
    progress: Callable[[int, int], None] | None = None,
    source: Source | None = None,
) -> Repetition:
    """Repeat a recorded simulation from its provenance, and compare every bit of the results.

    The recording contains the robot, its world, and a controller of treesim such as `PD`, but no other controller. The
    robot's file and other files that the recording names are not opened. An interrupted run is repeated up to its
    interruption. The repetition takes as long as the recorded run.

    Parameters
    ----------
    run : path-like or Trajectory
        Path of a file that `Trajectory.save` wrote, or a trajectory.
    controller : Controller or callable, optional
        Controller of the run, in its initial state. Required if the recording does not contain the controller.
    progress : callable, optional
        Called as progress(done, total) about a hundred times.
    source : str, path-like, optional
        Robot description, as the argument `source` of `treesim.load`. A note reports whether its SHA-256 has changed
        since the run.

    Returns
    -------
    Repetition
        Result of the comparison, and the new trajectory.

    Raises
    ------
    ArgumentError
        If treesim did not write the file, or the file has no provenance.
    UnsupportedError
        If the run used an object that a file cannot contain, such as an unregistered backend or a controller that is
        not passed.
    TreesimError
        Every error of `treesim.Simulation`, such as UnknownNameError if a plugin is missing.

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> run = treesim.Simulation(robot, controller=treesim.PD(robot, robot.neutral())).run(0.02)
    >>> treesim.replay(run).same
    True
    """
    trajectory = run if isinstance(run, Trajectory) else _loaded(run)
    if not len(trajectory):
        raise ArgumentError("the recording has no states: there is nothing to repeat")
    provenance = recorded_provenance(trajectory)
    simulation, duration = _simulation(provenance, controller)
    cut = _is_cut(trajectory)
    steps = len(trajectory) - cut  # one more than recorded, in which a stopped run stops again
    duration = steps * simulation.dt if cut else min(duration, steps * simulation.dt)
    with warnings.catch_warnings():
        for known in (EnergyWarning, ContactWarning, DivergedWarning):  # the recorded run has warned
            warnings.simplefilter("ignore", known)
        again = simulation.run_from(duration, first_state(trajectory), progress)
    first = first_difference(trajectory, again, cut)
    then, now = provenance.surroundings, surroundings()
    processor = changes(*({name: some[name] for name in PROCESSOR if name in some} for some in (then, now)))
    others = tuple(change for change in changes(then, now) if change not in processor)
    causes = (*others, *((OTHER_PROCESSOR,) if processor else ())) or (UNKNOWN,)
    reasons = () if first is None else causes
    notes = (*(others if first is None else ()), *processor, *_source_notes(trajectory, source))
    return Repetition(trajectory.robot_name, len(trajectory), first, reasons, notes, again)


def _loaded(path: str | os.PathLike[str]) -> Trajectory:
    name = path_of(path, "run: a recording's name").name.removesuffix(".part")
    if re.search(rf"_(({'|'.join(LABELS)}|sensor_\d+)\.npy|unfinished\.json)$", name):
        raise ArgumentError(
            f"{path} is of rollouts (treesim.rollout(..., out=)): such files hold states alone, neither robot nor "
            "the controls that they were made from; call treesim.rollout with the same arguments again, and compare "
            "the arrays: the same processor and versions give the same bits"
        )
    return Trajectory.load(path)


def recorded_robot(trajectory: Trajectory) -> Tree | None:
    """Return the robot in a recording's provenance, without mesh visuals; None if there is none.

    Raises ArgumentError if it is damaged.
    """
    if trajectory.provenance is None:
        return None
    provenance = recorded_provenance(trajectory)
    return None if "world" in provenance.missing else world_of(provenance).robot


def _simulation(provenance: Provenance, controller: Any) -> tuple[Simulation, float]:
    """Return the simulation of a provenance, and its duration [s]."""
    for label, reason in provenance.missing.items():
        if label not in ("world", "controller"):
            raise ArgumentError(f"it cannot be repeated: {reason}")
    world = world_of(provenance)
    drive = controller_of(provenance, world) if controller is None else controller
    known = *SETTINGS, "duration"
    others = [name for name in provenance.settings if name not in known]
    if others:
        raise unknown_name("setting of the recording", others[0], known)
    settings = {name: restored(value) for name, value in provenance.settings.items()}
    with warnings.catch_warnings(action="ignore", category=UserWarning):  # the recorded run has warned
        try:
            duration = positive_number("duration", settings.pop("duration"), zero=True)
            return Simulation(world, controller=drive, **settings), duration
        except (KeyError, TypeError) as error:
            if isinstance(error, ArgumentError):  # an UnknownNameError, which is a KeyError, too
                raise
            raise ArgumentError(f"the recording's settings do not fit: {reason_of(error)}") from None


def _is_cut(trajectory: Trajectory) -> bool:
    """Return whether a cause outside the dynamics ended the run (Ctrl-C or an exception)."""
    stopped = trajectory.stopped or ""
    return stopped == "interrupted" or stopped.partition(":")[0].isidentifier()


def first_difference(recorded: Trajectory, repeated: Trajectory, cut: bool = False) -> Difference | None:
    """Return the first difference in any bit of two runs, None if there is none.

    cut: whether the recording ended early from outside; its last torque is then not compared.
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
    """Return both arrays (K, numbers) of every quantity, and the numbers' names.

    Quantities are in the order in which a step computes them.
    """
    v_names, work = recorded.v_names, ("controls", "damping, friction, limits and contacts")
    names = {"t": ("t",), "tau": v_names, "q": recorded.q_names, "v": v_names, "energy": ("energy",), "work": work}
    pairs = {
        label: (_rows(getattr(recorded, label)), _rows(getattr(repeated, label)), of) for label, of in names.items()
    }
    one, other = recorded.contact, repeated.contact
    if one is not None and other is not None and one.bodies == other.bodies:
        axes = ("fx", "fy", "fz", "mx", "my", "mz")
        bodies = tuple(f"{body}.{axis}" for body in one.bodies for axis in axes)
        pairs["contact wrench"] = _rows(one.wrench_array), _rows(other.wrench_array), bodies
        pairs["contact"] = one.solver_info, other.solver_info, ("penetration", "residual", "energy certificate")
    return pairs


def _rows(x: np.ndarray) -> np.ndarray:
    return x.reshape(len(x), -1)


def _first_row(one: np.ndarray, other: np.ndarray) -> int | None:
    """Return the first row in which any bit differs, None if none does."""
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
    """Return sentences on the differences between two results of `provenance.surroundings`.

    Parameters
    ----------
    then : mapping
        Surroundings of the recording.
    now : mapping
        Surroundings now.

    Returns
    -------
    tuple of str
        One sentence per difference.

    Examples
    --------
    >>> from treesim.rollouts.replay import changes
    >>> changes({"numpy": "2.3.0", "processor": "znver4"}, {"numpy": "2.3.0", "processor": "znver5"})
    ('processor: znver5 now, znver4 then',)
    """
    found = []
    for name in dict.fromkeys((*then, *now)):
        before, here = then.get(name, "not recorded"), now.get(name, "not recorded")
        if name == "features":
            found += _feature_changes(before, here)
        elif before != here:
            found.append(f"{name}: {here} now, {before} then")
    return tuple(found)


def _feature_changes(before: str, here: str) -> list[str]:
    """Return the differences between two processors' features; none if both are processor levels."""
    if not (before and here):
        return []
    old, new = ({feature[1:] for feature in text.split(",") if feature[:1] == "+"} for text in (before, here))
    parts = [
        f"{word} {', '.join(sorted(some))}" for word, some in (("without", old - new), ("with", new - old)) if some
    ]
    return [f"processor features: now {' and '.join(parts)}"] if parts else []


def source_digest(source: Any) -> str | None:
    """Return the hexadecimal SHA-256 of a robot's description; None if it cannot be read.

    source: as `treesim.load` takes it; open files are not read.
    """
    if not isinstance(source, (str, bytes, Path)):
        return None
    try:
        return hashlib.sha256(open_source(source, Findings("<source>", False)).data).hexdigest()
    except (TreesimError, OSError):
        return None


def _source_notes(trajectory: Trajectory, source: Any) -> Iterator[str]:
    """Yield a note if the given description of the robot is not the recorded one."""
    if source is None:
        return
    now, then = source_digest(source), trajectory.metadata.get("sha256")
    if now is None:
        raise ArgumentError(f"source: the description {short_repr(source)} cannot be read")
    if not isinstance(then, str):
        yield "the recording has no SHA-256 of the robot's description"
    elif now != then:
        yield (
            f"the robot's description {short_repr(source)} has changed (SHA-256 {now[:DIGITS]}... now, "
            f"{then[:DIGITS]}... then): the recording's own robot ran"
        )
