"""Trajectories as MCAP files of ROS 2 messages with the robot inside, for Foxglove, Rerun and `ros2 bag`.

/robot_description: the URDF, once. /joint_states: joints of one coordinate, including mimic joints. /tf,
/tf_static: every link. JointState cannot represent joints of several coordinates, such as a floating base;
they are in /tf only. /odom: pose and velocity of a floating base, the velocity in the base's axes.
/contact/LINK: mean contact force and moment on a link in the step that starts there, at the link's origin,
in its axes. /sensor/NAME: readings of a sensor in that step. Names that are equal in the letters, digits and _ that
topics may have are numbered. Times are whole nanoseconds. The attachment
"trajectory.npz" contains the trajectory with every bit, from which it is read back.

Source: MCAP format specification 1.x; messages and their encoding are those of ROS 2 Jazzy, by rosbags. An
empty metadata record "rosbag2" makes all releases of rosbag2 read QoS profiles as numbers.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import IO, Any

import numpy as np

from ..dynamics.joint_wrenches import link_of
from ..dynamics.operational.frames import body_poses
from ..errors import ArgumentError, UnsupportedError, quoted
from ..model.coordinates import distinct
from ..model.tree import Tree
from ..simulation.provenance import recorded_world
from ..simulation.sensors import (
    FORCE_COLUMNS,
    IMU_COLUMNS,
    POSE_COLUMNS,
    WRENCH_COLUMNS,
    ContactForce,
    ForceTorque,
    FramePose,
    Imu,
    Sensor,
)
from ..simulation.trajectory import Trajectory
from ..simulation.world import World
from ..states.arguments import checked_robot
from ..system.files import checked_output, write_whole
from ..system.input_files import LARGEST_RECORDING, open_input, size_of_stream
from ..system.progress import counted
from ..urdf.document import Document, child_of, parent_of
from ..urdf.export import to_urdf, without_springs
from ..validation.values import checked_part
from . import npz
from .libraries import required

ATTACHMENT = "trajectory.npz"
LAST_STAMP = 2**31 - 1  # seconds of a stamp
FOREVER = "{sec: 9223372036, nsec: 854775807}"
LATCHED = (  # keep the last message, reliably, for readers that come later
    f"- {{history: 1, depth: 1, reliability: 1, durability: 1, deadline: {FOREVER}, lifespan: {FOREVER}, "
    f"liveliness: 1, liveliness_lease_duration: {FOREVER}, avoid_ros_namespace_conventions: false}}"
)
RosMessage = tuple[str, str, Any]  # a topic, its type, a message
Placed = tuple[tuple[str, str], np.ndarray, np.ndarray]  # parent and child, translations (K, 3), quaternions (K, 4)


def write_mcap(trajectory: Trajectory, path: str | PathLike[str], robot: Tree | None = None) -> Path:
    """Write a trajectory and its robot to an .mcap file.

    For simulated trajectories and the suffix .mcap, `Trajectory.save` calls this function. Writing takes about 0.8 ms
    for each state of a humanoid.

    Parameters
    ----------
    trajectory : Trajectory
        Trajectory.
    path : path
        File with the suffix .mcap.
    robot : Tree, optional
        Robot of the trajectory. Required if the trajectory does not come from a simulation. If the trajectory was read
        from a file, pass the robot to add its meshes.

    Returns
    -------
    Path
        Path of the file.

    Raises
    ------
    ArgumentError
        If the robot is unknown or does not fit the trajectory. If times are out of range. If a library is missing.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from treesim.formats import write_mcap
    >>> robot = treesim.load("ur5")
    >>> run = treesim.Simulation(robot).run(0.01)
    >>> path = write_mcap(run, Path(tempfile.mkdtemp()) / "run.mcap", robot)
    >>> np.array_equal(treesim.Trajectory.load(path).q, run.q)
    True
    """
    target = checked_output(path, (".mcap",))
    return write_whole(target, lambda stream: write(trajectory, stream, robot))


def write(trajectory: Trajectory, stream: IO[bytes], robot: Tree | None = None) -> None:
    """Write the file to a stream of bytes. O(N) per state."""
    world = _world_of(checked_part("trajectory", trajectory, Trajectory), robot)
    robot = checked_robot(world.robot if robot is None and world is not None else robot)
    motion = _Motion(trajectory, robot, () if world is None else world.sensors)
    stamps = _stamps(trajectory.t)
    ros = _Ros()
    writer = required("mcap.writer", "MCAP files").Writer(stream)
    writer.start(profile="ros2", library="treesim")
    channels: dict[str, int] = {}
    latched = motion.latched(ros, ros.stamp(int(stamps[0]) if len(stamps) else 0))
    _add(writer, ros, channels, latched, int(stamps[0]) if len(stamps) else 0, LATCHED)
    for k in counted(range(len(stamps)), lambda k: "states"):
        stamp = int(stamps[k])
        _add(writer, ros, channels, motion.state(ros, ros.stamp(stamp), k), stamp)
    archive = io.BytesIO()
    npz.write(trajectory, archive)
    writer.add_attachment(0, 0, ATTACHMENT, "application/x-npz", archive.getvalue())
    writer.add_metadata("rosbag2", {"serialized_metadata": ""})
    writer.add_metadata("treesim", {"robot_name": trajectory.robot_name, "states": str(len(trajectory))})
    writer.finish()


def read(path: Path) -> Trajectory:
    """Return the trajectory attached to a file that `write` wrote; raises ValueError if there is none."""
    reader, records = required("mcap.stream_reader", "MCAP files"), required("mcap.records", "MCAP files")
    found, is_whole = None, False
    with open_input(path, LARGEST_RECORDING) as stream:
        try:  # record after record: chunks named by indices would be unpacked, whatever their size
            for record in reader.StreamReader(_Bounded(stream), emit_chunks=True).records:
                if found is None and isinstance(record, records.Attachment) and record.name == ATTACHMENT:
                    found = record.data
                is_whole = is_whole or isinstance(record, records.Footer)
        except required("mcap.exceptions", "MCAP files").McapError as error:
            raise ValueError(str(error) or type(error).__name__) from error
    if not is_whole:
        raise ValueError("it is cut short")
    if found is None:
        raise ValueError(f"it has no attachment {ATTACHMENT!r}")
    return npz.read(io.BytesIO(found))


class _Bounded:
    """Stream that limits reads to its actual size, whatever size its content announces."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream, self._left = stream, size_of_stream(stream)

    def read(self, size: int) -> bytes:
        """Return up to `size` further bytes."""
        found = self._stream.read(min(size, self._left))
        self._left -= len(found)
        return found


