"""Controllers: what they pull towards, how hard, and what they leave alone."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import treesim
from treesim.dynamics.operational.motion import center_of_mass_jacobian
from treesim.errors import ArgumentError, UnknownNameError
from treesim.model.inertia import Inertia, Placement
from treesim.model.joints import Joint
from treesim.model.tree import Body, Tree
from treesim.simulation.control import CONTROLLERS, PD, Zero, make_controller
from treesim.simulation.wrapped_controllers import Pushed

BALL = Inertia(1.0, (0.0, 0.0, -0.2), np.eye(3) * 0.01)


def walker() -> Tree:
    """A floating body with a limited elbow, a ball joint and a sliding joint."""
    bodies = [
        Body("trunk", 0, Joint("root_joint", "floating"), BALL),
        Body("arm", 1, Joint("elbow", "revolute", lower=0.5, upper=2.0, effort_limit=3.0), BALL),
        Body("head", 1, Joint("neck", "spherical", placement=Placement(translation=np.array([0, 0, 0.3]))), BALL),
        Body("tool", 2, Joint("slide", "prismatic"), BALL),
    ]
    return Tree("walker", bodies)


def test_zero_is_zero() -> None:
    robot = walker()
    assert not Zero(robot).torque(0.0, robot.neutral(), np.ones(robot.nv)).any()


@given(st.integers(0, 2**32 - 1))
def test_pd_is_a_spring_and_a_damper_on_the_manifold(seed: int) -> None:
    robot = walker()
    rng = np.random.default_rng(seed)
    target, v = robot.random(rng), 0.01 * rng.standard_normal(robot.nv)
    step = 0.01 * rng.uniform(-1, 1, robot.nv)
    tau = PD(robot, target, kp=20.0, kd=3.0).torque(0.0, robot.integrate(target, step), v)
    np.testing.assert_allclose(tau[6:], (-20 * step - 3 * v)[6:], atol=1e-2 * np.abs(step).max())
    assert not tau[:6].any(), "a floating base has no actuator"


def test_gains_are_the_torque_s_derivatives() -> None:
    robot = walker()
    pd = PD(robot, robot.neutral(), kp=np.arange(1.0, 12.0), kd=np.arange(2.0, 13.0))
    q, still, h = robot.neutral(), np.zeros(robot.nv), 1e-6
    for k in range(robot.nv):
        e = np.eye(robot.nv)[k]
        by_position = pd.torque(0.0, robot.integrate(q, h * e), still)[k] / -h
        by_velocity = pd.torque(0.0, q, h * e)[k] / -h
        assert by_position == pytest.approx(pd.stiffness[k], abs=1e-5)
        assert by_velocity == pytest.approx(pd.damping[k], abs=1e-5)
    assert not pd.stiffness[:6].any() and not pd.damping[:6].any()


def test_torque_stays_within_the_effort_limit() -> None:
    robot = walker()
    q = robot.neutral()
    q[robot.q_index["elbow"]] = -100.0
    tau = PD(robot, robot.neutral(), kp=1e3, kd=0.0).torque(0.0, q, np.zeros(robot.nv))
    assert tau[robot.v_index["elbow"]] == 3.0


def test_hold_rests_where_it_starts_and_pd_within_the_limits() -> None:
    robot = walker()
    q0, still = robot.random(np.random.default_rng(0)), np.zeros(robot.nv)
    hold = make_controller("hold", robot, q0)
    assert isinstance(hold, PD)
    np.testing.assert_allclose(hold.torque(0.0, q0, still), 0, atol=1e-12)
    pd = make_controller("pd", robot, q0)
    assert isinstance(pd, PD) and pd.posture[robot.q_index["elbow"]] == 0.5


def test_every_listed_controller_can_be_made() -> None:
    robot = walker()
    for name in CONTROLLERS:
        tau = make_controller(name, robot, robot.neutral()).torque(0.0, robot.neutral(), np.zeros(robot.nv))
        assert tau.shape == (robot.nv,)
    with pytest.raises(UnknownNameError, match=r"controller 'hodl': did you mean 'hold'"):
        make_controller("hodl", robot, robot.neutral())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kp": -1.0, "kd": 0.0}, "kp must be finite and not negative"),
        ({"kp": 0.0, "kd": float("nan")}, "kd must be finite"),
        ({"kp": [1.0, 2.0], "kd": 0.0}, r"kp must be one number or 11"),
    ],
)
def test_bad_gains_are_named(arguments: dict, message: str) -> None:
    robot = walker()
    with pytest.raises(ArgumentError, match=message):
        PD(robot, robot.neutral(), **arguments)


def test_bad_target_is_named() -> None:
    with pytest.raises(ArgumentError, match="posture must be 13 finite numbers"):
        PD(walker(), np.zeros(3), kp=1.0, kd=1.0)


FORCE = np.array([3.0, -2.0, 5.0])
WEIGHTLESS = (0.0, 0.0, 0.0)


def tilted(robot: Tree) -> np.ndarray:
    """A configuration whose root is turned about no axis of its own."""
    q = robot.neutral()
    q[:7] = [0.3, -0.2, 0.9, *(np.array([1.0, -2.0, 3.0, 4.0]) / np.sqrt(30))]
    return q


def pushed_body() -> Tree:
    """A body that floats, its centre of mass off its origin."""
    return Tree("body", [Body("body", 0, Joint("root", "floating"), Inertia(2.0, (0.1, 0.3, -0.2), np.eye(3) * 0.01))])


@pytest.mark.parametrize(("start", "duration"), [(0.1, 0.2), (0.0, 0.05), (0.299, 0.101)])
@pytest.mark.parametrize("rule", ["implicit_midpoint", "rk4", "semi_implicit_euler"])
def test_a_push_gives_its_force_times_its_duration(start: float, duration: float, rule: str) -> None:
    """And no spin, since it acts at the centre of mass: 0.1 + 0.2 is not 0.3, but as many steps."""
    robot = pushed_body()
    pushed = Pushed(None, robot, FORCE, start=start, duration=duration)
    run = treesim.Simulation(robot, integrator=rule, controller=pushed, gravity=WEIGHTLESS).run(0.5, tilted(robot))
    momentum = treesim.momentum(robot, run.q, run.v)
    np.testing.assert_allclose(momentum[-1, :3], duration * FORCE, rtol=0, atol=1e-9)
    assert np.abs(run.v[:, 3:]).max() < 1e-9
    before = run.t <= start
    assert not run.v[before].any() and run.v[before.sum()].any()


def test_a_push_works_as_its_force_does_along_the_way() -> None:
    robot = pushed_body()
    pushed = Pushed(None, robot, FORCE, start=0.1, duration=0.2)
    run = treesim.Simulation(robot, controller=pushed, gravity=WEIGHTLESS).run(0.5, tilted(robot))
    kinetic = (0.2 * FORCE) @ (0.2 * FORCE) / (2 * 2.0)
    assert run.energy[-1] - run.energy[0] == pytest.approx(kinetic, abs=1e-9)
    assert run.work[-1, 0] == pytest.approx(kinetic, abs=1e-9)


def test_a_push_is_the_force_of_the_centre_of_mass_beside_what_another_controller_gives() -> None:
    """J' f, of the root link's centre of mass: of a robot whose other links weigh nothing, the whole one's."""
    root, *others = walker().bodies
    robot = Tree("walker", [root, *(Body(b.name, b.parent, b.joint, Inertia(0.0)) for b in others)])
    q, v = tilted(robot), np.full(robot.nv, 0.1)
    hold = PD(robot, robot.neutral(), kp=20.0, kd=3.0)
    pushed = Pushed(hold, robot, FORCE, start=1.0, duration=0.5)
    J = center_of_mass_jacobian(robot, q)
    np.testing.assert_allclose(pushed.torque(1.2, q, v), hold.torque(1.2, q, v) + J.T @ FORCE, rtol=0, atol=1e-12)
    for t in (0.0, 0.999, 1.5, 2.0):
        assert np.array_equal(pushed.torque(t, q, v), hold.torque(t, q, v))


