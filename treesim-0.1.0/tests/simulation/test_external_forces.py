"""External forces on links: identities, closed forms, and MuJoCo's."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treesim
from tests import trees
from treesim import ExternalForce
from treesim.simulation.external_forces import ExternalJointForces, wrench_table

DT, MU = 1e-3, 0.3
G1 = "g1_29dof_rev_1_0"
HAND = "left_wrist_yaw_link"
WRENCH = np.array([3.0, -2.0, 5.0, 0.3, 0.2, -0.1])


def box(mass=2.0):
    return treesim.free_body("box", "box", (0.2, 0.3, 0.4), mass)


def some_state(robot, seed=0):
    rng = np.random.default_rng(seed)
    return robot.random(rng), 0.3 * rng.standard_normal(robot.nv)


def stepped(robot, f_ext, control=None, steps=1, state=None, **options):
    stepper = treesim.Stepper(robot, DT, **options)
    now = stepper.reset(*(some_state(robot) if state is None else state))
    for _ in range(steps):
        now, report = stepper.step(now, control, f_ext)
    return now, report


@given(robot=trees.random_trees(6), seed=st.integers(0, 1000))
@settings(max_examples=8, deadline=None)
def test_joint_forces_are_those_of_inverse_dynamics(robot, seed):
    q, v, a, _, f_ext = trees.random_state(robot, seed)
    expected = treesim.inverse_dynamics(robot, q, v, a) - treesim.inverse_dynamics(robot, q, v, a, f_ext=f_ext)
    found = ExternalJointForces(robot, engine="generic")(q, v, wrench_table(robot, f_ext, 0.0).ravel())
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11 * (1 + np.abs(expected).max()))


@pytest.mark.parametrize("name", ["random_a", "free_random"])
@pytest.mark.parametrize("frame", ["world", "local"])
def test_forces_at_points_are_those_of_frame_jacobians(name, frame):
    robot = trees.tree(name)
    q, v = some_state(robot)
    link, point, force, torque = robot.body_names[-1], np.array([0.1, -0.2, 0.3]), WRENCH[:3], WRENCH[3:]
    R = treesim.frame_pose(robot, q, link)[:3, :3]
    J = treesim.frame_jacobian(robot, q, link, reference=frame)
    arm = R @ point if frame == "world" else point
    expected = J.T @ np.concatenate([force, torque + np.cross(arm, force)])
    table = wrench_table(robot, ExternalForce(link, force, torque=torque, point=point, frame=frame), 0.0).ravel()
    for engine in ("generic", "specialized"):
        found = ExternalJointForces(robot, engine=engine)(q, v, table)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * (1 + np.abs(expected).max()))


@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "explicit_euler"])
def test_a_step_is_that_under_the_joint_forces(integrator):
    robot = trees.tree("free_random")
    q, _ = some_state(robot)
    link = robot.body_names[-2]
    pushed, report = stepped(robot, {link: WRENCH}, integrator=integrator, substeps=1)
    force = treesim.frame_jacobian(robot, q, link, reference="local").T @ WRENCH
    free, other = stepped(robot, None, force, integrator=integrator, substeps=1)
    np.testing.assert_allclose(pushed.v, free.v, rtol=0, atol=1e-12)
    np.testing.assert_allclose(report.control_work, other.control_work, rtol=1e-10)
    assert not report.force.any()  # that of the controls


def test_ways_of_giving_the_same_forces():
    robot = trees.tree("random_a")
    link = robot.body_names[2]
    every = np.zeros((robot.n_bodies, 6))
    every[2] = WRENCH
    one = ExternalForce(link, WRENCH[:3], torque=WRENCH[3:], frame="local")
    first, _ = stepped(robot, {link: WRENCH})
    R = treesim.frame_pose(robot, some_state(robot)[0], link)[:3, :3]
    world = {(link, "world"): np.concatenate([R @ WRENCH[:3], R @ WRENCH[3:]])}
    how = {"integrator": "semi_implicit_euler", "substeps": 1}  # evaluates forces at the start of the step
    turned, same = stepped(robot, world, **how)[0], stepped(robot, {link: WRENCH}, **how)[0]
    np.testing.assert_allclose(turned.v, same.v, rtol=0, atol=1e-13)
    for given_as in (every, one, [one], [ExternalForce(link, WRENCH[:3], frame="local"), one_of(link)]):
        np.testing.assert_allclose(stepped(robot, given_as)[0].v, first.v, rtol=0, atol=1e-13)


def one_of(link):
    return ExternalForce(link, torque=WRENCH[3:], frame="local")


def test_a_batch_is_its_states():
    robot = trees.tree("random_a")
    link = robot.body_names[-1]
    q, v = some_state(robot)
    wrenches = np.stack([WRENCH, 0 * WRENCH, -WRENCH])
    many, _ = stepped(robot, {link: wrenches}, state=(np.tile(q, (3, 1)), v))
    for b, wrench in enumerate(wrenches):
        np.testing.assert_allclose(many.v[b], stepped(robot, {link: wrench})[0].v, rtol=0, atol=1e-12)
    np.testing.assert_allclose(many.v[1], stepped(robot, None)[0].v, rtol=0, atol=1e-12)


def test_mimic_joints_loops_and_backends_of_python():
    panda = treesim.load("panda")
    link = "panda_leftfinger"
    assert panda.mimic_map is not None
    by = [stepped(panda, {link: WRENCH}, backend=backend)[0].v for backend in ("aba", "crba_ltdl", "innovations")]
    for other in by[1:]:
        np.testing.assert_allclose(other, by[0], rtol=0, atol=1e-9)
    q, _ = some_state(panda)
    force = treesim.frame_jacobian(panda, q, link, reference="local").T @ WRENCH
    how = {"integrator": "semi_implicit_euler", "substeps": 1}
    np.testing.assert_allclose(
        stepped(panda, {link: WRENCH}, **how)[0].v, stepped(panda, None, force, **how)[0].v, rtol=0, atol=1e-11
    )


def test_a_world_force_on_a_turning_body_is_of_second_order():
    """The momentum of a free body changes by the force's impulse, whatever the body turns."""
    errors = []
    for n in (1, 2):
        stepper = treesim.Stepper(box(), DT / n, substeps=1)
        state = stepper.reset(None, [0, 0, 0, 3.0, 5.0, 1.0])
        for _ in range(200 * n):
            state, _ = stepper.step(state, None, ExternalForce("box", (1, 2, 3), point=(0.1, 0, 0)))
        impulse = 0.2 * (np.array([1, 2, 3.0]) + 2.0 * box().gravity)
        errors.append(np.abs(treesim.momentum(stepper.robot, state.q, state.v)[:3] - impulse).max())
    assert errors[0] < 1e-5 and errors[0] / errors[1] == pytest.approx(4, rel=0.1)


