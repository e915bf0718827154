"""Errors of sensors: statistics of noise and bias walks, sampling, and equal bits in all ways to run."""

import pickle

import numpy as np
import pytest

import treesim
from treesim.errors import ArgumentError, ContinuationWarning, UnsupportedError
from treesim.simulation.sensor_draws import DROP, EPISODE, NOISE, Draws, sensor_number
from treesim.simulation.sensor_errors import ErrorModel

ROBOT = treesim.load("ur5")
PART = {"noise": [0.1] * 3 + [0.02] * 3, "bias_walk": 0.05, "quantization": 1e-3, "limits": (-9.0, 12.0)}
ALL = PART | {"drop": 0.3, "delay": 0.003, "rate": 250.0}
EXACT, REAL = "exact", "real"


def model(dt=1e-3, **errors):
    """Errors of a sensor of the position of a frame, of which three columns are read."""
    return ErrorModel.of(treesim.ContactForce("wrist_3_link", **errors), ROBOT, dt)


def readings(exact, seed=0, rollouts=None, dt=1e-3, **errors):
    """Readings of exact readings (B, K, 3) from the first step on."""
    made, numbers = model(dt, **errors), np.arange(len(exact)) if rollouts is None else rollouts
    draws, fresh = Draws.of(seed, numbers, 0), np.ones(len(exact), bool)
    return made.readings(exact, draws, np.zeros((len(exact), made.size)), fresh)


def ramp(B=1, K=60):
    """Exact readings (B, K, 3), in which each number of step k is k."""
    return np.broadcast_to(np.arange(float(K))[:, None], (B, K, 3))


def within(value, expected, deviation):
    assert abs(value - expected) < 5 * deviation, (value, expected, deviation)


def test_words_are_those_of_numpy():
    draws = Draws(7, np.array([5]), np.array([3]), np.array([0]))
    for kind in (NOISE, DROP):
        counter = np.array([0, kind, sensor_number("imu"), 3 * EPISODE + 11], np.uint64)
        generator = np.random.Philox(key=[7, 5], counter=counter)
        assert np.array_equal(draws.words("imu", kind, np.array([[11]]), 6)[0, 0], generator.random_raw(6))


def test_noise_is_white_and_normal():
    x = readings(np.zeros((50, 2000, 3)), noise=0.5) / 0.5
    n = x.size
    within(x.mean(), 0, n**-0.5)
    within((x**2).mean(), 1, (2 / n) ** 0.5)
    within((x**4).mean(), 3, (96 / n) ** 0.5)
    within((x[:, 1:] * x[:, :-1]).mean(), 0, n**-0.5)
    within((x[..., 0] * x[..., 1]).mean(), 0, (3 / n) ** 0.5)
    power = (np.abs(np.fft.rfft(x, axis=1)) ** 2)[:, 1:-1].mean(axis=(0, 2)) / 2000  # of 150 exponential numbers each
    for band in np.array_split(power, 9):
        within(band.mean(), 1, (150 * len(band)) ** -0.5)


def test_bias_walks_have_independent_increments():
    T, rate = 0.01, 0.3
    x = readings(np.zeros((400, 500, 3)), bias_walk=rate, dt=T)
    assert not x[:, 0].any()
    steps = np.diff(x, axis=1) / (rate * T**0.5)
    within((steps**2).mean(), 1, (2 / steps.size) ** 0.5)
    within((steps[:, 1:] * steps[:, :-1]).mean(), 0, steps.size**-0.5)
    for k in (31, 64, 257, 499):  # the variance grows linearly
        within((x[:, k] ** 2).mean() / (rate**2 * k * T), 1, (2 / 1200) ** 0.5)
    power = (np.abs(np.fft.rfft(steps, axis=1)) ** 2)[:, 1:-1].mean(axis=(0, 2)) / steps.shape[1]
    for band in np.array_split(power, 8):
        within(band.mean(), 1, (1200 * len(band)) ** -0.5)


def test_walks_have_the_same_bits_for_each_division():
    draws = Draws.of(3, np.arange(4), 0)
    whole = draws.walk("imu", np.zeros(4, int), 200, 2)
    for start, count in [(0, 1), (1, 1), (63, 3), (64, 65), (199, 1)]:
        assert np.array_equal(draws.walk("imu", np.full(4, start), count, 2), whole[:, start : start + count])
    starts = np.array([0, 5, 64, 150])
    mixed = draws.walk("imu", starts, 50, 2)
    assert all(np.array_equal(mixed[i], whole[i, k : k + 50]) for i, k in enumerate(starts))


def test_quantization_and_limits():
    x = readings(np.zeros((5, 200, 3)), noise=1.0, quantization=[0.25, 0.0, 0.1], limits=([-1, -2, -9], 1.5))
    assert np.array_equal(x[..., 0], 0.25 * np.rint(x[..., 0] / 0.25)) and len(np.unique(x[..., 0])) == 11
    assert np.array_equal(x[..., 2], 0.1 * np.rint(x[..., 2] / 0.1))
    assert x[..., 1].min() == -2 and x[..., 1].max() == 1.5 and len(np.unique(x[..., 1])) > 800
    assert not readings(ramp(), limits=(0, 0)).any()