@pytest.mark.filterwarnings("ignore::treesim.LimitWarning")  # springs, and not limits, are looked at
def test_gains_stay_implicit_under_a_push() -> None:
    """Stiff springs in steps of 10 ms, which an explicit rule cannot take, and the same motion without a force."""
    robot = walker().with_name("walker")
    hold = PD(robot, robot.neutral(), kp=5000.0, kd=50.0)
    q = robot.integrate(robot.neutral(), np.r_[np.zeros(6), np.full(robot.nv - 6, 1e-3)])
    runs = [
        treesim.Simulation(robot, dt=1e-2, controller=controller, gravity=WEIGHTLESS, substeps=2).run(0.5, q)
        for controller in (hold, Pushed(hold, robot, (0, 0, 0), start=0.0, duration=1.0))
    ]
    assert np.array_equal(runs[0].q, runs[1].q) and np.array_equal(runs[0].work, runs[1].work)
    assert np.abs(runs[0].v).max() < 1.0


def test_a_push_out_of_a_pickle_is_the_same() -> None:
    robot = walker()
    pushed = Pushed(PD(robot, robot.neutral()), robot, FORCE, start=0.0, duration=0.1)
    other, q, v = pickle.loads(pickle.dumps(pushed)), tilted(robot), np.zeros(robot.nv)
    assert np.array_equal(other.torque(0.05, q, v), pushed.torque(0.05, q, v))
    assert np.array_equal(other.stiffness, pushed.stiffness) and repr(other) == repr(pushed)


