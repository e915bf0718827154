"""Dynamics of robots whose joints follow others: every backend against dense algebra, closed forms, and steps."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treesim
from tests import trees
from tests.coupled import coupled, dense, in_the_interpreter, residual, state, with_mimics
from tests.trees import relative_error
from treesim import Body, Inertia, Joint, Mimic, Placement, Tree, UnsupportedError, plugins
from treesim.compare.source import without_losses
from treesim.dynamics.base import Capabilities, CompiledBackend

BACKENDS = treesim.available("dynamics")
COMPILED = [name for name in BACKENDS if isinstance(plugins.get("dynamics", name), CompiledBackend)]
LENT_TO = [name for name in COMPILED if plugins.get("dynamics", name).negative_rotors]
EXACT = 1e-10
REAL = ("panda", "baxter", "tiago_pro", "talos_full_v2", "pr2", "xarm6_with_gripper", "romeo")


class Foreign:
    """Somebody's backend, which knows nothing of followers."""

    name = "foreign"
    capabilities = Capabilities()

    def __str__(self):
        return self.name

    def forward_dynamics(self, robot, q, v, tau, f_ext=None, gravity=None, armature=None):
        assert robot.mimic_map is None
        return treesim.forward_dynamics(
            robot, q, v, tau, f_ext=f_ext, backend="crba_ltdl", gravity=gravity, armature=armature
        )


def bound_of(name):
    return EXACT if plugins.get("dynamics", name).capabilities.error_factor < 1e3 else 1e-8


def gripper(k=-0.5, masses=(0.3, 0.2), rotors=(0.1, 0.05)) -> Tree:
    """Two fingers that slide along x on a palm that is held."""
    palm = [
        Body("left", 0, Joint("left", "prismatic", axis=(1, 0, 0), armature=rotors[0]), Inertia(masses[0])),
        Body("right", 0, Joint("right", "prismatic", axis=(1, 0, 0), armature=rotors[1], mimic=Mimic("left", k, 0.1)),
             Inertia(masses[1])),
    ]  # fmt: skip
    return Tree("gripper", palm)


@pytest.mark.parametrize("name", COMPILED)
@settings(max_examples=6)
@given(seed=st.integers(0, 30))
def test_every_backend_solves_the_reduced_equation(name, seed):
    robot = coupled(seed)
    q, v, tau, _ = state(robot, seed)
    qdd = in_the_interpreter(plugins.get("dynamics", name), robot, q, v, tau)
    assert residual(robot, qdd, q, v, tau) < bound_of(name)


@pytest.mark.parametrize("backend", ["aba", "crba_ltdl", "reference", "auto", Foreign()], ids=str)
def test_wrenches_gravity_and_armature_count(backend):
    robot = coupled(1)
    q, v, tau, f_ext = state(robot)
    armature = np.linspace(0.1, 1, robot.nv)
    qdd = treesim.forward_dynamics(robot, q, v, tau, f_ext=f_ext, backend=backend, armature=armature)
    assert residual(robot, qdd, q, v, tau, f_ext, armature) < EXACT
    gravity = [1.0, 2.0, -3.0]
    qdd = treesim.forward_dynamics(robot, q, v, tau, f_ext=f_ext, backend=backend, gravity=gravity)
    found = treesim.inverse_dynamics(robot, q, v, qdd, f_ext=f_ext, gravity=gravity)
    np.testing.assert_allclose(found, tau, rtol=0, atol=EXACT * (1 + np.abs(tau).max()))


@pytest.mark.parametrize("engine", ["generic", "specialized"])
def test_a_batch_is_its_states(engine):
    robot, rng = coupled(2), np.random.default_rng(0)
    q = np.array([robot.random(rng) for _ in range(70)])
    v, tau = rng.normal(size=(2, 70, robot.nv))
    qdd = treesim.forward_dynamics(robot, q, v, tau, engine=engine)
    bound = treesim.Dynamics(robot, engine=engine)
    np.testing.assert_allclose(bound.forward_dynamics(q, v, tau), qdd, rtol=1e-12)
    for k in (0, 33, 69):
        assert residual(robot, qdd[k], q[k], v[k], tau[k]) < EXACT
        np.testing.assert_allclose(bound.forward_dynamics(q[k], v[k], tau[k]), qdd[k], rtol=1e-9)


