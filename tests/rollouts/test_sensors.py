"""Sensors in rollouts and batch steppers: those of `Stepper`, with bits that depend on a step alone."""

import copy
import os
import pickle
from dataclasses import replace

import numpy as np
import pytest

import treesim
from tests.rollouts.test_time_slices import Cut
from treesim import measures
from treesim.rollouts import rollout
from treesim.rollouts import sensors as rollout_sensors

ARM = [treesim.Imu("tool0"), treesim.ForceTorque("wrist_1_joint"), treesim.FramePose("tool0"), treesim.JointTorque()]
FOOT = "left_ankle_roll_link"
LEGGED = [treesim.Imu("pelvis"), treesim.ForceTorque("left_ankle_roll_joint"), treesim.ContactForce(FOOT)]
PUSH = treesim.ExternalForce("tool0", (1.0, 2.0, 3.0))


def arm(sensors, **options):
    robot, rng = treesim.load("ur5"), np.random.default_rng(0)
    world = treesim.World(robot, sensors=sensors, **options)
    return world, rng.uniform(-1, 1, (20, 6)), rng.standard_normal((20, 6)), np.full(6, 0.5)


def constrained(sensors):
    q = np.array([0.3, -1.0, 1.0, 0.2, 0.3, 0.4])
    world = treesim.World(treesim.load("ur5"), [treesim.FrameConstraint("tool0", rows="linear")], q, sensors=sensors)
    return world, np.tile(q, (20, 1)), np.zeros((20, 6)), np.full(6, 0.5)


def with_mimic_joints(sensors):
    robot, rng = treesim.load("panda"), np.random.default_rng(0)
    q0 = np.tile(robot.clamp(robot.neutral()), (20, 1))
    return treesim.World(robot, sensors=sensors), q0, 0.1 * rng.standard_normal((20, robot.nv)), np.zeros(robot.nv)


def legged(sensors):
    robot, rng = treesim.load("g1_29dof_rev_1_0", base="floating"), np.random.default_rng(0)
    world = treesim.World(robot, ground=treesim.Ground(), sensors=sensors)
    q0 = np.tile(robot.standing(robot.neutral()), (20, 1))
    return world, q0, 0.1 * rng.standard_normal((20, robot.nv)), np.zeros(robot.nv)


HOLD = {"kp": np.r_[np.zeros(6), np.full(29, 100.0)], "kd": np.r_[np.zeros(6), np.full(29, 5.0)]}
CASES = {
    "from states": (arm, ARM[:1] + ARM[2:3], {}),
    "controls within limits": (arm, ARM, {"kp": 50.0, "kd": 5.0, "substeps": 3}),
    "external forces": (arm, ARM, {"f_ext": PUSH}),
    "constraints": (constrained, ARM, {"f_ext": PUSH}),
    "mimic joints": (with_mimic_joints, [treesim.ForceTorque("panda_joint7"), treesim.JointTorque()], {}),
    "contact": (legged, [*LEGGED, treesim.JointTorque()], HOLD),
    "contact by SIMD": (legged, [LEGGED[0], treesim.JointTorque()], HOLD),
}


