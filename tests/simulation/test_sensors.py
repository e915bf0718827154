"""Sensors of worlds: against differences of positions, inverse dynamics, and what is known."""

import pickle

import numpy as np
import pytest

import treesim
from tests import trees
from treesim.simulation.sensors import Steps, read

DT = 1e-3
G1 = "g1_29dof_rev_1_0"
INERTIAL = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'


def run_of(robot, sensors, duration=0.1, q=None, v=None, dt=DT, **options):
    world = treesim.World(robot, use_limits=False, use_joint_friction=False, sensors=sensors)
    return treesim.Simulation(world, dt, **options).run(duration, q, v)


def differences(robot, run, frame, dt):
    """Velocity (K, 3) and acceleration (K, 3) of a frame's origin in the middle of steps, by differences of order 2."""
    x = np.array([treesim.frame_pose(robot, q, frame)[:3, 3] for q in run.q])
    speed = np.diff(x, axis=0) / dt
    return speed, (speed[2:] - speed[:-2]) / (2 * dt)  # of steps 0, 1, ..., and of steps 1, 2, ...


@pytest.mark.parametrize("name", ["random_a", "free_random"])
def test_accelerometers_measure_second_differences_of_order_two(name):
    robot = trees.tree(name)
    frame, rng = robot.body_names[-1], np.random.default_rng(3)
    q, v, errors = robot.random(rng), 0.5 * rng.standard_normal(robot.nv), []
    for n in (1, 2):
        run = run_of(robot, treesim.Imu(frame), 0.02, q, v, DT / n, integrator="rk4")
        _, acceleration = differences(robot, run, frame, DT / n)
        k = np.arange(1, len(acceleration) + 1)[n - 1 :: n]
        R = np.array([treesim.frame_pose(robot, a, frame)[:3, :3] for a in middle(robot, run)[k]])
        expected = np.einsum("kji,kj->ki", R, acceleration[n - 1 :: n] - robot.gravity)
        errors.append(np.abs(run.sensors[f"imu_{frame}"][k, :3] - expected).max())
    assert errors[0] < 1e-2 * np.abs(expected).max() and errors[0] / errors[1] > 3


def middle(robot, run):
    return robot.integrate(run.q[:-1], robot.difference(run.q[:-1], run.q[1:]) / 2)


def test_gyroscopes_measure_the_turn_of_a_step():
    box = treesim.free_body("box", "box", (0.1, 0.2, 0.3), 1.0)
    v = [0, 0, 0, 0.5, 2.0, -1.0]
    run = run_of(box, treesim.Imu("box"), 0.05, None, v)
    turn = box.difference(run.q[:-1], run.q[1:])[:, 3:] / DT
    np.testing.assert_allclose(run.sensors["imu_box"][:-1, 3:], turn, rtol=0, atol=1e-5)
    np.testing.assert_allclose(run.sensors["imu_box"][:-1, :3], 0, atol=1e-5)  # it falls freely


def test_a_standing_robot_feels_gravity_and_its_weight():
    robot = treesim.load(G1, base="floating")
    sensors = [treesim.Imu("pelvis"), treesim.ContactForce("left_ankle_roll_link"), treesim.FramePose("pelvis")]
    sensors += [treesim.ContactForce("right_ankle_roll_link"), treesim.JointTorque()]
    world = treesim.World(robot, ground=treesim.Ground(), sensors=sensors)
    stand = treesim.PD(robot, robot.neutral(), kp=5000.0, kd=250.0)
    run = treesim.Simulation(world, DT, controller=stand).run(1.0, robot.standing(robot.neutral()))
    tilt = treesim.frame_pose(robot, run.q[-2], "pelvis")[:3, :3]
    np.testing.assert_allclose(run.sensors["imu_pelvis"][-2, :3], tilt.T @ [0, 0, 9.81], atol=1e-3)
    feet = sum(run.sensors[f"contact_force_{side}_ankle_roll_link"][-2] for side in ("left", "right"))
    np.testing.assert_allclose(feet, [0, 0, 9.81 * robot.mass], atol=1e-2)
    np.testing.assert_allclose(run.sensors["frame_pose_pelvis"][:-1, :3], run.q[:-1, :3], atol=1e-12)
    assert np.array_equal(run.sensors["joint_torque"][:-1], run.tau[:-1])


