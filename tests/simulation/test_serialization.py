"""Robots, worlds and controllers through JSON: the same bits come back, and what cannot be held is named."""

import json
import pickle
import re
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import treesim
from treesim import ArgumentError, UnsupportedError
from treesim.formats import npz
from treesim.model import generators
from treesim.model.joints import VECTORS
from treesim.simulation.control import Zero
from treesim.simulation.serialization import LISTED, plain, restored

PAGE = Path(__file__).parents[2] / "docs" / "replay.md"
ANY_JOINT = generators.random_tree(np.random.default_rng(3), 9)


def through_json(value, named=None):
    return restored(json.loads(json.dumps(plain(value, named))), named)


def same_bits(one, other):
    one, other = np.asarray(one), np.asarray(other)
    return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()


def is_same_tree(one, other):
    arrays = (*VECTORS, "gravity")
    assert one.name == other.name and one.body_names == other.body_names and one.frame_names == other.frame_names
    tables = zip(one.spanning_tables(), other.spanning_tables(), strict=True)
    assert all(same_bits(a, b) for a, b in tables)
    assert all(same_bits(getattr(one, name), getattr(other, name)) for name in arrays)


@given(st.integers(0, 2**31))
def test_random_trees_come_back_bit_for_bit(seed):
    robot = generators.random_tree(np.random.default_rng(seed), 6)
    is_same_tree(robot, through_json(robot))


def test_limits_of_motion_come_back():
    limits = {"acceleration_limit": 3.0, "deceleration_limit": np.inf, "jerk_limit": 0.1}
    body = treesim.Body("b", 0, treesim.Joint("j", "revolute", **limits), treesim.Inertia(1.0))
    again = through_json(treesim.Tree("t", [body]))
    assert {name: getattr(again, name)[0] for name in limits} == limits


@pytest.mark.parametrize("robot", ["g1_29dof_rev_1_0", "panda"])
def test_robots_come_back_bit_for_bit(robot):
    loaded = treesim.load(robot, base="floating")
    is_same_tree(loaded, through_json(loaded))


@given(st.lists(st.floats(allow_nan=False), min_size=3, max_size=3), st.floats(0.1, 9))
def test_unit_vectors_come_back_as_they_were_rounded(axis, height):
    if not np.linalg.norm(np.clip(axis, -1e100, 1e100)) > 1e-6 or not np.isfinite(axis).all():
        return
    joint = treesim.Joint("j", "revolute", axis=axis)
    assert same_bits(joint.axis, through_json(joint).axis)
    plane = treesim.Ground(normal=np.clip(axis, -1e100, 1e100), height=height)
    assert plane == through_json(plane)


def test_visuals_come_back_unless_they_need_mesh_files():
    pole, at = treesim.Body("pole", 0, treesim.Joint("hinge", "revolute")), treesim.Placement(translation=(0, 0, 1))
    sizes = {"box": (1, 2, 3), "sphere": (0.1,), "cylinder": (0.1, 2), "capsule": (0.1, 2)}
    drawn = [treesim.Visual(1, at, kind, size, color=(1, 0, 0, 0.5)) for kind, size in sizes.items()]
    again = through_json(treesim.Tree("pole", [pole], visuals=drawn)).visuals
    assert [(v.body, v.kind, v.size, v.color) for v in again] == [(v.body, v.kind, v.size, v.color) for v in drawn]
    assert all(same_bits(v.placement.translation, at.translation) for v in again)
    mesh = treesim.Visual(1, at, "mesh", (1, 1, 1), file="pole.stl")
    assert through_json(treesim.Tree("pole", [pole], visuals=[*drawn, mesh])).visuals == ()


def test_followers_loops_and_shapes_come_back():
    hinge, mimic_joint = (
        treesim.Joint("a", "revolute"),
        treesim.Joint("b", "revolute", mimic=treesim.Mimic("a", -2, 0.5)),
    )
    bodies = [treesim.Body("first", 0, hinge), treesim.Body("second", 0, mimic_joint, treesim.Inertia(1.0))]
    ends = [treesim.Frame(f"end{i}", i) for i in (1, 2)]
    vertices = treesim.CollisionShape(1, treesim.Placement(), "hull", vertices=np.eye(3), link="first")
    loop = treesim.Loop("pin", "end1", "end2", type="revolute", axis=(1, 2, 3))
    robot = treesim.Tree("gear", bodies, frames=ends, shapes=[vertices], loops=[loop])
    again = through_json(robot)
    is_same_tree(robot, again)
    assert again.mimic_map.lines() == robot.mimic_map.lines()
    assert same_bits(again.loops[0].axis, robot.loops[0].axis)
    assert same_bits(again.shapes[0].vertices, robot.shapes[0].vertices)


def test_worlds_come_back_with_what_is_held_and_met():
    robot = treesim.load("ur5")
    q = np.array([0.3, -1.0, 0.7, 0.2, 0.1, 0.4])
    grounds = [treesim.StaticBox((1, 1, 0.1), treesim.Placement(translation=(0, 0, -2))), treesim.Ground(height=-1.0)]
    grounds.append(treesim.StaticMesh(np.eye(3) / 3 - 5, [[0, 1, 2]], grounds[0].placement))
    held = [treesim.FrameConstraint("ee_link", rows="linear")]
    crate = treesim.free_body("crate", "box", (0.1, 0.1, 0.1), 1.0)
    q = np.concatenate([q, crate.neutral()])
    world = treesim.World(
        robot, held, q, ground=grounds, bodies=[crate], use_joint_friction=False, use_velocity_limits=True,
        contact_tolerance=1e-6,
    )  # fmt: skip
    again = through_json(world)
    assert again.contact_tolerance == 1e-6
    assert again.ground == world.ground and (again.use_joint_friction, again.use_velocity_limits) == (False, True)
    assert all(same_bits(a, b) for a, b in zip(again.constants, world.constants, strict=True))
    is_same_tree(again.robot, world.robot)


