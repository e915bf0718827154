"""How many substeps a step has: by rule, by robot, or as asked for."""

import re

import numpy as np
import pytest

import treesim
from treesim.errors import DivergedWarning, EnergyWarning, LightJointWarning
from treesim.kernels.stepping.rules import IN_PYTHON, RULES
from treesim.model import generators as make
from treesim.simulation import step_settings
from treesim.simulation.step_settings import fastest_rate, longest_substep, speed_hint, substeps_of

MIDPOINT = RULES["implicit_midpoint"]


def flail(inertia, **options):
    """A bar of 1 kg that hangs down 1 m, and a wheel of 1 kg at its end with such an inertia about its axle."""
    hinge, axle = (treesim.Joint(name, "revolute", placement=place, axis=(0, 1, 0)) for name, place in (
        ("hinge", treesim.Placement()), ("axle", treesim.Placement(translation=(0, 0, -1.0)))
    ))  # fmt: skip
    bar = treesim.Body("bar", 0, hinge, treesim.Inertia(1.0, (0, 0, -0.5), np.eye(3) / 12))
    return treesim.Tree(
        "flail", [bar, treesim.Body("wheel", 1, axle, treesim.Inertia(1.0, rotational=np.eye(3) * inertia))], **options
    )


def test_fastest_rate_is_that_of_all_energy_in_the_lightest_joint():
    assert fastest_rate(flail(1e-4)) == pytest.approx(np.sqrt(2 * 9.81 * (0.5 + 1.0) / 1e-4), rel=0.01)
    assert fastest_rate(flail(1e-4, gravity=(0, 0, 0))) == 0


def test_light_joints_take_shorter_substeps():
    heavy, light = flail(1e-2), flail(1e-6)
    assert substeps_of(heavy, MIDPOINT, 1e-3, None) == 2
    assert substeps_of(heavy, MIDPOINT, 1.02e-3, None) == 3
    assert longest_substep(light, MIDPOINT) == pytest.approx(0.8 / fastest_rate(light))
    assert substeps_of(light, MIDPOINT, 1e-3, None) == 7
    assert substeps_of(light, MIDPOINT, 1e-3, 3) == 3
    assert substeps_of(light, RULES["semi_implicit_euler"], 1e-3, None) == 1
    assert treesim.Stepper(light).substeps == treesim.Stepper(light, dt=2e-3).substeps // 2 == 7


def needle(inertia, damping=0.0):
    """A bar of 20 kg that swings, with a needle of such an inertia about its axle at the end."""
    shoulder = treesim.Joint("shoulder", "revolute", axis=(0, 1, 0))
    dial = treesim.Joint(
        "dial", "revolute", placement=treesim.Placement(translation=(1, 0, 0)), axis=(0, 1, 0), damping=damping
    )
    bar = treesim.Body("bar", 0, shoulder, treesim.Inertia(20.0, (0.5, 0, 0), np.diag([0.1, 1.7, 1.7])))
    tip = treesim.Inertia(1e3 * inertia, rotational=np.eye(3) * inertia)
    return treesim.Tree("gauge", [bar, treesim.Body("needle", 1, dial, tip)])


@pytest.mark.parametrize("inertia", [1e-8, 1e-9, 1e-12, 1e-16])
def test_substeps_are_sixteen_times_shorter_than_the_rule_s_at_most(inertia):
    """And the motion that does not depend on the needle, that of the bar, is the one of the bar alone."""
    robot = needle(inertia)
    with pytest.warns(
        LightJointWarning, match=r"joint 'dial' of 'gauge' moves an inertia of 1e-.* armature.*substeps="
    ):
        assert substeps_of(robot, MIDPOINT, 1e-3, None) == 32
    assert substeps_of(robot, MIDPOINT, 1e-3, 500) == 500
    run = treesim.Simulation(robot).run(0.2)  # was warned of already: once for a robot and dt
    alone = treesim.Simulation(needle(1e-3), substeps=32).run(0.2)
    assert run.stopped is None and np.isfinite(run.v).all()
    assert run.q[-1, 0] == pytest.approx(alone.q[-1, 0], rel=0.1)


