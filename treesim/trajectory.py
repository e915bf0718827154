"""What a simulation leaves behind: states over time, written whole to .npz or .csv, and plotted."""

from __future__ import annotations

import csv
import json
import os
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .contact.description import surface_of
from .contact.ground import Surface
from .contact.history import ContactHistory, names_of, no_contact
from .display import Shown, arrays, html_table, span
from .engine.call.arguments import Argument, coerce
from .errors import ArgumentError, unknown_name
from .files import check_suffix, checked_output, write_whole
from .model.coordinates import Q_PARTS, V_PARTS, configuration_names, place_of, velocity_names
from .model.given import checked_robot

if TYPE_CHECKING:
    from .model.tree import Tree

SUFFIXES = (".npz", ".csv")
PLOT_SUFFIXES = (".png", ".svg", ".pdf")
_ARRAYS = ("t", "q", "v", "tau", "energy", "work")
_WORK = ("work.controls", "work.damping_and_friction")  # columns; older files have none
# what readers of damaged archives, arrays, texts and tables raise, besides OSError
DAMAGED = (
    ValueError, LookupError, TypeError, AttributeError, ArithmeticError, EOFError, MemoryError, RecursionError,
    NotImplementedError, SyntaxError, csv.Error, struct.error, tokenize.TokenError, zipfile.BadZipFile, zlib.error,
)  # fmt: skip
_HEADING = "# treesim trajectory: "


class JointStates(NamedTuple):
    """One joint's part of a trajectory of K states: q and v, and tau, the generalised forces [N m, N].

    Each is (K,) where the joint has one coordinate, or degree of freedom, else (K, its number); they are views.
    """

    q: np.ndarray
    v: np.ndarray
    tau: np.ndarray

    def __repr__(self) -> str:
        return f"<JointStates: {len(self.q)} states, q {span(self.q.ravel().tolist())}>"

    def _repr_html_(self) -> str:
        return html_table(repr(self), arrays(self, *self._fields))


