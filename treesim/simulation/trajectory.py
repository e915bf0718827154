"""What a simulation leaves behind: states over time, written whole to .npz or .csv, and plotted."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..contact.description import surface_of
from ..contact.ground import Surface
from ..contact.history import ContactHistory, no_contact
from ..errors import ArgumentError, quoted, unknown_name
from ..model.coordinates import Q_PARTS, V_PARTS, configuration_names, place_of, velocity_names
from ..model.joints import JOINT_TYPES
from ..states.arguments import checked_robot
from ..system.display import ReprMixin, arrays, html_table, span
from ..system.files import checked_output, write_whole
from ..validation.arrays import Argument, coerce
from ..validation.values import checked_part, checked_parts, checked_text, checked_texts, finite_or_nan, short_repr

if TYPE_CHECKING:
    from ..model.tree import Tree

ONE_COORDINATE = {name for name, kind in JOINT_TYPES.items() if kind.nq == 1}
PLOT_SUFFIXES = (".png", ".svg", ".pdf")


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
class Trajectory(ReprMixin):
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
    Raises ArgumentError if the arrays do not fit together, names and types are none of joints, or times do not rise.

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
    mimic_joints: Mapping[str, tuple[str, float, float]] = field(default_factory=dict)
    recipe: str | Callable[[], str] | None = None

    def __post_init__(self) -> None:
        checked_text("robot_name", self.robot_name)
        for label in ("joint_names", "joint_types"):
            object.__setattr__(self, label, checked_texts(label, getattr(self, label)))
        _check_joints(self.joint_names, self.joint_types)
        _check_mimic_joints(self.mimic_joints, dict(zip(self.joint_names, self.joint_types, strict=True)))
        if checked_part("metadata", self.metadata, Mapping).get("stopped") is not None:  # type: ignore[type-abstract]
            checked_text("metadata: stopped", self.metadata["stopped"])
        if self.contact is not None:
            checked_part("contact", self.contact, ContactHistory)
        if self.recipe is not None and not (isinstance(self.recipe, str) or callable(self.recipe)):
            raise ArgumentError(f"recipe must be a text, or a function that returns one, got {short_repr(self.recipe)}")
        t = coerce(Argument("trajectory: t", self.t, ()))
        count = t.shape[:1] or (1,)
        nq, nv = len(self.q_names), len(self.v_names)
        wanted = {"t": count, "q": (*count, nq), "v": (*count, nv), "tau": (*count, nv), "energy": count}
        for name, shape in wanted.items():
            array = coerce(Argument(f"trajectory: {name}", getattr(self, name), ()))
            if array.shape != shape:
                raise ArgumentError(f"trajectory: {name} has shape {array.shape}, but {shape} is needed")
            object.__setattr__(self, name, array)
        _check_times(self.t)
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
        mimic_joints = {} if robot.mimic_map is None else robot.mimic_map.lines()
        made = dict(metadata or {})
        return cls(robot.name, t, q, v, tau, energy, names, types, made, work, contact, mimic_joints)  # type: ignore[arg-type]

    def __repr__(self) -> str:
        span = f"{self.t[0]:g} ... {self.t[-1]:g} s" if len(self) else "empty"
        ending = f", stopped: {self.stopped}" if self.stopped else ""
        return f"<Trajectory of {self.robot_name!r}: {len(self)} states, {span}{ending}>"

    def _repr_fields(self) -> Iterator[tuple[str, Any]]:
        yield from self.metadata.items()
        yield "energy [J]", span(self.energy.tolist())
        for name, kind in zip(self.joint_names, self.joint_types, strict=True):
            if self[name].q.ndim == 1:
                yield f"{name} [{'m' if kind == 'prismatic' else 'rad'}]", span(self[name].q.tolist())

    def __len__(self) -> int:
        return len(self.t)

    __iter__ = None  # it could be over joints as well as over states

    def __getitem__(self, joint: str) -> JointStates:
        if joint in self.mimic_joints:
            mimicked, multiplier, offset = self.mimic_joints[joint]
            led = self[mimicked]
            return JointStates(multiplier * led.q + offset, multiplier * led.v, np.zeros_like(led.tau))
        if joint not in self.joint_names:
            raise unknown_name(f"joint of {self.robot_name!r}", joint, (*self.joint_names, *self.mimic_joints))
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
        """By how much impulses, but for those of soft surfaces' springs, changed the kinetic energy (K,) [J]: never
        upwards."""
        return self._told[:, 2]

    @property
    def _told(self) -> np.ndarray:
        return no_contact(len(self)) if self.contact is None else self.contact.solver_info

    @property
    def ground(self) -> tuple[Surface, ...]:
        """What the robot stood on, if it is known (`metadata["ground"]`): planes, static boxes, height fields."""
        described: tuple[Any, ...] = checked_parts("metadata: ground", self.metadata.get("ground", ()), object)
        return tuple(surface_of(each) for each in described)

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
        """Return the trajectory that `save` wrote to `path`, by its suffix, bit for bit.

        Raises ArgumentError if the file is missing, has another suffix, was not written by treesim, or is damaged: by
        the digests that it holds, a flipped bit is found in any of its numbers and in its description.
        """
        from ..formats import load

        return load(path)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write everything to `path`, by its suffix, whole or not at all; return the path.

        .npz: NumPy's archive. .csv: text; one comment line of metadata, then the header; numbers keep every digit.
        .parquet: the table of `to_arrow`. .nc: netCDF of `to_xarray`. .mcap: messages of ROS 2, and the robot, whose
        motion a simulation must have made. docs/formats.md has them side by side.
        Raises ArgumentError for another suffix, a library that is missing, or a place that cannot be written, with the
        bytes that are needed and free on a full disk; a file that was there stays.

        Example:
            >>> import tempfile
            >>> from pathlib import Path
            >>> run = treesim.Simulation(treesim.load("ur5")).run(0.01)
            >>> path = run.save(Path(tempfile.mkdtemp()) / "run.npz")
            >>> np.array_equal(treesim.Trajectory.load(path).q, run.q)
            True
        """
        from ..formats import save

        return save(self, path)

    def to_dataframe(self) -> Any:
        """Return a pandas DataFrame: one row a state, by its time t [s]; columns q.NAME, v.NAME, tau.NAME, energy,
        work, those of followers behind the other joints' q and v, in units as here, with names as in `q_names` and
        `v_names`. Its `attrs` hold the metadata.

        Raises ArgumentError, saying how to install it, if pandas is missing.
        """
        from ..formats.columns import table_of

        try:
            import pandas
        except ImportError:
            raise ArgumentError("data frames need pandas: `python -m pip install pandas` brings it") from None
        names, table = table_of(self)
        index = pandas.Index(self.t, name="t")
        frame = pandas.DataFrame(table[:, 1:], index, names[1:])
        frame.attrs = {**self.metadata, "robot_name": self.robot_name}
        return frame

    def to_arrow(self) -> Any:
        """Return a pyarrow.Table: one row a state, columns t, q.NAME, v.NAME, tau.NAME, energy, work and contact, as in
        a CSV; the unit of each is in its field's metadata.

        Raises ArgumentError, saying how to install it, if pyarrow is missing.

        Example:
            >>> table = treesim.Simulation(treesim.load("ur5")).run(0.01).to_arrow()
            >>> table.num_rows, table.schema.field("v.elbow_joint").metadata
            (11, {b'unit': b'rad/s'})
        """
        from ..formats.parquet import table_of_trajectory

        return table_of_trajectory(self)

    def to_xarray(self) -> Any:
        """Return an xarray.Dataset: q (time, coordinate), v and tau (time, dof), energy (time) and work (time,
        account), and of contact contact_wrench (time, body, part), contact_pair_wrench (time, pair, side, part) and
        contact_solver_info (time, told).

        Coordinates name the axes: `dataset.v.sel(dof="elbow_joint")`; joint_of_coordinate and joint_of_dof say whose
        they are, unit_of_q, unit_of_v and unit_of_tau in what they are measured. Arrays are not copied. `from_xarray`
        is the way back, also after `to_zarr` and `to_netcdf`.
        Raises ArgumentError, saying how to install it, if xarray is missing.

        Example:
            >>> run = treesim.Simulation(treesim.load("ur5")).run(0.01)
            >>> run.to_xarray().v.sel(dof="elbow_joint").shape
            (11,)
        """
        from ..formats.xarray import dataset_of

        return dataset_of(self)

    @classmethod
    def from_xarray(cls, dataset: Any) -> Trajectory:
        """Return the trajectory of a Dataset that `to_xarray` made, bit for bit. Raises ArgumentError for another, and
        where a digest in it shows that numbers, or its description, are not those that were written."""
        from ..formats.xarray import trajectory_of

        return trajectory_of(dataset)

    def plot(self, path: str | os.PathLike[str]) -> Path:
        """Draw positions and velocities of the joints that move most, the base if it floats, contact forces, energy.

        The picture's format follows the suffix of `path` (.png, .svg, .pdf). Needs matplotlib; raises ArgumentError if
        it is missing, saying how to install it, or the place cannot be written.
        """
        from ..plotting import draw

        path = checked_output(path, PLOT_SUFFIXES)
        return write_whole(path, lambda stream: draw(self, stream, path.suffix[1:].lower()))


