"""Springs of joints: closed forms, energy, mimic joints, derivatives, and what cannot have them."""

from dataclasses import replace

import numpy as np
import pytest

import treesim
from tests.coupled import coupled
from tests.differentiation.test_linearize import differences, matrices
from tests.trees import random_tree
from treesim import Body, Inertia, Joint, Mimic, ModelError, Placement, Tree
from treesim.errors import ConversionWarning
from treesim.kernels.stepping.rules import RULES
from treesim.model.parts import changed_joints
from treesim.simulation.controlled import ControlledRobot
from treesim.simulation.options import StepOptions

INERTIA, K, REST, START = 0.5, 100.0, 0.3, 1.0  # [kg m^2, N m/rad, rad, rad]
RATE = np.sqrt(K / INERTIA)  # rad/s
IMPLICIT = [name for name, rule in RULES.items() if rule.implicit]


def wheel(kind="continuous", stiffness=K, rest=REST, mass=2.0, **parameters) -> Tree:
    """A body on a spring about or along z."""
    joint = Joint("joint", kind, stiffness=stiffness, rest=rest, **parameters)
    return Tree("wheel", [Body("body", 0, joint, Inertia(mass, rotational=INERTIA * np.eye(3)))])


def sprung(robot, seed=0) -> Tree:
    """Return the robot with springs in all joints with one degree of freedom."""
    rng = np.random.default_rng(seed)
    springs = [{"stiffness": rng.uniform(5, 50), "rest": rng.uniform(-1, 1)} for _ in robot.bodies]
    bodies = [
        replace(body, joint=replace(body.joint, **spring)) if body.joint.nv == 1 else body
        for body, spring in zip(robot.bodies, springs, strict=True)
    ]
    return robot._with(bodies=bodies)


def state(robot, seed=0):
    rng = np.random.default_rng(seed)
    return robot.integrate(robot.neutral(), 0.3 * rng.normal(size=robot.nv)), 0.5 * rng.normal(size=robot.nv)


def errors(integrator, dt, robot=None):
    """Return the largest errors of position and of energy in two seconds of an oscillation."""
    run = treesim.Simulation(robot or wheel(), dt=dt, integrator=integrator, substeps=1).run(2.0, [START], [0.0])
    return abs(run.q[:, 0] - REST - (START - REST) * np.cos(RATE * run.t)).max(), abs(run.energy_error).max()


@pytest.mark.filterwarnings("ignore::treesim.EnergyWarning")
@pytest.mark.parametrize("integrator", RULES)
def test_oscillations_converge_by_the_order_of_the_integrator(integrator):
    (coarse, _), (fine, _) = errors(integrator, 1e-3), errors(integrator, 5e-4)
    assert fine < 0.1 and np.log2(coarse / fine) == pytest.approx(RULES[integrator].order, abs=0.12)


@pytest.mark.filterwarnings("ignore::treesim.EnergyWarning", "ignore::treesim.DivergedWarning")
@pytest.mark.parametrize("dt", [1e-3, 1.0])
@pytest.mark.parametrize("integrator", IMPLICIT)
def test_implicit_integrators_keep_the_energy_of_springs_of_any_stiffness(integrator, dt):
    """Semi-implicit Euler keeps another energy than the exact one: its error neither grows nor decays."""
    run = treesim.Simulation(wheel(), dt=dt, integrator=integrator, substeps=1).run(2000 * dt, [START], [0.0])
    error, most = abs(run.energy_error), run.energy[0]
    if integrator == "implicit_midpoint":
        assert error.max() < 1e-12 * most
    else:
        assert error[-500:].max() == pytest.approx(error[:500].max(), rel=0.05) and error.max() < 2 * most


def test_a_mass_comes_to_rest_where_its_spring_carries_it():
    robot = wheel("prismatic", damping=20.0)
    run = treesim.Simulation(robot, dt=1e-3).run(20.0, [0.0])
    assert run.q[-1, 0] == pytest.approx(REST - 2.0 * 9.81 / K, abs=1e-9)
    assert abs(run.energy_error).max() < 1e-12


