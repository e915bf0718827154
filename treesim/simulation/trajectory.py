"""Trajectory of a simulation: states over time, saved to files, converted to tables, and plotted."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import plugins
from ..contact.description import surface_of
from ..contact.ground import Surface
from ..contact.history import ContactHistory, no_contact
from ..errors import ArgumentError, quoted, unknown_name
from ..model.coordinates import Q_PARTS, V_PARTS, configuration_names, index_of, velocity_names
from ..model.joints import JOINT_TYPES
from ..states.arguments import checked_robot
from ..system.display import ReprMixin, arrays, html_table, span
from ..system.files import checked_output, write_whole
from ..validation.arrays import Argument, coerce
from ..validation.values import (
    checked_part,
    checked_parts,
    checked_text,
    checked_texts,
    finite_or_nan,
    index_or_none,
    short_repr,
)
from .readings import NO_READINGS, Readings

if TYPE_CHECKING:
    from ..model.tree import Tree

ONE_COORDINATE = {name for name, kind in JOINT_TYPES.items() if kind.nq == 1}
PLOT_SUFFIXES = (".png", ".svg", ".pdf")


class JointStates(NamedTuple):
    """States of one joint in a trajectory of K states: q, v and generalised forces tau [N m, N].

    Each is a view, (K,) for one coordinate or degree of freedom, else (K, number).
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
    """States of one simulation, K of them, the first at the start.

    `trajectory["elbow"]` returns q, v and tau of one joint. A mimic joint's tau is 0: its forces are part of
    the mimicked joint's. An unknown joint raises UnknownNameError with similar names.

    Parameters
    ----------
    robot_name : str
        Name of the robot.
    t : array_like, shape (K,)
        Times [s], increasing.
    q : array_like, shape (K, nq)
        Configurations.
    v : array_like, shape (K, nv)
        Velocities.
    tau : array_like, shape (K, nv)
        Generalised forces in the step that starts at each state [N m, N]; 0 in a last state whose torque is
        unknown.
    energy : array_like, shape (K,)
        Kinetic plus potential energy [J].
    joint_names : sequence of str
        Joints in the order of their coordinates, without mimic joints.
    joint_types : sequence of str
        Types of these joints.
    metadata : mapping, optional
        Plain values on how the run was made: dt, backend, integrator, base, seed, energy_range (the energy
        range [J]), `ground`, and `stopped`, the reason for an early end, or None.
    work : array_like, shape (K, 2), optional
        Work up to each state [J]: of the controls, and of damping, friction, joint limits and contacts. NaN if
        unknown.
    contact : ContactHistory, optional
        Results of contacts, joint limits and joint friction in every step.
    mimic_joints : mapping, optional
        Mimic joints, {name: (mimicked joint, multiplier, offset)}, which have no coordinates of their own.
    provenance : str or callable, optional
        Provenance, from which `treesim.replay` repeats the run: one line of text, or a function that returns
        it.
    sensors : Readings, optional
        Arrays (K, n) by name, with names of their columns in `sensors.columns`. Readings of the world's
        sensors in the step that starts at each state, by name: see `treesim.Imu` and others. Those of a last
        state, which starts no step, are NaN.

    Raises
    ------
    ArgumentError
        If the arrays do not fit together, a joint name or type is invalid, or times do not increase.

    Examples
    --------
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
    provenance: str | Callable[[], str] | None = None
    sensors: Readings = NO_READINGS

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
        checked_part("sensors", self.sensors, Readings)
        for name, readings in self.sensors.items():
            if len(readings) != len(self):
                raise ArgumentError(f"readings of sensor {quoted(name)} are {len(readings)} rows, not {len(self)}")
        if self.provenance is not None and not (isinstance(self.provenance, str) or callable(self.provenance)):
            raise ArgumentError(
                f"provenance must be a text, or a function that returns one, got {short_repr(self.provenance)}"
            )
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
            raise ArgumentError(f"trajectory: contact has {len(self.contact)} states, but there are {len(t)}")

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
        """Return a trajectory of a robot, with names and types of its joints filled in.

        Parameters
        ----------
        robot : Tree
            The robot.
        t, q, v, tau, energy : ndarray
            As in `Trajectory`.
        metadata : mapping, optional
            As in `Trajectory`.
        work : ndarray, shape (K, 2), optional
            As in `Trajectory`.
        contact : ContactHistory, optional
            As in `Trajectory`.

        Returns
        -------
        Trajectory
            The trajectory.
        """
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

    __iter__ = None  # ambiguous: joints or states

    def __getitem__(self, joint: str) -> JointStates:
        if joint in self.mimic_joints:
            mimicked, multiplier, offset = self.mimic_joints[joint]
            led = self[mimicked]
            return JointStates(multiplier * led.q + offset, multiplier * led.v, np.zeros_like(led.tau))
        if joint not in self.joint_names:
            raise unknown_name("joint", joint, (*self.joint_names, *self.mimic_joints), of=repr(self.robot_name))
        k = self.joint_names.index(joint)
        q, v = (index_of(self.joint_types, k, parts) for parts in (Q_PARTS, V_PARTS))
        return JointStates(self.q[:, q], self.v[:, v], self.tau[:, v])

    @property
    def energy_error(self) -> np.ndarray:
        """Integration error (K,) [J]: the change of energy minus the work done; NaN if the work is unknown."""
        with np.errstate(invalid="ignore"):  # states whose energy overflows
            return self.energy - self.energy[:1] - (self.work - self.work[:1]).sum(axis=1)

    def contact_wrench(self, body: str, other: str | None = None) -> np.ndarray:
        """Return the mean contact force and moment on a body during each step.

        Parameters
        ----------
        body : str
            A body, or a surface of the world: "ground[k]" if it has no name, "ground" for all surfaces together.
        other : str, optional
            Body or surface that exerts the force; all of them by default.

        Returns
        -------
        ndarray, shape (K, 6)
            Force and moment [N, N m] in the step that starts at each state, along the world's axes, at the body's
            origin. For a surface they are at the world's origin.

        Raises
        ------
        UnknownNameError
            For a name that cannot touch anything.

        Examples
        --------
        >>> robot = treesim.free_body("crate", "box", (0.2, 0.2, 0.2), 1.0)
        >>> world = treesim.World(robot, ground=[treesim.Ground(), treesim.Ground(normal=(1, 0, 0), name="wall")])
        >>> run = treesim.Simulation(world).run(0.01, q0=[0.2, 0, 0.1, 0, 0, 0, 1])
        >>> run.contact_wrench("crate", "ground[0]")[0, 2].round(9), run.contact_wrench("crate", "wall")[0, 0]
        (np.float64(9.81), np.float64(0.0))
        """
        nothing = ContactHistory((), np.zeros((len(self), 0, 6)), no_contact(len(self)))
        return (self.contact or nothing).of_body(body, other)

    def joint_wrench(self, joint: str) -> np.ndarray:
        """Return the mean force and moment that a joint's parent exerts on its child through the joint in each step.

        The results are the readings of `ForceTorque(joint)`: of the world's sensor if it has one in this joint, else
        computed from the states, the contact forces and the external forces. For a fixed joint, contact forces on links
        of its body are taken from contact points if they were recorded.

        Parameters
        ----------
        joint : str
            Name of a joint, fixed ones included, or of the link that it carries, as in `ForceTorque`.

        Returns
        -------
        ndarray, shape (K, 6)
            Force and moment [N, N m] in the step that starts at each state, along the link's axes at its origin; NaN in
            the last state, which starts no step.

        Raises
        ------
        UnknownNameError
            If there is no such joint or link.
        ArgumentError
            If the trajectory has no record of its world or of its external forces, or if contact forces on both sides
            of a fixed joint were recorded without contact points; the error names the remedy.

        Examples
        --------
        >>> robot = treesim.load("ur5")
        >>> hold = treesim.PD(robot, robot.neutral(), kp=5000.0, kd=100.0)
        >>> run = treesim.Simulation(robot, controller=hold).run(0.5)
        >>> run.joint_wrench("wrist_1_joint")[-2, :3].round(1)  # the weight of what it carries
        array([ 0. ,  0. , 25.4])
        """
        from .recorded_wrenches import joint_wrench

        return joint_wrench(self, joint)

    def contacts(self, k: int) -> np.ndarray:
        """Return the contact points of the step that starts at the k-th state.

        Parameters
        ----------
        k : int
            Index of a state, from the last one if it is negative. The last state starts no step.

        Returns
        -------
        ndarray, shape (n,)
            Structured array with the fields of `ContactReport.points`: `body`, `other`, `position`, `normal`, `gap`,
            `force`, `velocity`, `link` and others.

        Raises
        ------
        ArgumentError
            If there is no such state, or the points were not recorded: see `contact_points` of `Simulation`.

        Examples
        --------
        >>> crate = treesim.free_body("crate", "box", (0.2, 0.2, 0.2), 1.0)
        >>> world = treesim.World(crate, ground=treesim.Ground())
        >>> simulation = treesim.Simulation(world, contact_points=True, integrator="semi_implicit_euler")
        >>> run = simulation.run(0.01, q0=[0, 0, 0.1, 0, 0, 0, 1])
        >>> len(run.contacts(0)), run.contacts(0)["force"].sum(axis=0).round(9)
        (4, array([0.  , 0.  , 9.81]))
        """
        index, count = index_or_none(k), len(self)
        if index is None or not -count <= index < count:
            raise ArgumentError(f"k must be the index of one of {count} states, got {short_repr(k)}")
        if self.contact is None:
            raise ArgumentError("the run has no contact: simulate a treesim.World with a ground or bodies")
        return self.contact.at_step(index % count)

    @property
    def penetration(self) -> np.ndarray:
        """Largest penetration (K,) of two shapes at the end of the step that starts at each state [m]."""
        return self._solver_info[:, 0]

    @property
    def residual(self) -> np.ndarray:
        """Largest complementarity residual (K,) of contacts, joint limits and joint friction [m/s, rad/s]."""
        return self._solver_info[:, 1]

    @property
    def energy_certificate(self) -> np.ndarray:
        """Change of kinetic energy (K,) by impulses [J], without springs of soft surfaces; not positive."""
        return self._solver_info[:, 2]

    @property
    def _solver_info(self) -> np.ndarray:
        return no_contact(len(self)) if self.contact is None else self.contact.solver_info

    @property
    def ground(self) -> tuple[Surface, ...]:
        """Surfaces of the ground, if known (`metadata["ground"]`): planes, static boxes, height fields."""
        described: tuple[Any, ...] = checked_parts("metadata: ground", self.metadata.get("ground", ()), object)
        return tuple(surface_of(each) for each in described)

    @property
    def stopped(self) -> str | None:
        """Reason for an early end of the simulation, None if it ran to its end."""
        return self.metadata.get("stopped")

    def with_metadata(self, **entries: Any) -> Trajectory:
        """Return a copy with `entries` added to its metadata.

        Parameters
        ----------
        **entries
            Plain values by name; they replace entries of the same name.

        Returns
        -------
        Trajectory
            The copy.
        """
        return replace(self, metadata={**self.metadata, **entries})

    @property
    def q_names(self) -> tuple[str, ...]:
        """Name of each coordinate: the joint's, followed by a dot and the coordinate's name if it has several."""
        return configuration_names(self.joint_names, self.joint_types)

    @property
    def v_names(self) -> tuple[str, ...]:
        """Name of each degree of freedom: the joint's, followed by a dot and the direction's name if it has several."""
        return velocity_names(self.joint_names, self.joint_types)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Trajectory:
        """Return the trajectory that `save` wrote, equal to the bit.

        Parameters
        ----------
        path : path-like
            The file; its suffix selects the format.

        Returns
        -------
        Trajectory
            The trajectory.

        Raises
        ------
        ArgumentError
            If the file is missing, has an unknown suffix, was not written by treesim, or is damaged. Digests in the
            file detect every flipped bit in its numbers and description.
        """
        from .files import load

        return load(path)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the trajectory to a file, completely or not at all.

        .npz: NumPy's archive. .csv: text with one comment line of metadata, a header, and all digits of the
        numbers. .parquet: the table of `to_arrow`. .nc: netCDF of `to_xarray`. .mcap: ROS 2 messages and the robot;
        the trajectory must be that of a simulation. docs/formats.md compares them.

        Parameters
        ----------
        path : path-like
            The file; its suffix selects the format.

        Returns
        -------
        Path
            The path.

        Raises
        ------
        ArgumentError
            For an unknown suffix, a missing library, or a place that cannot be written. For a full disk the message
            gives the bytes needed and free. An existing file is then unchanged.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> run = treesim.Simulation(treesim.load("ur5")).run(0.01)
        >>> path = run.save(Path(tempfile.mkdtemp()) / "run.npz")
        >>> np.array_equal(treesim.Trajectory.load(path).q, run.q)
        True
        """
        from .files import save

        return save(self, path)

    def to_dataframe(self) -> Any:
        """Return a pandas DataFrame with one row per state, indexed by the time t [s].

        Returns
        -------
        pandas.DataFrame
            Columns q.NAME, v.NAME, tau.NAME, energy, work, with names as in `q_names` and `v_names` and units as in
            `Trajectory`. Mimic joints follow the other joints' q and v. `attrs` is the metadata.

        Raises
        ------
        ArgumentError
            If pandas is not installed.
        """
        try:
            import pandas
        except ImportError:
            raise ArgumentError("data frames need pandas: `python -m pip install pandas` brings it") from None
        names, table = plugins.get("formats", "csv").table_of(self)
        index = pandas.Index(self.t, name="t")
        frame = pandas.DataFrame(table[:, 1:], index, names[1:])
        frame.attrs = {**self.metadata, "robot_name": self.robot_name}
        return frame

    def to_arrow(self) -> Any:
        """Return a pyarrow Table with one row per state.

        Returns
        -------
        pyarrow.Table
            Columns t, q.NAME, v.NAME, tau.NAME, energy, work and contact, as in a CSV file. The unit of a column is
            in its field's metadata.

        Raises
        ------
        ArgumentError
            If pyarrow is not installed.

        Examples
        --------
        >>> table = treesim.Simulation(treesim.load("ur5")).run(0.01).to_arrow()
        >>> table.num_rows, table.schema.field("v.elbow_joint").metadata
        (11, {b'unit': b'rad/s'})
        """
        return plugins.get("formats", "parquet").table_of_trajectory(self)

    def to_xarray(self) -> Any:
        """Return an xarray Dataset; `from_xarray` converts it back, also after `to_zarr` and `to_netcdf`.

        Returns
        -------
        xarray.Dataset
            q (time, coordinate), v and tau (time, dof), energy (time), work (time, account). With contact:
            contact_wrench (time, body, part), contact_pair_wrench (time, pair, side, part) and
            contact_solver_info (time, solver_info), the diagnostics. Coordinates name the axes:
            `dataset.v.sel(dof="elbow_joint")`.
            joint_of_coordinate and joint_of_dof name the joints; unit_of_q, unit_of_v and unit_of_tau the units.
            Arrays are not copied.

        Raises
        ------
        ArgumentError
            If xarray is not installed.

        Examples
        --------
        >>> run = treesim.Simulation(treesim.load("ur5")).run(0.01)
        >>> run.to_xarray().v.sel(dof="elbow_joint").shape
        (11,)
        """
        return plugins.get("formats", "nc").dataset_of(self)

    @classmethod
    def from_xarray(cls, dataset: Any) -> Trajectory:
        """Return the trajectory of a Dataset that `to_xarray` made, equal to the bit.

        Parameters
        ----------
        dataset : xarray.Dataset
            The dataset.

        Returns
        -------
        Trajectory
            The trajectory.

        Raises
        ------
        ArgumentError
            For another dataset, and if a digest shows that numbers or the description were changed.
        """
        found: Trajectory = plugins.get("formats", "nc").trajectory_of(dataset)
        return found

    def plot(self, path: str | os.PathLike[str]) -> Path:
        """Plot positions and velocities of the joints that move most, a floating base, contact forces and energy.

        Parameters
        ----------
        path : path-like
            The image file: .png, .svg or .pdf.

        Returns
        -------
        Path
            The path.

        Raises
        ------
        ArgumentError
            If matplotlib is not installed, or the place cannot be written.
        """
        draw = plugins.get("plots", "trajectory")
        path = checked_output(path, PLOT_SUFFIXES)
        return write_whole(path, lambda stream: draw(self, stream, path.suffix[1:].lower()))