@pytest.mark.parametrize("name", ["random_a", "free_random", "random_c"])
def test_force_torque_sensors_transmit_what_inverse_dynamics_need(name):
    """The wrench of a joint along its motions is the joint's force, that of damping and of motors."""
    robot = trees.tree(name)
    joints = [body.joint for body in robot.bodies if body.joint.type in ("revolute", "prismatic", "continuous")]
    rng = np.random.default_rng(1)
    q, v = robot.random(rng), rng.standard_normal(robot.nv)
    sensors = [treesim.ForceTorque(joint.name) for joint in joints]
    forces = [treesim.ExternalForce(robot.body_names[-1], (1.0, 2.0, 3.0), point=(0.1, 0, 0))]
    run = run_of(robot, sensors, 0.01, q, v, external_forces=forces)
    rates, at = np.diff(run.v, axis=0) / DT, middle(robot, run)
    J = treesim.frame_jacobian(robot, at, robot.body_names[-1], reference="world")
    arm = treesim.frame_pose(robot, at, robot.body_names[-1])[:, :3, :3] @ [0.1, 0, 0]
    external = np.einsum("kij,ki->kj", J[:, :3], np.tile([1.0, 2, 3], (len(at), 1)))
    external += np.einsum("kij,ki->kj", J[:, 3:], np.cross(arm, [1.0, 2, 3]))
    no_rotors = robot.with_armature(np.zeros(robot.nv)) if hasattr(robot, "with_armature") else robot
    needed = treesim.inverse_dynamics(no_rotors, at, (run.v[1:] + run.v[:-1]) / 2, rates) - external
    for joint, sensor in zip(joints, sensors, strict=True):
        wrench, axis = run.sensors[sensor.label][:-1], np.asarray(joint.axis)
        along = wrench[:, :3] @ axis if joint.type == "prismatic" else wrench[:, 3:] @ axis
        (k,) = np.arange(robot.nv)[robot.v_index[joint.name]]
        np.testing.assert_allclose(along, needed[:, k], rtol=0, atol=1e-9 * (1 + np.abs(needed).max()))


def test_an_ankle_carries_the_force_on_its_foot():
    robot = treesim.load(G1, base="floating")
    joint, foot = "left_ankle_roll_joint", "left_ankle_roll_link"
    world = treesim.World(
        robot, ground=treesim.Ground(), sensors=[treesim.ForceTorque(joint), treesim.ContactForce(foot)]
    )
    stand = treesim.PD(robot, robot.neutral(), kp=5000.0, kd=250.0)
    run = treesim.Simulation(world, DT, controller=stand).run(1.0, robot.standing(robot.neutral()))
    R = treesim.frame_pose(robot, run.q[-2], foot)[:3, :3]
    mass = robot.bodies[robot.body_names.index(foot)].inertia.mass
    expected = -run.sensors[f"contact_force_{foot}"][-2] - mass * robot.gravity
    np.testing.assert_allclose(R @ run.sensors[f"force_torque_{joint}"][-2, :3], expected, atol=1e-2)


def test_steps_have_the_readings_of_runs():
    robot = treesim.load("ur5")
    sensors = [treesim.Imu("tool0"), treesim.ForceTorque("wrist_1_joint"), treesim.FramePose("tool0", name="tool")]
    world = treesim.World(robot, sensors=[*sensors, treesim.JointTorque()])
    stepper = treesim.Stepper(world, DT)
    run = treesim.Simulation(world, DT, external_forces=[treesim.ExternalForce("tool0", (0, 5, 0))]).run(0.003)
    state = stepper.reset()
    for k in range(3):
        state, report = stepper.step(state, None, treesim.ExternalForce("tool0", (0, 5, 0)))
        assert list(report.sensors) == ["imu_tool0", "force_torque_wrist_1_joint", "tool", "joint_torque"]
        for name, reading in report.sensors.items():
            np.testing.assert_allclose(reading, run.sensors[name][k], rtol=0, atol=1e-12)
    many = stepper.reset(np.zeros((5, 6)))
    assert stepper.step(many)[1].sensors["imu_tool0"].shape == (5, 6)
    again = pickle.loads(pickle.dumps(report))
    assert np.array_equal(again.sensors["tool"], report.sensors["tool"])


