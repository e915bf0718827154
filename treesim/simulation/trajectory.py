"""Trajectory of a simulation: states over time, saved to files, converted to tables, and plotted."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import plugins
from ..contact.description import surface_of
from ..contact.history import ContactHistory, no_contact
from ..contact.surface import StaticSurface
from ..errors import ArgumentError, quoted, unknown_name
from ..model.coordinates import Q_PARTS, V_PARTS, configuration_names, index_of, velocity_names
from ..model.joints import JOINT_TYPES
from ..model.named_axes import coordinates_of, velocities_of
from ..model.tree import Tree
from ..states.arguments import checked_robot
from ..system.display import ReprMixin, arrays, html_table, span
from ..validation.arrays import Argument, coerce
from ..validation.labels import Axis, NamedAxis
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
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike

    from ..types import Field

NONE: Any = None  # default of fields that are read as another type
ONE_COORDINATE = {name for name, kind in JOINT_TYPES.items() if kind.nq == 1}


def _coordinates(run: Trajectory) -> NamedAxis:
    return coordinates_of(run.joint_names, run.joint_types)


def _velocities(run: Trajectory) -> NamedAxis:
    return velocities_of(run.joint_names, run.joint_types)


AXES: dict[str, tuple[Axis, ...]] = {"q": (_coordinates,), "v": (_velocities,), "tau": (_velocities,)}


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
    """The K recorded states of one simulation, including the initial one, with torques, energy and contacts.

    `trajectory["elbow"]` returns q, v and tau of the joint "elbow". The value tau of a mimic joint is 0, because the
    tau of the mimicked joint includes it. An unknown joint raises UnknownNameError, which suggests similar names.

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
        Generalised forces, their means in the step that starts at each state [N m, N]. For the last state that of the
        controller, or 0 if it is unknown.
    energy : array_like, shape (K,)
        Kinetic plus potential energy [J].
    joint_names : sequence of str
        Names of the joints, without mimic joints, in the order of their coordinates.
    joint_types : sequence of str
        Types of the joints in `joint_names`.
    metadata : mapping, optional
        Plain values that describe the run: dt, backend, integrator, base, seed, energy_range (largest energy that could
        become motion of the joints [J]), ground, and stopped (the reason for an early end, or None).
    work : array_like, shape (K, 2), optional
        Work from the start to each state [J]. Column 0: work of the controls. Column 1: work of damping, friction,
        joint limits and contacts. NaN if unknown.
    contact : ContactHistory, optional
        Results of contacts, joint limits and joint friction in every step.
    mimic_joints : mapping, optional
        {mimic joint: (mimicked joint, multiplier, offset)}. Mimic joints have no coordinates of their own.
    provenance : str or callable, optional
        Provenance, from which `treesim.replay` repeats the run: one line of text, or a function that returns this line.
    sensors : Readings, optional
        {sensor: array (K, n)}: readings of the world's sensors, such as `treesim.Imu`, in the step that starts at each
        state. `sensors.columns` contains the names of the columns. The last state starts no step, so its readings are
        NaN.

    Raises
    ------
    ArgumentError
        If the arrays do not fit together, the name or type of a joint is invalid, or times do not increase.

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
    work: Field[np.ndarray, ArrayLike | None] = NONE  # NaN, see __post_init__
    contact: Field[ContactHistory, ContactHistory | None] = NONE  # read without a check where there is contact
    mimic_joints: Mapping[str, tuple[str, float, float]] = field(default_factory=dict)
    provenance: str | Callable[[], str] | None = None
    sensors: Readings = NO_READINGS

    def __post_init__(self) -> None:
        object.__setattr__(self, "robot_name", checked_text("robot_name", self.robot_name))
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
            given = Argument(f"trajectory: {name}", getattr(self, name), (), axes=AXES.get(name, ()), robot=self)
            array = coerce(given)
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
        """Return a trajectory with names and types of joints taken from a robot.

        Parameters
        ----------
        robot : Tree
            The robot.
        t, q, v, tau, energy, metadata, work, contact
            As in `Trajectory`.

        Returns
        -------
        Trajectory
            The trajectory.
        """
        moving = [body.joint for body in checked_robot(robot).bodies if body.joint.mimic is None]
        names, types = tuple(joint.name for joint in moving), tuple(joint.type for joint in moving)
        mimic_joints = {} if robot.mimic_map is None else robot.mimic_map.lines()
        made = {} if metadata is None else dict(checked_part("metadata", metadata, Mapping))  # type: ignore[type-abstract]
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
        """Integration error (K,) [J]: change of energy since the start, minus the work; NaN if the work is unknown."""
        with np.errstate(invalid="ignore"):  # states whose energy overflows
            return self.energy - self.energy[:1] - (self.work - self.work[:1]).sum(axis=1)

    def contact_wrench(self, body: str, other: str | None = None) -> np.ndarray:
        """Return the mean contact force and moment on a body during each step.

        Parameters
        ----------
        body : str
            Name of a body or of a surface of the world. The k-th surface is "ground[k]" if it has no name; "ground"
            means all surfaces together.
        other : str, optional
            Name of the body or surface that exerts the force. By default the forces of all bodies and surfaces are
            added.

        Returns
        -------
        ndarray, shape (K, 6)
            Force and moment [N, N m] in the step that starts at each state, along the world's axes. The moment is about
            the body's origin, or for a surface about the world's origin.

        Raises
        ------
        UnknownNameError
            If a name is not that of a body or surface that may touch others.

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
        """Return the mean force and moment that a parent link exerts on its child through a joint in each step.

        The results are readings of a sensor `ForceTorque(joint)`. If the world has this sensor, the recorded readings
        are returned. Otherwise, the readings are computed from the states, the contact forces and the external forces.
        For a fixed joint, contact forces on single links of a body are computed from the contact points, if these were
        recorded.

        Parameters
        ----------
        joint : str
            Name of a joint, which may be fixed, or of the joint's child link, as in `ForceTorque`.

        Returns
        -------
        ndarray, shape (K, 6)
            Force and moment [N, N m] in the step that starts at each state, along the axes of the child link about its
            origin. NaN for the last state, which starts no step.

        Raises
        ------
        UnknownNameError
            If no joint or link has this name.
        ArgumentError
            If the trajectory does not contain its world or its external forces. If contact forces on both sides of a
            fixed joint were recorded without contact points. The error names the remedy.

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
            Index of a state; negative indices count from the last state. The last state starts no step, so it has no
            contact points.

        Returns
        -------
        ndarray, shape (n,)
            Structured array with the fields of `ContactReport.points`, among them `body`, `other`, `position`,
            `normal`, `gap`, `force`, `velocity` and `link`.

        Raises
        ------
        ArgumentError
            If no state has this index. If the points were not recorded, see the argument `contact_points` of
            `Simulation`.

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
        """Largest overlap (K,) of two shapes [m] at the end of the step that starts at each state."""
        return self._solver_info[:, 0]

    @property
    def residual(self) -> np.ndarray:
        """Largest complementarity residual (K,) in each step [m/s, rad/s].

        The residual includes contacts, joint limits and joint friction.
        """
        return self._solver_info[:, 1]

    @property
    def energy_certificate(self) -> np.ndarray:
        """Change of kinetic energy (K,) by the contact solver's impulses in a step [J]; 0 or less if they are correct.

        Impulses of soft surfaces, which act as springs, are not included.
        """
        return self._solver_info[:, 2]

    @property
    def _solver_info(self) -> np.ndarray:
        return no_contact(len(self)) if self.contact is None else self.contact.solver_info

    @property
    def ground(self) -> tuple[StaticSurface, ...]:
        """Surfaces of the ground, such as planes and height fields; empty if `metadata` does not contain them."""
        described: tuple[Any, ...] = checked_parts("metadata: ground", self.metadata.get("ground", ()), object)
        return tuple(surface_of(each) for each in described)

    @property
    def stopped(self) -> str | None:
        """Reason for an early end of the simulation; None if the simulation was completed."""
        return self.metadata.get("stopped")

    def with_metadata(self, **entries: Any) -> Trajectory:
        """Return a copy of the trajectory with more entries in its metadata.

        Parameters
        ----------
        **entries
            Plain values by name. They replace entries with the same names.

        Returns
        -------
        Trajectory
            The copy.
        """
        return replace(self, metadata={**self.metadata, **entries})

    @property
    def q_names(self) -> tuple[str, ...]:
        """Name of each coordinate: "joint", or "joint.coordinate" for joints of several coordinates."""
        return configuration_names(self.joint_names, self.joint_types)

    @property
    def v_names(self) -> tuple[str, ...]:
        """Name of each degree of freedom: "joint", or "joint.direction" for joints of several degrees of freedom."""
        return velocity_names(self.joint_names, self.joint_types)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Trajectory:
        """Read a trajectory from a file that `save` wrote; it is equal to the saved one, bit for bit.

        Parameters
        ----------
        path : path-like
            Path of the file. The suffix selects the format.

        Returns
        -------
        Trajectory
            The trajectory.

        Raises
        ------
        ArgumentError
            If the file is missing, has an unknown suffix, was not written by treesim, or is damaged. Digests in the
            file detect every changed bit of the numbers and of the description.
        """
        from .files import load

        return load(path)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the trajectory to a file atomically.

        The suffix of the file's name selects the format. A `.npz` file is an archive of NumPy arrays. A `.csv` file is
        text with one comment line of metadata, a header, and all digits of the numbers. A `.parquet` file contains the
        table that `to_arrow` returns. A `.nc` file contains the dataset that `to_xarray` returns, as netCDF. A `.mcap`
        file contains ROS 2 messages and the robot. A `.mcap` file can store only trajectories of simulations.
        The page "File formats" compares them.

        Parameters
        ----------
        path : path-like
            Path of the file. The suffix selects the format.

        Returns
        -------
        Path
            The path.

        Raises
        ------
        ArgumentError
            If the suffix is unknown, a library is missing, or the file cannot be written. If the disk is full, the
            message contains the required and the free bytes. After an error, an existing file is unchanged.

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
        """Return the trajectory as a pandas DataFrame with one row per state, indexed by the time t [s].

        Returns
        -------
        pandas.DataFrame
            Columns q.NAME, v.NAME, tau.NAME, energy and work. Names are those of `q_names` and `v_names`; units are
            those of `Trajectory`. Columns of mimic joints follow those of the other joints. The attribute `attrs`
            contains the metadata.

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
        """Return the trajectory as a pyarrow Table with one row per state.

        Returns
        -------
        pyarrow.Table
            Columns t, q.NAME, v.NAME, tau.NAME, energy, work and contact, as in a CSV file. The metadata of a column's
            field contain its unit.

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
        """Return the trajectory as an xarray Dataset, which `from_xarray` converts back.

        Returns
        -------
        xarray.Dataset
            Variables q (time, coordinate), v and tau (time, dof), energy (time), work (time, account). If contact was
            recorded, also contact_wrench (time, body, part), contact_pair_wrench (time, pair, side, part) and
            contact_solver_info (time, solver_info), the diagnostics of the solver. Coordinates name the axes:
            `dataset.v.sel(dof="elbow_joint")`. Further coordinates contain the joints (joint_of_coordinate,
            joint_of_dof) and the units (unit_of_q, unit_of_v, unit_of_tau). Arrays are not copied.

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
        """Return the trajectory in a Dataset that `to_xarray` returned, also after it was stored and read.

        Parameters
        ----------
        dataset : xarray.Dataset
            Dataset that `to_xarray` returned, or that was read from its netCDF or Zarr store.

        Returns
        -------
        Trajectory
            The trajectory.

        Raises
        ------
        ArgumentError
            If the dataset is not one of `to_xarray`. If a digest shows that numbers or the description were changed.
        """
        return plugins.get("formats", "nc").trajectory_of(dataset)

    def plot(
        self,
        quantity: str | Sequence[str] | None = None,
        *,
        joints: str | Sequence[str] | None = None,
        t: tuple[float, float] | None = None,
        axes: Axes | Sequence[Axes] | None = None,
        path: str | os.PathLike[str] | None = None,
    ) -> Figure:
        """Plot quantities over time: by default joints, floating base, contact forces and energy.

        Curves that coincide with another one are dashed, so that both are visible.

        Parameters
        ----------
        quantity : str or sequence of str, optional
            "position", "velocity", "torque", "base", "contact", "energy", or names of sensors.
        joints : str or sequence of str, optional
            Joints to draw, as names or patterns such as "left_*". By default the eight that move most.
        t : (float, float), optional
            First and last time to draw [s]. By default the whole run.
        axes : matplotlib.axes.Axes or sequence of them, optional
            Axes to draw into, one for each quantity. By default those of a new figure.
        path : path-like, optional
            File for the figure: .png, .svg or .pdf.

        Returns
        -------
        matplotlib.figure.Figure
            The figure, which a notebook shows.

        Raises
        ------
        UnknownNameError
            For an unknown quantity or joint.
        ArgumentError
            If matplotlib is not installed, the run lacks the quantity, no state is within t, or the file cannot be
            written.

        Examples
        --------
        >>> run = treesim.Simulation(treesim.load("ur5")).run(0.1)
        >>> figure = run.plot(["position", "energy"], joints="wrist_*", t=(0.0, 0.05))
        >>> [panel.get_ylabel() for panel in figure.axes]
        ['position [rad, m]', 'energy change [J]']
        """
        figure: Figure = plugins.get("plots", "trajectory")(self, quantity, joints, t, axes, path)
        return figure

    def _repr_html_(self) -> str:
        html: str = plugins.get("plots", "notebook")(self, super()._repr_html_())
        return html


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
