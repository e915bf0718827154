"""Errors of sensors in rollouts, batch steppers and sweeps: the same bits for any threads, batches and divisions."""

import copy
import pickle

import numpy as np
import pytest

import treesim
from tests.rollouts.test_time_slices import Cut
from treesim import measures
from treesim.errors import ArgumentError
from treesim.rollouts import rollout

PART = {"noise": 0.1, "bias_walk": 0.05, "quantization": 1e-3}
ALL = PART | {"drop": 0.3, "delay": 0.003, "rate": 250.0}
ERRORS = pytest.mark.parametrize("errors", [PART, ALL], ids=["each step alone", "with memory"])
CRATE = treesim.free_body("crate", "box", (0.2, 0.2, 0.2), 1.0)
STILL = np.array([0, 0, 0.1, 0, 0, 0, 1.0])


def in_contact(**errors):
    sensors = [treesim.ContactForce("crate", name="exact"), treesim.ContactForce("crate", name="real", **errors)]
    return treesim.World(CRATE, ground=treesim.Ground(), sensors=[*sensors, treesim.Imu("crate", **errors)])


def starts(count=7):
    q0 = np.tile(STILL, (count, 1))
    q0[:, 2] += 0.003 * np.arange(count)
    return q0, np.zeros(6)


def rolled(world, count=7, steps=40, **options):
    return treesim.rollout(world, *starts(count), steps=steps, **({"seed": 3} | options))


def same(one, other):
    """Whether two mappings of readings have the same bits."""
    return all(np.array_equal(one[name], other[name], equal_nan=True) for name in one)


@ERRORS
def test_threads_batches_and_records_change_no_bit(errors):
    world = in_contact(**errors)
    runs = rolled(world, threads=1)
    assert same(rolled(world, threads=2).sensors, runs.sensors)
    assert same(rolled(world, 1).sensors, {name: x[:1] for name, x in runs.sensors.items()})
    every = {name: x[:, 3::4] for name, x in runs.sensors.items()}
    assert same(rolled(world, every=4).sensors, every)
    assert same(rolled(world, keep="last").sensors, {name: x[:, -1:] for name, x in runs.sensors.items()})
    assert not same(rolled(world, seed=4).sensors, runs.sensors)


@ERRORS
def test_slices_change_no_bit(monkeypatch, errors):
    world = in_contact(**errors)
    how = {"every": 5, "steps": 43, "measure": {"low": measures.minimum(lambda t, q, v: q[2])}}
    runs = rolled(world, **how)
    monkeypatch.setattr(rollout, "SliceScheduler", Cut)
    for seed in range(2):
        monkeypatch.setattr(Cut, "seed", seed)
        assert same(rolled(world, **how).sensors, runs.sensors)


@ERRORS
def test_simulations_and_rollouts_have_the_same_errors(errors):
    """They fall freely, so that all exact readings are 0: others may differ by rounding."""
    world, q0 = treesim.World(CRATE, ground=treesim.Ground(), sensors=treesim.Imu("crate", **errors)), np.array(STILL)
    q0[2] = 1.0
    run = treesim.Simulation(world, seed=3).run(0.04, q0)
    runs = treesim.rollout(world, q0, np.zeros(6), steps=40, seed=3)
    assert np.array_equal(runs.sensors["imu_crate"][0], run.sensors["imu_crate"][:-1])
    assert np.abs(runs.sensors["imu_crate"]).max(axis=1).all()


@ERRORS
@pytest.mark.parametrize("steps", [1, 5])
def test_batch_steppers_draw_as_rollouts_and_new_episodes(errors, steps):
    world = in_contact(**errors)
    runs = rolled(world, every=steps)
    stepper = treesim.BatchStepper(world, 7, steps=steps, seed=3)
    stepper.put(slice(None), *starts())
    first = []
    for k in range(40 // steps):
        stepper.step()
        first.append(np.array(stepper.sensors["imu_crate"]))
        assert same(stepper.sensors, {name: x[:, k] for name, x in runs.sensors.items()})
        if k == 2:
            copied = copy.deepcopy(stepper)
            stepper = pickle.loads(pickle.dumps(stepper))
            assert same(stepper.sensors, copied.sensors)
    rows = np.array([1, 4])
    stepper.put(rows, *starts(2))
    stepper.put(rows, starts()[0][rows], np.zeros(6))  # no step was taken: the same episode
    assert np.isnan(stepper.sensors["imu_crate"][rows]).all() and np.isfinite(stepper.sensors["imu_crate"][0]).all()
    other = pickle.loads(pickle.dumps(stepper))
    for k in range(3):
        stepper.step()
        other.step()
        assert same(stepper.sensors, other.sensors)
        exact = runs.sensors["exact"][rows, k]
        np.testing.assert_allclose(stepper.sensors["exact"][rows], exact, atol=1e-9)
        if "rate" not in errors or not k:
            assert not np.isclose(stepper.sensors["imu_crate"][rows], first[k][rows]).all(axis=1).any()


def test_batch_steppers_take_keys_of_episodes():
    world = in_contact(**ALL)
    runs = rolled(world, seed=9)
    stepper = treesim.BatchStepper(world, 3)
    stepper.put(slice(None), starts()[0][[5, 2, 0]], np.zeros(6), (9, np.array([5, 2, 0]), 0))
    for k in range(10):
        stepper.step()
        assert same(stepper.sensors, {name: x[[5, 2, 0], k] for name, x in runs.sensors.items()})
    for episode, message in [
        ((1, 2), "episode must be three: seed, rollout and number"),
        ((1, 2, -1), "episode: number must be a whole number up to 2147483647, or 3 of them, got -1"),
        ((0.5, 2, 1), "episode: seed must be a whole number"),
        ((1, [1, 2], 1), "episode: rollout must be a whole number"),
    ]:
        with pytest.raises(ArgumentError, match=message):
            stepper.put(slice(None), STILL, np.zeros(6), episode)


@ERRORS
def test_measures_and_external_forces_take_real_readings(errors):
    world, push = in_contact(**errors), treesim.ExternalForce("crate", (0, 0, -5.0))
    most = {"most": measures.maximum(lambda t, q, v, p, c, s: s["real"][2])}
    runs = rolled(world, f_ext=push, measure=most)
    assert np.array_equal(runs.measures["most"], runs.sensors["real"][..., 2].max(axis=1))
    stepper = treesim.BatchStepper(world, 7, steps=4, seed=3)
    stepper.put(slice(None), *starts())
    for k in range(3):
        stepper.step(None, push)
        np.testing.assert_allclose(stepper.sensors["real"], runs.sensors["real"][:, 4 * k + 3], atol=1e-3 + 1e-6)


def test_samples_of_sweeps_are_rollouts(tmp_path):
    given = {"q0": STILL, "samples": 5, "steps": 6, "seed": 3, "keep": "all"}
    found = treesim.sweep(in_contact(**PART), store=tmp_path / "sweep", **given)
    runs = treesim.rollout(in_contact(**PART), np.tile(STILL, (5, 1)), np.zeros(6), steps=6, seed=3)
    assert np.array_equal(found.summary["sensor.imu_crate"], runs.sensors["imu_crate"])
    assert np.array_equal(found.replay(4).sensors["imu_crate"][0], runs.sensors["imu_crate"][4])
