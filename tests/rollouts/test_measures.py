"""Measures of rollouts against NumPy on the recorded states of the same rollouts."""

import math
import tracemalloc

import numpy as np
import pytest

import treesim
from treesim.engine.call.generic import runs_compiled
from treesim.kernels.algebra import numbers
from treesim.rollouts import measures, rollout

STEPS = 60
KEPT = ("all", "last", "none")


@pytest.fixture(params=["specialized", "generic"])
def engine(request):
    if request.param == "specialized" and not runs_compiled():
        pytest.skip("kernels run as plain Python")
    return request.param


@pytest.fixture(params=["limits", "free"])
def robot(request):
    """An arm, whose limits are watched, and the same one without."""
    arm = treesim.load("ur5")
    if request.param == "limits":
        return arm
    joints = [
        treesim.Joint(j.name, j.type, placement=j.placement, axis=j.axis) for j in (body.joint for body in arm.bodies)
    ]
    parts = [treesim.Body(b.name, b.parent, j, b.inertia) for b, j in zip(arm.bodies, joints, strict=True)]
    return treesim.Tree("free_arm", parts)


def start(robot, count=13, seed=0):
    rng = np.random.default_rng(seed)
    return 0.3 * rng.normal(size=(count, robot.nq)), rng.normal(size=(count, robot.nv))


def of_ur5():
    return {
        "low": measures.minimum(lambda t, q, v: q[2]),
        "high": measures.maximum(lambda t, q, v: v[1]),
        "some": measures.any_(lambda t, q, v: (q[2] < 0) & (v[1] > 0)),
        "every": measures.all_(lambda t, q, v: ~(q[2] >= 0.2) | (t <= 0)),
        "first": measures.first_time(lambda t, q, v: v[1] > 1),
        "mean": measures.mean(lambda t, q, v: v[3]),
        "end": measures.last(lambda t, q, v: q[4]),
        "counts": measures.histogram(lambda t, q, v: v[2], 8, (-2, 2)),
        "stop": measures.stop(lambda t, q, v: v[1] > 1.5),
    }


def first_of(condition, t):
    return t[condition.argmax()] if condition.any() else np.inf


def check_ur5(found):
    for b, n in enumerate(found.measured):
        q, v, t = found.q[b, :n], found.v[b, :n], found.t[:n]
        got = {name: x[b] for name, x in found.measures.items()}
        assert got["low"] == q[:, 2].min() and got["high"] == v[:, 1].max()
        assert got["some"] == ((q[:, 2] < 0) & (v[:, 1] > 0)).any() and got["every"] == (q[:, 2] < 0.2).all()
        assert got["first"] == first_of(v[:, 1] > 1, t) and got["end"] == q[-1, 4]
        assert abs(got["mean"] - math.fsum(v[:, 3]) / n) <= 1e-15 * np.abs(v[:, 3]).max()
        assert np.array_equal(got["counts"], np.histogram(v[:, 2], 8, (-2, 2))[0])
        assert got["stop"] == first_of(found.v[b, :, 1] > 1.5, found.t)
        assert found.ended_at[b] == (n if got["stop"] < np.inf else -1)
        assert (found.q[b, n:] == q[-1]).all() and (found.v[b, n:] == v[-1]).all()
    assert found.ended.any() and np.array_equal(found.ended, found.ended_at >= 0) and not found.ended.all()


def test_measures_are_those_of_the_recorded_states(robot, engine):
    found = treesim.rollout(robot, *start(robot), steps=STEPS, measure=of_ur5(), engine=engine)
    check_ur5(found)
    assert "ended" in repr(found)


@pytest.mark.parametrize("keep", KEPT[1:])
def test_what_is_kept_changes_no_measure(keep, robot, engine):
    given = {"steps": STEPS, "measure": of_ur5(), "engine": engine}
    found = treesim.rollout(robot, *start(robot), **given)
    less = treesim.rollout(robot, *start(robot), keep=keep, **given)
    for name, x in found.measures.items():
        assert np.array_equal(x, less.measures[name])
    assert np.array_equal(found.ended_at, less.ended_at)
    assert less.q.shape == (13, int(keep == "last"), 6) and len(less.t) == less.q.shape[1]
    if keep == "last":
        assert np.array_equal(less.q[:, 0], found.q[:, -1]) and less.t[0] == found.t[-1]


class ShortPace(rollout.SliceScheduler):
    """A pace of a few steps a slice, which end anywhere."""

    def rows(self, left, steps, most):
        return min(left, 5)

    def end(self, step, last, rows, every):
        self.work = 7 * rows
        return super().end(step, last, rows, every)