def test_what_no_torque_is_another_controller_s_fault_under_a_push_too() -> None:
    robot = pushed_body()
    simulation = treesim.Simulation(robot, controller=Pushed(lambda t, q, v: [1.0, 2.0], robot, FORCE, start=0.0))
    with pytest.raises(ArgumentError, match=r"returned shape \(2,\), but \(6,\) is needed"):
        simulation.run(0.01)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"robot": treesim.load("ur5")}, "'ur5' cannot be pushed, since its base does not float: load it with base="),
        ({"force": (1.0, 2.0)}, r"force must be 3 finite numbers, got \(1.0, 2.0\)"),
        ({"force": (1.0, np.nan, 0.0)}, "force must be 3 finite numbers"),
        ({"force": "hard"}, "force"),
        ({"start": -1.0}, "start must be a number of seconds, finite, not negative"),
        ({"duration": 0.0}, "duration must be a number of seconds, finite, above 0"),
        ({"controller": "hold"}, "controller must be an object, not the name 'hold'"),
    ],
)
def test_bad_pushes_are_named(changes: dict, message: str) -> None:
    arguments = {"controller": None, "robot": pushed_body(), "force": FORCE} | changes
    with pytest.raises(ArgumentError, match=message):
        Pushed(**arguments)


@pytest.mark.slow
def test_a_standing_humanoid_is_pushed_over_and_comes_to_rest() -> None:
    """150 N for 0.2 s, as in the README; without them it stands."""
    robot = treesim.load("g1_29dof_rev_1_0", base="floating")
    q = robot.standing(robot.neutral())
    hold = PD(robot, q, kp=300.0, kd=15.0)
    world = treesim.World(robot, ground=treesim.Ground())
    stood = treesim.Simulation(world, controller=hold).run(1.0, q)
    assert np.abs(stood.v[-1]).max() < 0.01 and stood.q[-1, 2] == pytest.approx(q[2], abs=0.01)
    fallen = treesim.Simulation(world, controller=Pushed(hold, robot, (150, 0, 0))).run(4.0, q)
    assert np.array_equal(fallen.q[:1001], stood.q)
    assert fallen.q[-1, 2] < 0.2 and fallen.q[-1, 0] > 0.5 and np.abs(fallen.v[-1]).max() < 1e-3
    weight = robot.mass * 9.81
    assert fallen.contact.wrench[-2, :, 2].sum() == pytest.approx(weight, rel=1e-2)
    # Of first order in dt at each impact, and a fall is chaotic: what it may be is what a run does not warn of.
    assert np.abs(fallen.energy_error).max() < 1e-2 * fallen.metadata["energy_range"]


def test_controllers_see_the_contact_of_the_step_before():
    """Weights in hand: a function and an object that push with what the ground pushes."""
    box = treesim.free_body("box", "box", (0.2, 0.2, 0.2), 1.0)
    world = treesim.World(box, ground=treesim.Ground())
    seen = []

    def lift(t, q, v, contact):
        seen.append(contact.wrench["box", 2])
        return [0, 0, 0.5 * seen[-1], 0, 0, 0]

    class Lift:
        def torque(self, t, q, v, contact):
            return lift(t, q, v, contact)

    start = [0, 0, 0.1, 0, 0, 0, 1]
    run = treesim.Simulation(world, 1e-3, controller=lift).run(0.02, start)
    weight = 9.81 * 2 / 3 * (1 - (-0.5) ** np.arange(1, 21))  # of w' = mg - w / 2
    np.testing.assert_allclose(run.contact_wrench("box")[:-1, 2], weight, rtol=1e-9)
    np.testing.assert_allclose(seen[1:21], run.contact_wrench("box")[:-1, 2], rtol=1e-12)
    assert np.array_equal(treesim.Simulation(world, 1e-3, controller=Lift()).run(0.02, start).q, run.q)
    simulation = treesim.Simulation(world, 1e-3, controller=lift)
    first = simulation.run(0.01, start)
    assert np.array_equal(simulation.run_from(0.01, first).q[-1], run.q[-1])


def test_controllers_beside_bodies_see_contact():
    arm, box = treesim.load("ur5"), treesim.free_body("box", "box", (0.1, 0.1, 0.1), 1.0)
    world = treesim.World(arm, bodies=box, ground=treesim.Ground(height=-1.0))
    reports = []

    def watch(t, q, v, contact):
        reports.append(contact.count)
        return np.zeros(6) if len(q) == 6 else np.zeros(12)

    treesim.Simulation(world, 1e-3, controller=watch).run(0.003, [*arm.neutral(), 2, 0, -0.95, 0, 0, 0, 1])
    assert reports[0] == 0 and reports[-1] == 4


def test_functions_of_other_arguments_are_refused():
    with pytest.raises(treesim.ArgumentError, match=r"must take \(t, q, v\), or \(t, q, v, contact\)"):
        treesim.Simulation(treesim.load("ur5"), controller=lambda t, q: q)