def _check_joints(names: tuple[str, ...], types: tuple[str, ...]) -> None:
    """Raise ArgumentError for duplicate joint names, unknown types, or different numbers of names and types."""
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise ArgumentError(f"joint_names hold {quoted(twice[0])} twice")
    wrong = [kind for kind in types if kind not in JOINT_TYPES]
    if wrong:
        raise unknown_name("type among joint_types", wrong[0], JOINT_TYPES)
    if len(names) != len(types):
        raise ArgumentError(f"joint_types must be {len(names)}, as joint_names are, got {len(types)}")


def _check_mimic_joints(mimic_joints: Any, types: Mapping[str, str]) -> None:
    """Raise ArgumentError unless `mimic_ints` is {name: (mimicked joint, multiplier, offset)}.

    The mimicked joint must have one coordinate.
    """
    for name, line in checked_part("mimic_joints", mimic_joints, Mapping).items():  # type: ignore[type-abstract]
        whose = f"mimic_joints[{quoted(name)}]"
        mimicked, *numbers = checked_parts(whose, line, object) or (None,)
        fits = checked_text("name of a mimic joint", name) not in types and len(numbers) == 2
        if not fits or any(map(isnan, map(finite_or_nan, numbers))):
            raise ArgumentError(f"{whose} must be (mimicked joint, multiplier, offset), got {short_repr(line)}")
        if not isinstance(mimicked, str) or types.get(mimicked, "") not in ONE_COORDINATE:
            raise ArgumentError(f"{whose} must mimic a joint of one coordinate, got {short_repr(mimicked)}")


def _check_times(t: np.ndarray) -> None:
    """Raise ArgumentError, naming the first wrong state, unless times are finite and increase."""
    wrong = np.flatnonzero(~np.isfinite(t))
    if not wrong.size:
        wrong = np.flatnonzero(np.diff(t) <= 0) + 1
    if wrong.size:
        k = int(wrong[0])
        raise ArgumentError(f"trajectory: t must be finite and rise from state to state, but t[{k}] is {t[k]}")