def test_neither_slices_nor_threads_nor_company_change_a_measure(monkeypatch, robot, engine):
    q0, v0 = start(robot)
    given = {"steps": STEPS, "measure": of_ur5(), "engine": engine}
    found = treesim.rollout(robot, q0, v0, threads=2, **given)
    alone = treesim.rollout(robot, q0[3:4], v0[3:4], threads=1, **given)
    monkeypatch.setattr(rollout, "SliceScheduler", ShortPace)
    sliced = [treesim.rollout(robot, q0, v0, keep=keep, **given) for keep in KEPT]
    sliced.append(treesim.rollout(robot, q0, v0, every=9, **given))
    for name, x in found.measures.items():
        assert np.array_equal(alone.measures[name], x[3:4])
        for one in sliced:
            assert np.array_equal(one.measures[name], x)
    assert np.array_equal(sliced[0].q, found.q)
    assert np.array_equal(sliced[-1].q, found.q[:, 8::9])


def test_substeps_are_not_measured(robot, engine):
    found = treesim.rollout(robot, *start(robot), steps=STEPS, substeps=3, measure=of_ur5(), engine=engine)
    check_ur5(found)


def test_policies_and_their_parameters(robot, engine):
    q0, v0 = start(robot)
    p = np.linspace(1, 20, 26).reshape(13, 2)

    def policy(t, q, v, p, u):
        u[:] = p[0] * (0.1 * np.sin(t) - q) - p[1] * v

    measure = of_ur5() | {"above": measures.any_(lambda t, q, v, p: q[0] > 0.01 * p[0])}
    found = treesim.rollout(robot, q0, v0, policy, steps=STEPS, policy_parameters=p, measure=measure, engine=engine)
    check_ur5(found)
    above = [(found.q[b, :n, 0] > 0.01 * p[b, 0]).any() for b, n in enumerate(found.measured)]
    assert np.array_equal(found.measures["above"], above) and len(set(above)) == 2


def test_parameters_of_measures_alone(robot, engine):
    q0, v0 = start(robot)
    p = np.linspace(-1, 1, 13)[:, None]
    measure = {"above": measures.mean(lambda t, q, v, p: numbers.less(p[0], q[0]))}
    found = treesim.rollout(robot, q0, v0, steps=STEPS, policy_parameters=p, measure=measure, engine=engine)
    assert np.allclose(found.measures["above"], (found.q[..., 0] > p).mean(axis=1), rtol=1e-14)


def test_positions_and_energies_are_those_of_the_robot(robot, engine):
    hand, energy = measures.position(robot, "wrist_3_link"), measures.energy(robot)
    measure = {
        "low": measures.minimum(lambda t, q, v: hand(q)[2]),
        "energy": measures.last(lambda t, q, v: energy(q, v)),
    }
    found = treesim.rollout(robot, *start(robot), steps=STEPS, measure=measure, engine=engine)
    # heights are below 1 m, energies below 100 J: some hundred operations of double precision
    assert np.abs(found.measures["low"] - hand(found.q)[..., 2].min(axis=1)).max() < 1e-13
    assert np.abs(found.measures["energy"] - found.energy[:, -1]).max() < 1e-11


def diverging(robot):
    q0, v0 = start(robot, 6)
    v0[2] = 1e80
    return q0, v0


@pytest.mark.parametrize("keep", KEPT)
def test_a_state_that_is_not_finite_is_not_measured(keep, robot, engine):
    measure = of_ur5()
    del measure["stop"]
    with pytest.warns(treesim.DivergedWarning, match="number 2"):
        found = treesim.rollout(
            robot,
            *diverging(robot),
            steps=STEPS,
            measure=measure,
            engine=engine,
            keep=keep,
            integrator="explicit_euler",
        )
    assert found.diverged.tolist() == [False, False, True, False, False, False]
    assert found.measured[2] < STEPS and (np.delete(found.measured, 2) == STEPS).all()
    assert all(np.isfinite(x[2]).all() for name, x in found.measures.items() if name not in ("first", "mean"))
    if keep == "all":
        assert found.diverged_at[2] == found.measured[2]
    if keep == "none":
        assert (found.diverged_at == -1).all(), "no state is recorded"


def test_single_precision(robot, engine):
    q0, v0 = (x.astype(np.float32) for x in start(robot))
    found = treesim.rollout(robot, q0, v0, steps=STEPS, measure=of_ur5(), engine=engine)
    assert found.measures["low"].dtype == np.float32
    for b, n in enumerate(found.measured):
        assert found.measures["low"][b] == found.q[b, :n, 2].min()
        assert found.measures["mean"][b] == pytest.approx(found.v[b, :n, 3].mean(dtype=float), rel=1e-6, abs=1e-7)


def limited():
    """A pendulum that falls on its joint limit."""
    joint = treesim.Joint("hinge", "revolute", axis=(0, 1, 0), lower=-0.3, upper=0.3)
    inertia = treesim.Inertia(1.0, (0, 0, 0.5), np.eye(3) * 0.1)
    return treesim.Tree("limited", [treesim.Body("bob", 0, joint, inertia)])


