"""Warnings of angles in degrees and of quaternions with w first, each with a case just below and just above."""

import warnings

import numpy as np
import pytest

import treesim

FULL_TURN = 2 * np.pi


def knee(upper=1.0):
    joint = treesim.Joint("knee", "revolute", axis=(0, 1, 0), lower=-1.0, upper=upper)
    wheel = treesim.Joint("wheel", "continuous")
    slide = treesim.Joint("slide", "prismatic", lower=-1.0, upper=1.0)
    parts = [
        treesim.Body(j.name, k, j, treesim.Inertia(1.0, com=(0.1, 0, 1))) for k, j in enumerate((joint, wheel, slide))
    ]
    return treesim.Tree("leg", parts)


def box():
    return treesim.free_body("box", "box", (1, 1, 1), 1.0)


def messages(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    assert all(each.filename == __file__ for each in caught if each.category is treesim.ConventionWarning)
    return [str(each.message) for each in caught if each.category is treesim.ConventionWarning]


USES = {
    "configuration": lambda r, q: r.configuration({"knee": q[0], "wheel": q[1], "slide": q[2]}),
    "PD": lambda r, q: treesim.PD(r, q),
    "solve_ik": lambda r, q: treesim.solve_ik(r, {"slide": [0.0, 0.0, 0.0]}, q, max_iterations=1, restarts=0),
    "list": lambda r, q: (treesim.frame_pose(r, np.zeros(3), "slide"), treesim.frame_pose(r, list(q), "slide")),
    "first array": lambda r, q: treesim.frame_pose(r, q, "slide"),
    "first state": lambda r, q: treesim.mass_matrix(r, q),
    "batch": lambda r, q: treesim.mass_matrix(r, np.stack([q, q])),
    "run": lambda r, q: treesim.Simulation(r).run(0.002, q0=q),
    "rollout": lambda r, q: treesim.rollout(r, q[None], np.zeros(3), np.zeros((1, 3)), 1e-3),
}


@pytest.mark.filterwarnings("ignore::treesim.TreesimWarning")
@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_angles_beyond_a_full_turn_and_the_limits_are_warned_of_once(use):
    robot = knee()
    below, above = (np.array([sign * FULL_TURN, 90.0, 90.0]) for sign in (1 - 1e-9, 1 + 1e-9))
    assert messages(lambda: use(knee(), below)) == [], "other joints may have any position"
    (text,) = messages(lambda: use(robot, above))
    assert "'knee'" in text and "np.radians(6.283) is 0.1097" in text and "wheel" not in text
    assert messages(lambda: use(robot, above)) == [], "once for each joint"


@pytest.mark.parametrize(("angle", "count"), [(0.99e4, 1), (1.01e4, 0)])
def test_absurd_angles_are_not_taken_for_degrees(angle, count):
    assert len(messages(lambda: treesim.PD(knee(), [angle, 0.0, 0.0]))) == count


def test_limits_beyond_a_full_turn_are_usual():
    assert messages(lambda: treesim.PD(knee(upper=20.0), [20.0, 0.0, 0.0])) == []
    assert len(messages(lambda: treesim.PD(knee(upper=20.0), [20.01, 0.0, 0.0]))) == 1


def test_only_the_joints_not_yet_warned_of_are_named():
    arm = treesim.load("ur5")
    (first,) = messages(lambda: treesim.PD(arm, [0, -90, 90, 0, 0, 0]))
    (second,) = messages(lambda: treesim.PD(arm, [0, -90, 90, 0, 0, 45]))
    assert "'shoulder_lift_joint', 'elbow_joint'" in first and "elbow" not in second and "'wrist_3_joint'" in second


def test_a_quaternion_with_w_first_is_warned_of_where_it_is_recognisable():
    half, s = np.sqrt(0.5), np.sin(1e-4)
    for quaternion in ([0, 0, 0, 1], [half, 0, 0, half], [np.sqrt(1 - s * s), s, 0, 0]):
        robot = box()
        assert messages(lambda robot=robot, q=quaternion: treesim.mass_matrix(robot, [0, 0, 0, *q])) == []
    robot = box()
    (text,) = messages(lambda: treesim.mass_matrix(robot, [0.0, 0, 0, 1, 0, 0, 0]))
    assert "x y z w" in text and messages(lambda: treesim.mass_matrix(robot, [0.0, 0, 0, 1, 0, 0, 0])) == []


def test_the_warning_is_of_the_robot_alone_and_leaves_it_equal():
    import pickle

    robot = knee()
    messages(lambda: treesim.PD(robot, [90.0, 0, 0]))
    copy = pickle.loads(pickle.dumps(robot))
    assert len(messages(lambda: treesim.PD(copy, [90.0, 0, 0]))) == 1


def test_missing_numbers_of_a_floating_joint_are_named():
    robot = treesim.load("g1", base="floating")
    q, v = robot.neutral(), np.zeros(robot.nv)
    few = np.zeros(robot.nv - 6)
    for call in (
        lambda: treesim.forward_dynamics(robot, q, v, few),
        lambda: treesim.rollout(robot, q, v, np.tile(few, (2, 1))),
        lambda: treesim.Stepper(robot).step(treesim.Stepper(robot).reset(q), few),
        lambda: treesim.Simulation(robot, controller=lambda t, q, v: few).run(0.01),
    ):
        with pytest.raises(
            treesim.ArgumentError, match=r"first 6 are vx vy vz wx wy wz of joint 'root_joint'; no motor"
        ):
            call()
    with pytest.raises(treesim.ArgumentError, match=r"first 7 are x y z qx qy qz qw of joint 'root_joint'$"):
        treesim.mass_matrix(robot, q[7:])
    for wrong in (q[8:], q[6:], q[1:]):
        with pytest.raises(treesim.ArgumentError, match=r"is needed$"):
            treesim.mass_matrix(robot, wrong)
    with pytest.raises(treesim.ArgumentError, match=r"is needed$"):
        treesim.forward_dynamics(treesim.load("ur5"), np.zeros(6), np.zeros(6), np.zeros(4))
