"""Contact points of steps: what they add up to, where they are, and centres of pressure."""

import pickle

import numpy as np
import pytest

import treesim

DT = 1e-3
RULES = ("implicit_midpoint", "semi_implicit_euler")


def wrench_of(points, name, origin):
    """Force and moment about the origin (3,) that points exert on a body or surface."""
    total = np.zeros(6)
    for one, side in (("body", 1), ("other", -1)):
        mine = points[points[one] == name]
        moment = np.cross(mine["position"] - origin, mine["force"]) + mine["torque"]
        total += side * np.concatenate([mine["force"].sum(0), moment.sum(0)])
    return total


def pile():
    """A box on the ground, a ball and a capsule on it, all moving."""
    boxes = [
        treesim.free_body("box", "box", (0.4, 0.4, 0.2), 5.0),
        treesim.free_body("rod", "capsule", (0.05, 0.3), 1.0),
    ]
    ball = treesim.free_body("ball", "sphere", (0.1,), 1.0)
    surface = treesim.Surface(friction=0.6, rolling_friction=0.01, torsional_friction=0.02)
    ground = [
        treesim.Ground(name="floor"),
        treesim.StaticBox((1, 1, 1), placement=treesim.Placement(translation=(0.9, 0, 0))),
    ]
    world = treesim.World(ball, bodies=boxes, ground=ground, surface=surface)
    q = np.concatenate(
        [[0, 0, 0.3, 0, 0, 0, 1], [0.05, 0, 0.1, 0, 0, 0, 1], [0, -0.15, 0.25, 0, np.sqrt(0.5), 0, np.sqrt(0.5)]]
    )
    v = np.concatenate([[0.3, 0.1, 0, 0.5, 0, 2.0], [0.5, 0.2, 0, 0, 0, 0.3], [0, 0, 0, 0, 0.1, 0]])
    return world, q, v


@pytest.mark.parametrize("integrator", RULES)
def test_points_add_up_to_wrenches_and_pairs(integrator):
    world, q, v = pile()
    stepper = treesim.Stepper(world, DT, integrator=integrator, substeps=1)
    state = stepper.reset(q, v)
    for k in range(60):
        before, (state, report) = state, stepper.step(state)
        if k % 6:
            continue
        points, poses = report.contact.points, treesim.body_poses(world.robot, before.q)
        scale = 1e-12 * (1 + np.abs(report.contact.wrench).max())
        for i, name in enumerate(world.robot.body_names, start=1):
            exact = report.contact.wrench_array[i]
            np.testing.assert_allclose(wrench_of(points, name, poses[i][:3, 3]), exact, rtol=0, atol=scale)
        np.testing.assert_allclose(
            wrench_of(points, "floor", 0), report.contact.between("floor", "box"), rtol=0, atol=scale
        )
        assert len(points) == report.contact.count
        assert report.contact.penetration == pytest.approx(max(0, -points["gap"].min()), abs=1e-15)


def test_parts_of_substeps_add_up_to_the_mean():
    world, q, v = pile()
    stepper = treesim.Stepper(world, DT, substeps=3)
    _, report = stepper.step(stepper.reset(q, v))
    points = report.contact.points
    assert set(points["substep"]) == {0, 1, 2}
    for name in world.robot.body_names:
        np.testing.assert_allclose(wrench_of(points, name, 0)[:3], report.contact.wrench[name][:3], rtol=0, atol=1e-11)


def test_a_sliding_box():
    box = treesim.free_body("box", "box", (0.2, 0.2, 0.1), 2.0)
    world = treesim.World(box, ground=treesim.Ground(friction=0.3))
    stepper = treesim.Stepper(world, DT, integrator="semi_implicit_euler")
    state, report = stepper.step(stepper.reset([0, 0, 0.05, 0, 0, 0, 1], [1.0, 0, 0, 0, 0, 0]))
    points = report.contact.points
    assert list(points["body"]) == ["box"] * 4 and list(points["other"]) == ["ground[0]"] * 4
    np.testing.assert_allclose(np.abs(points["position"][:, :2]), 0.1, atol=2e-3)
    np.testing.assert_allclose(points["position"][:, 2], 0, atol=1e-12)
    np.testing.assert_allclose(points["normal"], [[0, 0, 1]] * 4, atol=1e-15)
    np.testing.assert_allclose(points["gap"], 0, atol=1e-12)
    np.testing.assert_allclose(points["force"].sum(0), [-0.3 * 2 * 9.81, 0, 2 * 9.81], atol=1e-9)
    np.testing.assert_allclose(points["velocity"], [[state.v[0], 0, 0]] * 4, atol=1e-9)


def test_points_near_the_ground_have_no_force():
    ball = treesim.free_body("ball", "sphere", (0.1,), 1.0)
    world = treesim.World(ball, ground=treesim.Ground())
    stepper = treesim.Stepper(world, DT, integrator="semi_implicit_euler")
    _, report = stepper.step(stepper.reset([0, 0, 0.101, 0, 0, 0, 1]))
    (point,) = report.contact.points
    assert point["gap"] == pytest.approx(1e-3 - 9.81e-6, abs=1e-9) and not point["force"].any()
    assert point["velocity"] == pytest.approx([0, 0, -9.81e-3])
    _, report = stepper.step(stepper.reset([0, 0, 0.5, 0, 0, 0, 1]))
    assert len(report.contact.points) == 0