@given(seed=st.integers(0, 30))
@settings(max_examples=8)
def test_inverse_dynamics_mass_matrix_and_energy_are_the_spanning_trees(seed):
    robot = coupled(seed)
    whole, G = robot.spanning, robot.mimic_map.G
    q, v, a, f_ext = state(robot, seed)
    Q, V, A = robot.expand(q), robot.expand_velocity(v), robot.expand_velocity(a)
    expected = G.T @ treesim.inverse_dynamics(whole, Q, V, A, f_ext=f_ext)
    M, C = dense(robot, q, v, f_ext)
    for found, wanted in (
        (treesim.inverse_dynamics(robot, q, v, a, f_ext=f_ext), expected),
        (treesim.inverse_dynamics(robot, q, v, a, f_ext=f_ext, method="composite"), expected),
        (treesim.bias_forces(robot, q, v, f_ext=f_ext), C),
        (treesim.mass_matrix(robot, q), M),
        (treesim.mass_matrix(robot, q, method="direct"), M),
        (treesim.mass_matrix(robot, q, method="symmetry"), M),
        (np.array(treesim.energy(robot, q, v)), np.array(treesim.energy(whole, Q, V))),
        (treesim.momentum(robot, q, v), treesim.momentum(whole, Q, V)),
        (M @ treesim.solve_mass_matrix(robot, q, a), a),
        (M @ treesim.inverse_mass_matrix(robot, q), np.eye(robot.nv)),
        (M @ treesim.Dynamics(robot).inverse_mass_matrix(q), np.eye(robot.nv)),
    ):
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-11 * (1 + np.abs(wanted).max()))


@pytest.mark.parametrize("name", ["panda", "tiago_pro"])
def test_the_inverse_mass_matrix_of_real_robots(name):
    """Of single states and of batches; symmetric to the bit, as for other robots."""
    robot, rng = treesim.load(name), np.random.default_rng(0)
    q = np.array([robot.random(rng) for _ in range(65)])
    bound, single = treesim.Dynamics(robot), treesim.Dynamics(robot, dtype=np.float32)
    for M, found, own in zip(treesim.mass_matrix(robot, q), treesim.inverse_mass_matrix(robot, q), q, strict=True):
        for inverse in (found, treesim.inverse_mass_matrix(robot, own), bound.inverse_mass_matrix(own)):
            error, unit = M @ inverse - np.eye(robot.nv), np.abs(M) @ np.abs(inverse)
            assert (np.abs(error) <= 1e-14 * unit.max()).all() and np.array_equal(inverse, inverse.T)
        rough = single.inverse_mass_matrix(own)
        assert rough.dtype == np.float32 and abs(M @ rough - np.eye(robot.nv)).max() <= 1e-5 * unit.max()


@pytest.mark.parametrize("backend", ["aba", "crba_ltdl", "reference", Foreign()], ids=str)
@pytest.mark.parametrize("k", [1.0, -1.0, -0.5, 3.0])
def test_parallel_gripper(backend, k):
    """M = m_a + rho_a + k^2 (m_b + rho_b); gravity is across."""
    robot = gripper(k)
    qdd = treesim.forward_dynamics(robot, [0.02], [0.7], [0.9], backend=backend)
    np.testing.assert_allclose(qdd, 0.9 / (0.3 + 0.1 + k * k * (0.2 + 0.05)), rtol=1e-14)


@pytest.mark.parametrize("backend", ["aba", "crba_ltl", "reference", Foreign()], ids=str)
def test_rotors_move_followers_without_inertia(backend):
    robot = gripper(2.0, (0.3, 0.0), (0.4, 0.0))
    np.testing.assert_allclose(treesim.forward_dynamics(robot, [0], [0], [0.7], backend=backend), 1.0, rtol=1e-14)


@pytest.mark.parametrize("masses", [(0.3, 0.0), (0.0, 0.3)])
@pytest.mark.parametrize("backend", [*LENT_TO, "reference", "auto"])
def test_joints_without_inertia_move_with_those_that_have_some(backend, masses):
    """M = m_a + k^2 m_b, of which one is zero: the spanning tree's own mass matrix is singular, the robot's is not."""
    robot = gripper(2.0, masses, (0.0, 0.0))
    wrench = np.array([[0.2, 0, 0, 0, 0, 0], [0.1, 0, 0, 0, 0, 0]])  # that on a link without mass counts, too
    qdd = treesim.forward_dynamics(robot, [0], [0], [0.7], f_ext=wrench, backend=backend)
    np.testing.assert_allclose(qdd, (0.7 + 0.2 + 2 * 0.1) / (masses[0] + 4 * masses[1]), rtol=1e-12)