def test_damping_that_stops_light_joints_within_a_substep_makes_none_shorter():
    damped = needle(1e-12, damping=0.5)
    assert substeps_of(damped, MIDPOINT, 1e-3, None) == 2
    assert substeps_of(needle(1e-5), MIDPOINT, 1e-3, None) > 2
    run = treesim.Simulation(damped, dt=1e-3).run(0.2)
    fine = treesim.Simulation(damped, dt=1e-3, substeps=16).run(0.2)
    assert run.stopped is None and run.q[-1] == pytest.approx(fine.q[-1], abs=1e-4)


def test_robots_that_have_no_least_inertia_take_the_rule_s():
    assert substeps_of(make.chain(301), MIDPOINT, 1e-3, None) == 2
    massless = treesim.Tree("massless", [treesim.Body("b", 0, treesim.Joint("j", "revolute"), treesim.Inertia())])
    assert substeps_of(massless, MIDPOINT, 1e-3, None) == 2


@pytest.mark.parametrize(("joints", "searched"), [(300, True), (301, False)])
def test_least_inertias_of_many_joints_are_not_searched(joints, searched, monkeypatch):
    monkeypatch.setattr(step_settings, "lightest", lambda robot: np.ones(robot.nv))  # takes long
    assert (fastest_rate(make.chain(joints)) > 0) == searched


@pytest.mark.parametrize(("q", "searched"), [(2.9, 2.9), (3.1, 0.1), (-3.1, -0.1)])
def test_inertia_is_searched_within_three_radians(q, searched, monkeypatch):
    seen = []
    monkeypatch.setattr(step_settings, "tried_configurations", lambda robot: [np.zeros(2), np.full(2, q)])
    monkeypatch.setattr(step_settings, "singular_inertia", lambda robot, q, diagonal: seen.append(q))
    step_settings.check_inertia(with_massless_tip(), IN_PYTHON, 1e-3, np.zeros(2), np.zeros(2))
    assert seen == [pytest.approx([searched] * 2)]


def test_too_many_are_refused():
    robot = flail(1e-2)
    with pytest.raises(treesim.ArgumentError, match="dt 10 s would be 20000 substeps of 0"):
        substeps_of(robot, MIDPOINT, 10.0, None)
    assert substeps_of(robot, MIDPOINT, 0.499, None) == 998
    with pytest.raises(treesim.ArgumentError, match=r"dt 0\.501 s would be 1002 substeps of 0"):
        substeps_of(robot, MIDPOINT, 0.501, None)
    assert substeps_of(robot, MIDPOINT, 1e-3, 1000) == 1000
    with pytest.raises(treesim.ArgumentError, match="substeps must be a whole number between 1 and 1000"):
        substeps_of(robot, MIDPOINT, 1e-3, 1001)


def ball_of_three_axes(armature=0.0):
    """A bar that hangs from three crossing axes, the links between them without inertia, which align at 90 degrees."""
    axes, names = np.eye(3)[[2, 0, 1]], ("turn", "tilt", "roll")
    bodies = [
        treesim.Body(name, k, treesim.Joint(name, "revolute", axis=axis, armature=armature), treesim.Inertia())
        for k, (name, axis) in enumerate(zip(names, axes, strict=True))
    ]
    inertia = treesim.Inertia(1.0, (0.0, -0.1, -0.3), np.diag([0.02, 0.03, 0.01]))
    bodies[2] = treesim.Body("bar", 2, bodies[2].joint, inertia)
    return treesim.Tree("ball", bodies)


def test_the_joint_whose_speed_nothing_bounds_is_named_where_runs_fail():
    """At 90 degrees of the second axis nothing moves when the outer two turn against each other."""
    robot = ball_of_three_axes()
    M = treesim.mass_matrix(robot, [0.3, np.pi / 2, 0.2])
    assert np.linalg.eigvalsh(M)[0] < 1e-15 < 1e-4 < np.linalg.eigvalsh(treesim.mass_matrix(robot, robot.neutral()))[0]
    hint = (
        "; nothing bounds the speed of joint 'turn', between links without inertia, where axes align: give these links"
    )
    assert speed_hint(robot).startswith(hint)
    assert speed_hint(ball_of_three_axes(1e-3)) == speed_hint(flail(1e-6)) == speed_hint(treesim.load("ur5")) == ""
    assert hint in treesim.Simulation(robot).run(0.002, v0=[0.0, 1e200, 0.0]).stopped
    with pytest.warns(DivergedWarning, match=re.escape(hint)):
        treesim.rollout(robot, robot.neutral(), [0.0, 1e200, 0.0], steps=2)
    q, v, coarse = [0.3, np.pi / 2 - 1e-3, 0.2], [0.0, 2.0, 0.0], {"dt": 0.05, "substeps": 1}
    with pytest.warns(EnergyWarning, match=re.escape(hint)):
        treesim.Simulation(robot, **coarse).run(2.0, q, v)
    with pytest.warns(EnergyWarning, match=re.escape(hint)):
        treesim.rollout(robot, q, v, steps=40, work=True, **coarse)