@pytest.mark.parametrize("every", [1, 3])
@pytest.mark.parametrize("case", CASES)
def test_readings_are_those_of_steps(case, every):
    setting, sensors, options = CASES[case]
    world, q0, v0, u = setting(sensors)
    force, options = options.get("f_ext"), {name: x for name, x in options.items() if name != "f_ext"}
    controls = np.tile(u, (6, 1))
    runs = treesim.rollout(world, q0, v0, controls, every=every, f_ext=force, **options)
    one = treesim.rollout(world, q0[:1], v0[:1], controls, every=every, f_ext=force, threads=1, **options)
    stepper = treesim.Stepper(world, 1e-3, **options)
    batch = treesim.BatchStepper(world, len(q0), 1e-3, steps=every, **options)
    batch.put(slice(None), q0, v0)
    state = stepper.reset(q0, v0)
    for k in range(6):
        state, report = stepper.step(state, u, force)
        if (k + 1) % every:
            continue
        batch.step(u, force)
        for name, expected in report.sensors.items():
            near = {"rtol": 0, "atol": (1e-6 if setting is legged else 1e-9) * (1 + np.abs(expected).max())}
            np.testing.assert_allclose(runs.sensors[name][:, k // every], expected, **near)
            np.testing.assert_allclose(batch.sensors[name], expected, **near)
    for name, readings in runs.sensors.items():
        assert np.array_equal(one.sensors[name][0], readings[0])


@pytest.mark.parametrize("sensors", [LEGGED, [*LEGGED[:1], treesim.JointTorque()]])
def test_no_slicing_changes_a_bit_of_readings_in_contact(monkeypatch, sensors):
    """Between records contact is solved on SIMD lanes, and states and readings are those of any slices all the same."""
    world, q0, v0, u = legged(sensors)
    given = world, q0, v0, np.tile(u, (23, 1))
    how = {"every": 5, **HOLD, "measure": {"low": measures.minimum(lambda t, q, v: q[2])}}
    runs = treesim.rollout(*given, **how)
    monkeypatch.setattr(rollout, "SliceScheduler", Cut)
    for seed in range(2):
        monkeypatch.setattr(Cut, "seed", seed)
        cut = treesim.rollout(*given, **how)
        assert np.array_equal(cut.q, runs.q) and np.array_equal(cut.measures["low"], runs.measures["low"])
        assert np.array_equal(cut.residual, runs.residual)
        for name, readings in runs.sensors.items():
            assert np.array_equal(cut.sensors[name], readings)


def drops():
    crate = treesim.free_body("crate", "box", (0.2, 0.2, 0.2), 1.0)
    sensors = [treesim.ContactForce("crate"), treesim.Imu("crate")]
    q0 = np.array([[0, 0, 0.1 + height, 0, 0, 0, 1] for height in (0, 0.01, 0.02)])
    return treesim.World(crate, ground=treesim.Ground(), sensors=sensors), q0, np.zeros(6)


def test_measures_take_readings_of_every_step():
    taken = {
        "most": measures.maximum(lambda t, q, v, p, c, s: s["contact_force_crate"][2]),
        "square": measures.mean(lambda t, q, v, p, c, s: s["imu_crate"][:3] @ s["imu_crate"][:3]),
        "wrench": measures.maximum(lambda t, q, v, p, c: c["crate"][2]),
    }
    runs = treesim.rollout(*drops(), steps=70, measure=taken)
    force, imu = runs.sensors["contact_force_crate"], runs.sensors["imu_crate"]
    assert np.array_equal(runs.measures["most"], force[..., 2].max(axis=1))
    assert np.array_equal(runs.measures["wrench"], runs.measures["most"])
    np.testing.assert_allclose(runs.measures["square"], (imu[..., :3] ** 2).sum(-1).mean(-1), rtol=1e-12)
    for options in ({"keep": "none"}, {"every": 7}):
        again = treesim.rollout(*drops(), steps=70, measure=taken, **options)
        for name in taken:
            assert np.array_equal(again.measures[name], runs.measures[name])
    assert np.array_equal(again.sensors["imu_crate"], imu[:, 6::7])


def test_readings_do_not_depend_on_how_many_steps_are_read_at_once(monkeypatch):
    runs = treesim.rollout(*drops(), steps=70)
    monkeypatch.setattr(rollout_sensors, "STATES", 30)
    again = treesim.rollout(*drops(), steps=70)
    assert np.array_equal(again.q, runs.q)
    for name, readings in runs.sensors.items():
        assert np.array_equal(again.sensors[name], readings)


@pytest.mark.parametrize("every", [1, 7])
def test_a_rollout_that_has_ended_has_no_readings(every):
    for end in (lambda t, q, v, p, c, s: s["contact_force_crate"][2] > 0.1, lambda t, q, v: q[2] < 0.1001):
        runs = treesim.rollout(*drops(), steps=70, every=every, measure={"hit": measures.stop(end)})
        assert runs.ended.all() and runs.ended_at[0] == 1
        gone = every * np.arange(1, 70 // every + 1) > runs.ended_at[:, None]
        for readings in runs.sensors.values():
            assert np.array_equal(np.isnan(readings).all(axis=-1), gone)


def test_files_hold_readings(tmp_path):
    runs = treesim.rollout(*drops(), steps=20, out=tmp_path / "run")
    assert np.array_equal(np.load(tmp_path / "run_sensor_1.npy"), runs.sensors["imu_crate"])

    def interrupt(done, total):
        raise KeyboardInterrupt

    with pytest.warns(treesim.StoppedWarning):
        treesim.rollout(*drops(), steps=20, out=tmp_path / "run", progress=interrupt)
    found = treesim.rollouts.read_unfinished(tmp_path / "run").sensors
    assert found.columns == runs.sensors.columns
    assert np.array_equal(found["imu_crate"], runs.sensors["imu_crate"])
    crate = drops()[0].robot
    treesim.rollout(crate, *drops()[1:], steps=2, out=tmp_path / "run")
    assert sorted(os.listdir(tmp_path)) == ["run_q.npy", "run_v.npy"]


def test_tables_hold_readings():
    runs = treesim.rollout(*drops(), steps=3)
    assert np.array_equal(
        runs.to_xarray()["sensor.imu_crate"].sel({"imu_crate.column": "az"}), runs.sensors["imu_crate"][..., 2]
    )
    table = runs.to_arrow()
    assert np.array_equal(table["sensor.imu_crate.az"], runs.sensors["imu_crate"][..., 2].ravel())
    assert table.schema.field("sensor.imu_crate.az").metadata[b"unit"] == b"m/s^2"


def test_batched_inertias_and_gravity_are_read():
    world, q0, v0, _ = arm(ARM[:2])
    masses, gravity = np.array([body.inertia.mass for body in world.robot.bodies]), np.array([0.0, 1.0, -3.0])
    given = {"mass": masses * [[1.0], [2.0]], "gravity": np.array([world.robot.gravity, gravity])}
    runs = treesim.rollout(world, q0[:1], v0[:1], steps=3, model_parameters=given)
    bodies = [replace(body, inertia=replace(body.inertia, mass=2 * body.inertia.mass)) for body in world.robot.bodies]
    other = treesim.Tree("heavy", bodies, gravity=gravity, frames=list(world.robot.frames.values())[6:])
    alone = treesim.rollout(treesim.World(other, sensors=ARM[:2]), q0[:1], v0[:1], steps=3)
    for name, readings in runs.sensors.items():
        np.testing.assert_allclose(readings[1], alone.sensors[name][0], rtol=0, atol=1e-9)


def test_batch_steppers_have_readings_of_the_last_step_alone():
    world, q0, v0 = drops()
    stepper = treesim.BatchStepper(world, 3, steps=2)
    assert np.isnan(stepper.sensors["imu_crate"]).all()
    stepper.put(slice(None), q0, v0)
    stepper.step()
    readings, again = stepper.sensors, copy.deepcopy(stepper)
    found = readings["imu_crate"].copy()
    stepper.put([1], q0[1], v0)
    assert np.array_equal(np.isnan(stepper.sensors["imu_crate"]).all(axis=1), [False, True, False])
    stepper.step()
    for other in (readings, again.sensors, pickle.loads(pickle.dumps(again)).sensors):
        assert np.array_equal(other["imu_crate"], found)


def test_states_that_are_not_finite_have_no_readings():
    world, q0, v0, _ = arm(ARM[:1], use_limits=False)
    v0[1] = 1e200
    with pytest.warns(treesim.DivergedWarning):
        runs = treesim.rollout(world, q0[:2], v0[:2], steps=3)
    assert np.isnan(runs.sensors["imu_tool0"][1]).all() and np.isfinite(runs.sensors["imu_tool0"][0]).all()


def test_robots_without_joints_are_read():
    world = treesim.World(treesim.Tree("still", []), sensors=treesim.JointTorque())
    runs = treesim.rollout(world, [], [], steps=3)
    assert runs.sensors["joint_torque"].shape == (1, 3, 0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"number": np.float32}, "sensors, as <ContactForce 'contact_force_crate'>, .* give float64"),
        ({"measure": {"m": measures.last(lambda t, q, v, p, c, s: s["imu"][0])}}, "unknown sensor 'imu': .*imu_crate"),
    ],
)
def test_errors_name_the_sensor(change, message):
    world, q0, v0 = drops()
    number = change.pop("number", float)
    with pytest.raises(treesim.errors.TreesimError, match=message):
        treesim.rollout(world, q0.astype(number), v0.astype(number), steps=2, **change)


