"""Wrenches across joints and fixed joints in steps: sensors, trajectories, rollouts and measures agree."""

from dataclasses import replace

import numpy as np
import pytest

import treesim
from tests.dynamics.test_joint_wrenches import WELDED
from treesim.dynamics.joint_wrenches import wrenches_of_motion

DT = 1e-3
SPHERE = '<collision><geometry><sphere radius="0.3"/></geometry></collision></link>'
PUSHES = (
    treesim.ExternalForce("mount", (3.0, 4.0, 5.0), point=(0.1, 0.2, 0.3), torque=(1.0, 0, 2.0)),
    treesim.ExternalForce("hand", (1.0, 0.0, -2.0), frame="local", start=0.002),
    treesim.ExternalForce("upper", (0.0, 7.0, 0.0)),
)
JOINTS = ("shoulder", "to_mount", "to_bare", "hand", "foot")


def with_shapes(*links):
    """The arm with a sphere on each of these links."""
    text = WELDED
    for link in links:
        place = text.index("</link>", text.index(f'<link name="{link}"'))
        text = text[:place] + SPHERE + text[place + 7 :]
    return text


def cut_open(text, base):
    """The same robot with revolute joints instead of fixed ones."""
    return treesim.load(text.replace('type="fixed"', 'type="continuous"'), base=base)


def expected(robot, cut, run, pushes=(), touching=("mount",)):
    """The wrenches (K, N', 6) of the cut robot in the middle of steps, its fixed joints at rest; contact on mount."""
    K = len(run) - 1
    middle = robot.integrate(run.q[:-1], robot.difference(run.q[:-1], run.q[1:]) / 2)
    mean, rates = (run.v[1:] + run.v[:-1]) / 2, np.diff(run.v, axis=0) / np.diff(run.t)[:, None]
    q, v, a = np.tile(cut.neutral(), (K, 1)), np.zeros((K, cut.nv)), np.zeros((K, cut.nv))
    for joint in robot.joint_names:
        q[:, cut.q_index[joint]] = middle[:, robot.q_index[joint]]
        for to, x in ((v, mean), (a, rates)):
            to[:, cut.v_index[joint]] = x[:, robot.v_index[joint]]
    f_ext = np.zeros((K, cut.n_bodies, 6))

    def add(link, point, force, torque):  # in world axes
        R, p = (pose := treesim.frame_pose(cut, q, link))[:, :3, :3], pose[:, :3, 3]
        moment = torque + np.cross(point - p, force)
        row = f_ext[:, cut.body_names.index(link)]
        row += np.concatenate([np.einsum("kji,kj->ki", R, x) for x in (force, moment)], axis=1)

    for push in pushes:
        R, p = (pose := treesim.frame_pose(cut, q, push.link))[:, :3, :3], pose[:, :3, 3]
        turn = R if push.frame == "local" else np.broadcast_to(np.eye(3), R.shape)
        acts = np.array([push.acts(t) for t in run.t[:-1]])[:, None]
        add(push.link, p + R @ push.point, acts * (turn @ push.force), acts * (turn @ push.torque))
    if run.contact is not None and run.contact.bodies:
        start = np.array([treesim.frame_pose(robot, x, "upper")[:3, 3] for x in run.q[:-1]])
        wrench = run.contact_wrench("upper")[:-1]
        (link,) = touching
        add(link, start, wrench[:, :3], wrench[:, 3:])
    return {joint: wrenches_of_motion(cut, q, v, a, f_ext)[:, row] for joint, row in rows(cut).items()}


def rows(cut):
    return {name: k for names in (cut.joint_names, cut.body_names) for k, name in enumerate(names)}


def moving(text, base, pushes=(), ground=(), sensors=JOINTS, **options):
    robot = treesim.load(text, base=base)
    world = treesim.World(robot, ground=ground, sensors=[treesim.ForceTorque(joint) for joint in sensors])
    rng = np.random.default_rng(2)
    q, v = robot.random(rng), rng.normal(size=robot.nv)
    if ground:
        q, v = robot.standing(q, ground[0]), 0 * v
    return treesim.Simulation(world, DT, external_forces=pushes, **options).run(0.006, q, v)