def test_lost_samples_repeat_the_last():
    x = readings(ramp(200, 500), drop=0.25)[..., 0]
    lost = x[:, 1:] != np.arange(1, 500)
    assert not x[:, 0].any()
    assert np.array_equal(x[:, 1:][lost], x[:, :-1][lost])
    within(lost.mean(), 0.25, (0.25 * 0.75 / lost.size) ** 0.5)
    within((lost[:, 1:] & lost[:, :-1]).mean(), 0.25**2, (0.07 / lost.size) ** 0.5)
    assert not readings(ramp(), drop=1.0).any()


@pytest.mark.parametrize("seconds, steps", [(0.0, 0), (0.003, 3), (0.0025, 3), (0.1 + 0.2 - 0.298, 2)])
def test_delays_shift_by_whole_steps(seconds, steps):
    assert np.array_equal(readings(ramp(), delay=seconds), np.maximum(ramp() - steps, 0))


def test_rates_hold_readings_between_samples():
    assert np.array_equal(readings(ramp(), rate=200.0), ramp() // 5 * 5)
    assert np.array_equal(readings(ramp(), rate=200.0, delay=0.002), np.maximum(ramp() // 5 * 5 - 2, 0))
    slow, fast = (readings(np.zeros((2, 30, 3)), noise=1.0, bias_walk=1.0, **one) for one in ({"rate": 100.0}, {}))
    assert np.array_equal(slow[:, ::10], slow[:, 9::10])
    assert not np.isclose(slow[:, 10], fast[:, 1]).any()  # noise is the same, but the bias moves further
    noise = [readings(np.zeros((2, 30, 3)), noise=1.0, **one) for one in ({"rate": 100.0}, {})]
    assert np.array_equal(noise[0][:, ::10], noise[1][:, :3])


def test_readings_have_the_same_bits_for_each_division():
    made, exact = model(**(ALL | {"noise": 0.1})), np.random.default_rng(0).standard_normal((3, 60, 3))
    whole = readings(exact, **(ALL | {"noise": 0.1}))
    for cuts in ([1, 2, 3, 30], [7, 8, 59], list(range(1, 60))):
        memory, parts = np.zeros((3, made.size)), []
        for first, last in zip([0, *cuts], [*cuts, 60], strict=True):
            draws = Draws.of(0, np.arange(3), first)
            parts.append(made.readings(exact[:, first:last], draws, memory, np.full(3, first == 0)))
        assert np.array_equal(np.concatenate(parts, axis=1), whole)


def test_numbers_depend_on_seed_rollout_and_sensor_alone():
    exact = np.zeros((7, 5, 3))
    own = readings(exact, noise=1.0)
    assert np.array_equal(readings(exact[:1], noise=1.0, rollouts=np.array([4])), own[4:5])
    others = [readings(exact, 1, noise=1.0), readings(exact, noise=1.0, name="other"), own[[1, 0, *range(2, 7)]]]
    assert not any(np.isclose(x[:2], own[:2]).any() for x in others)


def world(**errors):
    sensors = [treesim.Imu("tool0", name=EXACT), treesim.Imu("tool0", name=REAL, **errors)]
    return treesim.World(ROBOT, sensors=sensors)


def test_readings_are_exact_ones_with_errors():
    run = treesim.Simulation(world(**PART), seed=3).run(0.02)
    exact, found = run.sensors[EXACT][:-1], run.sensors[REAL][:-1]
    assert np.array_equal(exact, treesim.Simulation(world()).run(0.02).sensors[REAL][:-1])
    assert 0.05 < (found - exact)[:, :3].std() < 0.2 and 0.01 < (found - exact)[:, 3:].std() < 0.04


@pytest.mark.parametrize("errors", [PART, ALL], ids=["each step alone", "with memory"])
def test_parts_replays_files_and_pickles_continue(tmp_path, errors):
    simulation = treesim.Simulation(world(**errors), seed=3)
    whole, first = simulation.run(0.05), simulation.run(0.021)
    first.save(tmp_path / "first.npz")
    copied = pickle.loads(pickle.dumps(simulation))
    for start in (first, treesim.Trajectory.load(tmp_path / "first.npz")):
        rest = copied.run_from(0.029, start)
        assert np.array_equal(rest.sensors[REAL], whole.sensors[REAL][21:], equal_nan=True)
        again = treesim.replay(rest)
        assert again.same and np.array_equal(again.trajectory.sensors[REAL], rest.sensors[REAL], equal_nan=True)
    other = treesim.Simulation(world(**errors), seed=4).run(0.05)
    assert (other.sensors[REAL][:-1] != whole.sensors[REAL][:-1]).any(axis=1).all()


def test_a_start_without_memory_is_reported():
    first = treesim.Simulation(world()).run(0.01)
    with pytest.warns(ContinuationWarning, match="holds no last readings of this world's sensors"):
        treesim.Simulation(world(**ALL)).run_from(0.01, first)


def test_steppers_read_what_depends_on_one_step():
    stepper = treesim.Stepper(world(**PART))
    run = treesim.Simulation(world(**PART), seed=3).run(0.01)
    state = stepper.reset(seed=3)
    many = stepper.reset(np.zeros((3, 6)), seed=3)
    for k in range(10):
        state, report = pickle.loads(pickle.dumps(stepper.step(state)))
        many, reports = stepper.step(many)
        assert np.array_equal(report.sensors[REAL], run.sensors[REAL][k])
        assert np.array_equal(reports.sensors[REAL][0], run.sensors[REAL][k])
        assert not np.isclose(reports.sensors[REAL][1], reports.sensors[REAL][0]).all()
    report = treesim.Stepper(world(**ALL)).step(treesim.Stepper(world(**ALL)).reset())[1]
    assert report.sensors[EXACT].shape == (6,)
    with pytest.raises(UnsupportedError, match="sensor 'real' has drop, delay or rate"):
        report.sensors[REAL]


@pytest.mark.parametrize("t", [-1e300, -0.5, 1e9, 1e300])
def test_steps_at_any_time_have_readings(t):
    stepper = treesim.Stepper(world(noise=0.1, bias_walk=1e-3, limits=(-1e6, 1e6)))
    report = stepper.step(stepper.reset(t=t))[1]
    assert np.isfinite(report.sensors[REAL]).all() and (report.sensors[REAL] != report.sensors[EXACT]).all()


def test_wrenches_across_joints_have_no_noise():
    noisy, exact = (
        treesim.World(ROBOT, sensors=treesim.ForceTorque("wrist_1_joint", noise=noise)) for noise in (1.0, 0.0)
    )
    one, other = (treesim.Simulation(each).run(0.01) for each in (noisy, exact))
    np.testing.assert_allclose(one.joint_wrench("wrist_1_joint"), other.joint_wrench("wrist_1_joint"), atol=1e-9)


def test_errors_are_shown_and_compared():
    sensor = treesim.Imu("tool0", noise=np.full(6, 0.5), rate=10)
    assert sensor == treesim.Imu("tool0", noise=(0.5,) * 6, rate=10.0) and hash(sensor) is not None
    assert "noise" in str(sensor._repr_fields()) and "drop" not in str(sensor._repr_fields())
    with pytest.raises(TypeError):
        treesim.Imu("tool0", "name", 0.5)


@pytest.mark.parametrize(
    "errors, message",
    [
        ({"noise": -0.1}, "Imu: noise must be one number, or one for each column, finite and not negative, got -0.1"),
        ({"noise": np.nan}, "Imu: noise must be"),
        ({"noise": "0.1"}, "Imu: noise must be"),
        ({"noise": [0.1, -0.2]}, r"Imu: noise must be one number, .* not negative, got \[0.1, -0.2\]"),
        ({"bias_walk": [[0.1]]}, "Imu: bias_walk must be one number, or one for each column"),
        ({"quantization": np.inf}, "Imu: quantization must be"),
        ({"drop": 1.5}, "Imu: drop must be a probability between 0 and 1, got 1.5"),
        ({"limits": 1.0}, "Imu: limits must be a pair"),
        ({"limits": (1, -1)}, "Imu: limits: the smallest reading is above the largest"),
        ({"limits": ([1, 2], [3, 4, 5])}, "Imu: limits has 2 smallest readings, but 3 largest"),
        ({"delay": -1e-3}, "Imu: delay must be a number of seconds, finite, not negative"),
        ({"rate": 0}, "Imu: rate must be a number of samples per second, finite, above 0"),
    ],
)
def test_invalid_errors_are_refused(errors, message):
    with pytest.raises(ArgumentError, match=message):
        treesim.Imu("tool0", **errors)


@pytest.mark.parametrize("name", ["noise", "bias_walk", "quantization", "limits"])
def test_numbers_for_other_columns_are_refused(name):
    value = ([0.0] * 3, 1.0) if name == "limits" else [0.1] * 3
    with pytest.raises(ArgumentError, match=f"'imu_tool0': {name} has 3 numbers, but the columns are ax, .*give one"):
        treesim.World(ROBOT, sensors=treesim.Imu("tool0", **{name: value}))


@pytest.mark.parametrize(
    "errors, message",
    [
        ({"rate": 300.0}, "a rate of 300 Hz is a sample every 3.333333333 steps of 0.001 s: give 333.3333333 Hz"),
        ({"rate": 2000.0}, "a rate of 2000 Hz is a sample every 0.5 steps of 0.001 s: give 1000 Hz"),
        ({"delay": 0.257}, "a delay of 0.257 s is 257 steps of 0.001 s, but at most 256 are stored"),
    ],
)
def test_times_that_do_not_fit_the_step_are_refused(errors, message):
    for start in (
        treesim.Simulation, treesim.Stepper, lambda w: treesim.BatchStepper(w, 2),
        lambda w: treesim.rollout(w, np.zeros(6), np.zeros(6), steps=1),
    ):  # fmt: skip
        with pytest.raises(ArgumentError, match=message):
            start(world(**errors))
    with pytest.raises(ArgumentError, match="seed must be a whole number"):
        treesim.Simulation(world(), seed=-1)