def test_effort_limits_do_not_apply_to_springs():
    robot = wheel(effort_limit=1.0)
    assert errors("implicit_midpoint", 1e-3, robot)[0] < 1e-3
    held = treesim.rollout(robot, [[START]], [[0.0]], np.full((1, 5000, 1), 5.0), dt=1e-3, kp=0.0, work=True)
    assert abs(held.work[0, -1, 0] - (held.q[0, -1, 0] - START)) < 1e-9, "a control of 5 N m does the work of 1 N m"


def test_integrators_in_python_have_springs():
    robot = sprung(treesim.load("ur5").with_joint("elbow_joint", damping=0.5))
    q, v = state(robot)
    force = robot.stiffness * (robot.rest - q) - robot.damping * v
    found = ControlledRobot(robot, StepOptions()).acceleration(0.0, q, v)
    np.testing.assert_allclose(found, treesim.forward_dynamics(robot, q, v, force), rtol=1e-12)


@pytest.mark.parametrize("floating", [False, True])
def test_energy_balances_in_trees(floating):
    """The error is of order 2 in the step, and as large as without springs."""
    robot = random_tree(3, 6, joint_types=("revolute", "prismatic", "spherical"), armature=0.3)
    if floating:
        root = Body("carrier", 0, Joint("root_joint", "floating"), Inertia(2.0, rotational=np.eye(3)))
        robot = Tree("t", [root, *(replace(body, parent=body.parent + 1) for body in robot.bodies)])
    robot = sprung(robot)
    q, v = state(robot)
    found = [abs(treesim.Simulation(robot, dt=dt, substeps=1).run(0.5, q, v).energy_error).max() for dt in (1e-3, 5e-4)]
    assert np.log2(found[0] / found[1]) == pytest.approx(2, abs=0.2) and found[0] < 1e-3


@pytest.mark.parametrize("integrator", ["implicit_midpoint", "semi_implicit_euler", "rk4"])
def test_rollouts_steppers_and_simulations_agree(integrator):
    robot = sprung(treesim.load("ur5"))
    q, v = state(robot)
    options = {"dt": 2e-3, "substeps": 2, "integrator": integrator}
    run = treesim.Simulation(robot, **options).run(0.1, q, v)
    runs = treesim.rollout(robot, np.tile(q, (5, 1)), np.tile(v, (5, 1)), steps=50, work=True, **options)
    stepper = treesim.Stepper(robot, **options)
    now = stepper.reset(np.tile(q, (5, 1)), np.tile(v, (5, 1)))
    for _ in range(50):
        now, report = stepper.step(now)
    for found in (runs.q[:, -1], now.q):
        np.testing.assert_allclose(found, np.tile(run.q[-1], (5, 1)), rtol=0, atol=1e-12)
    np.testing.assert_allclose(runs.energy[:, -1], report.energy, rtol=1e-12)
    total = treesim.measures.energy(robot)
    measured = treesim.rollout(
        robot,
        q[None],
        v[None],
        steps=50,
        measure={"e": treesim.measures.last(lambda t, q, v: total(q, v))},
        **options,
    )
    assert measured.measures["e"][0] == pytest.approx(runs.energy[0, -1], rel=1e-12)


def test_springs_of_mimic_joints_act_on_the_mimicked_joint():
    """The energy of the reduced spring is that of all springs but for a constant."""
    robot = sprung(coupled(2))
    assert robot.mimic_joints and robot.stiffness.any()
    q, whole = np.stack([robot.random(k) for k in range(6)]), robot.spanning
    zero, all_zero = np.zeros((6, robot.nv)), np.zeros((6, whole.nv))
    apart = treesim.energy(robot, q, zero)[1] - treesim.energy(whole, robot.expand(q), all_zero)[1]
    np.testing.assert_allclose(apart, apart[0], rtol=0, atol=1e-9)
    q, v = state(robot)
    errors = [
        abs(treesim.Simulation(robot, dt=dt, substeps=1).run(0.2, q, v).energy_error).max() for dt in (1e-3, 5e-4)
    ]
    assert errors[0] < 1e-3 and errors[0] / errors[1] > 3