@pytest.mark.parametrize(("base", "on_ground"), [("fixed", False), ("floating", False), ("floating", True)])
def test_sensors_and_trajectories_have_the_wrenches_of_joints_that_do_not_move(base, on_ground, tmp_path):
    text = with_shapes("mount") if on_ground else WELDED
    robot, cut = treesim.load(text, base=base), cut_open(text, base)
    ground = [treesim.Ground()] if on_ground else []
    run, bare = (moving(text, base, PUSHES, ground, sensors) for sensors in (JOINTS, ()))
    truth = expected(robot, cut, run, PUSHES)
    assert not on_ground or np.abs(run.contact_wrench("upper")).max() > 10
    for joint in JOINTS:
        found = run.sensors[f"force_torque_{joint}"]
        np.testing.assert_allclose(found[:-1], truth[joint], rtol=0, atol=1e-9 * np.abs(truth[joint]).max() + 1e-12)
        for again in (run, bare, treesim.Trajectory.load(bare.save(tmp_path / "run.npz"))):
            assert np.array_equal(again.joint_wrench(joint), found, equal_nan=True)


def test_steppers_and_rollouts_have_the_readings_of_runs():
    robot = treesim.load(WELDED, base="floating")
    world = treesim.World(robot, sensors=[treesim.ForceTorque(joint) for joint in JOINTS])
    run = moving(WELDED, "floating", PUSHES, integrator="semi_implicit_euler")
    stepper = treesim.Stepper(world, DT, integrator="semi_implicit_euler")
    state = stepper.reset(run.q[0], run.v[0])
    load = treesim.measures.maximum(lambda t, q, v, p, c, s: s["force_torque_to_mount"][5])
    options = {"integrator": "semi_implicit_euler", "steps": 6, "f_ext": PUSHES, "measure": {"load": load}}
    runs = treesim.rollout(world, run.q[0], run.v[0], dt=DT, **options)
    batch = treesim.BatchStepper(world, 1, DT, integrator="semi_implicit_euler")
    batch.put(slice(None), run.q[:1], run.v[:1])
    for k in range(6):
        state, report = stepper.step(state, None, PUSHES)
        batch.step(f_ext=PUSHES)
        for joint in JOINTS:
            name = f"force_torque_{joint}"
            for found in (report.sensors[name], runs.sensors[name][0, k], batch.sensors[name][0]):
                np.testing.assert_allclose(found, run.sensors[name][k], rtol=0, atol=1e-9)
    assert abs(runs.measures["load"][0] - run.sensors["force_torque_to_mount"][:-1, 5].max()) < 1e-9


def test_contact_that_cannot_be_divided_is_no_number():
    """Both sides of the fixed joint touch; joints that move are not concerned."""
    run = moving(with_shapes("mount", "upper"), "floating", (), [treesim.Ground()])
    touches = run.contact_wrench("upper")[:-1].any(axis=1)
    assert touches.any()
    assert (np.isnan(run.sensors["force_torque_to_mount"][:-1]).all(axis=1) == touches).all()
    assert np.isfinite(run.joint_wrench("shoulder")[:-1]).all() and np.isfinite(run.joint_wrench("to_bare")[:-1]).all()
    with pytest.raises(treesim.ArgumentError, match=r"contact forces on upper .* fixed joint 'to_mount'"):
        run.joint_wrench("to_mount")


def test_contact_points_divide_the_forces_between_welded_links(tmp_path):
    """One of the two spheres is in the air. The midpoint rule takes moments at other times than the points'."""
    text, ground = with_shapes("mount", "upper"), [treesim.Ground()]
    robot, cut = treesim.load(text, base="floating"), cut_open(text, "floating")
    run = moving(text, "floating", PUSHES, ground, contact_points=True, integrator="semi_implicit_euler")
    touched = {name for label in ("link", "other_link") for name in run.contact.points[label]}
    assert touched & {"mount", "upper"}
    truth = expected(robot, cut, run, PUSHES, touched & {"mount", "upper"})
    loaded = treesim.Trajectory.load(run.save(tmp_path / "run.npz"))
    for joint in ("to_mount", "shoulder"):
        scale = np.abs(truth[joint]).max()
        np.testing.assert_allclose(run.joint_wrench(joint)[:-1], truth[joint], rtol=0, atol=1e-9 * scale)
        assert np.array_equal(loaded.joint_wrench(joint), run.joint_wrench(joint), equal_nan=True)