def test_effort_limits_do_not_clip_external_forces():
    robot = treesim.load("ur5")
    limit = robot.effort_limit
    link, big = "wrist_3_link", np.array([0, 0, 5000.0, 0, 0, 0])
    q, v = some_state(robot)
    how = {"integrator": "semi_implicit_euler", "substeps": 1}
    _, report = stepped(robot, {link: big}, 10 * limit, **how)
    assert np.array_equal(report.force, limit)
    force = limit + treesim.frame_jacobian(robot, q, link, reference="local").T @ big
    expected = v + DT * treesim.forward_dynamics(robot, q, v, force)
    free = treesim.World(robot, use_limits=False, use_joint_friction=False)
    np.testing.assert_allclose(stepped(free, {link: big}, 10 * limit, state=(q, v), **how)[0].v, expected, rtol=1e-9)


def test_energy_balance_includes_the_work_of_forces():
    world = treesim.World(box(), ground=treesim.Ground(friction=MU))
    force = ExternalForce("box", (15.0, 0, 0), start=0.05, stop=0.25)
    run = treesim.Simulation(world, DT, external_forces=force).run(0.4, [0, 0, 0.2, 0, 0, 0, 1])
    assert np.abs(run.energy_error).max() < 1e-9 * run.metadata["energy_range"] + 1e-10
    friction = MU * 2 * 9.81
    assert run.v[50, 0] == pytest.approx(0, abs=1e-12)  # the force has not begun
    assert run.v[250, 0] == pytest.approx((15 - friction) / 2 * 0.2, rel=1e-9)
    assert run.work[-1, 0] == pytest.approx(15 * (15 - friction) / 4 * 0.2**2, rel=1e-9)