def test_a_mimic_joint_moves_by_its_own_spring():
    """Two rails of a gripper: with q_b = -q_a + 0.1, both springs pull a."""
    a, b = (
        Joint(name, "prismatic", axis=(1, 0, 0), stiffness=k, rest=r) for name, k, r in (("a", 3, 0.2), ("b", 5, 0))
    )
    robot = Tree(
        "g", [Body("a", 0, a, Inertia(1.0)), Body("b", 0, replace(b, mimic=Mimic("a", -1, 0.1)), Inertia(1.0))]
    )
    assert robot.stiffness.tolist() == [8.0] and robot.rest[0] == pytest.approx((3 * 0.2 + 5 * 0.1) / 8)
    alone = Tree("g", [Body("a", 0, replace(a, stiffness=0.0), Inertia(1.0)), *robot.bodies[1:]])
    assert alone.stiffness.tolist() == [5.0] and alone.rest[0] == pytest.approx(0.1)


@pytest.mark.parametrize("integrator", [*IMPLICIT, "rk4"])
@pytest.mark.parametrize("make", [lambda: treesim.load("ur5"), lambda: coupled(2)], ids=["arm", "mimic"])
def test_derivatives_in_free_motion(integrator, make):
    world = treesim.World(sprung(make()), use_limits=False, use_joint_friction=False)
    q, v = state(world.robot)
    stepper = treesim.Stepper(world, 2e-3, integrator=integrator, substeps=1, kp=20.0, kd=1.0)
    found, control = treesim.linearize(stepper, q, v, np.zeros(len(v))), np.zeros(len(v))
    ahead, behind = differences(stepper, q, v, control, 1e-6)
    assert abs(matrices(found) - (ahead + behind) / 2).max() < 1e-8


def leg() -> treesim.World:
    """A leg on a spring, whose foot is a ball, on a cart; the knee is pressed against its limit by a spring."""
    one = {"inertia": Inertia(1.0, rotational=0.1 * np.eye(3))}
    hip = Joint("hip", "prismatic", placement=Placement(translation=(0, 0, 0.4)), stiffness=200.0, rest=-0.1)
    knee = Joint("knee", "revolute", axis=(0, 1, 0), lower=0.0, upper=1.0, stiffness=5.0, rest=-0.5)
    bodies = [
        Body("cart", 0, Joint("rail", "prismatic", axis=(1, 0, 0)), **one), Body("thigh", 1, hip, **one),
        Body("shank", 2, knee, Inertia(0.5, (0, 0, -0.1), 0.1 * np.eye(3))),
    ]  # fmt: skip
    ball = treesim.CollisionShape(3, Placement(translation=(0, 0, -0.3)), "sphere", size=(0.1,))
    robot = Tree("leg", bodies, shapes=[ball])
    return treesim.World(robot, ground=treesim.Ground(friction=0.5), contact_tolerance=1e-14)


@pytest.mark.parametrize("integrator", IMPLICIT)
@pytest.mark.parametrize("q", [[0, -1e-4, 0], [0, -0.0135, 0.3]], ids=["at a limit", "in contact"])
def test_derivatives_in_contact(integrator, q):
    stepper = treesim.Stepper(leg(), 1e-3, integrator=integrator, substeps=1)
    given = np.array(q, float), np.array([0.5, -0.2, -0.3]), np.zeros(3)
    assert len(stepper.step(stepper.reset(*given[:2]), given[2])[1].contact.points) == 1
    ahead, behind = differences(stepper, *given, 1e-7)
    assert abs(matrices(treesim.linearize(stepper, *given)) - (ahead + behind) / 2).max() < 1e-8