@dataclass(frozen=True, eq=False, repr=False)
class Trajectory(Shown):
    """The states of one simulation, K of them, the first at the start.

    t: (K,) times [s]. q: (K, nq) configurations. v: (K, nv) velocities. tau: (K, nv) generalised forces applied
    during the step that starts there [N m, N]; 0 in a last state whose torque is not known, where a run ended early.
    energy: (K,) kinetic plus potential [J]. work: (K, 2), that of the controls, and of damping, friction, joint limits
    and contacts, up to each state [J]; NaN where it is not known. joint_names, joint_types: the robot's joints in the
    order of their coordinates; followers: those that follow another one, {name: (leader, multiplier, offset)}, which
    have no coordinates of their own and are not among these. metadata: plain values that tell how it was made, such as
    dt, backend, integrator, base, seed, energy_in_play [J], `ground`, what it stood on (`Trajectory.ground`), and
    `stopped`, the reason for an early end, or None.
    recipe: what `treesim.replay` makes the run again from, one line of text or a function that returns it, or None.
    contact: what contacts, joint limits and joint friction did in every step, a ContactHistory; None without them.
    `trajectory["elbow"]` gives one joint's q, v and tau, those of followers too, whose tau is 0, as what drives them is
    part of their leader's; unknown joints raise UnknownNameError with near misses.
    Raises ArgumentError if the arrays do not fit together.

    Example:
        >>> trajectory = treesim.Simulation(treesim.load("ur5")).run(0.01)
        >>> trajectory.q.shape, trajectory["elbow_joint"].q.shape
        ((11, 6), (11,))
    """

    robot_name: str
    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    tau: np.ndarray
    energy: np.ndarray
    joint_names: tuple[str, ...]
    joint_types: tuple[str, ...]
    metadata: Mapping[str, Any] = field(default_factory=dict)
    work: np.ndarray = None  # type: ignore[assignment]  # NaN, see __post_init__
    contact: ContactHistory | None = None
    followers: Mapping[str, tuple[str, float, float]] = field(default_factory=dict)
    recipe: str | Callable[[], str] | None = None

    def __post_init__(self) -> None:
        t = coerce(Argument("trajectory: t", self.t, ()))
        count = t.shape[:1] or (1,)
        nq, nv = len(self.q_names), len(self.v_names)
        wanted = {"t": count, "q": (*count, nq), "v": (*count, nv), "tau": (*count, nv), "energy": count}
        for name, shape in wanted.items():
            array = coerce(Argument(f"trajectory: {name}", getattr(self, name), ()))
            if array.shape != shape:
                raise ArgumentError(f"trajectory: {name} has shape {array.shape}, but {shape} is needed")
            object.__setattr__(self, name, array)
        work = np.full((*count, 2), np.nan) if self.work is None else self.work
        work = coerce(Argument("trajectory: work", work, ()))
        if work.shape != (*count, 2):
            raise ArgumentError(f"trajectory: work has shape {work.shape}, but {(*count, 2)} is needed")
        object.__setattr__(self, "work", work)
        if self.contact is not None and len(self.contact) != len(t):
            raise ArgumentError(f"trajectory: contact is told of {len(self.contact)} states, but there are {len(t)}")

    @classmethod
    def of(
        cls,
        robot: Tree,
        t: np.ndarray,
        q: np.ndarray,
        v: np.ndarray,
        tau: np.ndarray,
        energy: np.ndarray,
        metadata: Mapping[str, Any] | None = None,
        work: np.ndarray | None = None,
        contact: ContactHistory | None = None,
    ) -> Trajectory:
        """Return the trajectory of `robot` with the given arrays, names and types of its joints filled in."""
        moving = [body.joint for body in checked_robot(robot).bodies if body.joint.mimic is None]
        names, types = tuple(joint.name for joint in moving), tuple(joint.type for joint in moving)
        followers = {} if robot.coupling is None else robot.coupling.lines()
        made = dict(metadata or {})
        return cls(robot.name, t, q, v, tau, energy, names, types, made, work, contact, followers)  # type: ignore[arg-type]

    def __repr__(self) -> str:
        span = f"{self.t[0]:g} ... {self.t[-1]:g} s" if len(self) else "empty"
        ending = f", stopped: {self.stopped}" if self.stopped else ""
        return f"<Trajectory of {self.robot_name!r}: {len(self)} states, {span}{ending}>"

    def _facts(self) -> Iterator[tuple[str, Any]]:
        yield from self.metadata.items()
        yield "energy [J]", span(self.energy.tolist())
        for name, kind in zip(self.joint_names, self.joint_types, strict=True):
            if self[name].q.ndim == 1:
                yield f"{name} [{'m' if kind == 'prismatic' else 'rad'}]", span(self[name].q.tolist())

    def __len__(self) -> int:
        return len(self.t)

    __iter__ = None  # it could be over joints as well as over states

    def __getitem__(self, joint: str) -> JointStates:
        if joint in self.followers:
            leader, multiplier, offset = self.followers[joint]
            led = self[leader]
            return JointStates(multiplier * led.q + offset, multiplier * led.v, np.zeros_like(led.tau))
        if joint not in self.joint_names:
            raise unknown_name(f"joint of {self.robot_name!r}", joint, (*self.joint_names, *self.followers))
        k = self.joint_names.index(joint)
        q, v = (place_of(self.joint_types, k, parts) for parts in (Q_PARTS, V_PARTS))
        return JointStates(self.q[:, q], self.v[:, v], self.tau[:, v])

    @property
    def energy_error(self) -> np.ndarray:
        """The integrator's error (K,): the change of energy less the work that was done [J]; NaN if that is unknown."""
        with np.errstate(invalid="ignore"):  # states whose energy overflows
            return self.energy - self.energy[:1] - (self.work - self.work[:1]).sum(axis=1)

    def contact_wrench(self, body: str, other: str | None = None) -> np.ndarray:
        """Return the mean force and moment (K, 6) of contacts on a body in the step that starts at each state [N, N m],
        along the world's axes, at the body's origin: of all that touches it, or of what `other` exerts, a body, or a
        surface of the world by its name ("ground[k]" of one without); "ground" is all of them. Of a surface in place of
        the body they are at the world's origin. Raises UnknownNameError for what cannot touch anything.

        Example:
            >>> robot = treesim.free_body("crate", "box", (0.2, 0.2, 0.2), 1.0)
            >>> world = treesim.World(robot, ground=[treesim.Ground(), treesim.Ground(normal=(1, 0, 0), name="wall")])
            >>> run = treesim.Simulation(world).run(0.01, q0=[0.1, 0, 0.1, 0, 0, 0, 1])
            >>> run.contact_wrench("crate", "ground[0]")[0, 2].round(9), run.contact_wrench("crate", "wall")[0, 0]
            (np.float64(9.81), np.float64(0.0))
        """
        nothing = ContactHistory((), np.zeros((len(self), 0, 6)), no_contact(len(self)))
        return (self.contact or nothing).of_body(body, other)

    @property
    def penetration(self) -> np.ndarray:
        """The largest overlap (K,) of two shapes at the end of the step that starts at each state [m]."""
        return self._told[:, 0]

    @property
    def residual(self) -> np.ndarray:
        """By how much the worst contact, limit or joint misses its law (K,) [m/s, rad/s]."""
        return self._told[:, 1]

    @property
    def energy_certificate(self) -> np.ndarray:
        """By how much impulses changed the kinetic energy (K,) [J]: never upwards."""
        return self._told[:, 2]

    @property
    def _told(self) -> np.ndarray:
        return no_contact(len(self)) if self.contact is None else self.contact.told

    @property
    def ground(self) -> tuple[Surface, ...]:
        """What the robot stood on, if it is known (`metadata["ground"]`): planes, static boxes, height fields."""
        return tuple(surface_of(each) for each in self.metadata.get("ground", ()))

    @property
    def stopped(self) -> str | None:
        """Why the simulation ended early, or None if it ran to its end."""
        return self.metadata.get("stopped")

    def with_metadata(self, **entries: Any) -> Trajectory:
        """Return the same trajectory with `entries` added to its metadata."""
        return replace(self, metadata={**self.metadata, **entries})

    @property
    def q_names(self) -> tuple[str, ...]:
        """One name for each coordinate: the joint's, with the coordinate's after a dot if it has several."""
        return configuration_names(self.joint_names, self.joint_types)

    @property
    def v_names(self) -> tuple[str, ...]:
        """One name for each degree of freedom: the joint's, with the direction's after a dot if it has several."""
        return velocity_names(self.joint_names, self.joint_types)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Trajectory:
        """Return the trajectory that `save` wrote to `path` (.npz or .csv), bit for bit; raises ArgumentError."""
        return load(path)

    def to_dataframe(self) -> Any:
        """Return a pandas DataFrame: one row a state, by its time t [s]; columns q.NAME, v.NAME, tau.NAME, energy,
        work, those of followers behind the other joints' q and v, in units as here, with names as in `q_names` and
        `v_names`. Its `attrs` hold the metadata.

        Raises ArgumentError, saying how to install it, if pandas is missing.
        """
        try:
            import pandas
        except ImportError:
            raise ArgumentError("data frames need pandas: `python -m pip install pandas` brings it") from None
        names, table = self._table()
        index = pandas.Index(self.t, name="t")
        frame = pandas.DataFrame(table[:, 1:], index, names[1:])
        frame.attrs = {**self.metadata, "robot_name": self.robot_name}
        return frame

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write everything to `path`, by its suffix .npz or .csv, whole or not at all; return the path.

        A CSV begins with one comment line of metadata, then the header; numbers keep every digit.
        Raises ArgumentError for another suffix or a place that cannot be written, with the bytes that are needed and
        free on a full disk; a file that was there stays.
        """
        path = checked_output(path, SUFFIXES)
        if path.suffix.lower() == ".npz":
            return write_whole(path, self._write_npz, sum(getattr(self, name).nbytes for name in _ARRAYS))
        return write_whole(path, self._write_csv)

    def plot(self, path: str | os.PathLike[str]) -> Path:
        """Draw positions and velocities of the joints that move most, the base if it floats, contact forces, energy.

        The picture's format follows the suffix of `path` (.png, .svg, .pdf). Needs matplotlib; raises ArgumentError if
        it is missing, saying how to install it, or the place cannot be written.
        """
        from .plotting import draw

        path = checked_output(path, PLOT_SUFFIXES)
        return write_whole(path, lambda stream: draw(self, stream, path.suffix[1:].lower()))

    def _description(self) -> str:
        return json.dumps(
            {
                "robot_name": self.robot_name,
                "joint_names": self.joint_names,
                "joint_types": self.joint_types,
                "metadata": dict(self.metadata),
                "states": len(self),
                **({"followers": self.followers} if self.followers else {}),
                **({} if self.recipe is None else {"recipe": self.recipe() if callable(self.recipe) else self.recipe}),
                **({"touching": []} if self.contact is None else self.contact.description()),
            }
        )

    def _table(self) -> tuple[list[str], np.ndarray]:
        """Names of all columns, and the columns."""
        led = [self[name] for name in self.followers]
        names = ["t", *(f"q.{n}" for n in (*self.q_names, *self.followers))]
        names += [f"v.{n}" for n in (*self.v_names, *self.followers)]
        names += [*(f"tau.{n}" for n in self.v_names), "energy", *_WORK]
        columns = [] if self.contact is None else list(self.contact.columns())
        last = np.stack([x for _, x in columns], axis=1) if columns else np.empty((len(self), 0))
        states = (self.t, self.q, *(joint.q for joint in led), self.v, *(joint.v for joint in led), self.tau)
        return [*names, *(name for name, _ in columns)], np.column_stack((*states, self.energy, self.work, last))

    def _write_npz(self, stream: IO[bytes]) -> None:
        arrays = {name: getattr(self, name) for name in _ARRAYS}
        if self.contact is not None:
            arrays |= {"wrench": self.contact.wrench, "told": self.contact.told, "pairs": self.contact.pair_wrench}
        np.savez(stream, description=np.array(self._description()), **arrays)

    def _write_csv(self, stream: IO[bytes]) -> None:
        header, table = self._table()
        stream.write((_HEADING + self._description() + "\r\n").encode())
        text = _Encoded(stream)
        writer = csv.writer(text)
        writer.writerow(header)
        writer.writerows(table.tolist())  # Python's float repr is exact


class _Encoded:
    """The text side of a byte stream, for csv.writer; unlike TextIOWrapper it does not close the stream."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        return self._stream.write(text.encode())