def test_measures_of_readings_need_sensors():
    world, q0, v0 = drops()
    measure = {"m": measures.last(lambda t, q, v, p, c, s: s["imu"][0])}
    with pytest.raises(treesim.ArgumentError, match="'m' takes readings s, but the world has no sensors"):
        treesim.rollout(world.robot, q0, v0, steps=2, measure=measure)


def lift(t, q, v, p, u, c):
    """Force that grows with that of the ground in the step before, and decays."""
    u[2] = 0.9 * u[2] + p[0] * c["crate"][2] - v[2]
    u[0] = 0.1 * t


@pytest.mark.parametrize("every", [1, 5])
def test_policies_see_contact_and_their_last_control(every):
    world, q0, v0 = drops()
    gains = np.array([[0.2], [0.5], [0.4]])
    runs = treesim.rollout(world, q0, v0, lift, steps=60, every=every, policy_parameters=gains)
    stepper = treesim.Stepper(world)
    state, u = stepper.reset(q0, np.tile(v0, (3, 1))), np.zeros((3, 6))
    c = [{"crate": np.zeros(6)}] * 3
    for k in range(60):
        for one in zip(state.q, state.v, gains, u, c, strict=True):
            lift(state.t, *one)
        state, report = stepper.step(state, u)
        c = report.contact.wrench
        if (k + 1) % every == 0:
            np.testing.assert_allclose(runs.q[:, k // every], state.q, rtol=0, atol=1e-9)
    assert np.abs(runs.v[:, -1, 2]).max() > 0.1  # it has bounced off
    single = treesim.rollout(world, q0[2:].astype(np.float32), v0, lift, steps=60, policy_parameters=gains[2:])
    np.testing.assert_allclose(single.q[0, -1], runs.q[2, -1], rtol=0, atol=1e-5)
