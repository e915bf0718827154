"""Effort limits of joints with implicit gains: mean forces stay within them, and are those that are reported."""

from __future__ import annotations

import numpy as np
import pytest

import treesim
from treesim.kernels.stepping.mean_force import EFFORT_BELOW, NONE
from treesim.kernels.stepping.step import SATURATED
from treesim.simulation.effort_limits import BoundLimits, BoundMeans, MeanForces

IMPLICIT = ("semi_implicit_euler", "implicit_midpoint")
RULES = (*IMPLICIT, "midpoint", "rk4", "explicit_euler", "bullet")
KP, H, LIMIT = 1000.0, 5e-3, 1.0
# continuous joints have no limits but those of effort; the others also have limits of position
KINDS = {"continuous": "", "revolute": 'lower="-3" upper="3"'}


def wheel(kind="continuous", limit=LIMIT):
    """Return a joint with an inertia of 1 kg m^2 and an effort limit [N m]."""
    return treesim.load(
        f'<robot name="wheel"><link name="world"/><link name="rim"><inertial><mass value="1e-9"/>'
        f'<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="axle" type="{kind}">'
        f'<parent link="world"/><child link="rim"/><axis xyz="0 0 1"/><limit {KINDS[kind]} effort="{limit}" '
        'velocity="100"/></joint></robot>'
    )


def arm():
    """Return a chain of six joints with effort limits of 2 N m, on a free base."""
    link = (
        '<link name="l{0}"><inertial><origin xyz="0 0 -0.1"/><mass value="0.5"/><inertia ixx="2e-3" iyy="2e-3" '
        'izz="5e-4" ixy="0" ixz="0" iyz="0"/></inertial><collision><origin xyz="0 0 -0.1"/>'
        '<geometry><sphere radius="0.05"/></geometry></collision></link>'
    )
    joint = (
        '<joint name="j{1}" type="revolute"><parent link="l{0}"/><child link="l{1}"/><origin xyz="0 0 -0.2"/>'
        '<axis xyz="{2} {3} 0.8"/><limit lower="-2" upper="2" effort="2" velocity="50"/></joint>'
    )
    links = [link.format(k) for k in range(7)] + [
        joint.format(k, k + 1, 0.6 * (k % 2), 0.6 * (1 - k % 2)) for k in range(6)
    ]
    return treesim.load(f'<robot name="arm">{"".join(links)}</robot>', base="floating")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rule", IMPLICIT)
def test_the_torque_of_a_step_keeps_its_limit(kind, rule):
    """The law would brake with -4.0 or -1.6 N m, from +0.9 N m at the start of the step."""
    robot, how = wheel(kind), {"dt": H, "integrator": rule, "substeps": 1, "kp": KP}
    stepper, u = treesim.Stepper(robot, **how), np.array([0.9 / KP])
    after, report = stepper.step(stepper.reset([0.0], [1.0]), u)
    assert after.v[0] == pytest.approx(1 - H * LIMIT, abs=1e-15) and report.force[0] == -LIMIT
    assert report.control_work == pytest.approx((after.v[0] ** 2 - 1) / 2, abs=1e-15)
    state = stepper.reset(np.zeros((9, 1)), np.ones((9, 1)))
    many, reports = stepper.step(state, np.tile(u, (9, 1)))
    assert np.array_equal(many.v, np.tile(after.v, (9, 1))) and (reports.force == -LIMIT).all()
    rolled = treesim.rollout(robot, np.zeros((9, 1)), np.ones((9, 1)), np.tile(u, (9, 3, 1)), **how)
    batch = treesim.BatchStepper(robot, 9, steps=3, **how)
    batch.put(slice(None), np.zeros((9, 1)), np.ones((9, 1)))
    batch.step(np.tile(u, (9, 1)))
    for _ in range(2):
        after, _ = stepper.step(after, u)
    assert np.array_equal(rolled.v[:, -1], np.tile(after.v, (9, 1))) and np.array_equal(batch.v, rolled.v[:, -1])


@pytest.mark.parametrize("rule", IMPLICIT)
def test_a_limit_acts_from_the_mean_torque_on(rule):
    free = treesim.Stepper(wheel(limit=1e6), H, integrator=rule, substeps=1, kp=KP)
    unlimited, report = free.step(free.reset([0.0], [1.0]), [0.9 / KP])
    for limit, acts in ((abs(report.force[0]) * (1 + 1e-12), False), (abs(report.force[0]) * (1 - 1e-12), True)):
        stepper = treesim.Stepper(wheel(limit=limit), H, integrator=rule, substeps=1, kp=KP)
        after, own = stepper.step(stepper.reset([0.0], [1.0]), [0.9 / KP])
        assert (own.force[0] == -limit) == acts
        assert after.v[0] == pytest.approx(unlimited.v[0], abs=1e-13)


@pytest.mark.parametrize("rule", RULES)
def test_the_force_that_is_reported_did_the_work(rule):
    for push in (None, {"rim": [0, 0, 0, 0, 0, 0.7]}):
        stepper = treesim.Stepper(wheel(limit=1e6), H, integrator=rule, substeps=1, kp=KP, kd=3.0)
        after, report = stepper.step(stepper.reset([0.01], [1.0]), [0.0], push)
        external = 0.0 if push is None else 0.7
        assert report.force[0] == pytest.approx((after.v[0] - 1) / H - external, abs=1e-11)
    assert stepper.step(stepper.reset([0.01], [1.0]), [SATURATED])[1].force[0] == 1e6, "a control beyond all targets"