def test_a_world_that_touches_nothing_leaves_shapes_out():
    world = treesim.World(treesim.load("g1_29dof_rev_1_0", base="floating"))
    assert world.robot.shapes and not through_json(world).robot.shapes


def test_controllers_come_back_on_the_robot_that_is_named():
    robot = treesim.load("g1_29dof_rev_1_0", base="floating")
    q, rng = robot.neutral(), np.random.default_rng(0)
    pushed = treesim.Pushed(treesim.PD(robot, q, kp=300, kd=rng.uniform(0, 9, robot.nv)), robot, (1, 2, 3), start=0.5)
    again = through_json(pushed, {"robot": robot})
    state = (0.55, robot.random(1), rng.normal(size=robot.nv))
    assert again.robot is robot and type(again.controller) is treesim.PD
    assert same_bits(again.torque(*state), pushed.torque(*state))
    assert through_json(Zero(robot)) is None


@pytest.mark.parametrize("count", [LISTED, LISTED + 1])
@pytest.mark.parametrize("exact", [True, False], ids=["of four bytes", "of eight bytes"])
def test_many_numbers_come_back_bit_for_bit(count, exact):
    numbers = np.random.default_rng(0).normal(size=(count, 1))
    numbers[:3, 0] = -0.0, 1e300 if not exact else 0.5, -1.0
    numbers = numbers.astype(np.float32).astype(float) if exact else numbers
    assert plain(numbers).get("packed") == (None if count == LISTED else "<f4" if exact else "<f8")
    assert same_bits(through_json(numbers), numbers)


def test_recordings_have_the_size_that_pages_state():
    robot = treesim.load("g1", base="floating")
    world = treesim.World(robot, ground=treesim.Ground())
    run = treesim.Simulation(world).run(0.001, q0=treesim.standing(robot, robot.neutral()))
    size = len(run.provenance())
    stated = int(re.search(r"this line has about (\d+) kB", PAGE.read_text(encoding="utf-8"))[1])
    assert size == pytest.approx(1000 * stated, rel=0.1)
    stream = BytesIO()
    npz.write(run, stream)
    assert len(stream.getvalue()) < 1.2 * size


def test_what_cannot_be_held_is_named():
    class Mine(treesim.PD):
        """Another law under the same name."""

    robot = treesim.load("ur5")
    with pytest.raises(UnsupportedError, match="Mine"):
        plain(Mine(robot, robot.neutral(), kp=1, kd=1))


@pytest.mark.parametrize(
    "damaged",
    [
        {"is": "Joint", "name": "j"},
        {"is": "Joint", "name": "j", "type": "revolute", "colour": 1},
        {"is": "os.system", "of": ["true"]},
        {"is": "named", "name": "robot"},
        {"is": "array", "of": "object", "shape": [1], "numbers": [0]},
        {"is": "array", "of": "float64", "shape": [1], "numbers": "AAAA", "packed": "<f4"},
        {"is": "array", "of": "float64", "shape": [1], "numbers": "!", "packed": "<f4"},
        {"is": "array", "of": "float64", "shape": [1], "numbers": "AAAAAA==", "packed": "<i4"},
        {"is": "array", "of": "float64", "shape": [2], "numbers": "AAAAAA==", "packed": "<f4"},
        {"is": "array", "of": "int64", "shape": [1], "numbers": "AAAAAA==", "packed": "<f4"},
        {"of": 1},
    ],
)
def test_damaged_descriptions_are_refused(damaged):
    with pytest.raises(ArgumentError):
        restored(damaged)


def test_names_of_older_versions_are_read():
    joint = treesim.Joint("hinge", "revolute")
    older = plain(joint)
    for today, before in (("velocity_limit", "velocity"), ("effort_limit", "effort"), ("joint_friction", "friction")):
        older[before] = older.pop(today) | {"numbers": [3.0]}
    again = restored(older)
    assert [*again.velocity_limit, *again.effort_limit, *again.joint_friction] == [3.0, 3.0, 3.0]
    robot = treesim.Tree("pendulum", [treesim.Body("rod", 0, joint, treesim.Inertia(1.0))])
    hold = restored(plain(treesim.PD(robot, [0.5], kp=3.0, kd=2.0)) | {"is": "Hold"})
    assert type(hold) is treesim.PD and [*hold.posture, *hold.stiffness, *hold.damping] == [0.5, 3.0, 2.0]
    options = [["limits", False], ["friction", False], ["speed_limits", True], ["loops", False]]
    world = restored({"is": "World", "of": [plain(robot), [], options]})
    assert not (world.use_limits or world.use_joint_friction or world.use_loops) and world.use_velocity_limits


@given(st.integers(0, 2**31))
def test_unit_quaternions_and_directions_come_back_bit_for_bit(seed):
    rng = np.random.default_rng(seed)
    turns = rng.normal(size=(2, 4))
    turns *= rng.uniform(0.6, 1.9, (2, 1)) / np.linalg.norm(turns, axis=1, keepdims=True)
    lift, belt = treesim.Waypoints([0, 1], np.eye(3)[:2], turns), treesim.Conveyor((1, 0, 0), quaternion=turns[0])
    loop = treesim.Loop("pin", "a", "b", type="revolute", axis=turns[0, :3])
    assert same_bits(through_json(lift).quaternions, lift.quaternions)
    assert same_bits(through_json(belt).quaternion, belt.quaternion)
    for again in (through_json(loop), pickle.loads(pickle.dumps(loop))):
        assert same_bits(again.axis, loop.axis)