def _check_joints(names: tuple[str, ...], types: tuple[str, ...]) -> None:
    """Raise ArgumentError for names of joints that occur twice, and types that are none, or not as many."""
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise ArgumentError(f"joint_names hold {quoted(twice[0])} twice")
    wrong = [kind for kind in types if kind not in JOINT_TYPES]
    if wrong:
        raise unknown_name("type among joint_types", wrong[0], JOINT_TYPES)
    if len(names) != len(types):
        raise ArgumentError(f"joint_types must be {len(names)}, as joint_names are, got {len(types)}")


def _check_mimic_joints(mimic_joints: Any, types: Mapping[str, str]) -> None:
    """Raise ArgumentError unless `mimic_joints` are {name: (mimicked, multiplier, offset)} of 1-DoF joints."""
    for name, line in checked_part("mimic_joints", mimic_joints, Mapping).items():  # type: ignore[type-abstract]
        whose = f"mimic_joints[{quoted(name)}]"
        mimicked, *numbers = checked_parts(whose, line, object) or (None,)
        fits = checked_text("name of a mimic joint", name) not in types and len(numbers) == 2
        if not fits or any(map(isnan, map(finite_or_nan, numbers))):
            raise ArgumentError(
                f"{whose} must be (mimicked joint, multiplier, offset) of another joint, got {short_repr(line)}"
            )
        if not isinstance(mimicked, str) or types.get(mimicked, "") not in ONE_COORDINATE:
            raise ArgumentError(f"{whose} must follow a joint of one coordinate, got {short_repr(mimicked)}")


def _check_times(t: np.ndarray) -> None:
    """Raise ArgumentError, naming the first state, unless times are finite and rise."""
    wrong = np.flatnonzero(~np.isfinite(t))
    if not wrong.size:
        wrong = np.flatnonzero(np.diff(t) <= 0) + 1
    if wrong.size:
        k = int(wrong[0])
        raise ArgumentError(f"trajectory: t must be finite and rise from state to state, but t[{k}] is {t[k]}")