def test_robots_at_their_limits(monkeypatch, engine):
    robot = limited()
    q0, v0 = np.linspace(0.0, 0.2, 9)[:, None], np.zeros((9, 1))
    measure = {
        "high": measures.maximum(lambda t, q, v: q[0]),
        "mean": measures.mean(lambda t, q, v: v[0]),
        "slow": measures.stop(lambda t, q, v: (q[0] > 0.29) & (v[0] < 0.3)),
    }
    given = {"steps": 300, "dt": 5e-3, "measure": measure, "engine": engine, "substeps": 2}
    found = treesim.rollout(robot, q0, v0, **given)
    for b, n in enumerate(found.measured):
        assert found.measures["high"][b] == found.q[b, :n].max()
        assert found.measures["mean"][b] == pytest.approx(found.v[b, :n].mean(), rel=1e-13, abs=1e-15)
        assert (found.q[b, n:] == found.q[b, n - 1]).all()
    assert found.ended.any()
    monkeypatch.setattr(rollout, "SliceScheduler", ShortPace)
    again = treesim.rollout(robot, q0, v0, keep="none", **given)
    assert np.array_equal(again.ended_at, found.ended_at) and np.array_equal(again.residual, found.residual)
    assert all(np.array_equal(x, again.measures[name]) for name, x in found.measures.items())


@pytest.mark.skipif(not runs_compiled(), reason="kernels run as plain Python")
@pytest.mark.parametrize("solver", ["pgs", "admm"])
def test_contact_and_its_wrenches(solver):
    robot = treesim.free_body("ball", "sphere", (0.1,), 2.0)
    world = treesim.World(robot, ground=treesim.Ground())
    q0 = np.tile(robot.neutral(), (3, 1))
    q0[:, 2] = 0.1, 0.12, 1.0  # on the ground, above it, and far from it
    measure = {
        "low": measures.minimum(lambda t, q, v: q[2]),
        "push": measures.maximum(lambda t, q, v, p, c: c["ball"][2]),
        "landed": measures.first_time(lambda t, q, v, p, c: c["ball"][2] > 0),
    }
    found = treesim.rollout(world, q0, np.zeros(6), steps=150, measure=measure, contact_solver=solver)
    assert np.array_equal(found.measures["low"], found.q[:, :, 2].min(axis=1))
    assert found.measures["landed"][0] == found.t[0] and found.measures["landed"][2] == np.inf
    assert found.measures["landed"][1] == pytest.approx(np.sqrt(2 * 0.02 / 9.81), abs=2e-3)
    assert found.measures["push"][0] == pytest.approx(2 * 9.81, rel=1e-6) and found.measures["push"][2] == 0


def test_wrenches_of_unknown_bodies_are_refused_with_the_known_names():
    world = treesim.World(treesim.free_body("ball", "sphere", (0.1,), 2.0), ground=treesim.Ground(name="floor"))
    q0 = np.array([[0, 0, 0.1, 0, 0, 0, 1.0]])
    wrong = {"a": measures.last(lambda t, q, v, p, c: c["bal"][2])}
    with pytest.raises(treesim.UnknownNameError, match=r"'bal'.*ball"):
        treesim.rollout(world, q0, np.zeros(6), steps=1, measure=wrong)

    def policy(t, q, v, p, u, c):
        u[2] = c["bal"][2]

    with pytest.raises(treesim.UnknownNameError, match=r"'bal'.*ball"):
        treesim.rollout(world, q0, np.zeros(6), policy, steps=1)


def test_an_interrupted_run_has_the_measures_of_what_is_done(robot):
    q0, v0 = start(robot)

    def halt(done, total):
        raise KeyboardInterrupt

    measure = {"low": measures.minimum(lambda t, q, v: q[2])}
    with pytest.warns(treesim.StoppedWarning):
        found = treesim.rollout(robot, q0, v0, steps=STEPS, measure=measure, progress=halt)
    assert np.array_equal(found.measures["low"], found.q[:, :, 2].min(axis=1))


