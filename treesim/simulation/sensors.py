"""Sensors of a world: what inertial units, force-torque sensors and others would measure in each step."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache, cached_property
from typing import Any, ClassVar, Final, NamedTuple

import numpy as np

from ..dynamics.joint_wrenches import rows_of
from ..dynamics.operational.motion import FrameMotion, frame_motions
from ..errors import ArgumentError, UnsupportedError, listed, quoted, unknown_name
from ..model.tree import Tree
from ..states.configurations import DIFFERENCE, INTEGRATE
from ..validation.values import checked_parts, checked_text
from .readings import AXES, Readings, recorded
from .sensor_draws import Draws
from .sensor_errors import SensorErrors, WorldErrors
from .transmitted_wrenches import joint_wrenches_of, to_axes, wrench_across

IMU_COLUMNS = tuple(f"{kind}{axis}" for kind in "aw" for axis in AXES)
FORCE_COLUMNS = tuple(f"f{axis}" for axis in AXES)
WRENCH_COLUMNS = (*FORCE_COLUMNS, *(f"m{axis}" for axis in AXES))
POSE_COLUMNS = (*AXES, *(f"q{part}" for part in "xyzw"))
PREFIXES = {"Imu": "imu", "ForceTorque": "force_torque", "ContactForce": "contact_force", "FramePose": "frame_pose"}
LARGEST = 1e75  # of a coordinate or velocity: squares of larger ones may overflow
ENGINE: Final = "generic"  # of readings: with "auto" their last bits would depend on the number of steps


class Inertias(NamedTuple):
    """Inertias of the N bodies of a robot, or of each of K robots.

    mass (N,) or (K, N) [kg]. center: of mass (..., N, 3) [m]. rotational (..., N, 3, 3): about it [kg m^2], in the
    body's axes.
    """

    mass: np.ndarray
    center: np.ndarray
    rotational: np.ndarray

    @staticmethod
    def of(robot: Tree) -> Inertias:
        """Return the inertias of a robot's bodies."""
        own = [body.inertia for body in robot.bodies]
        return Inertias(*(np.array(x) for x in zip(*((i.mass, i.com, i.rotational) for i in own), strict=True)))


@dataclass(frozen=True, eq=False)
class Steps:
    """What sensors measure: K steps of a robot, each from (q, v) to (q_next, v_next).

    Parameters
    ----------
    robot : Tree
        Robot.
    gravity : ndarray, shape (3,) or (K, 3)
        Gravity [m/s^2].
    dt : ndarray, shape (K,)
        Lengths of the steps [s].
    q, q_next : ndarray, shape (K, nq)
        Configurations.
    v, v_next : ndarray, shape (K, nv)
        Velocities.
    tau : ndarray, shape (K, nv)
        Controls within their limits [N, N m].
    contact : ndarray, shape (K, N + 1, 6)
        Mean contact wrenches on the bodies, force first, along the world's axes about the bodies' origins at the start.
    external : ndarray, shape (K, 21 N), optional
        Tables of external forces (`external_forces.wrench_table`).
    on_welds : ndarray, shape (K, 21 W), optional
        Their parts on welded links.
    inertias : Inertias, optional
        Inertias of the bodies, the robot's by default.
    """

    robot: Tree
    gravity: np.ndarray
    dt: np.ndarray
    q: np.ndarray
    v: np.ndarray
    q_next: np.ndarray
    v_next: np.ndarray
    tau: np.ndarray
    contact: np.ndarray
    external: np.ndarray | None = None
    on_welds: np.ndarray | None = None
    inertias: Inertias | None = None

    def at(self, good: np.ndarray) -> Steps:
        """Return the steps of a mask (K,)."""
        inertias = self.inertias
        if inertias is not None:
            inertias = Inertias(*(x[good] if x.ndim > own else x for own, x in enumerate(inertias, 1)))
        gravity = self.gravity[good] if self.gravity.ndim > 1 else self.gravity
        names = ("dt", "q", "v", "q_next", "v_next", "tau", "contact", "external", "on_welds")
        own: dict[str, Any] = {name: x[good] for name in names if (x := getattr(self, name)) is not None}
        return replace(self, gravity=gravity, inertias=inertias, **own)

    @cached_property
    def middle(self) -> np.ndarray:
        """Configurations (K, nq) in the middle of the steps."""
        robot = self.robot
        tables = robot, robot.ints, robot.reals
        half = DIFFERENCE(*tables, self.q, self.q_next, engine=ENGINE) / 2
        return np.asarray(INTEGRATE(*tables, self.q, half, engine=ENGINE))

    @cached_property
    def joint_wrenches(self) -> np.ndarray:
        """Wrenches (K, N + W, 6) across all joints and welds (`transmitted_wrenches.joint_wrenches_of`)."""
        return joint_wrenches_of(self)

    def motions(self, frames: Sequence[str]) -> FrameMotion:
        """Return the motions of frames in the middle of the steps, with the mean accelerations; of order 2."""
        rates = (self.v_next - self.v) / self.dt[:, None]
        return frame_motions(self.robot, self.middle, (self.v + self.v_next) / 2, rates, frames, ENGINE)

    def poses(self, q: np.ndarray, frames: Sequence[str]) -> FrameMotion:
        """Return the poses of frames at configurations (K, nq), without their motions."""
        still = np.zeros(self.v.shape)
        return frame_motions(self.robot, q, still, still, frames, ENGINE)