def idle(seed):
    """A tree with followers on a floating base, some of which, with what they carry, have no inertia."""
    robot = coupled(2 * seed + 1)
    tips = {"tip": "body_9", "second tip": "body_4"}
    bodies = [*robot.bodies]
    for name, on in tips.items():
        place = Placement.from_xyz_rpy((0.1, 0.2, -0.3), (0.4, 0.5, 0.6))
        line = Mimic(robot.mimic_map.mimicked_joints[0], -1.7, 0.2)
        bodies.append(
            Body(
                name,
                1 + robot.body_names.index(on),
                Joint(name, "revolute", placement=place, axis=(0, 0, 1), mimic=line),
            )
        )
    return Tree("idle", [replace(b, joint=replace(b.joint, armature=0.0)) for b in bodies])


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("name", LENT_TO)
def test_every_backend_moves_followers_without_inertia(name, seed):
    robot = idle(seed)
    q, v, tau, _ = state(robot, seed)
    qdd = in_the_interpreter(plugins.get("dynamics", name), robot, q, v, tau)
    assert residual(robot, qdd, q, v, tau) < 1e-2 * bound_of(name)


@pytest.mark.slow
def test_worlds_and_operational_space_of_followers_without_inertia():
    robot = idle(0)
    q, v, _, _ = state(robot)
    M, _ = dense(robot, q, v)
    J = np.vstack([treesim.frame_jacobian(robot, q, frame) for frame in ("tip", "body_7")])
    expected = J @ np.linalg.solve(M, J.T)
    found = treesim.inverse_operational_inertia(robot, q, ["tip", "body_7"])
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10 * np.abs(expected).max())
    space = treesim.operational_space(robot, q, v, ["body_7"])
    np.testing.assert_allclose(space.inverse_inertia, expected[6:, 6:], rtol=0, atol=1e-10 * np.abs(expected).max())
    held = treesim.constrained_dynamics(
        robot, q, v, 0 * v, treesim.FrameConstraint("tip", rows="linear"), armature=robot.armature + 0.1
    )
    assert np.abs(held.residual).max() < 1e-8
    world = treesim.World(robot, treesim.FrameConstraint("tip", rows="linear"), q=q, use_limits=False)
    stepper = treesim.Stepper(world)
    now = stepper.reset(q)
    for _ in range(5):
        now, report = stepper.step(now)
    assert np.abs(report.residual).max() < 1e-12


def test_joints_whose_leaders_and_followers_all_lack_inertia_are_named():
    robot = gripper(2.0, (0.0, 0.0), (0.0, 0.0))
    with pytest.raises(treesim.SingularInertiaError, match=r"joint '(left|right)' moves no inertia"):
        treesim.forward_dynamics(robot, [0], [0], [0.7])


@pytest.mark.parametrize("backend", [name for name in COMPILED if name not in LENT_TO])
def test_methods_that_need_inertia_of_every_body_say_so(backend):
    robot = gripper(2.0, (0.3, 0.0), (0.0, 0.0))
    with pytest.raises(
        UnsupportedError, match=f"backend '{backend}' does not support .* such as 'right' of .*use 'aba'"
    ):
        treesim.forward_dynamics(robot, [0], [0], [0.7], backend=backend)
    with pytest.raises(UnsupportedError, match="does not support"):
        treesim.Stepper(robot, backend=backend)


def test_backends_of_others_cannot_move_followers_without_inertia():
    with pytest.raises(UnsupportedError, match="backend 'foreign' does not support mimic joints"):
        treesim.forward_dynamics(gripper(2.0, (0.3, 0.0), (0.0, 0.0)), [0], [0], [0.7], backend=Foreign())


def test_states_of_the_spanning_tree_are_refused():
    robot = coupled(1)
    q, v, _, _ = state(robot)
    Q, V = robot.expand(q), robot.expand_velocity(v)
    for call in (
        lambda: treesim.forward_dynamics(robot, Q, V, V),
        lambda: treesim.inverse_dynamics(robot, Q, V, V),
        lambda: treesim.energy(robot, Q, V),
        lambda: treesim.mass_matrix(robot, Q),
        lambda: treesim.frame_pose(robot, Q, "body_3"),
        lambda: treesim.Dynamics(robot).forward_dynamics(Q, V, V),
    ):
        with pytest.raises(treesim.ArgumentError, match="shape"):
            call()