@pytest.mark.skipif(not runs_compiled(), reason="kernels run as plain Python")
def test_memory_is_that_of_measures():
    robot = treesim.load("ur5")
    q0, v0 = start(robot, 500)
    given = {"steps": 200, "measure": {"low": measures.minimum(lambda t, q, v: q[2])}, "keep": "none"}
    treesim.rollout(robot, q0, v0, **given)  # compiles
    tracemalloc.start()
    try:
        treesim.rollout(robot, q0, v0, **given)
        assert tracemalloc.get_traced_memory()[1] < 500_000  # states of all steps are 9.6 MB
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: measures.any_(3), "needs a function"),
        (lambda: measures.histogram(len, 2.5, (0, 1)), "bins must be a whole number"),
        (lambda: measures.histogram(len, 65, (0, 1)), "bins must be a whole number"),
        (lambda: measures.histogram(len, 4, (1, 1)), "range must be two finite numbers"),
    ],
)
def test_measures_that_cannot_be_made(make, message):
    with pytest.raises(treesim.ArgumentError, match=message):
        make()


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"measure": {"a": measures.any_(lambda t, q, v: 1 if q[0] < 0 else 0)}}, "UnsupportedError", "'a' cannot be"),
        ({"measure": {"a": measures.last(lambda t, q, v: q[:3])}}, "ArgumentError", r"'a' must .* shape \(3,\)"),
        ({"measure": {"a": measures.last(lambda t, q, v: None)}}, "ArgumentError", "'a' must .* got None"),
        ({"measure": {"a": measures.last(lambda t, q, v: q[9])}}, "ArgumentError", "q has 6 numbers"),
        ({"measure": {"a": measures.last(lambda t, q: t)}}, "ArgumentError", r"'a' must take \(t, q, v\)"),
        ({"measure": {"a": measures.last(lambda t, q, v, p: p[0])}}, "ArgumentError", "no parameters are given"),
        (
            {"measure": {"a": measures.last(lambda t, q, v, p, c: c["ground"][0])}},
            "ArgumentError",
            "nothing .* can touch",
        ),
        ({"measure": {"a": measures.last(lambda t, q, v: "high")}}, "ArgumentError", "'a' must .* got 'high'"),
        ({"measure": {"a": measures.last(lambda t, q, v: 10**400)}}, "ArgumentError", "'a' must return one number"),
        ({"measure": {"a": measures.last(lambda t, q, v: 1j)}}, "ArgumentError", "'a' must return one number"),
        (
            {"measure": {"a": measures.last(lambda t, q, v: float("nan"))}},
            "ArgumentError",
            "'a' must return one number",
        ),
        ({"measure": {"a": measures.last(lambda t, q, v: 1 / 0)}}, "ArgumentError", "'a' raises ZeroDivisionError"),
        ({"measure": {"a": measures.last(lambda t, q, v: v.speed)}}, "ArgumentError", "'a' raises AttributeError"),
        ({"measure": {"a": measures.last(lambda t, q, v: (-2) ** q[0])}}, "UnsupportedError", "'a' cannot be compiled"),
        ({"measure": {"a": measures.last(max)}}, "ArgumentError", "'a': .* has no signature"),
        ({"measure": {"a": max}}, "ArgumentError", "make it by a function of treesim.measures"),
        ({"measure": [1]}, "ArgumentError", "a dict of measures by name"),
        ({"keep": "lats"}, "UnknownNameError", "last"),
        ({"keep": "none"}, "ArgumentError", "no measure is given"),
        ({"keep": "last", "every": 2}, "ArgumentError", "every"),
    ],
)
def test_errors_say_what_would_be_right(given, error, message):
    with pytest.raises(getattr(treesim, error), match=message):
        treesim.rollout(treesim.load("ur5"), np.zeros(6), np.zeros(6), steps=4, **given)


def test_a_measure_that_changes_its_arguments_changes_no_other():
    def scribble(t, q, v):
        q[0] = v[0] = 7.0
        return q[0]

    given = {"a": measures.last(scribble), "b": measures.last(lambda t, q, v: q[0] + 2 ** v[0])}
    runs = treesim.rollout(treesim.load("ur5"), np.ones(6), np.ones(6), steps=4, measure=given)
    assert runs.measures["a"] == 7 and runs.measures["b"] == pytest.approx(runs.q[0, -1, 0] + 2 ** runs.v[0, -1, 0])


@pytest.mark.parametrize("law", [None, lambda t, q, v, p, u: u.__setitem__(0, p[0] - q[0])])
def test_rollouts_with_physics_of_their_own(law, engine):
    """Of robots with limits."""
    robot = treesim.load("ur5")
    q0, v0 = start(robot, count=3)
    mass = {"mass": np.array([[1.0], [1.5], [0.7]]) * [body.inertia.mass for body in robot.bodies]}
    given = {"steps": 20, "dt": 0.01, "engine": engine, "model_parameters": mass}
    if law is not None:
        given["policy_parameters"] = [0.3]
    states = treesim.rollout(robot, q0, v0, law, **given)
    fast = measures.maximum(lambda t, q, v: v[1])
    measured = treesim.rollout(robot, q0, v0, law, **given, measure={"fast": fast})
    assert np.allclose(measured.q, states.q, rtol=0, atol=1e-13)
    assert np.array_equal(measured.measures["fast"], measured.v[..., 1].max(axis=1))


def test_a_histogram_may_have_64_bins():
    assert len(measures.histogram(len, 64, (0, 1)).edges) == 65
