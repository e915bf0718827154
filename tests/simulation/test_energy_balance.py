"""What runs tell of their energy: the balance closes, large errors are warned of, nonsense is a failure."""

import dataclasses
import warnings

import numpy as np
import pytest

import treesim
from treesim.errors import DivergedWarning, EnergyWarning, FrictionWarning
from treesim.model import generators
from treesim.rollouts.energy import balance
from treesim.simulation.energy_balance import checked_energy, energies, energy_range


def arm(**joint):
    """A pendulum of 2 kg at 0.5 m."""
    hinge = treesim.Joint("hinge", "revolute", axis=(0, 1, 0), **joint)
    return treesim.Tree("arm", [treesim.Body("bob", 0, hinge, treesim.Inertia(2.0, (0, 0, -0.5), np.eye(3) * 0.01))])


@pytest.mark.parametrize("integrator", ["implicit_midpoint", "rk4"])
def test_damping_and_controls_are_accounted_for(integrator):
    robot = arm(damping=0.4)
    run = treesim.Simulation(robot, integrator=integrator, controller=lambda t, q, v: [3 * np.cos(2 * t)]).run(
        2.0, [1.0]
    )
    assert abs(run.work[-1, 0]) > 0.5 and run.work[-1, 1] < -0.5
    assert np.abs(run.energy_error).max() < 1e-4 * run.metadata["energy_range"]
    assert run.work[-1, 1] == pytest.approx(-0.4 * 1e-3 * np.sum(run.v[1:, 0] ** 2 + run.v[:-1, 0] ** 2) / 2, rel=1e-3)


@pytest.mark.parametrize("friction, effort", [(0.5, np.inf), (0.0, 1.0), (0.2, 5.0)])
def test_friction_and_saturated_springs_are_accounted_for(friction, effort):
    robot = arm(joint_friction=friction, effort_limit=effort)
    run = treesim.Simulation(robot, controller=treesim.PD(robot, [0.5], kp=50, kd=1)).run(1.0, [0.0])
    assert np.abs(run.energy_error).max() < 2e-2 * np.abs(run.work).max()
    assert (np.abs(run.tau) <= effort).all()


def test_a_held_robot_at_rest_has_no_error_to_tell_of():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = treesim.Simulation(arm(), integrator="semi_implicit_euler").run(0.002)
    assert np.abs(run.energy_error).max() < 1e-12


def test_large_errors_are_warned_of_with_a_remedy():
    remedy = "take a smaller dt than 0.02 s, or the integrator 'implicit_midpoint'"
    with pytest.warns(EnergyWarning, match=remedy) as details:
        run = treesim.Simulation(arm(), integrator="explicit_euler", dt=0.02).run(0.4, [1.0])
    assert run.stopped is None and details[0].filename == __file__


def test_finite_nonsense_is_a_failure_that_keeps_its_states():
    with pytest.warns(DivergedWarning, match="the motion is not to be trusted") as details:
        run = treesim.Simulation(arm(), integrator="explicit_euler", dt=0.05).run(5.0, [1.0])
    assert details[0].filename == __file__
    assert "the motion is not to be trusted: the energy is off by +" in run.stopped and len(run) == 101


@pytest.mark.parametrize(
    ("part", "warning"),
    [
        (0.0097, None),
        (0.0103, EnergyWarning),
        (-0.0103, EnergyWarning),
        (0.485, EnergyWarning),
        (0.515, DivergedWarning),
    ],
)
def test_errors_from_one_percent_are_told_and_from_a_half_are_failures(part, warning):
    run = treesim.Simulation(arm()).run(0.002, [1.0])
    scale = run.metadata["energy_range"]
    wrong = dataclasses.replace(run, energy=run.energy[0] + scale * np.array([0.0, part, 0.0]), work=np.zeros((3, 2)))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = checked_energy(wrong, arm())
    assert [one.category for one in caught] == ([] if warning is None else [warning])
    assert (found.stopped is None) == (warning is not DivergedWarning)


@pytest.mark.parametrize(
    ("gravity", "number", "least"),
    [(9.81, np.float64, 1e-3 * 2.0 * 9.81), (0.0, np.float64, 1e-9), (0.0, np.float32, 1e-3)],
    ids=["a height of 1 mm", "rounding", "rounding of single precision"],
)
def test_the_smallest_energy_range(gravity, number, least):
    """Of a robot of 2 kg that flies as one body, at 1 m/s: only a motion inside it could become another one."""
    (ball,) = treesim.free_body("ball", "sphere", (0.1,), 1.5).bodies
    vane = treesim.Body("vane", 1, treesim.Joint("axle", "continuous"), treesim.Inertia(0.5, (0, 0, 0), np.eye(3)))
    ball = treesim.Tree("ball", [ball, vane], gravity=(0, 0, -gravity))
    q, v = ball.neutral(), np.array([1.0, 0, 0, 0, 0, 0, 0])
    if number is np.float64:
        assert energies(ball, q[None], v[None], None).energy_range == pytest.approx(least, rel=1e-6)
    records = q[None, None].astype(number), v[None, None].astype(number)
    found = balance(ball, tuple(x[0] for x in records), *records, np.zeros((1, 1, 2)), 1)
    assert found.energy_range == pytest.approx(least, rel=1e-6)


def test_the_energy_range_of_a_single_free_body_is_all_of_its_kinetic_energy():
    """It has no joints that could take energy: a fall is exact, to rounding of its speed."""
    ball = treesim.free_body("ball", "sphere", (0.1,), 2.0)
    assert energies(ball, ball.neutral()[None], np.array([[3.0, 0, 0, 0, 0, 0]]), None).energy_range == 9.0
    with warnings.catch_warnings():
        warnings.simplefilter("error", EnergyWarning)
        treesim.Simulation(ball, integrator="semi_implicit_euler").run(2.0)