def test_quaternions_behind_followers_are_checked():
    ball = Body("ball", 2, Joint("ball", "spherical"), Inertia(1, rotational=np.eye(3)))
    robot = Tree("gripper with a ball", [*gripper().bodies, ball])
    q, v, tau, _ = state(robot)
    assert residual(robot, treesim.forward_dynamics(robot, q, v, tau), q, v, tau) < EXACT
    q[robot.q_index["ball"]] *= 1.1
    for states in (q, np.tile(q, (100, 1))):
        with pytest.raises(treesim.ArgumentError, match=r"quaternion of joint 'ball' has length 1.1"):
            treesim.forward_dynamics(robot, states, v, tau)


@pytest.mark.filterwarnings("ignore::treesim.FrictionWarning")
@pytest.mark.parametrize(
    "integrator",
    [
        pytest.param(name, marks=[pytest.mark.slow] * (name not in ("implicit_midpoint", "rk4")))
        for name in treesim.available("integrators")
    ],
)
def test_steps_are_those_of_any_backend(integrator):
    """By a compiled kernel, by numpy, and by a backend that knows no followers: damping, friction, and followers."""
    robot = rough(coupled(1))
    q, v, _, _ = state(robot)
    runs = [
        treesim.Simulation(robot, integrator=integrator, backend=backend).run(0.01, q, 0.3 * v)
        for backend in ("aba", "reference", Foreign())
    ]
    for run in runs[1:]:
        np.testing.assert_allclose(run.q, runs[0].q, rtol=0, atol=1e-11)
        np.testing.assert_allclose(run.work, runs[0].work, rtol=0, atol=1e-10)


def rough(robot):
    """The robot with damping and friction in all simple joints, those of followers included."""
    bodies = [
        replace(body, joint=replace(body.joint, damping=0.2, joint_friction=0.05, effort_limit=3.0))
        if body.joint.nv == 1
        else body
        for body in robot.bodies
    ]
    return Tree(robot.name, bodies)


def test_rollouts_are_steps():
    robot = rough(coupled(1))
    q, v, u, _ = state(robot)
    stepper = treesim.Stepper(robot, integrator="semi_implicit_euler", kp=8.0, kd=0.5)
    now = stepper.reset(q, 0.3 * v)
    for _ in range(5):
        now, report = stepper.step(now, u)
    assert (np.abs(report.force) <= robot.effort_limit).all()
    rolled = treesim.rollout(
        robot, q, 0.3 * v, np.tile(u, (5, 1)), integrator="semi_implicit_euler", kp=8.0, kd=0.5, engine="generic"
    )
    np.testing.assert_allclose(rolled.q[0, -1], now.q, rtol=0, atol=1e-12)


def test_energy_is_kept():
    robot = trees.on_floating_base(without_losses(coupled(4).spanning))
    tied = with_mimics(robot, {name: Mimic(*line) for name, line in coupled(4).mimic_map.lines().items()})
    q, v, _, _ = state(tied)
    run = treesim.Simulation(tied, backend="crba_ltdl", integrator="rk4", dt=1e-3).run(0.1, q, v)
    assert np.abs(run.energy_error).max() < 1e-8 * run.metadata["energy_range"]


def panda() -> Tree:
    return without_losses(treesim.load("panda"))


def test_panda_hand_under_a_force_on_a_finger():
    """One second under 0.3 N by semi-implicit Euler, without limits, against dense algebra with the same rule."""
    robot, h = panda(), 1e-3
    world = treesim.World(robot, use_limits=False)
    force = np.zeros(robot.nv)
    force[robot.v_index["panda_finger_joint1"]] = 0.3
    run = treesim.rollout(world, robot.neutral(), np.zeros(robot.nv), np.tile(force, (1000, 1)), dt=h,
                          integrator="semi_implicit_euler", engine="generic")  # fmt: skip
    q, v = robot.neutral(), np.zeros(robot.nv)
    for k in range(1000):
        M, C = dense(robot, q, v)
        v = v + h * np.linalg.solve(M, force - C)
        q = q + h * v
        if k % 100 == 99:
            assert relative_error(run.q[0, k], q) < 1e-10 and relative_error(run.v[0, k], v) < 1e-10
    assert run.q[0, -1, -1] > 0.5  # the fingers have moved
    whole = robot.expand(run.q[0])
    index = robot.spanning.q_index
    assert np.array_equal(whole[:, index["panda_finger_joint1"]], whole[:, index["panda_finger_joint2"]])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::treesim.UrdfWarning")