def test_below_the_friction_cone_the_ground_takes_the_force():
    world = treesim.World(box(), ground=treesim.Ground(friction=MU))
    at_foot = ExternalForce("box", (4.0, 0, 4.0), point=(0, 0, -0.2))
    run = treesim.Simulation(world, DT, external_forces=[at_foot]).run(0.1, [0, 0, 0.2, 0, 0, 0, 1])
    np.testing.assert_allclose(run.v[-1], 0, atol=1e-9)
    np.testing.assert_allclose(run.contact_wrench("box")[-2, :3], [-4.0, 0, 2 * 9.81 - 4.0], atol=2e-5)  # of order h^2


MJCF = """
<mujoco><option timestep="1e-3" cone="elliptic" impratio="100" tolerance="1e-12"/><worldbody>
<geom type="plane" size="0 0 1" friction="0.3 0 0" solref="0.004 1"/>
<body pos="0 0 0.2"><freejoint/><geom type="box" size="0.1 0.15 0.2" mass="2" friction="0 0 0"/></body>
</worldbody></mujoco>
"""


def test_a_pushed_slide_is_that_of_mujoco():
    """An opinion: its contact is soft."""
    mujoco = pytest.importorskip("mujoco")
    model = mujoco.MjModel.from_xml_string(MJCF)
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data, 500)  # until it rests on its soft contact
    data.xfrc_applied[1, :3] = 15.0, 4.0, 3.0
    mujoco.mj_step(model, data, 200)
    world = treesim.World(box(), ground=treesim.Ground(friction=MU))
    force = ExternalForce("box", (15.0, 4.0, 3.0))
    run = treesim.Simulation(world, DT, external_forces=force).run(0.2, [0, 0, 0.2, 0, 0, 0, 1])
    np.testing.assert_allclose(run.v[-1, :2], data.qvel[:2], rtol=0.02)


def test_a_force_on_a_hand_arrives_whole_on_the_ground():
    """The momentum of g1 on the ground changes by the impulses of gravity, of contact and of the force."""
    robot = treesim.load(G1, base="floating")
    world = treesim.World(robot, ground=treesim.Ground())
    stand = treesim.PD(robot, robot.neutral(), kp=2000.0, kd=100.0)
    force = ExternalForce(HAND, (0, 0, 200.0))
    simulation = treesim.Simulation(world, DT, controller=stand, external_forces=force)
    run = simulation.run(0.05, robot.standing(robot.neutral()))
    feet = sum(run.contact_wrench(f"{side}_ankle_roll_link")[:-1, :3] for side in ("left", "right"))
    weight = robot.mass * robot.gravity
    momentum = treesim.momentum(robot, run.q, run.v)[:, :3]
    expected = DT * (feet + weight + [0, 0, 200.0]).sum(0)  # 10 N s are the force's
    np.testing.assert_allclose(momentum[-1] - momentum[0], expected, atol=2e-5)


def test_simulations_repeat_and_continue():
    robot = treesim.load("ur5")
    forces = [ExternalForce("wrist_3_link", (5.0, 0, 0), stop=0.02), ExternalForce("forearm_link", torque=(0, 1.0, 0))]
    simulation = treesim.Simulation(robot, DT, external_forces=forces)
    run = simulation.run(0.04)
    assert treesim.replay(run).same
    first = simulation.run(0.01)
    assert np.array_equal(simulation.run_from(0.03, first).q[-1], run.q[-1])
    assert np.array_equal(pickle.loads(pickle.dumps(simulation)).run(0.04).q, run.q)
    free = treesim.Simulation(robot, DT).run(0.04)
    assert np.array_equal(treesim.Simulation(robot, DT, external_forces=[]).run(0.04).q, free.q)
    late = treesim.Simulation(robot, DT, external_forces=[ExternalForce("wrist_3_link", (5, 0, 0), start=1.0)])
    assert np.array_equal(late.run(0.04).q, free.q)