@pytest.mark.parametrize(
    ("rule", "soft", "part", "stopped"),
    [
        ("semi_implicit_euler", True, -0.9, False),
        ("semi_implicit_euler", True, 0.9, True),
        ("semi_implicit_euler", False, -0.9, True),
        ("implicit_midpoint", True, -0.9, True),
    ],
)
def test_losses_on_soft_surfaces_by_semi_implicit_euler_stop_no_run(rule, soft, part, stopped):
    run = treesim.Simulation(arm(), integrator=rule).run(0.002, [1.0])
    scale = run.metadata["energy_range"]
    wrong = dataclasses.replace(run, energy=run.energy[0] + scale * np.array([0.0, part, 0.0]), work=np.zeros((3, 2)))
    with pytest.warns(DivergedWarning if stopped else EnergyWarning):
        assert (checked_energy(wrong, arm(), soft).stopped is not None) == stopped


def test_a_robot_on_a_fixed_base_adds_the_range_of_its_potential_energy():
    states = np.zeros((3, 1)), np.zeros((3, 1))
    assert energy_range(arm(), *states, np.array([1.0, 4.0, 0.0]), np.array([-2.0, 1.0, 5.0])) == 4.0 + 7.0


def test_the_work_of_an_array_of_forces_is_force_times_way():
    mass = treesim.Joint("slide", "prismatic", axis=(1, 0, 0))
    robot = treesim.Tree("mass", [treesim.Body("mass", 0, mass, treesim.Inertia(2.0))])
    run = treesim.Simulation(robot, controller=lambda t, q, v: [6.0]).run(1.0)
    assert run.q[-1, 0] == pytest.approx(1.5) and run.work[-1] == pytest.approx([9.0, 0.0])
    assert run.energy[-1] == pytest.approx(9.0)


@pytest.mark.parametrize(
    "name, base",
    [
        ("simple_humanoid", "floating"),
        pytest.param("simple_humanoid", "fixed", marks=pytest.mark.slow),
        pytest.param("g1_29dof_rev_1_0", "fixed", marks=pytest.mark.slow),
        pytest.param("g1_29dof_rev_1_0", "floating", marks=pytest.mark.slow),
    ],
)
@pytest.mark.filterwarnings("error::treesim.EnergyWarning")
def test_humanoids_keep_their_energy_by_default(name, base):
    robot = treesim.load(name, base=base)
    rng = np.random.default_rng(1)
    run = treesim.Simulation(robot, dt=2e-3).run(3.0, robot.random(rng), rng.normal(size=robot.nv))
    assert run.stopped is None and np.abs(run.energy_error).max() < 2e-3 * run.metadata["energy_range"]


def test_free_flight_by_default_keeps_momentum():
    robot = treesim.load("simple_humanoid", base="floating")
    rng = np.random.default_rng(2)
    q0, v0 = robot.random(rng), rng.normal(size=robot.nv)
    run = treesim.Simulation(treesim.World(robot, use_limits=False), gravity=(0, 0, 0)).run(2.0, q0, v0)
    momentum = treesim.momentum(robot, run.q[[0, -1]], run.v[[0, -1]])
    assert np.abs(momentum[1] - momentum[0]).max() < 1e-5 * np.abs(momentum[0]).max()


def test_other_integrators_leave_friction_out_of_the_balance():
    with pytest.warns(FrictionWarning):
        simulation = treesim.Simulation(arm(joint_friction=1.0), integrator="rk4")
    run = simulation.run(0.5, [1.0])
    assert run.work[-1, 1] == 0 and np.abs(run.energy_error).max() < 1e-6


def test_finite_states_whose_energy_is_no_number_are_a_failure():
    mass = treesim.Joint("slide", "prismatic", axis=(1, 0, 0))
    robot = treesim.Tree("mass", [treesim.Body("mass", 0, mass, treesim.Inertia(2.0))], gravity=(0, 0, 0))
    run = treesim.Simulation(robot).run(0.01, v0=[1e200])
    assert run.stopped == "the motion is not to be trusted: its energy is too large for a number" and len(run) == 11


def test_weight_that_is_switched_off_is_not_in_play():
    run = treesim.Simulation(arm(), gravity=(0, 0, 0)).run(0.01, v0=[1e-3])
    assert run.metadata["energy_range"] == pytest.approx(run.energy.max(), rel=1e-6)


class TenPercentOff:
    """Accelerations that are too large by a tenth."""

    name, capabilities = "off", treesim.testing.Capabilities(cost="O(N)", source="none")

    def forward_dynamics(self, robot, q, v, tau, f_ext=None, gravity=None, armature=None):
        return 1.1 * treesim.forward_dynamics(robot, q, v, tau, f_ext=f_ext, gravity=gravity, armature=armature)


def test_a_backend_that_is_wrong_shows_in_the_energy_balance():
    robot, q = generators.chain(3), np.full(3, 0.5)
    right = treesim.Simulation(robot, backend="aba").run(0.5, q)
    with pytest.warns(EnergyWarning, match=r"check_dynamics finds in the backend 'off'"):
        wrong = treesim.Simulation(robot, backend=TenPercentOff()).run(0.5, q)
    assert np.abs(wrong.energy_error).max() > 1e3 * np.abs(right.energy_error).max()
    assert np.abs(wrong.energy_error).max() > 0.01 * wrong.metadata["energy_range"]