@pytest.mark.filterwarnings("ignore::treesim.EnergyWarning")
@pytest.mark.parametrize("rule", IMPLICIT)
def test_all_ways_report_the_same_force_within_limits_in_contact(rule):
    """A chain falls on the ground, with gains that would exceed its limits in the air, at its stops and in impacts."""
    robot, steps = arm(), 60
    world = treesim.World(robot, ground=treesim.Ground(), sensors=[treesim.JointTorque()])
    q0 = robot.standing(np.r_[0, 0, 0, 0, 0, 0, 1, np.full(6, 0.4)])
    target, how = np.r_[np.zeros(6), np.full(6, -0.4)], {"integrator": rule, "kp": 80.0, "kd": 0.5}
    stepper = treesim.Stepper(world, 2e-3, **how)
    state, forces, reached = stepper.reset(q0), [], False
    for _ in range(steps):
        state, report = stepper.step(state, target)
        forces.append(report.force)
        reached = reached or report.contact.wrench.any()
    forces = np.array(forces)
    assert reached and (np.abs(forces) <= robot.effort_limit).all()
    assert (np.abs(forces[:, 6:]) == 2.0).any() and (np.abs(forces[:, 6:]) < 1.0).any()
    run = treesim.Simulation(
        world, 2e-3, integrator=rule, controller=treesim.PD(robot, np.r_[q0[:7], target[6:]], kp=80.0, kd=0.5)
    ).run(steps * 2e-3, q0=q0)
    assert (np.abs(run.tau) <= robot.effort_limit).all()
    assert np.array_equal(run.sensors["joint_torque"][:-1], run.tau[:-1])
    rolled = treesim.rollout(world, np.tile(q0, (3, 1)), np.zeros((3, 12)), np.tile(target, (3, steps, 1)), 2e-3, **how)
    np.testing.assert_allclose(rolled.sensors["joint_torque"][0], forces, rtol=0, atol=1e-6)
    np.testing.assert_allclose(rolled.q[0, -1], state.q, rtol=0, atol=1e-6)


def test_controls_change_only_where_a_force_is_beyond_its_limit():
    forces = MeanForces(np.array([[1.0, -3.0], [2.0, 0.0]]), np.array([[NONE, EFFORT_BELOW], [NONE, np.nan]]))
    control = np.arange(6.0).reshape(2, 3)
    changed = forces.saturated(control)
    assert changed is not None and changed.tolist() == [[0.0, -SATURATED, 2.0], [3.0, 4.0, 5.0]]
    assert np.array_equal(control, np.arange(6.0).reshape(2, 3))
    assert forces._replace(beyond=np.zeros((2, 2))).saturated(control) is None


@pytest.mark.parametrize("count", [1, 4, 300])
def test_states_and_controls_beyond_limits_of_a_batch(count):
    random = np.random.default_rng(count)
    beyond = random.integers(0, 5, size=(count, 3)) * (random.uniform(size=(count, 1)) < 0.3)
    forces = MeanForces(np.zeros((count, 3)), beyond.astype(float))
    control, rows = random.normal(size=(count, 3)), np.empty(count, np.int64)
    limits = BoundLimits(BoundMeans(lambda: 0, forces), control, rows)
    assert rows[: limits.find()].tolist() == np.flatnonzero(beyond.any(axis=1)).tolist()
    before, expected = control.copy(), forces.saturated(control)
    limits.saturate()
    np.testing.assert_array_equal(control, before if expected is None else expected)


@pytest.mark.parametrize("rule", IMPLICIT)
def test_stiff_gains_do_not_turn_a_light_joint_around(rule):
    """The force at the start is far beyond its limit, that of the step is not: a limit at the start would oscillate."""
    body = treesim.Body("body", 0, treesim.Joint("joint", "continuous", effort_limit=30.0), treesim.Inertia(
        1.0, rotational=0.01 * np.eye(3)
    ))  # fmt: skip
    robot = treesim.Tree("light", [body])
    stepper = treesim.Stepper(robot, 5e-3, integrator=rule, substeps=1, kp=500.0, kd=50.0)
    state, speeds = stepper.reset([0.5], [3.0]), []
    for _ in range(20):
        state, report = stepper.step(state, [0.0])
        speeds.append(state.v[0])
        assert abs(report.force[0]) <= 30
    assert np.diff(speeds[2:]).min() > 0 and max(speeds) < 0, "the joint creeps to its target"
    hold = treesim.PD(robot, [0.0], kp=500.0, kd=50.0)
    run = treesim.Simulation(robot, 5e-3, integrator=rule, substeps=1, controller=hold).run(0.1, [0.5], [3.0])
    np.testing.assert_allclose(run.v[1:, 0], speeds, rtol=0, atol=1e-12)
    for fields in ({}, {"kp": [[500.0], [400.0]]}):
        gains = {"kp": 500.0 if not fields else 0.0, "kd": 50.0, "model_parameters": fields}
        rolled = treesim.rollout(
            robot, [[0.5]] * 2, [[3.0]] * 2, np.zeros((2, 20, 1)), 5e-3, integrator=rule, substeps=1, **gains
        )
        np.testing.assert_allclose(rolled.v[0, :, 0], speeds, rtol=0, atol=1e-12)