def _world_of(trajectory: Trajectory, robot: Tree | None) -> World | None:
    """Return the world of a simulation; its robot has no mesh visuals if the trajectory was read from a file.

    None if it is unknown; raises an error for that where no robot is given.
    """
    try:
        if trajectory.provenance is None:
            raise ArgumentError(
                "an MCAP file holds the robot, which this trajectory does not have, as no simulation made it: "
                "treesim.formats.write_mcap(trajectory, path, robot) takes it"
            )
        return recorded_world(trajectory)
    except (ArgumentError, UnsupportedError):
        if robot is None:
            raise
        return None


def _stamps(t: np.ndarray) -> np.ndarray:
    """Return times in whole nanoseconds; raises ArgumentError outside the range of ROS stamps, 0 to 2^31 s."""
    wrong = np.flatnonzero(~((t >= 0) & (t < LAST_STAMP)))
    if len(wrong):
        raise ArgumentError(f"MCAP holds times from 0 to {LAST_STAMP} s, but state {wrong[0]} is at {t[wrong[0]]} s")
    return np.rint(t * 1e9).astype(np.int64)


def _add(
    writer: Any, ros: _Ros, channels: dict[str, int], details: Iterator[RosMessage], stamp: int, qos: str = ""
) -> None:
    """Write messages, and register channels for new topics."""
    for topic, kind, message in details:
        if topic not in channels:
            schema = writer.register_schema(kind, "ros2msg", ros.definition(kind).encode())
            channels[topic] = writer.register_channel(topic, "cdr", schema, {"offered_qos_profiles": qos})
        writer.add_message(channels[topic], stamp, bytes(ros.encode(message, kind)), stamp)


class _Ros:
    """Message types of ROS 2, and their encoding, by rosbags."""

    def __init__(self) -> None:
        store = required("rosbags.typesys", "MCAP files")
        self.store = store.get_typestore(store.Stores.ROS2_JAZZY)
        self.encode: Callable[[Any, str], Any] = self.store.serialize_cdr

    def definition(self, kind: str) -> str:
        """Return the definition of a message type, including the types of its fields."""
        return str(self.store.generate_msgdef(kind, ros_version=2)[0])

    def new(self, kind: str, *fields: Any) -> Any:
        """Return a message, or a field type such as "geometry_msgs/Vector3"."""
        return self.store.types[kind.replace("/", "/msg/")](*fields)

    def stamp(self, nanoseconds: int) -> Any:
        """Return a time stamp."""
        return self.new("builtin_interfaces/Time", *divmod(nanoseconds, 10**9))

    def header(self, stamp: Any, frame: str) -> Any:
        """Return a message header with stamp and frame."""
        return self.new("std_msgs/Header", stamp, frame)

    def vector(self, numbers: np.ndarray) -> Any:
        """Return three numbers as a Vector3."""
        return self.new("geometry_msgs/Vector3", *map(float, numbers))

    def quaternion(self, numbers: np.ndarray) -> Any:
        """Return x y z w as a Quaternion."""
        return self.new("geometry_msgs/Quaternion", *map(float, numbers))

    def transform(self, stamp: Any, parent: str, child: str, place: np.ndarray, turn: np.ndarray) -> Any:
        """Return the pose of a link in its parent's axes as a TransformStamped."""
        transform = self.new("geometry_msgs/Transform", self.vector(place), self.quaternion(turn))
        return self.new("geometry_msgs/TransformStamped", self.header(stamp, parent), child, transform)