@pytest.mark.parametrize(
    ("sensors", "error", "message"),
    [
        (lambda: treesim.Imu("hand"), treesim.UnknownNameError, "hand"),
        (lambda: treesim.ForceTorque("elbow"), treesim.UnknownNameError, "elbow"),
        (lambda: treesim.ContactForce("tool0"), treesim.UnknownNameError, "tool0"),
        (lambda: [treesim.Imu("tool0"), treesim.Imu("tool0")], treesim.ArgumentError, "two sensors are called"),
        (lambda: ["imu"], treesim.ArgumentError, "sensors"),
        (lambda: treesim.Imu(3), treesim.ArgumentError, "frame"),
        (lambda: treesim.JointTorque(""), treesim.ArgumentError, "name"),
    ],
)
def test_bad_sensors_are_named(sensors, error, message):
    with pytest.raises(error, match=message):
        treesim.World(treesim.load("ur5"), sensors=sensors())


TWO_LINKS = """<robot name="r"><link name="base"><inertial><mass value="2"/>
<inertia ixx="0.02" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial>{more}</link><link name="pad"><collision>
<geometry><box size="0.4 0.4 0.02"/></geometry></collision></link><joint name="f" type="fixed"><parent link="base"/>
<child link="pad"/><origin xyz="0 0 -0.1"/></joint></robot>"""
BALL = '<collision><geometry><sphere radius="0.01"/></geometry></collision>'


def test_the_force_on_the_only_link_of_a_body_that_touches_is_that_on_the_body():
    robot = treesim.load(TWO_LINKS.format(more=""), base="floating")
    sensors = [treesim.ContactForce("pad"), treesim.ContactForce("base")]
    run = treesim.Simulation(treesim.World(robot, ground=treesim.Ground(), sensors=sensors)).run(
        0.01, robot.standing(robot.neutral())
    )
    found = run.sensors["contact_force_pad"]
    np.testing.assert_allclose(found[:-1, 2], 2 * 9.81, rtol=1e-9)
    assert np.array_equal(found, run.sensors["contact_force_base"], equal_nan=True)


@pytest.mark.parametrize(
    ("base", "hint"), [("floating", r"ContactForce\('base'\).*contact_points"), ("fixed", "ForceTorque")]
)
def test_the_force_on_one_of_several_links_of_a_body_is_refused_with_the_body(base, hint):
    robot = treesim.load(TWO_LINKS.format(more=BALL), base=base)
    with pytest.raises(treesim.ArgumentError, match=f"link 'pad' is bound to .*{hint}"):
        treesim.World(robot, ground=treesim.Ground(), sensors=[treesim.ContactForce("pad")])


def test_an_unknown_reading_is_named():
    run = run_of(treesim.load("ur5"), treesim.Imu("tool0"), 0.002)
    with pytest.raises(treesim.UnknownNameError, match="imu_tool0"):
        _ = run.sensors["imu_tool"]


def test_readings_of_states_that_are_too_large_are_nan_and_no_run_is_lost():
    world = treesim.World(treesim.load("ur5"), sensors=[treesim.Imu("tool0"), treesim.ForceTorque("elbow_joint")])
    run = treesim.Simulation(world, integrator="semi_implicit_euler").run(0.005, v0=np.full(6, 1e150))
    assert run.stopped and np.isnan(run.sensors["imu_tool0"]).all()
    stepper = treesim.Stepper(world)
    _, report = stepper.step(stepper.reset(v0=[np.full(6, 1e155), np.zeros(6)]))
    assert np.isnan(report.sensors["imu_tool0"][0]).all() and np.isfinite(report.sensors["imu_tool0"][1]).all()


@pytest.mark.parametrize(("far", "measured"), [(9.6e74, True), (-1.04e75, False)])
@pytest.mark.parametrize("of", ["v", "contact"])
def test_states_and_wrenches_beyond_1e75_are_not_measured(of, far, measured):
    """Squares of larger numbers may overflow."""
    robot = treesim.load(f'<robot name="one"><link name="one">{INERTIAL}</link></robot>', base="floating")
    made = {
        **dict.fromkeys(("q", "q_next"), robot.neutral()[None]),
        **dict.fromkeys(("v", "v_next", "tau"), np.zeros((1, 6))),
        "contact": np.zeros((1, 2, 6)),
    }
    made[of] = np.full_like(made[of], far)
    (found,) = read([treesim.JointTorque()], Steps(robot, np.zeros(3), np.full(1, DT), **made))
    assert np.isfinite(found).all() == measured
