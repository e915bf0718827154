"""Fixed bases elsewhere in the world: kinematics, shapes, contact, and several robots together."""

import numpy as np
import pytest

import treesim
from tests import trees
from treesim import Placement

POSE = Placement.from_xyz_rpy((0.3, -0.2, 0.7), (0.2, -0.4, 1.0))


@pytest.mark.parametrize("name", ["random_b", "chain_mixed"])
def test_everything_moves_with_the_base(name):
    robot = trees.tree(name)
    moved, q = robot.with_base_pose(POSE), robot.random(0)
    expected = POSE.matrix() @ treesim.body_poses(robot, q)[1:]
    np.testing.assert_allclose(treesim.body_poses(moved, q)[1:], expected, rtol=0, atol=1e-13)
    still = robot.with_base_pose(np.eye(4))
    np.testing.assert_allclose(still.reals, robot.reals, rtol=0, atol=1e-15)


def test_dynamics_are_those_under_turned_gravity():
    robot = trees.tree("random_b")
    moved, state = robot.with_base_pose(POSE.matrix()), trees.random_state(robot)
    turned = POSE.rotation.T @ robot.gravity
    for function in (treesim.inverse_dynamics, treesim.forward_dynamics):
        x = state.a if function is treesim.inverse_dynamics else state.tau
        np.testing.assert_allclose(
            function(moved, state.q, state.v, x),
            function(robot, state.q, state.v, x, gravity=turned),
            rtol=1e-11,
            atol=1e-9,
        )


def test_load_places_a_robot_of_a_file():
    arm = treesim.load("ur5", base_pose=Placement(translation=(0, 0, 0.7)))
    assert treesim.frame_pose(arm, arm.neutral(), "base_link")[2, 3] == 0.7
    low = treesim.load("ur5")
    np.testing.assert_allclose(
        treesim.frame_pose(arm, arm.neutral(), "tool0")[2, 3],
        treesim.frame_pose(low, low.neutral(), "tool0")[2, 3] + 0.7,
    )
    assert [shape.body for shape in arm.shapes] == [shape.body for shape in low.shapes]


TABLE = """<robot name="table"><link name="top">
<visual><origin xyz="0 0 0.35"/><geometry><box size="1 1 0.7"/></geometry></visual>
<collision><origin xyz="0 0 0.35"/><geometry><box size="1 1 0.7"/></geometry></collision></link></robot>"""


def test_robots_and_furniture_from_files_stand_in_one_world():
    """Two arms on two tables, and a box on one of them: names, contact and independence."""
    left, right = (Placement(translation=(x, 0, 0.7)) for x in (-1.0, 1.0))
    arm, other = treesim.load("ur5", base_pose=left), treesim.load("ur5", base_pose=right)
    tables = [
        treesim.load(TABLE, base_pose=Placement(translation=(x, 0, 0))).with_name(f"table_{x:g}") for x in (-1, 1)
    ]
    box = treesim.free_body("box", "box", (0.1, 0.1, 0.1), 0.5)
    world = treesim.World(arm, bodies=[other, *tables, box])
    robot = world.robot
    assert "ur5.tool0" in robot.frame_names and robot.nv == 18
    q = np.concatenate([arm.neutral(), other.neutral(), [1.3, 0.3, 0.75, 0, 0, 0, 1]])
    places = [treesim.frame_pose(robot, q, name)[0, 3] for name in ("tool0", "ur5.tool0")]
    assert places[1] - places[0] == pytest.approx(2.0)
    hold = treesim.PD(robot, q, kp=500.0, kd=50.0)
    run = treesim.Simulation(world, 1e-3, controller=hold).run(0.2, q)
    assert run.q[-1, 14] == pytest.approx(0.75, abs=1e-6)
    np.testing.assert_allclose(run.q[-1, :6], run.q[-1, 6:12], rtol=0, atol=1e-9)
    weight = run.contact_wrench("box")[-2, 2]
    assert weight == pytest.approx(0.5 * 9.81, rel=1e-6)


def test_three_robots_of_one_file_have_names_of_their_own():
    robots = [treesim.load("ur5", base_pose=Placement(translation=(x, 0, 0))) for x in (0.0, 2.0, 4.0)]
    world = treesim.World(robots[0], bodies=robots[1:])
    assert {"tool0", "ur5.tool0", "ur5_2.tool0"} <= set(world.robot.frame_names)


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda: treesim.load("ur5", base_pose=np.eye(3)), "base_pose must be a Placement or a pose"),
        (lambda: treesim.load("ur5", base_pose=2 * np.eye(4)), "base_pose"),
        (lambda: treesim.load("ur5", base_pose=np.diag([1.0, 1, -1, 1])), "base_pose"),
        (lambda: treesim.load("go2", base="floating", base_pose=np.eye(4)), "floats: set its pose in q"),
        (lambda: treesim.load("ur5").with_base_pose("above"), "base_pose"),
    ],
)
def test_bad_poses_are_named(made, message):
    with pytest.raises((treesim.ModelError, treesim.ArgumentError), match=message):
        made()