class _Motion:
    """Contents of the messages of a trajectory."""

    def __init__(self, trajectory: Trajectory, robot: Tree, sensors: Sequence[Sensor]) -> None:
        if tuple(joint for joint in robot.q_index if robot.joint(joint).mimic is None) != trajectory.joint_names:
            raise ArgumentError(
                f"the trajectory is of {quoted(trajectory.robot_name)}, whose joints {quoted(robot.name)} has not"
            )
        self.urdf = to_urdf(without_springs(robot), shapes=False, visuals=True)
        self._set_joints(trajectory)
        self._set_links(trajectory, robot)
        self._set_contacts(trajectory, robot)
        self._set_sensors(trajectory, robot, sensors)

    def _set_joints(self, trajectory: Trajectory) -> None:
        found = {name: trajectory[name] for name in (*trajectory.joint_names, *trajectory.mimic_joints)}
        single = {name: joint for name, joint in found.items() if joint.q.ndim == 1}
        self.joints = list(single)
        numbers = [(joint.q, joint.v, joint.tau) for joint in single.values()]
        shape = (len(single), 3, len(trajectory))
        self.numbers = np.ascontiguousarray(np.reshape(numbers, shape).transpose(2, 1, 0))  # K, of position ..., joint

    def _set_links(self, trajectory: Trajectory, robot: Tree) -> None:
        """Compute the poses of links in their parents' axes, as in the URDF; the root's parent is the world."""
        from scipy.spatial.transform import Rotation

        edges, self.base = _links_of(self.urdf)
        self.world = _world_frame(self.base, robot)
        if self.base != self.world:
            edges.insert(0, (self.world, self.base))
        self.poses = np.broadcast_to(body_poses(robot, trajectory.q), (len(trajectory), robot.n_bodies + 1, 4, 4))
        places = {name: (frame.body, frame.placement.matrix()) for name, frame in robot.frames.items()}
        places |= {name: (i, np.eye(4)) for i, name in enumerate(robot.body_names, 1)}
        self.moving: list[Placed] = []
        self.fixed: list[Placed] = []
        for names in edges:
            (i, X_parent), (j, X_child) = (places.get(name, (0, np.eye(4))) for name in names)
            between = np.eye(4)[None] if i == j else np.linalg.inv(self.poses[:, i]) @ self.poses[:, j]
            relative = np.linalg.inv(X_parent) @ between @ X_child
            turns = Rotation.from_matrix(relative[:, :3, :3]).as_quat()
            (self.fixed if i == j else self.moving).append((names, relative[:, :3, 3], turns))
        floats = robot.n_bodies and robot.bodies[0].joint.type == "floating" and self.base == robot.body_names[0]
        self.odometry = trajectory[robot.bodies[0].joint.name] if floats else None

    def _set_contacts(self, trajectory: Trajectory, robot: Tree) -> None:
        """Compute contact wrenches of links, rotated from world axes to the links' axes."""
        self.contacts: list[tuple[str, str, np.ndarray]] = []
        bodies = () if trajectory.contact is None else trajectory.contact.bodies
        for body, topic in zip(bodies, topics("/contact/", bodies), strict=True):
            R = self.poses[:, robot.body_names.index(body) + 1, :3, :3]
            wrench = trajectory.contact_wrench(body).reshape(-1, 2, 3)
            if wrench.any():
                self.contacts.append((topic, body, np.einsum("kji,knj->kni", R, wrench)))

    def _set_sensors(self, trajectory: Trajectory, robot: Tree, sensors: Sequence[Sensor]) -> None:
        """Find the frame of each sensor's readings; "" if the trajectory's world is unknown."""
        frames = {each.label: each.frame for each in sensors if isinstance(each, Imu)}
        frames |= {each.label: link_of(robot, each.joint) for each in sensors if isinstance(each, ForceTorque)}
        frames |= {each.label: self.world for each in sensors if isinstance(each, (ContactForce, FramePose))}
        names = topics("/sensor/", trajectory.sensors)
        self.sensors = [
            (topic, columns, frames.get(name, ""), trajectory.sensors[name][:-1])  # the last state starts no step
            for topic, (name, columns) in zip(names, trajectory.sensors.columns.items(), strict=True)
        ]

    def latched(self, ros: _Ros, stamp: Any) -> Iterator[RosMessage]:
        """Yield the messages written once: the robot, and links fixed to their parents."""
        yield "/robot_description", "std_msgs/msg/String", ros.new("std_msgs/String", self.urdf)
        fixed = [ros.transform(stamp, *names, place[0], turn[0]) for names, place, turn in self.fixed]
        yield "/tf_static", "tf2_msgs/msg/TFMessage", ros.new("tf2_msgs/TFMessage", fixed)

    def state(self, ros: _Ros, stamp: Any, k: int) -> Iterator[RosMessage]:
        """Yield the messages of state k."""
        joints = ros.new("sensor_msgs/JointState", ros.header(stamp, ""), self.joints, *self.numbers[k])
        yield "/joint_states", "sensor_msgs/msg/JointState", joints
        moving = [ros.transform(stamp, *names, place[k], turn[k]) for names, place, turn in self.moving]
        yield "/tf", "tf2_msgs/msg/TFMessage", ros.new("tf2_msgs/TFMessage", moving)
        if self.odometry is not None:
            yield "/odom", "nav_msgs/msg/Odometry", self._odometry(ros, stamp, k)
        for topic, body, wrench in self.contacts:
            details = ros.new("geometry_msgs/Wrench", *map(ros.vector, wrench[k]))
            message = ros.new("geometry_msgs/WrenchStamped", ros.header(stamp, body), details)
            yield topic, "geometry_msgs/msg/WrenchStamped", message
        for topic, columns, frame, readings in self.sensors:
            if k < len(readings):
                message = _reading(ros, ros.header(stamp, frame), columns, readings[k])
                yield topic, message.__msgtype__, message

    def _odometry(self, ros: _Ros, stamp: Any, k: int) -> Any:
        q, v = self.odometry.q[k], self.odometry.v[k]  # type: ignore[union-attr]
        place = ros.new("geometry_msgs/Point", *map(float, q[:3]))
        pose = ros.new("geometry_msgs/Pose", place, ros.quaternion(q[3:]))
        twist = ros.new("geometry_msgs/Twist", ros.vector(v[:3]), ros.vector(v[3:]))
        unknown = np.zeros(36)  # covariances
        pose = ros.new("geometry_msgs/PoseWithCovariance", pose, unknown)
        twist = ros.new("geometry_msgs/TwistWithCovariance", twist, unknown)
        return ros.new("nav_msgs/Odometry", ros.header(stamp, self.world), self.base, pose, twist)