@pytest.mark.parametrize("integrator", IMPLICIT)
def test_a_leg_on_its_spring_comes_to_rest(integrator):
    """Damping of the hip and friction stop it; the spring, the ground and the knee's limit carry it."""
    world = leg()
    world = world.with_robot(world.robot.with_joint("hip", damping=20.0))
    run = treesim.Simulation(world, dt=1e-3, integrator=integrator).run(4.0, [0, -0.001, 0], [0.5, 0, 0])
    assert abs(run.v[-1]).max() < 1e-6 and abs(run.energy_error).max() < 2e-2
    runs = treesim.rollout(
        world, [[0, -0.001, 0]] * 9, [[0.5, 0, 0]] * 9, steps=500, dt=1e-3, integrator=integrator, work=True
    )
    np.testing.assert_allclose(runs.q[:, -1], np.tile(run.q[500], (9, 1)), rtol=0, atol=1e-9)


def test_gradients_of_rollouts():
    robot = sprung(treesim.load("ur5"))
    world = treesim.World(robot, use_limits=False, use_joint_friction=False)
    q, v = (x[None] for x in state(robot))
    rng = np.random.default_rng(5)
    control, d = np.zeros((1, 6, robot.nv)), rng.normal(size=(1, robot.nv))
    runs, pullback = treesim.rollout_vjp(world, q, v, control, dt=2e-3)
    weights = rng.normal(size=(2, *runs.v.shape))
    found = pullback(*weights)

    def value(h):
        end = treesim.rollout(world, q + h * d, v, control, dt=2e-3)
        return float((weights[0] * end.q).sum() + (weights[1] * end.v).sum())

    assert float((found.q0 * d).sum()) == pytest.approx((value(1e-5) - value(-1e-5)) / 2e-5, rel=1e-7)


def test_energies_have_derivatives():
    """They are the forces of gravity and springs in q, and the momentum of the joints in v."""
    robot = sprung(treesim.load("ur5"))
    q, v = state(robot)
    by_q = treesim.gravity_forces(robot, q) + robot.stiffness * (q - robot.rest)
    _, pullback = treesim.vjp(lambda q: treesim.energy(robot, q, v)[1], q)
    np.testing.assert_allclose(pullback(1.0)[0], by_q, rtol=1e-12)
    _, pullback = treesim.vjp(lambda v: sum(treesim.energy(robot, q, v)), v)
    np.testing.assert_allclose(pullback(1.0)[0], treesim.mass_matrix(robot, q) @ v, rtol=1e-12)


def test_a_static_equilibrium_counts_springs():
    robot = sprung(treesim.load("ur5"))
    robot = robot._with(bodies=changed_joints(robot.bodies, lambda joint: {"effort_limit": 500.0}))
    q, _ = state(robot)
    wanted = treesim.gravity_forces(robot, q) + robot.stiffness * (q - robot.rest)
    np.testing.assert_allclose(treesim.equilibrium(treesim.World(robot), q).control, wanted, rtol=0, atol=1e-9)


def test_edits_keep_springs():
    robot = sprung(random_tree(3, 6, joint_types=("revolute", "prismatic")))
    springs = {name: (*joint.stiffness, *joint.rest) for name, joint in robot.joints.items()}
    first, last = robot.joint_names[0], robot.body_names[-1]
    assert robot.with_joint(first, stiffness=7.0, rest=0.4).joint(first).stiffness == 7.0
    edited = [robot.reduced({first: 0.1}), robot.rerooted(last), robot.with_joint(first, damping=1.0)]
    edited += [robot.mirrored("xz"), robot.without(last)]
    for other in edited:
        kept = {name: (*joint.stiffness, *joint.rest) for name, joint in other.joints.items() if joint.nv == 1}
        assert kept.items() <= springs.items() and len(kept) >= robot.nv - 1


def test_what_has_no_springs_says_so():
    with pytest.raises(ModelError, match=r"'j': a spherical joint has several degrees of freedom.*stiffness must be 0"):
        Joint("j", "spherical", stiffness=1.0)
    for wrong, message in ((-1.0, "stiffness .* is negative"), (np.inf, "stiffness must be finite")):
        with pytest.raises(ModelError, match=message):
            Joint("j", "revolute", stiffness=wrong)
    with pytest.raises(ModelError, match="rest is not a number"):
        Joint("j", "revolute", rest=np.nan)
    with pytest.warns(ConversionWarning, match="springs of joints are lost, which URDF does not have: 'joint'"):
        assert "stiffness" not in treesim.to_urdf(wheel())