def load(path: str | os.PathLike[str]) -> Trajectory:
    """Return the trajectory that `Trajectory.save` wrote to `path` (.npz or .csv), bit for bit.

    Raises ArgumentError if the file is missing, has another suffix, or was not written by treesim.
    """
    path = Path(path)
    check_suffix(path, SUFFIXES)
    read = _read_npz if path.suffix.lower() == ".npz" else _read_csv
    try:
        return _trajectory(*read(path))
    except OSError as error:
        raise ArgumentError(f"cannot read {path}: {error.strerror or error}") from error
    except DAMAGED as error:
        what = str(error) or type(error).__name__
        raise ArgumentError(f"{path} is not a trajectory that treesim wrote, or is damaged: {what}") from error


def _trajectory(description: Any, arrays: dict[str, Any]) -> Trajectory:
    name, metadata, states = description["robot_name"], description["metadata"], description.get("states")
    if not isinstance(metadata, dict) or not isinstance(name, str):
        raise ValueError("its description is not one of a trajectory")
    trajectory = Trajectory(
        robot_name=name,
        joint_names=tuple(description["joint_names"]),
        joint_types=tuple(description["joint_types"]),
        metadata=metadata,
        followers={name: tuple(line) for name, line in description.get("followers", {}).items()},
        recipe=description.get("recipe"),
        **arrays,
    )
    if states not in (None, len(trajectory)):  # None in files of older versions
        raise ValueError(f"it holds {len(trajectory)} states, but {states} were written")
    return trajectory


