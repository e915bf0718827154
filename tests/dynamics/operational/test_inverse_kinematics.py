"""Inverse kinematics: derivatives of the errors, reached targets on all joint types, limits, postures, refusals."""

import warnings

import numpy as np
import pytest

import treesim
from tests import trees
from tests.coupled import coupled
from tests.trees import relative_error
from treesim import CenterOfMassTask, FrameTask, IKTarget, ReachWarning, RelativeTask
from treesim.dynamics.operational import inverse_kinematics as public
from treesim.errors import ArgumentError, ModelError, NonFiniteError, UnknownNameError
from treesim.kernels.algebra.tables import tree_tables
from treesim.kernels.operational import inverse_kinematics as kernel
from treesim.kernels.operational import inverse_kinematics_step as stepping

NAMES = ("chain_mixed", "random_a", "free_random", "asimo", "mimic")
every_tree = pytest.mark.parametrize("name", NAMES)


def tree(name):
    return coupled(1) if name == "mimic" else trees.tree(name)


def targets_of_every_kind(robot, goal):
    """Targets that `goal` reaches, on the last frame and one in the middle."""
    last, middle = robot.frame_names[-1], robot.frame_names[len(robot.frame_names) // 2]
    pose, other = treesim.frame_poses(robot, goal, [last, middle])
    seen, rows = np.linalg.inv(pose) @ other, np.random.default_rng(0).normal(size=(4, 6))
    return [
        IKTarget(last, pose, name="pose"),
        IKTarget(FrameTask(last, rows, "local"), pose, weight=2.0, name="rows in local axes"),
        IKTarget(FrameTask(middle, rows), other, weight=[1.0, 2.0, 3.0, 4.0], name="rows in world axes"),
        IKTarget(RelativeTask(last, middle, rows=rows), seen, name="relative rows in world axes"),
        IKTarget(RelativeTask(last, middle, reference="local"), seen, name="relative"),
        IKTarget(FrameTask(middle, "linear"), other[:3, 3], name="position"),
        IKTarget(CenterOfMassTask(), treesim.center_of_mass(robot, goal)),
    ]


@every_tree
def test_derivatives_of_the_errors_are_those_of_differences(name):
    """The kernels as Python."""
    robot, h = tree(name), 1e-5
    targets = targets_of_every_kind(robot, robot.random(5))
    values = [public._values(target) for target in targets]
    table = tuple(public._table(robot, *each) for each in zip(targets, values, strict=True))
    constants = public._constants(robot, table, False, 1e-6, 100, 0, 0)
    model, q = tree_tables(*constants[:2]), robot.random(6)
    mimic, tasks, bounds, _, m = kernel.memory_for(model, *constants[2:], q)
    poses, errors = np.array([value.numbers for value in values]), np.empty(len(targets))

    def weighted_errors(q):
        kernel.expand_positions(mimic, q, m.q)
        stepping.start(model, tasks, poses, bounds, m, errors)
        return m.e.copy()

    weighted_errors(q)
    stepping.put_derivatives(model, mimic, tasks, poses, m)
    J = m.J.copy()
    both = [[weighted_errors(robot.integrate(q, t * d)) for t in (h, -h)] for d in np.eye(robot.nv)]
    differences = np.array([(forward - backward) / (2 * h) for forward, backward in both]).T
    assert relative_error(-J, differences) < 1e-8


@every_tree
def test_targets_of_every_kind_are_reached_together(name):
    robot = tree(name)
    goal = robot.random(5)
    targets = targets_of_every_kind(robot, goal)
    result = treesim.solve_ik(robot, targets, robot.random(6), max_iterations=1000)
    assert result.converged
    assert list(result.error) == [target.name for target in targets]
    assert max(result.error.values()) < 1e-6
    frame = robot.frame_names[-1]
    assert np.abs(treesim.frame_pose(robot, result.q, frame) - treesim.frame_pose(robot, goal, frame)).max() < 2e-6
    assert np.abs(treesim.center_of_mass(robot, result.q) - treesim.center_of_mass(robot, goal)).max() < 1e-6
    assert (result.q >= robot.lower).all() and (result.q <= robot.upper).all()


def arm(n=6, limit=2.0):
    """A chain of revolute joints with limits, and its last frame."""
    bodies = treesim.model.generators.chain(n).bodies
    joints = [
        treesim.Joint(
            b.joint.name, "revolute", placement=b.joint.placement, axis=b.joint.axis, lower=-limit, upper=limit
        )
        for b in bodies
    ]
    moved = [treesim.Body(b.name, b.parent, joint, b.inertia) for b, joint in zip(bodies, joints, strict=True)]
    return treesim.Tree("arm", moved)


def test_batches_are_single_states_and_leading_axes_are_broadcast():
    robot = arm(7)
    frame = robot.frame_names[-1]
    goals = np.array([robot.random(k) for k in range(8)]).reshape(4, 2, 7)
    poses, q0 = treesim.frame_pose(robot, goals, frame), np.array([robot.random(k) for k in (11, 12)])
    result = treesim.solve_ik(robot, {frame: poses}, q0, max_iterations=300)
    assert result.q.shape == (4, 2, 7) and result.converged.shape == (4, 2) and result.converged.all()
    for k in np.ndindex(4, 2):
        alone = treesim.solve_ik(robot, {frame: poses[k]}, q0[k[1]], max_iterations=300)
        np.testing.assert_allclose(alone.q, result.q[k], atol=1e-12)
        assert alone.iterations == result.iterations[k]
    repeated = treesim.solve_ik(robot, {frame: poses[0, 0]}, q0, max_iterations=300)
    np.testing.assert_array_equal(repeated.q[0], result.q[0, 0])


def test_what_is_out_of_reach_is_named_with_the_joints_at_limits():
    robot = arm(3, limit=0.3)
    frame, q0 = robot.frame_names[-1], robot.neutral()
    free = treesim.Tree("free", arm(3, limit=3.0).bodies)
    goal = np.array([0.25, 0.9, -0.2])
    position = treesim.frame_pose(robot, goal, frame)[:3, 3]
    with pytest.warns(ReachWarning, match=rf"'arm': 1 of 1 states did not reach their targets: '{frame}' by up to"):
        result = treesim.solve_ik(robot, {frame: position}, q0)
    assert not result.converged
    assert result.limiting_joints
    assert all(name in result.report() for name in result.limiting_joints)
    assert (np.abs(result.q) <= 0.3).all()
    for joint in result.limiting_joints:
        assert abs(abs(result.q[robot.q_index[joint]][0]) - 0.3) < 1e-9
    with warnings.catch_warnings(action="error"):
        assert treesim.solve_ik(free, {frame: position}, q0).converged
        assert treesim.solve_ik(robot, {frame: position}, q0, limits=False).converged
    with pytest.warns(ReachWarning, match="'far' by up to"):
        far = treesim.solve_ik(robot, [IKTarget(frame, [9.0, 0, 0], name="far"), IKTarget("body_1", [0, 0, 0])], q0)
    assert far.error["far"] > 1 and far.error["body_1"] == 0 and "'body_1'" not in far.report()


def test_contradicting_targets_are_weighted():
    slider = treesim.Body("slider", 0, treesim.Joint("slide", "prismatic", axis=(1, 0, 0)), treesim.Inertia(1.0))
    robot = treesim.Tree("slider", [slider])
    targets = [IKTarget("slider", [1.0, 0, 0], weight=3.0, name="right"), IKTarget("slider", [0.0, 0, 0], name="left")]
    with pytest.warns(ReachWarning):
        result = treesim.solve_ik(robot, targets, [0.2])
    assert abs(result.q[0] - 0.75) < 1e-6


@pytest.mark.parametrize("name", ["redundant", "mimic"])
def test_redundant_motion_approaches_the_posture(name):
    robot = arm(9) if name == "redundant" else coupled(1)
    frame, goal, posture = robot.frame_names[-1], robot.random(1), robot.random(2)
    targets = {frame: treesim.frame_pose(robot, goal, frame)[:3, 3]}
    plain = treesim.solve_ik(robot, targets, goal)
    result = treesim.solve_ik(robot, targets, goal, posture=posture, max_iterations=500)
    assert result.converged and max(result.error.values()) < 1e-6
    left, before = robot.difference(result.q, posture), robot.difference(plain.q, posture)
    assert np.linalg.norm(left) < 0.9 * np.linalg.norm(before)
    at_limit = [robot.v_index[joint].start for joint in result.limiting_joints]
    J = np.delete(treesim.frame_jacobian(robot, result.q, frame)[:3], at_limit, axis=1)
    free = np.delete(left, at_limit)
    redundant = free - np.linalg.pinv(J) @ (J @ free)
    if name == "redundant":  # where rotations in space are left, the displacement is no gradient of its length
        assert np.linalg.norm(redundant) < 1e-2 * np.linalg.norm(left) + 1e-4


def test_a_step_within_the_bounds_is_the_minimum():
    """Against the bounded least squares of SciPy."""
    optimize = pytest.importorskip("scipy.optimize")
    robot, rng = arm(9, limit=0.4), np.random.default_rng(0)
    frame = robot.frame_names[-1]
    table = (public._table(robot, IKTarget(frame, np.eye(4)), public._values(IKTarget(frame, np.eye(4)))),)
    constants = public._constants(robot, table, True, 1e-6, 100, 0, 0)
    model = tree_tables(*constants[:2])
    for damping in (1e-1, 1e-3, 1e-6):
        q = np.clip(rng.normal(scale=0.4, size=9), -0.4, 0.4)
        mimic, tasks, bounds, _, m = kernel.memory_for(model, *constants[2:], q)
        pose = public._values(IKTarget(frame, treesim.frame_pose(robot, robot.random(rng), frame))).numbers[None]
        m.q[:], m.desired[:] = q, 0
        stepping.start(model, tasks, pose, bounds, m, np.empty(1))
        stepping.put_derivatives(model, mimic, tasks, pose, m)
        stepping.bounded_step(bounds, m, damping)
        rows, right = np.vstack([m.J, np.sqrt(damping) * np.eye(9)]), np.concatenate([m.e, np.zeros(9)])
        exact = optimize.lsq_linear(rows, right, (-0.4 - q - 1e-15, 0.4 - q + 1e-15), tol=1e-14).x
        assert relative_error(m.d, exact) < 1e-6


def test_without_restarts_solutions_are_connected_with_the_start():
    robot = arm(6, limit=3.0)
    frame, q = robot.frame_names[-1], robot.random(3)
    near = treesim.frame_pose(robot, robot.integrate(q, np.full(6, 1e-3)), frame)
    result = treesim.solve_ik(robot, {frame: near}, q, restarts=0)
    assert result.converged and np.abs(robot.difference(q, result.q)).max() < 0.05
    assert result.iterations < 6


@pytest.mark.nojit
def test_half_a_turn_is_reached():
    ball = treesim.Body("ball", 0, treesim.Joint("ball", "spherical"), treesim.Inertia(1.0))
    robot = treesim.Tree("ball", [ball])
    for diagonal in ([1, -1, -1], [-1, 1, -1], [-1, -1, 1]):
        pose = np.diag([*map(float, diagonal), 1.0])
        result = treesim.solve_ik(robot, {"ball": pose}, robot.neutral())
        np.testing.assert_allclose(treesim.frame_pose(robot, result.q, "ball"), pose, atol=2e-6)


@pytest.mark.parametrize(
    "targets, error, message",
    [
        ({}, ArgumentError, "targets is empty"),
        ({"no_such": [0, 0, 0]}, UnknownNameError, "no_such"),
        ({"body_3": [0, 0]}, ArgumentError, r"shape \(2,\), but \(..., 4, 4\) or \(..., 3\)"),
        ({"body_3": 2 * np.eye(4)}, ArgumentError, "the target of 'body_3' is no pose"),
        ({"body_3": [0, np.nan, 0]}, NonFiniteError, "the target of 'body_3'"),
        ([IKTarget("body_3", [0, 0, 0])] * 2, ArgumentError, "two targets have the name 'body_3'"),
        ([IKTarget(FrameTask("body_3", "angular"), [0, 0, 0])], ArgumentError, "its rows select angles: give a pose"),
        ([IKTarget(CenterOfMassTask(), np.eye(4))], ArgumentError, "the centre of mass is a pose"),
        ([IKTarget("body_3", np.zeros((2, 3))), IKTarget("body_2", np.zeros((3, 3)))], ArgumentError, "leading axes"),
        ("body_3", ArgumentError, "targets"),
    ],
)
def test_invalid_targets_are_refused(targets, error, message):
    robot = arm(3)
    with pytest.raises(error, match=message):
        treesim.solve_ik(robot, targets, robot.neutral())


def test_weights_are_one_or_one_for_each_row():
    assert IKTarget("body_3", [0, 0, 0], weight=[1.0, 2.0, 3.0]).weight.shape == (3,)
    with pytest.raises(ArgumentError, match="weight of 'body_3' must be a positive number, or one for each of 3 rows"):
        IKTarget("body_3", [0, 0, 0], weight=[1.0, 2.0])


def test_invalid_options_are_refused():
    robot = arm(3)
    target = {robot.frame_names[-1]: [0.1, 0, 0]}
    with pytest.raises(ArgumentError, match="limits"):
        treesim.solve_ik(robot, target, robot.neutral(), limits="yes")
    with pytest.raises(ArgumentError, match="tolerance"):
        treesim.solve_ik(robot, target, robot.neutral(), tolerance=0.0)
    with pytest.raises(ArgumentError, match=r"q0 has shape \(2,\)"):
        treesim.solve_ik(robot, target, np.zeros(2))
    with pytest.raises(NonFiniteError, match=r"q0\[0\] is nan"):
        treesim.solve_ik(robot, target, np.full(3, np.nan))
    floating, wrong = trees.tree("free_random"), trees.tree("free_random").neutral()
    wrong[3:7] *= 2
    with pytest.raises(ArgumentError, match="length 2"):
        treesim.solve_ik(floating, {floating.frame_names[0]: [0, 0, 0]}, wrong)
    with pytest.raises(ArgumentError, match="posture"):
        treesim.solve_ik(floating, {floating.frame_names[0]: [0, 0, 0]}, floating.neutral(), posture=wrong)
    with pytest.raises(ModelError, match="has no joints"):
        treesim.solve_ik(treesim.Tree("fixed", []), {"base": [0, 0, 0]}, [])
    with pytest.raises(ArgumentError, match="or CenterOfMassTask, got 3"):
        IKTarget(3, [0, 0, 0])


def test_reachable_poses_are_reached_and_restarts_have_iterations_of_their_own():
    arm, rng = treesim.load("ur5"), np.random.default_rng(2)
    poses = np.array([treesim.frame_pose(arm, arm.random(rng), "ee_link") for _ in range(300)])
    assert treesim.solve_ik(arm, {"ee_link": poses}, arm.neutral()).converged.all()
    far = {"ee_link": poses + np.array([[0, 0, 0, 5.0], [0] * 4, [0] * 4, [0] * 4])}
    with pytest.warns(treesim.ReachWarning):
        for restarts, most in ((0, 20), (3, 50), (30, 320)):
            result = treesim.solve_ik(arm, far, arm.neutral(), max_iterations=20, restarts=restarts)
            assert not result.converged.any() and result.iterations.max() <= most
            assert restarts == 0 or result.iterations.max() > 20


@pytest.mark.parametrize("states", [1, 3])
def test_results_of_single_precision_are_in_single_precision(states):
    arm, rng = treesim.load("ur5"), np.random.default_rng(3)
    q = np.array([arm.random(rng) for _ in range(states)]).squeeze()
    pose, q0 = treesim.frame_pose(arm, q, "ee_link").astype(np.float32), np.zeros(6, np.float32)
    result = treesim.solve_ik(arm, {"ee_link": pose}, q0, tolerance=1e-5)
    assert result.q.dtype == result.error["ee_link"].dtype == np.float32 and result.converged.all()
    found = treesim.frame_pose(arm, result.q.astype(float), "ee_link")
    np.testing.assert_allclose(found, pose, rtol=0, atol=2e-5)
    assert treesim.solve_ik(arm, {"ee_link": pose}, q0.astype(float), tolerance=1e-5).q.dtype == np.float64