def with_massless_tip(*, armature=0.0, damping=0.0, kind="revolute", mass=0.0, mimic=None):
    """A bar that swings, with a joint at its end whose link has no inertia."""
    shoulder = treesim.Joint("shoulder", "revolute", axis=(0, 1, 0))
    place, more = treesim.Placement(translation=(1, 0, 0)), {"armature": armature, "damping": damping, "mimic": mimic}
    bar = treesim.Body("bar", 0, shoulder, treesim.Inertia(2.0, (0.5, 0, 0), np.eye(3) * 0.1))
    tip = treesim.Body(
        "tip", 1, treesim.Joint("tip", kind, placement=place, axis=(0, 1, 0), **more), treesim.Inertia(mass)
    )
    return treesim.Tree("bar", [bar, tip])


EVERY_WAY = {
    "Simulation": lambda robot, **options: treesim.Simulation(robot, **options),
    "Stepper": lambda robot, **options: treesim.Stepper(robot, **options),
    "BatchStepper": lambda robot, **options: treesim.BatchStepper(robot, 2, **options),
    "rollout": lambda robot, **options: treesim.rollout(robot, robot.neutral(), np.zeros(robot.nv), steps=1, **options),
}


@pytest.mark.parametrize("way", EVERY_WAY)
def test_a_joint_that_moves_no_inertia_is_an_error_before_any_step(way):
    build = EVERY_WAY[way]
    for robot in (
        with_massless_tip(),
        with_massless_tip(kind="prismatic"),
        with_massless_tip(kind="spherical"),
        with_massless_tip(mass=1.0),  # a point on its own axle
    ):
        with pytest.raises(treesim.SingularInertiaError, match=r"joint 'tip.*moves no inertia; give .* armature"):
            build(robot)
    with pytest.raises(treesim.SingularInertiaError, match="joint 'tip"):  # which takes damping explicitly
        build(with_massless_tip(damping=1.0), integrator="rk4")


@pytest.mark.parametrize("way", EVERY_WAY)
def test_what_resists_a_joint_in_place_of_inertia_is_enough(way):
    build = EVERY_WAY[way]
    for robot in (
        with_massless_tip(armature=1e-3),
        with_massless_tip(damping=1.0),
        with_massless_tip(kind="prismatic", mass=1.0),
        with_massless_tip(mimic=treesim.Mimic("shoulder", 2.0, 0.0)),
        ball_of_three_axes(),  # singular where axes align alone
    ):
        build(robot)
    if way != "Simulation":
        build(with_massless_tip(), kd=1.0)
    hold = treesim.PD(with_massless_tip(), np.zeros(2), kp=10.0, kd=1.0)
    assert treesim.Simulation(with_massless_tip(), controller=hold).run(0.01).stopped is None


def test_rollouts_that_have_inertia_of_their_own_are_not_refused():
    robot = with_massless_tip()
    runs = treesim.rollout(
        robot, np.zeros(2), np.zeros(2), steps=3, model_parameters={"armature": {"tip": np.array([0.1, 0.2])}}
    )
    assert np.isfinite(runs.q).all()


def test_a_base_without_inertia_that_moves_against_a_link_is_found():
    """A floating base without inertia, and a slider on it: the base moves one way, the slider the other."""
    slider = treesim.Joint("slider", "prismatic", axis=(1, 0, 0))
    bodies = [
        treesim.Body("base", 0, treesim.Joint("root", "floating"), treesim.Inertia(0.0, rotational=np.eye(3))),
        treesim.Body("cart", 1, slider, treesim.Inertia(1.0, rotational=np.eye(3))),
    ]
    with pytest.raises(treesim.SingularInertiaError, match=r"joint 'root\[.*moves no inertia"):
        treesim.Stepper(treesim.Tree("cart", bodies))