def test_a_function_of_the_state_is_an_external_force():
    """A spring between a body and a point of the world swings at its frequency."""
    body = box()
    k = 2.0 * (2 * np.pi) ** 2  # one second a period
    world = treesim.World(body)

    def spring(t, q, v):
        return [ExternalForce("box", -k * q[:3] - 2.0 * body.gravity)]

    run = treesim.Simulation(world, DT, external_forces=spring).run(1.0, [0.1, 0, 0, 0, 0, 0, 1])
    assert run.q[-1, 0] == pytest.approx(0.1, abs=1e-3)
    with pytest.raises(treesim.ArgumentError, match="external_forces"):
        treesim.replay(run)


BAD = {
    "unknown link": (lambda: {"hand": WRENCH}, treesim.UnknownNameError, "hand"),
    "shape": (lambda: {"wrist_3_link": np.zeros(5)}, treesim.ArgumentError, "wrist_3_link"),
    "not finite": (lambda: {"wrist_3_link": np.full(6, np.nan)}, treesim.NonFiniteError, "wrist_3_link"),
    "bodies": (lambda: np.zeros((5, 6)), treesim.ArgumentError, "f_ext"),
    "not finite of a body": (lambda: np.diag([np.inf] * 6), treesim.NonFiniteError, "shoulder_link"),
    "text": (lambda: "up", treesim.ArgumentError, "f_ext"),
    "frame": (lambda: {("wrist_3_link", "body"): WRENCH}, treesim.ArgumentError, r'pairs \(name, "world"\)'),
    "of the world": (lambda: {"world": WRENCH}, (treesim.ArgumentError, treesim.UnknownNameError), "world"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_forces_are_named(case):
    given_as, error, message = BAD[case]
    with pytest.raises(error, match=message):
        stepped(treesim.load("ur5"), given_as())


@pytest.mark.parametrize(
    ("made", "error", "message"),
    [
        (lambda: ExternalForce("hand", force=(0, 0)), treesim.ArgumentError, "force must be 3 finite"),
        (lambda: ExternalForce("hand", torque=(0, 0, np.nan)), treesim.ArgumentError, "torque must be 3 finite"),
        (lambda: ExternalForce("hand", frame="body"), treesim.UnknownNameError, "frame"),
        (lambda: ExternalForce("hand", start=2.0, stop=1.0), treesim.ArgumentError, "stop must be a time after start"),
        (lambda: ExternalForce(3), treesim.ArgumentError, "link"),
        (lambda: simulated(external_forces=[1]), treesim.ArgumentError, "external_forces must be"),
        (lambda: simulated(external_forces=lambda t: None), treesim.ArgumentError, "must take"),
        (lambda: simulated(external_forces=ExternalForce("hand")), treesim.UnknownNameError, "hand"),
    ],
)
def test_bad_arguments_are_named(made, error, message):
    with pytest.raises(error, match=message):
        made()


def simulated(**options):
    return treesim.Simulation(treesim.load("ur5"), DT, **options)


@pytest.mark.parametrize(
    ("t", "acts"),
    [(1 - 1.05e-9, False), (1 - 0.95e-9, True), (2 - 1.05e-9, True), (2 - 0.95e-9, False)],
)
def test_times_that_differ_by_rounding_are_one(t, acts):
    """Of external forces and of pushes, in the steps at which they begin and end."""
    assert ExternalForce("box", (0, 0, 1), start=1.0, stop=2.0).acts(t) == acts
    robot = treesim.free_body("box", "sphere", (0.1,), 2.0)
    push = treesim.Pushed(None, robot, (0, 0, 1), start=1.0, duration=1.0)
    assert push.torque(t, robot.neutral(), np.zeros(6)).any() == acts