def _read_npz(path: Path) -> tuple[Any, dict[str, Any]]:
    with np.load(path, allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in _ARRAYS if name != "work" or name in archive}
        description = json.loads(str(archive["description"]))
        if "told" in archive:
            bodies, names = tuple(description["touching"]), names_of(description)
            pairs = archive.get("pairs")
            arrays["contact"] = ContactHistory(bodies, archive["wrench"], archive["told"], *names, pairs)
        return description, arrays


def _read_csv(path: Path) -> tuple[Any, dict[str, Any]]:
    with path.open(encoding="utf-8", newline="") as stream:
        heading = stream.readline()
        if not heading.startswith(_HEADING):
            raise ValueError(f"its first line does not begin with {_HEADING!r}")
        description = json.loads(heading[len(_HEADING) :])
        rows = csv.reader(_whole_lines(stream))
        header = next(rows, [])
        table = np.array([[float(cell) for cell in row] for row in rows]).reshape(-1, len(header))

    def block(label: str) -> np.ndarray:
        led = {f"{label}.{name}" for name in description.get("followers", {})}
        return table[:, [i for i, name in enumerate(header) if name.startswith(label + ".") and name not in led]]

    energy = header.index("energy") if "energy" in header else -1
    return description, {
        "t": table[:, 0],
        **{label: block(label) for label in ("q", "v", "tau")},
        "energy": table[:, energy],
        "work": block("work") if _WORK[0] in header else None,
        "contact": ContactHistory.from_columns(header, table, description),
    }


def _whole_lines(lines: Iterable[str]) -> Iterator[str]:
    """The lines, each of which must have an end: a number that is cut short still is a number."""
    for line in lines:
        if not line.endswith("\n"):
            raise ValueError("its last line is cut short")
        yield line