def test_what_is_not_recorded_is_named_with_the_sensor_that_records_it():
    run = moving(WELDED, "fixed", lambda t, q, v: {"mount": [0, 0, 5, 0, 0, 0]}, sensors=())
    with pytest.raises(
        treesim.ArgumentError, match=r"'to_mount' are not known .*sensors=treesim.ForceTorque\('to_mount'\)"
    ):
        run.joint_wrench("to_mount")
    given = treesim.Trajectory.of(treesim.load(WELDED), run.t, run.q, run.v, run.tau, run.energy)
    with pytest.raises(treesim.ArgumentError, match="no record of how it was made"):
        given.joint_wrench("shoulder")
    with pytest.raises(treesim.UnknownNameError, match="did you mean 'shoulder'"):
        run.joint_wrench("sholder")
    sensed = moving(WELDED, "fixed", lambda t, q, v: {"mount": [0, 0, 5, 0, 0, 0]}, sensors=("to_mount",))
    assert np.isfinite(sensed.joint_wrench("mount")[:-1]).all()


def test_inertias_of_rollouts_are_those_of_whole_bodies():
    robot = treesim.load(WELDED)
    world = treesim.World(robot, sensors=[treesim.ForceTorque("shoulder"), treesim.ForceTorque("to_bare")])
    q, v = np.zeros((2, robot.nq)), np.zeros((2, robot.nv))
    q[:] = robot.neutral()
    mass = {"hand": np.array([1.0, 2.0])}
    runs = treesim.rollout(world, q, v, steps=1, dt=1e-4, model_parameters={"mass": mass})
    heavier = runs.sensors["force_torque_to_bare"][:, 0]
    assert np.abs(heavier[1] - heavier[0]).max() > 1  # the hand moves on a joint of the welded link
    with pytest.raises(treesim.UnsupportedError, match="'force_torque_to_bare' is in a fixed joint of body 'upper'"):
        treesim.rollout(world, q, v, steps=1, model_parameters={"mass": {"upper": np.array([1.0, 2.0])}})


def test_measures_of_wrenches_are_joint_wrenches():
    robot = treesim.load(WELDED)
    rng = np.random.default_rng(0)
    q, v, tau = robot.random(rng), rng.normal(size=robot.nv), rng.normal(size=robot.nv)
    wrench = treesim.measures.joint_wrench(robot, "to_mount")
    last = treesim.measures.last(lambda t, q, v: wrench(q, v, tau)[4])
    runs = treesim.rollout(robot, q, v, np.tile(tau, (1, 5, 1)), measure={"last": last})
    found = treesim.joint_wrenches(robot, runs.q[0, -1], runs.v[0, -1], tau, joints="to_mount")
    assert np.abs(wrench(runs.q[0, -1], runs.v[0, -1], tau) - found).max() == 0
    assert abs(runs.measures["last"][0] - found[4]) < 1e-9 * np.abs(found).max()


@pytest.mark.parametrize("suffix", [".npz", ".nc"])
def test_points_of_older_files_have_no_links(suffix, tmp_path):
    if suffix == ".nc":
        pytest.importorskip("xarray")
    run = moving(with_shapes("mount", "upper"), "floating", (), [treesim.Ground()], contact_points=True)
    old = [name for name in run.contact.points.dtype.names if "link" not in name]
    points = np.zeros(len(run.contact.points), [(name, run.contact.points.dtype[name]) for name in old])
    for name in old:
        points[name] = run.contact.points[name]
    older = replace(run, contact=replace(run.contact, points=points))
    loaded = treesim.Trajectory.load(older.save(tmp_path / f"run{suffix}"))
    assert loaded.contacts(0).dtype.names == tuple(old)
    with pytest.raises(treesim.ArgumentError, match="contact_points=True"):
        loaded.joint_wrench("to_mount")
