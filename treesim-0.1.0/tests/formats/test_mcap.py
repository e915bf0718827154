"""Files of ROS 2 messages: other readers find the robot, its joints and links where treesim has them."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import treesim
from tests.formats.runs import assert_same, standing
from treesim import Trajectory
from treesim.errors import ArgumentError
from treesim.formats import write_mcap
from treesim.model import generators

reader = pytest.importorskip("mcap.reader")
pytest.importorskip("rosbags.typesys")
LATCHED = {"/robot_description", "/tf_static"}


def swing(robot: Any = None) -> Trajectory:
    robot = treesim.load("ur5") if robot is None else robot
    return treesim.Simulation(robot).run(0.01, q0=robot.random(1))


def messages(path: Path) -> dict[str, list[tuple[int, Any]]]:
    """Stamps and messages by topic, as mcap-ros2-support decodes them."""
    decoder = pytest.importorskip("mcap_ros2.decoder")
    found: dict[str, list[tuple[int, Any]]] = {}
    with path.open("rb") as stream:
        read = reader.make_reader(stream, decoder_factories=[decoder.DecoderFactory()])
        for _, channel, message, decoded in read.iter_decoded_messages():
            found.setdefault(channel.topic, []).append((message.log_time, decoded))
    return found


def pose(transform: Any) -> np.ndarray:
    matrix = np.eye(4)
    r, p = transform.rotation, transform.translation
    matrix[:3, :3] = Rotation.from_quat([r.x, r.y, r.z, r.w]).as_matrix()
    matrix[:3, 3] = p.x, p.y, p.z
    return matrix


def link_poses(found: dict[str, Any], k: int) -> dict[str, np.ndarray]:
    """Every link in the world at state k, by following transforms from there."""
    edges = [*found["/tf_static"][0][1].transforms, *found["/tf"][k][1].transforms]
    by_parent: dict[str, list[Any]] = {}
    for edge in edges:
        by_parent.setdefault(edge.header.frame_id, []).append(edge)
    poses, waiting = {"world": np.eye(4)}, ["world"]
    while waiting:
        parent = waiting.pop()
        for edge in by_parent.get(parent, ()):
            poses[edge.child_frame_id] = poses[parent] @ pose(edge.transform)
            waiting.append(edge.child_frame_id)
    assert len(poses) == len(edges) + 1, "the transforms are one tree"
    return poses


@pytest.mark.parametrize("make", [swing, standing])
def test_a_file_keeps_every_bit(tmp_path: Path, make: Any) -> None:
    run = make()
    path = run.save(tmp_path / "run.mcap")
    assert_same(Trajectory.load(path), run)


def test_joint_states_are_the_trajectory_s(tmp_path: Path) -> None:
    run = standing()
    found = messages(run.save(tmp_path / "run.mcap"))["/joint_states"]
    assert [stamp for stamp, _ in found] == np.rint(run.t * 1e9).tolist() and len(found) == len(run)
    for k, (stamp, message) in enumerate(found):
        assert message.header.stamp.sec * 10**9 + message.header.stamp.nanosec == stamp
        assert message.name == list(run.joint_names[1:]), "a free base is no joint of a JointState"
        for numbers, wanted in ((message.position, run.q[k, 7:]), (message.velocity, run.v[k, 6:])):
            np.testing.assert_array_equal(numbers, wanted)
        np.testing.assert_array_equal(message.effort, run.tau[k, 6:])


def balls() -> treesim.Tree:
    """A planar base, a ball joint and a hinge on it."""
    inertia = treesim.Inertia(1.0, (0.0, 0.0, 0.1), np.eye(3) * 0.01)
    place = treesim.Placement(translation=(0.3, 0.0, 0.2))
    bodies = [
        treesim.Body("plate", 0, treesim.Joint("slide", "planar", axis=(0, 0, 1)), inertia),
        treesim.Body("arm", 1, treesim.Joint("ball", "spherical", placement=place), inertia),
        treesim.Body("hand", 2, treesim.Joint("hinge", "revolute", axis=(0, 1, 0), placement=place), inertia),
    ]
    return treesim.Tree("balls", bodies, frames=[treesim.Frame("tip", 3, place)])


@pytest.mark.parametrize("robot", ["ur5", "g1", "balls"])
def test_every_link_is_where_treesim_has_it(tmp_path: Path, robot: str) -> None:
    loaded = treesim.load("g1_29dof_rev_1_0", base="floating") if robot == "g1" else treesim.load("ur5")
    tree = balls() if robot == "balls" else loaded
    run = standing() if robot == "g1" else swing(tree)
    found = messages(run.save(tmp_path / "run.mcap"))
    for k in (0, len(run) - 1):
        poses = link_poses(found, k)
        assert set(tree.frame_names) <= set(poses)
        for name in tree.frame_names:
            np.testing.assert_allclose(poses[name], treesim.frame_pose(tree, run.q[k], name), atol=1e-14)


def test_only_joints_of_one_coordinate_are_in_joint_states(tmp_path: Path) -> None:
    found = messages(swing(balls()).save(tmp_path / "run.mcap"))
    assert found["/joint_states"][0][1].name == ["hinge"] and "/odom" not in found


def test_odometry_is_the_base_s(tmp_path: Path) -> None:
    run = standing()
    (_, first), *_, (_, last) = messages(run.save(tmp_path / "run.mcap"))["/odom"]
    assert (first.header.frame_id, first.child_frame_id) == ("world", "pelvis")
    p, r, twist = last.pose.pose.position, last.pose.pose.orientation, last.twist.twist
    assert [p.x, p.y, p.z, r.x, r.y, r.z, r.w] == run.q[-1, :7].tolist()
    spun = [twist.angular.x, twist.angular.y, twist.angular.z]
    assert [twist.linear.x, twist.linear.y, twist.linear.z, *spun] == run.v[-1, :6].tolist()


def test_contact_forces_are_in_the_links_axes(tmp_path: Path) -> None:
    run = standing()
    robot = treesim.load("g1_29dof_rev_1_0", base="floating")
    foot = "left_ankle_roll_link"
    _, message = messages(run.save(tmp_path / "run.mcap"))[f"/contact/{foot}"][3]
    assert message.header.frame_id == foot
    R = treesim.frame_pose(robot, run.q[3], foot)[:3, :3]
    force = message.wrench.force
    np.testing.assert_allclose(R @ [force.x, force.y, force.z], run.contact_wrench(foot)[3, :3], rtol=1e-12, atol=1e-9)
    assert force.z > 10


def test_the_robot_inside_is_the_robot(tmp_path: Path) -> None:
    run, robot = standing(), treesim.load("g1_29dof_rev_1_0", base="floating")
    ((_, message),) = messages(run.save(tmp_path / "run.mcap"))["/robot_description"]
    again = treesim.load(message.data, base="floating")
    np.testing.assert_allclose(again.reals, robot.reals, rtol=0, atol=1e-15)  # rotations go through three angles
    assert len(again.visuals) == len(robot.visuals)
    shown = {(v.kind, v.file, v.body) for v in robot.visuals}
    assert {(v.kind, v.file, v.body) for v in again.visuals} == shown
    read = Trajectory.load(tmp_path / "run.mcap")  # knows the robot, not what it looks like
    ((_, bare),) = messages(read.save(tmp_path / "bare.mcap"))["/robot_description"]
    ((_, seen),) = messages(write_mcap(read, tmp_path / "seen.mcap", robot))["/robot_description"]
    assert "<visual>" not in bare.data and seen.data == message.data


def test_channels_are_those_of_ros2(tmp_path: Path) -> None:
    with standing().save(tmp_path / "run.mcap").open("rb") as stream:
        read = reader.make_reader(stream)
        summary, header = read.get_summary(), read.get_header()
        names = [metadata.name for metadata in read.iter_metadata()]
    assert header.profile == "ros2" and names == ["rosbag2", "treesim"]
    kinds = {c.topic: summary.schemas[c.schema_id] for c in summary.channels.values()}
    assert kinds["/joint_states"].name == "sensor_msgs/msg/JointState"
    assert {schema.encoding for schema in kinds.values()} == {"ros2msg"}
    for channel in summary.channels.values():
        latched = "durability: 1" in channel.metadata["offered_qos_profiles"]
        assert channel.message_encoding == "cdr" and latched == (channel.topic in LATCHED)


def test_rosbags_reads_it(tmp_path: Path) -> None:
    """The reader of rosbags, which parses the definitions in the file itself, and the QoS profiles."""
    highlevel = pytest.importorskip("rosbags.highlevel")
    run = standing()
    with highlevel.AnyReader([run.save(tmp_path / "run.mcap")]) as bag:
        chosen = [c for c in bag.connections if c.topic == "/joint_states"]
        read = [bag.deserialize(raw, c.msgtype) for c, _, raw in bag.messages(connections=chosen)]
        (described,) = (c for c in bag.connections if c.topic == "/robot_description")
        assert described.ext.offered_qos_profiles[0].durability.name == "TRANSIENT_LOCAL"
    np.testing.assert_array_equal([message.position for message in read], run.q[:, 7:])


def test_the_program_of_mcap_finds_no_fault(tmp_path: Path) -> None:
    path = swing().save(tmp_path / "run.mcap")
    with path.open("rb") as stream:
        read = reader.make_reader(stream, validate_crcs=True)
        assert sum(1 for _ in read.iter_messages()) == read.get_summary().statistics.message_count == 2 + 2 * 11


def test_a_trajectory_of_no_simulation_needs_its_robot(tmp_path: Path) -> None:
    robot = generators.chain(2)
    run = replace(swing(robot), provenance=None)
    with pytest.raises(ArgumentError, match=r"holds the robot.*treesim\.formats\.write_mcap"):
        run.save(tmp_path / "run.mcap")
    assert_same(Trajectory.load(write_mcap(run, tmp_path / "run.mcap", robot)), run)
    with pytest.raises(ArgumentError, match="the trajectory is of"):
        write_mcap(run, tmp_path / "run.mcap", treesim.load("ur5"))


@pytest.mark.parametrize("t", [-1.0, 2.0**31])
def test_times_that_are_no_stamps_are_refused(tmp_path: Path, t: float) -> None:
    run = swing(generators.chain(2))
    with pytest.raises(ArgumentError, match=r"MCAP holds times .*, but state 0 is at"):
        replace(run, t=run.t + t).save(tmp_path / "run.mcap")
    assert not list(tmp_path.iterdir())


def test_files_of_others_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.mcap"
    for content in (b"", b"no MCAP at all", swing(generators.chain(2)).save(path).read_bytes()[:900]):
        path.write_bytes(content)
        with pytest.raises(ArgumentError, match=r"run\.mcap is not a trajectory that treesim wrote"):
            Trajectory.load(path)


@pytest.mark.parametrize("name", ["a\0b", "a\x01b", "a\ufffeb"])
def test_names_that_no_xml_holds_are_refused(tmp_path: Path, name: str) -> None:
    hinge = treesim.Body(name, 0, treesim.Joint("hinge", "revolute"), treesim.Inertia(1.0, (1, 0, 0)))
    robot = treesim.Tree("odd", [hinge])
    with pytest.raises(treesim.UnsupportedError, match="URDF cannot hold the character"):
        treesim.to_urdf(robot)
    run = treesim.Simulation(robot).run(0.003)
    with pytest.raises(treesim.UnsupportedError, match="URDF cannot hold the character"):
        run.save(tmp_path / "run.mcap")
    assert not list(tmp_path.iterdir())
    assert_same(Trajectory.load(run.save(tmp_path / "run.npz")), run)


def test_what_is_no_trajectory_or_robot_is_told(tmp_path: Path) -> None:
    run = swing(generators.chain(2))
    with pytest.raises(ArgumentError, match="trajectory must be a Trajectory, got 5"):
        write_mcap(5, tmp_path / "run.mcap")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="robot must be a Tree"):
        write_mcap(run, tmp_path / "run.mcap", "ur5")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="a file's name must be a text or a path, got 5"):
        write_mcap(run, 5)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(20))
def test_other_records_are_passed_over(tmp_path: Path, seed: int) -> None:
    """The trajectory is the attachment: messages, channels and schemas may be missing, twice, out of order, or odd."""
    run, rng = swing(generators.chain(2)), np.random.default_rng(seed)
    path = run.save(tmp_path / "run.mcap")
    damaged = bytearray(path.read_bytes())
    with path.open("rb") as stream:
        (attached,) = reader.make_reader(stream).get_summary().attachment_indexes
    for place in rng.integers(len(damaged), size=30).tolist():
        if not attached.offset <= place < attached.offset + attached.length:
            damaged[place] = int(rng.integers(256))
    path.write_bytes(damaged)
    try:
        assert_same(Trajectory.load(path), run)
    except ArgumentError as error:
        assert "run.mcap" in str(error)


def test_records_of_others_in_any_order_are_passed_over(tmp_path: Path) -> None:
    """Messages of channels that there are not, schemas twice, chunks that are none, around the attachment."""
    run = swing(generators.chain(2))
    path = run.save(tmp_path / "run.mcap")
    good = path.read_bytes()
    with path.open("rb") as stream:
        (attached,) = reader.make_reader(stream).get_summary().attachment_indexes
    schema = struct.pack("<HI", 7, 4) + b"name" + struct.pack("<I", 1) + b"x" + struct.pack("<I", 2) + b"ab"
    message = struct.pack("<HIQQ", 99, 2**32 - 1, 2**64 - 1, 0) + b"no message"
    chunk = struct.pack("<QQQI", 9, 1, 2**63, 0) + struct.pack("<I", 4) + b"none" + struct.pack("<Q", 3) + b"abc"
    odd = [(3, schema), (3, schema), (5, message), (6, chunk), (0x80, b"of no kind"), (5, message)]
    records = b"".join(struct.pack("<BQ", code, len(content)) + content for code, content in odd)
    end = attached.offset + attached.length
    path.write_bytes(good[: attached.offset] + records + good[attached.offset : end] + records + good[end:])
    assert_same(Trajectory.load(path), run)
    path.write_bytes(good[: attached.offset] + records + good[end:])
    with pytest.raises(ArgumentError, match=r"run\.mcap .*it has no attachment"):
        Trajectory.load(path)