@dataclass(frozen=True, repr=False)
class Sensor(SensorErrors, ABC):
    """Sensor of a world, whose exact readings of K steps are arrays (K, n).

    takes_contact, takes_forces, takes_controls: whether they depend on `Steps.contact`, `external` and `tau`.
    _column_names: names of the n columns, if they are the same for all robots.
    """

    _column_names: ClassVar[tuple[str, ...]] = ()
    takes_contact: ClassVar[bool] = False
    takes_forces: ClassVar[bool] = False
    takes_controls: ClassVar[bool] = False

    def __post_init__(self) -> None:
        for name in self._names:
            object.__setattr__(self, name, checked_text(name, getattr(self, name)))
        self._check_errors()

    @property
    def _names(self) -> list[str]:
        """Names of the fields that are texts: what the sensor is on, and its name."""
        return [each.name for each in fields(self) if not each.kw_only]

    @property
    def label(self) -> str:
        """Name of the readings: `name`, or the kind of sensor and what it is on."""
        place, name = (getattr(self, each) for each in (self._names[0], self._names[-1]))
        return str(name or f"{PREFIXES[type(self).__name__]}_{place}")

    def _columns(self, robot: Tree) -> tuple[str, ...]:
        """Return the names of the n columns."""
        return self._column_names

    @abstractmethod
    def _read(self, steps: Steps) -> np.ndarray:
        """Return the exact readings (K, n)."""

    @abstractmethod
    def _check(self, robot: Tree) -> None:
        """Raise UnknownNameError if the robot does not have what the sensor is on."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.label!r}>"

    def _repr_fields(self) -> list[tuple[str, Any]]:
        return [*((name, getattr(self, name)) for name in self._names), *super()._repr_fields()]


@dataclass(frozen=True, repr=False)
class Imu(Sensor):
    """Inertial measurement unit: accelerometer and gyroscope.

    A reading consists of the specific force [m/s^2] of the frame's origin (acceleration minus gravity), and of the
    angular velocity [rad/s]. Its six components a_x, a_y, a_z, w_x, w_y, w_z are along the frame's axes. The reading
    refers to the middle of a step: it is computed from the velocity and acceleration averaged over the step.

    Parameters
    ----------
    frame : str
        Name of a link, or of another frame of the robot.
    name : str
        Name of the readings. By default `imu_` followed by the frame's name.
    noise, bias_walk, quantization, drop, limits, delay, rate
        As in `SensorErrors`.

    Examples
    --------
    >>> world = treesim.World(treesim.load("ur5"), sensors=[treesim.Imu("tool0")])
    >>> treesim.Simulation(world).run(0.01).sensors["imu_tool0"].shape
    (11, 6)
    """

    frame: str
    name: str = ""
    _column_names: ClassVar[tuple[str, ...]] = IMU_COLUMNS

    def _check(self, robot: Tree) -> None:
        """Raise UnknownNameError if there is no such frame."""
        robot.frame(self.frame)

    def _read(self, steps: Steps) -> np.ndarray:
        """Return the readings (K, 6)."""
        motion = steps.motions([self.frame])
        R = motion.rotation[:, 0]
        return np.concatenate(
            [to_axes(R, motion.acceleration[:, 0, :3] - steps.gravity), to_axes(R, motion.velocity[:, 0, 3:])], axis=1
        )


@dataclass(frozen=True, repr=False)
class ForceTorque(Sensor):
    """Force-torque sensor in a joint.

    A reading is the force [N] and the torque [N m] that the parent link exerts on the child link through the joint. The
    reading contains the forces of the motor and the bearings. A reading has the axes of the child link, and its torque
    is about the link's origin. The reading is the mean over a step. It is computed from the accelerations of all links
    beyond the joint, averaged over the step, and from the gravity, contact forces and external forces on these links.
    The reading does not include rotor inertias (armature). If closed loops or constrained frames act on links beyond
    the joint, the reading includes their forces, as if the joint transmitted them.

    A step computes contact forces on bodies, but not on the single links that are welded into one body. If both sides
    of a fixed joint have collision shapes, the reading is therefore NaN in steps with contacts of the body.
    `Trajectory.joint_wrench` computes the missing readings from the contact points, if these were recorded. If external
    forces are given as an array (N, 6), each row acts on the link that has the name of the body.

    Parameters
    ----------
    joint : str
        Name of a joint, which may be fixed, or of the joint's child link. The parent of the root link of a fixed base
        is the world.
    name : str
        Name of the readings. By default `force_torque_` followed by the joint's name.
    noise, bias_walk, quantization, drop, limits, delay, rate
        As in `SensorErrors`.

    Examples
    --------
    >>> world = treesim.World(treesim.load("ur5"), sensors=[treesim.ForceTorque("wrist_3_joint")])
    >>> treesim.Simulation(world).run(0.01).sensors["force_torque_wrist_3_joint"].shape
    (11, 6)
    """

    joint: str
    name: str = ""
    _column_names: ClassVar[tuple[str, ...]] = WRENCH_COLUMNS
    takes_contact: ClassVar[bool] = True
    takes_forces: ClassVar[bool] = True

    def _check(self, robot: Tree) -> None:
        """Raise UnknownNameError if there is no such joint or link."""
        rows_of(robot, self.joint)

    def _read(self, steps: Steps) -> np.ndarray:
        """Return the readings (K, 6)."""
        return wrench_across(steps, self.joint)


@dataclass(frozen=True, repr=False)
class ContactForce(Sensor):
    """Contact sensor of a link: mean of the total contact force on the link in a step [N], along the world's axes.

    A step computes contact forces on bodies: a moving link, and the links that fixed joints bind to it. The force on a
    body contains the forces on all of these links. A link that a fixed joint binds to a body can be measured if no
    other link of the body has collision shapes.

    Parameters
    ----------
    link : str
        Name of a body, or of the only link of a body with collision shapes.
    name : str
        Name of the readings. By default `contact_force_` followed by the link's name.
    noise, bias_walk, quantization, drop, limits, delay, rate
        As in `SensorErrors`.

    Examples
    --------
    >>> crate = treesim.free_body("crate", "box", (0.2, 0.2, 0.2), 1.0)
    >>> world = treesim.World(crate, ground=treesim.Ground(), sensors=[treesim.ContactForce("crate")])
    >>> run = treesim.Simulation(world).run(0.01, q0=[0, 0, 0.1, 0, 0, 0, 1])
    >>> float(run.sensors["contact_force_crate"][0, 2].round(6))
    9.81
    """

    link: str
    name: str = ""
    _column_names: ClassVar[tuple[str, ...]] = FORCE_COLUMNS
    takes_contact: ClassVar[bool] = True

    def _check(self, robot: Tree) -> None:
        """Raise UnknownNameError if there is no such body or link, ArgumentError if its force is not known apart."""
        self._body_of(robot)

    def _body_of(self, robot: Tree) -> int:
        """Return the number of the body whose contact force is that of the link."""
        if self.link in robot.body_names:
            return robot.body_names.index(self.link) + 1
        touching: dict[int, set[str]] = {}
        for shape in robot.shapes:
            touching.setdefault(shape.body, set()).add(shape.link)
        body = next((body for body, links in touching.items() if self.link in links), None)
        if body is None:
            raise unknown_name("body", self.link, robot.body_names, of=repr(robot.name))
        others = listed(sorted(touching[body] - {self.link}), 4)
        if body and not others:
            return body
        bound = f"link {quoted(self.link)} is bound to {_body_text(robot, body)} by fixed joints"
        if not body:
            raise ArgumentError(f"{bound}, on which no step computes a contact force: take its ForceTorque")
        raise ArgumentError(
            f"{bound}, where {others} have collision shapes, too, and a step computes the force on all of them. Take "
            f"ContactForce({quoted(robot.body_names[body - 1])}) for their sum, or Simulation(contact_points=True): "
            "its points name the links"
        )

    def _read(self, steps: Steps) -> np.ndarray:
        """Return the readings (K, 3)."""
        return steps.contact[:, self._body_of(steps.robot), :3]


def _body_text(robot: Tree, body: int) -> str:
    """Return a body for messages."""
    return f"body {quoted(robot.body_names[body - 1])}" if body else "the fixed base"


@dataclass(frozen=True, repr=False)
class FramePose(Sensor):
    """Pose of a frame in the world at the start of a step: position [m], then quaternion x, y, z, w.

    Parameters
    ----------
    frame : str
        Name of a link, or of another frame of the robot.
    name : str
        Name of the readings. By default `frame_pose_` followed by the frame's name.
    noise, bias_walk, quantization, drop, limits, delay, rate
        As in `SensorErrors`.

    Examples
    --------
    >>> world = treesim.World(treesim.load("ur5"), sensors=[treesim.FramePose("tool0", name="tool")])
    >>> treesim.Simulation(world).run(0.01).sensors["tool"].shape
    (11, 7)
    """

    frame: str
    name: str = ""
    _column_names: ClassVar[tuple[str, ...]] = POSE_COLUMNS

    def _check(self, robot: Tree) -> None:
        """Raise UnknownNameError if there is no such frame."""
        robot.frame(self.frame)

    def _read(self, steps: Steps) -> np.ndarray:
        """Return the readings (K, 7)."""
        from scipy.spatial.transform import Rotation

        pose = steps.poses(steps.q, [self.frame])
        return np.concatenate([pose.position[:, 0], Rotation.from_matrix(pose.rotation[:, 0]).as_quat()], axis=1)


@dataclass(frozen=True, repr=False)
class JointTorque(Sensor):
    """Sensor of motor forces: readings are the mean forces of all motors in a step [N m, N], within the effort limits.

    Parameters
    ----------
    name : str
        Name of the readings. By default "joint_torque".
    noise, bias_walk, quantization, drop, limits, delay, rate
        As in `SensorErrors`.

    Examples
    --------
    >>> world = treesim.World(treesim.load("ur5"), sensors=[treesim.JointTorque()])
    >>> treesim.Simulation(world).run(0.01).sensors["joint_torque"].shape
    (11, 6)
    """

    name: str = "joint_torque"
    takes_controls: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.name:
            raise ArgumentError("name of JointTorque is empty: leave it out, or give one")

    def _columns(self, robot: Tree) -> tuple[str, ...]:
        """Return the names of the columns."""
        return tuple(robot.dof_name(k) for k in range(robot.nv))

    def _check(self, robot: Tree) -> None:
        """Do nothing: every robot has joints."""

    def _read(self, steps: Steps) -> np.ndarray:
        """Return the readings (K, nv)."""
        return steps.tau


def checked_sensors(robot: Tree, given: Any) -> tuple[Sensor, ...]:
    """Return the sensors of a world as a tuple.

    Raises ArgumentError for other values and equal names, UnknownNameError for what the robot does not have.
    """
    sensors = checked_parts("sensors", given, Sensor)  # type: ignore[type-abstract]
    labels: dict[str, Sensor] = {}
    for sensor in sensors:
        sensor._check(robot)
        sensor._check_columns(sensor.label, sensor._columns(robot))
        other = labels.setdefault(sensor.label, sensor)
        if other is not sensor:
            raise ArgumentError(f"two sensors are called {quoted(sensor.label)}: give one of them another name=")
    return sensors


def reads_welds(robot: Tree, sensors: Sequence[Sensor]) -> bool:
    """Return whether a sensor is in a fixed joint."""
    return any(isinstance(each, ForceTorque) and rows_of(robot, each.joint) >= robot.n_bodies for each in sensors)


def check_welds(robot: Tree, sensors: Sequence[Sensor], inertias: Inertias) -> None:
    """Raise UnsupportedError for a sensor in a fixed joint of a body with other inertias than the robot's.

    How they are divided between the body's links is not known.
    """
    changed = [
        np.any(given != own, axis=tuple(k for k in range(given.ndim) if k != given.ndim - axes))
        for axes, given, own in zip((1, 2, 3), inertias, Inertias.of(robot), strict=True)
    ]
    for each in sensors:
        row = int(rows_of(robot, each.joint)) - robot.n_bodies if isinstance(each, ForceTorque) else -1
        body = robot.frames[robot.welds[row].link].body if row >= 0 else 0
        if body and np.any(changed, axis=0)[body - 1]:
            raise UnsupportedError(
                f"sensor {quoted(each.label)} is in a fixed joint of body {quoted(robot.body_names[body - 1])}, whose "
                "inertia "
                "model_parameters change as a whole: leave the body out of them, or put the sensor into a moving joint"
            )


def read(sensors: Sequence[Sensor], steps: Steps) -> list[np.ndarray]:
    """Return the exact readings (K, n) of each sensor; NaN where states are not finite, or too large for squares."""
    good = np.ones(len(steps.q), bool)
    for x in (steps.q, steps.v, steps.q_next, steps.v_next, steps.contact):
        if not -LARGEST < x.min(initial=0.0) <= x.max(initial=0.0) < LARGEST:
            good &= (np.abs(x) < LARGEST).all(axis=tuple(range(1, x.ndim)))
    part, made = steps if good.all() else steps.at(good), []
    for sensor in sensors:
        made.append(np.full((len(good), len(sensor._columns(steps.robot))), np.nan))
        if good.any():
            made[-1][good] = sensor._read(part)
    return made


def readings_of(sensors: Sequence[Sensor], robot: Tree, found: Sequence[np.ndarray], states: int) -> Readings:
    """Return the readings (K, n) of a run of so many states; those of a last state, which starts no step, are NaN."""
    arrays = {}
    for sensor, rows in zip(sensors, found, strict=True):
        arrays[sensor.label] = np.full((states, rows.shape[1]), np.nan)
        arrays[sensor.label][: len(rows)] = rows
    return recorded({sensor.label: sensor._columns(robot) for sensor in sensors}, arrays)


def steps_of(robot: Tree, gravity: Any, dt: float, moved: Sequence[Any], contact: Any, *tables: Any) -> Steps:
    """Return the step of dt [s] of one state or a batch (...); gravity: the robot's if None.

    moved: q, v, q_next, v_next, tau (..., n). contact: wrenches (..., N + 1, 6). tables: external, on_welds of `Steps`.
    """
    q, v, q_next, v_next, tau = (np.reshape(x, (-1, np.shape(x)[-1])) for x in moved)
    external, on_welds = (None if x is None else np.reshape(x, (len(q), np.size(x) // max(len(q), 1))) for x in tables)
    wrench = np.reshape(contact, (len(q), robot.n_bodies + 1, 6))
    field = robot.gravity if gravity is None else gravity
    return Steps(robot, field, np.full(len(q), dt), q, v, q_next, v_next, tau, wrench, external, on_welds)


def step_readings(
    sensors: Sequence[Sensor], robot: Tree, made: Callable[[], Steps], batch: tuple[int, ...],
    errors: WorldErrors | None, seed: int, step: int,
) -> Readings:  # fmt: skip
    """Return the readings (*batch, n) of one step, computed when they are read; made: returns the step.

    errors: of the sensors. seed, step: of their random numbers, for states as rollouts 0, 1, ...
    """
    by_name, steps = {sensor.label: sensor for sensor in sensors}, cache(made)

    def of(name: str) -> np.ndarray:
        (rows,) = read([by_name[name]], steps())
        if errors is not None:
            rows = errors.of_one_step(name, rows, Draws.of(seed, np.arange(len(rows)), step))
        return rows.reshape(*batch, rows.shape[1])

    return Readings({name: sensor._columns(robot) for name, sensor in by_name.items()}, of)