def topics(prefix: str, names: Iterable[str]) -> list[str]:
    """Return a topic for each name, of the characters that ROS 2 allows; equal ones are numbered in their order.

    Source: https://design.ros2.org/articles/topic_and_service_names.html
    """
    given = [prefix + re.sub(r"^(?=\d)", "_", re.sub(r"[^A-Za-z0-9_]", "_", name)) for name in names]
    return distinct(given, "{}_{}")


def _reading(ros: _Ros, header: Any, columns: Sequence[str], numbers: np.ndarray) -> Any:
    """Return the reading of a sensor as the message that ROS has for its columns."""
    unknown = np.zeros(9)  # covariances
    if columns == IMU_COLUMNS:
        turn = ros.quaternion(np.array([0.0, 0.0, 0.0, 1.0]))
        rates = ros.vector(numbers[3:]), unknown, ros.vector(numbers[:3]), unknown
        return ros.new("sensor_msgs/Imu", header, turn, np.append(-1.0, np.zeros(8)), *rates)  # -1: no orientation
    if columns == WRENCH_COLUMNS:
        wrench = ros.new("geometry_msgs/Wrench", ros.vector(numbers[:3]), ros.vector(numbers[3:]))
        return ros.new("geometry_msgs/WrenchStamped", header, wrench)
    if columns == FORCE_COLUMNS:
        return ros.new("geometry_msgs/Vector3Stamped", header, ros.vector(numbers))
    if columns == POSE_COLUMNS:
        place = ros.new("geometry_msgs/Point", *map(float, numbers[:3]))
        return ros.new(
            "geometry_msgs/PoseStamped", header, ros.new("geometry_msgs/Pose", place, ros.quaternion(numbers[3:]))
        )
    none = np.zeros(0)
    return ros.new("sensor_msgs/JointState", header, list(columns), none, none, numbers)


def _links_of(urdf: str) -> tuple[list[tuple[str, str]], str]:
    """Return parent and child of every joint, and the root link."""
    document = Document.of_text(urdf)
    return [(parent_of(joint), child_of(joint)) for joint in document.joints], document.root_link


def _world_frame(base: str, robot: Tree) -> str:
    """Return the name of the world: the root link's, if that is "world", else an unused one."""
    name = "world"
    while name != base and name in robot.frame_names:
        name += "_"
    return name