@pytest.mark.parametrize("base", ["fixed", "floating"])
@pytest.mark.parametrize("name", REAL)
def test_installed_robots(name, base):
    robot = treesim.load(name, base=base)
    assert robot.mimic_joints
    armature = robot.armature + 0.05 * (name == "romeo")  # whose fingers have no inertia
    for seed in range(3):
        q, v, tau, f_ext = state(robot, seed)
        q = np.where(np.abs(q) > 3, 0.1, q) if base == "fixed" else q
        for backend in BACKENDS:
            if plugins.get("dynamics", backend).capabilities.error_factor > 1e3:
                continue
            qdd = treesim.forward_dynamics(robot, q, v, tau, f_ext=f_ext, backend=backend, armature=armature)
            assert residual(robot, qdd, q, v, tau, f_ext, armature) < EXACT
        M, _ = dense(robot, q, v)
        assert relative_error(treesim.mass_matrix(robot, q), M) < 1e-12
        frame = robot.body_names[-1]
        J = treesim.frame_jacobian(robot, q, frame)
        whole = treesim.frame_jacobian(robot.spanning, robot.expand(q), frame) @ robot.mimic_map.G
        assert relative_error(J, whole) < 1e-13


def test_placement_of_a_follower_is_its_own():
    robot = gripper()
    pose = treesim.frame_pose(robot, [0.4], "right")
    np.testing.assert_allclose(pose, Placement(translation=(-0.5 * 0.4 + 0.1, 0, 0)).matrix(), atol=1e-16)


@pytest.mark.parametrize("integrator", ["implicit_midpoint", "semi_implicit_euler"])
def test_limits_of_followers_stop_their_leaders(integrator):
    """The right finger may go to 0.08 m, where the left is at -0.04 m: they come to rest there, and push no further."""
    robot = gripper()
    limited = [replace(body, joint=replace(body.joint, upper=0.12)) for body in robot.bodies]
    robot = Tree("gripper", [robot.bodies[0], limited[1]])
    assert robot.lower[0] == pytest.approx(-0.04)
    stepper = treesim.Stepper(robot, integrator=integrator)
    now = stepper.reset()
    for _ in range(500):
        now, _ = stepper.step(now, [-2.0])
    np.testing.assert_allclose(robot.expand(now.q), [-0.04, 0.12], rtol=0, atol=1e-12)
    np.testing.assert_allclose(now.v, 0, atol=1e-12)


@pytest.mark.parametrize("integrator", ["implicit_midpoint", "semi_implicit_euler"])
def test_friction_of_followers_holds_their_leaders(integrator):
    """Friction f_a + |k| f_b: the fingers stay below it, and above it move with what is left."""
    rubbing = [
        replace(body, joint=replace(body.joint, joint_friction=f))
        for body, f in zip(gripper().bodies, (0.3, 0.4), strict=True)
    ]
    robot, mass = Tree("gripper", rubbing), 0.3 + 0.1 + 0.25 * (0.2 + 0.05)
    stepper = treesim.Stepper(robot, integrator=integrator)
    for force in (0.49, -0.51, 1.0):
        now = stepper.reset()
        for _ in range(100):
            now, _ = stepper.step(now, [force])
        left = np.sign(force) * max(abs(force) - 0.5, 0)
        np.testing.assert_allclose(now.v, left / mass * 0.1, rtol=1e-9, atol=1e-12)


def test_ground_holds_a_leader_by_its_follower():
    """A ball on the follower, which moves by half of what its leader does: it stands on m_b g + m_a g / k. The two are
    on carts that roll, so that the ball may slide."""
    slides = [Joint("x", "prismatic", axis=(1, 0, 0)), Joint("y", "prismatic", axis=(0, 1, 0))]
    lift = Joint("lift", "prismatic", axis=(0, 0, 1))
    low = Joint("low", "prismatic", axis=(0, 0, 1), mimic=Mimic("lift", 0.5, 0.2))
    carts = [Body("cart", 0, slides[0], Inertia(1)), Body("second cart", 1, slides[1], Inertia(1))]
    bodies = [*carts, Body("weight", 2, lift, Inertia(0.3)), Body("ball", 2, low, Inertia(0.2))]
    ball = treesim.CollisionShape(4, Placement(), "sphere", size=(0.1,), link="ball")
    robot = Tree("lever", bodies, shapes=[ball])
    stepper = treesim.Stepper(treesim.World(robot, ground=treesim.Ground()))
    now = stepper.reset([0, 0, 0.1])
    for _ in range(600):
        now, report = stepper.step(now)
    np.testing.assert_allclose(robot.expand(now.q), [0, 0, -0.2, 0.1], rtol=0, atol=1e-5)
    np.testing.assert_allclose(now.v, 0, atol=1e-9)
    np.testing.assert_allclose(report.contact.wrench_array[4, 2], (0.2 + 0.3 / 0.5) * 9.81, rtol=1e-9)