@pytest.mark.parametrize("name", ["g1_29dof_rev_1_0", "go2"])
def test_the_center_of_pressure_is_below_the_center_of_mass(name):
    robot = treesim.load(name, base="floating")
    world = treesim.World(robot, ground=treesim.Ground())
    posture = robot.clamp(robot.neutral())
    stepper = treesim.Stepper(world, DT, integrator="semi_implicit_euler", kp=5000.0, kd=150.0)
    target = robot.difference(robot.neutral(), posture)  # coordinates of the joints
    state = stepper.reset(treesim.standing(robot, posture))
    for _ in range(5000):
        state, report = stepper.step(state, target)
    points = report.contact.points
    weight = points["force"][:, 2]
    pressure = (points["position"] * weight[:, None]).sum(0) / weight.sum()
    assert weight.sum() == pytest.approx(9.81 * robot.mass, rel=1e-9)
    np.testing.assert_allclose(pressure[:2], treesim.center_of_mass(robot, state.q)[:2], rtol=0, atol=1e-9)


def test_under_external_forces_and_after_pickling():
    box = treesim.free_body("box", "box", (0.2, 0.2, 0.1), 2.0)
    world = treesim.World(box, ground=treesim.Ground())
    stepper = treesim.Stepper(world, DT)
    _, report = stepper.step(stepper.reset([0, 0, 0.05, 0, 0, 0, 1]), None, {"box": [0, 0, -5.0, 0, 0, 0]})
    again = pickle.loads(pickle.dumps(report))
    for each in (report, again):
        assert each.contact.points["force"][:, 2].sum() == pytest.approx(2 * 9.81 + 5, rel=1e-9)


def test_batches_are_refused():
    ball = treesim.free_body("ball", "sphere", (0.1,), 1.0)
    stepper = treesim.Stepper(treesim.World(ball, ground=treesim.Ground()), DT)
    _, report = stepper.step(stepper.reset(np.tile([0, 0, 0.1, 0, 0, 0, 1.0], (3, 1))))
    with pytest.raises(treesim.UnsupportedError, match="one state"):
        _ = report.contact.points


def test_worlds_without_contact_have_no_points():
    stepper = treesim.Stepper(treesim.load("ur5"))
    assert len(stepper.step(stepper.reset())[1].contact.points) == 0


@pytest.mark.parametrize("controller", ["none", "hold", "function"])
def test_runs_keep_contact_points(controller, tmp_path):
    world, q, v = pile()
    drive = {"none": None, "hold": treesim.PD(world.robot, world.robot.neutral()), "function": lambda t, q, v: 0 * v}
    how = {"controller": drive[controller]}
    simulation = treesim.Simulation(world, DT, contact_points=True, **how)
    run = simulation.run(0.02, q, v)
    if controller != "function":
        again = pickle.loads(pickle.dumps(simulation)).run_from(0.01, run)
        assert np.array_equal(again.q, simulation.run_from(0.01, run).q), "it can be stored after a run, too"
    assert np.array_equal(run.q, treesim.Simulation(world, DT, **how).run(0.02, q, v).q)
    path = tmp_path / "run.npz"
    run.save(path)
    again = treesim.Trajectory.load(path)
    for k in (0, 7, 19, -2):
        points, origin = run.contacts(k), treesim.body_poses(world.robot, run.q[k])[1:, :3, 3]
        assert len(points) and np.array_equal(points, again.contacts(k))
        for i, name in enumerate(world.robot.body_names):
            np.testing.assert_allclose(
                wrench_of(points, name, origin[i])[:3], run.contact_wrench(name)[k, :3], atol=1e-10
            )
    assert len(run.contacts(-1)) == 0  # no step
    if controller != "function":
        assert treesim.replay(again).same
    path = tmp_path / "run.csv"
    run.save(path)
    with pytest.raises(treesim.ArgumentError, match="were not recorded"):
        treesim.Trajectory.load(path).contacts(0)


def test_bad_indices_and_runs_without_points_are_named():
    ball = treesim.free_body("ball", "sphere", (0.1,), 1.0)
    world = treesim.World(ball, ground=treesim.Ground())
    run = treesim.Simulation(world, DT, contact_points=True).run(0.01, [0, 0, 0.1, 0, 0, 0, 1])
    for k in (11, -12, 0.5, "first"):
        with pytest.raises(treesim.ArgumentError, match="index of one of 11 states"):
            run.contacts(k)
    with pytest.raises(treesim.ArgumentError, match="contact_points=True"):
        treesim.Simulation(world, DT).run(0.01, [0, 0, 0.1, 0, 0, 0, 1]).contacts(0)
    with pytest.raises(treesim.ArgumentError, match="no contact"):
        treesim.Simulation(treesim.load("ur5"), integrator="rk4").run(0.01).contacts(0)


def test_reports_of_simulations_find_points_when_they_are_read_and_pickles_keep_them():
    crate = treesim.free_body("crate", "box", (0.2, 0.2, 0.2), 1.0)
    simulation = treesim.Simulation(treesim.World(crate, ground=treesim.Ground()))
    q, v = simulation.initial_state([0, 0, 0.1, 0, 0, 0, 1])
    simulation.step(0.0, q, v)
    again = pickle.loads(pickle.dumps(simulation)).system.contact.points
    points = simulation.system.contact.points
    assert np.array_equal(again, points)
    np.testing.assert_allclose(points["force"].sum(axis=0), [0, 0, 9.81], rtol=0, atol=1e-9)
