"""The work and the energy of rollouts: the balance closes to the order of the rule, and is that of simulations."""

import warnings
from itertools import pairwise

import numpy as np
import pytest

import treesim
from tests import trees
from tests.kernels.stepping.test_step import rough
from tests.rollouts.test_rollouts import Recorded, engine, pd_to_a_sine, start  # noqa: F401
from tests.simulation.test_world import four_bar
from treesim import plugins
from treesim.engine import threads
from treesim.engine.call import specialized
from treesim.errors import DivergedWarning, EnergyWarning
from treesim.model import generators
from treesim.rollouts import energy, rollout

pytestmark = pytest.mark.filterwarnings("ignore::treesim.FrictionWarning")
FORCES, TARGETS = (0.0, 0.0), (30.0, 2.0)  # gains


@pytest.mark.filterwarnings("ignore::treesim.EnergyWarning")
@pytest.mark.parametrize("integrator", treesim.available("integrators"))
@pytest.mark.parametrize("name", ["random_a", "free_random"])
def test_the_balance_closes_to_the_order_of_the_rule(name, integrator):
    """E(t) - E(0) = work of controls + work of damping, with joints that turn in space, a floating base, damping."""
    robot = rough(name, friction=0.0)
    q, v, rng = start(robot, 1, speed=0.5)
    forces, errors = np.repeat(rng.normal(size=(1, robot.nv)), 32, axis=0), []
    for steps in (8, 16, 32):
        runs = treesim.rollout(
            robot, q, v, forces[:steps], 0.02 / steps, integrator=integrator, substeps=1, engine="generic", work=True
        )
        errors.append(abs(runs.energy_error[0, -1]))
    assert runs.work[0, -1, 0] != 0 and runs.work[0, -1, 1] < 0, "both kinds of work are done"
    order, rounding = plugins.get("integrators", integrator).order, 1e-14 * runs.energy_at_start[0]
    for coarse, fine in pairwise(errors):
        assert coarse > 2 ** (order - 0.4) * fine or fine < abs(rounding), errors


@pytest.mark.parametrize(
    ("integrator", "gains"),
    [("implicit_midpoint", TARGETS), ("rk4", FORCES), ("semi_implicit_euler", FORCES),
     *(pytest.param(*case, marks=pytest.mark.slow) for case in (("implicit_midpoint", FORCES), ("rk4", TARGETS)))],
)  # fmt: skip
def test_work_is_that_of_steppers_to_rounding(integrator, gains, engine):  # noqa: F811
    """With damping, friction, effort limits that are reached, gains, and substeps, at every recorded state."""
    robot = rough("random_a")
    q, v, rng = start(robot, 3, speed=0.5)
    simple = np.concatenate([np.full(body.joint.nv, float(body.joint.nv == 1)) for body in robot.bodies])
    kp, kd = (gain * simple if gain else 0.0 for gain in gains)
    controls = 3 * rng.normal(size=(3, 12, robot.nv))
    how = {"dt": 1e-3, "integrator": integrator, "substeps": 2, "kp": kp, "kd": kd, "engine": engine}
    runs = treesim.rollout(robot, q, v, controls, every=3, work=True, **how)
    stepper = treesim.Stepper(robot, **{**how, "engine": "generic"})
    state, done, wanted = stepper.reset(q, v), 0.0, []
    for k in range(12):
        state, report = stepper.step(state, controls[:, k])
        done = done + np.stack([report.control_work, report.passive_work], axis=-1)
        wanted.append(done)
    np.testing.assert_allclose(runs.work, np.stack(wanted, axis=1)[:, 2::3], rtol=1e-11, atol=1e-12)
    assert np.array_equal(runs.q, treesim.rollout(robot, q, v, controls, every=3, **how).q), "counting moves nothing"


def test_work_energy_and_error_are_those_of_simulations(engine):  # noqa: F811
    robot = rough("random_a")
    q, v, rng = start(robot, 2)
    forces = rng.normal(size=(20, robot.nv))
    runs = treesim.rollout(robot, q, v, forces, engine=engine, work=True)
    assert runs.work.shape == (2, 20, 2) and runs.energy.shape == runs.energy_error.shape == (2, 20)
    run = treesim.Simulation(robot, controller=Recorded(forces, 1e-3), engine="generic").run(0.02, q[1], v[1])
    scale = run.metadata["energy_range"]
    np.testing.assert_allclose(runs.work[1], run.work[1:], rtol=1e-9, atol=1e-12 * scale)
    np.testing.assert_allclose(runs.energy[1], run.energy[1:], rtol=1e-11)
    np.testing.assert_allclose(runs.energy_error[1], run.energy_error[1:], atol=1e-11 * scale)


def test_a_policy_s_work_is_counted(engine):  # noqa: F811
    robot = generators.chain(4)
    q, v, rng = start(robot, 19)
    p = rng.uniform(0.5, 2.0, (19, 2))
    runs = treesim.rollout(robot, q, v, pd_to_a_sine, steps=30, policy_parameters=p, engine=engine, work=True)
    plain = treesim.rollout(robot, q, v, pd_to_a_sine, steps=30, policy_parameters=p, engine=engine)
    assert np.array_equal(runs.q, plain.q) and np.array_equal(runs.v, plain.v) and plain.work is None
    assert np.abs(runs.energy_error).max() < 1e-3 * np.abs(runs.work[..., 0]).max() > 0


@pytest.mark.parametrize("field", ["damping", "kp", "effort_limit", "joint_friction"])
def test_parameters_of_steps_alone_leave_the_robot_s_energy(field):
    robot = treesim.load("ur5")
    start, own = np.full(6, 0.3), {field: np.tile([[0.5], [1.0]], 6)}
    runs = treesim.rollout(robot, start, np.zeros((2, 6)), steps=5, work=True, model_parameters=own)
    assert np.abs(runs.energy_error).max() < 1e-5 * np.abs(runs.energy).max()


def test_a_world_s_rows_do_no_work(engine):  # noqa: F811
    world, q = four_bar()
    starts = np.array([world.close(q + 0.05 * k) for k in range(-2, 2)])
    torque = np.tile([2.0, 0.0, 0.0], (20, 1))
    runs = treesim.rollout(world, starts, np.zeros(3), torque, engine=engine, work=True)
    assert np.array_equal(runs.q, treesim.rollout(world, starts, np.zeros(3), torque, engine=engine).q)
    np.testing.assert_allclose(runs.work[..., 0], 2.0 * (runs.q[..., 0] - starts[:, None, 0]), rtol=1e-3, atol=1e-5)
    assert np.abs(runs.energy_error).max() < 1e-5 * np.abs(runs.work).max()


def test_neither_threads_nor_slices_nor_company_change_the_work(monkeypatch, engine):  # noqa: F811
    robot = trees.tree("random_a")
    q, v, rng = start(robot, 21)
    forces = rng.normal(size=(21, 15, robot.nv))

    def work(some=slice(None)):
        return treesim.rollout(robot, q[some], v[some], forces[some], every=3, engine=engine, work=True).work

    found = work()
    assert np.array_equal(work(slice(4, 9)), found[4:9])
    for module in (specialized, threads):
        monkeypatch.setattr(module, "thread_count", lambda: 1)
    assert np.array_equal(work(), found)
    monkeypatch.setattr(rollout, "CHUNK_BYTES", 1)
    monkeypatch.setattr(rollout.SliceScheduler, "end", lambda pace, step, last, rows, every: step + 1)
    assert np.array_equal(work(), found)


def test_single_precision_counts_to_its_rounding():
    robot = rough("random_a")
    q, v, rng = start(robot, 20)
    forces = rng.normal(size=(50, robot.nv))
    exact = treesim.rollout(robot, q, v, forces, work=True)
    found = treesim.rollout(robot, *(x.astype(np.float32) for x in (q, v, forces)), work=True)
    assert found.work.dtype == np.float32 and found.energy.dtype == found.energy_error.dtype == np.float64
    assert trees.relative_error(found.work, exact.work) < 1e-4
    assert np.abs(found.energy_error).max() < 1e-4 * np.abs(exact.energy).max()


def test_one_warning_tells_how_many_are_off_and_what_to_do():
    robot = generators.chain(2)
    speeds = np.array([[0.0, 0.0], [20.0, -20.0], [0.0, 0.1], [30.0, 30.0]])
    how = {"dt": 0.01, "steps": 100, "work": True}
    with pytest.warns(EnergyWarning) as details:
        runs = treesim.rollout(robot, np.zeros(2), speeds, integrator="explicit_euler", **how)
    assert len(details) == 1 and details[0].filename == __file__
    worst = np.abs(runs.energy_error).max(axis=1)
    text = str(details[0].message)
    assert "of 4 rollouts is off by more than 1% of the energy range; in number" in text
    assert "J energy range: take a smaller dt than 0.01 s, or the integrator 'implicit_midpoint'" in text
    assert worst[1] > 1.0 and worst[3] > 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("error", EnergyWarning)
        treesim.rollout(robot, np.zeros(2), speeds[:1], **how)
        assert treesim.rollout(robot, np.zeros(2), speeds, integrator="explicit_euler", dt=0.01, steps=100).work is None


def test_the_largest_error_is_judged_beside_what_is_in_play():
    """One pendulum of 2 kg at 0.5 m: all numbers of a balance, by hand."""
    hinge = treesim.Joint("hinge", "revolute", axis=(0, 1, 0))
    robot = treesim.Tree("arm", [treesim.Body("bob", 0, hinge, treesim.Inertia(2.0, (0, 0, -0.5)))])
    q, v = np.array([[[0.0], [1.0]]]), np.array([[[0.0], [3.0]]])
    found = energy.balance(robot, (np.array([[0.5]]), np.zeros((1, 1))), q, v, np.zeros((1, 2, 2)), 1000)
    height = 9.81 * (1 - np.cos([0.5, 0.0, 1.0]))  # m g l with m l = 1 kg m
    assert found.error[0] == pytest.approx(height[2] + 0.25 * 9.0 - height[0], rel=1e-9) and found.record[0] == 1
    assert found.energy_range[0] == pytest.approx(0.25 * 9.0 + height[2], rel=1e-9)


def test_rollouts_that_diverge_have_no_energy_and_are_told_once():
    robot = trees.tree("tree_1")
    q, v, _ = start(robot, 9)
    v[6] = 1e200
    with warnings.catch_warnings(record=True) as details:
        warnings.simplefilter("always")
        runs = treesim.rollout(robot, q, v, steps=10, work=True)
    kinds = [warning.category for warning in details if issubclass(warning.category, (DivergedWarning, EnergyWarning))]
    assert kinds == [DivergedWarning]
    assert np.isnan(runs.energy_error[6]).all() and np.isfinite(np.delete(runs.energy_error, 6, axis=0)).all()


@pytest.mark.parametrize("speed", [1e20, 1e80])
def test_finite_states_without_an_energy_are_off_too(speed, engine):  # noqa: F811
    """At such rates a turn in one step has no meaning; whatever comes of it is told, and raises nothing."""
    inertia = treesim.Inertia(1.0, rotational=np.diag([0.1, 0.2, 0.15]))
    body = treesim.Body("body", 0, treesim.Joint("root", "floating"), inertia)
    robot = treesim.Tree("free", [body], gravity=(0, 0, 0))
    v = np.zeros((2, 6))
    v[1, 3:] = speed
    with pytest.warns((EnergyWarning, DivergedWarning), match="1 of 2 rollouts"):
        runs = treesim.rollout(
            robot, robot.neutral(), v, steps=3, integrator="explicit_euler", engine=engine, work=True
        )
    assert np.isfinite(runs.energy_error[0]).all()


def test_work_goes_into_arrays_and_files_that_are_asked_for(tmp_path, monkeypatch):
    robot = generators.chain(4)
    q, v, rng = start(robot, 5)
    forces = rng.normal(size=(6, 4))
    whole = treesim.rollout(robot, q, v, forces, work=True)
    out = np.empty((5, 6, 4)), np.empty((5, 6, 4)), np.empty((5, 6, 2))
    assert treesim.rollout(robot, q, v, forces, work=True, out=out).work is out[2]
    assert np.array_equal(out[2], whole.work)
    assert np.array_equal(treesim.rollout(robot, q, v, forces, work=True, out=out[:2]).work, whole.work)
    with pytest.raises(treesim.ArgumentError, match="two arrays"):
        treesim.rollout(robot, q, v, forces, out=out)
    treesim.rollout(robot, q, v, forces, work=True, out=tmp_path / "run")
    assert np.array_equal(np.load(tmp_path / "run_work.npy"), whole.work)
    treesim.rollout(robot, q, v, forces, out=tmp_path / "run")
    assert not (tmp_path / "run_work.npy").exists(), "work of another run does not stay beside these states"

    monkeypatch.setattr(rollout, "CHUNK_BYTES", 1)

    def stop(done, total):
        if done == 2:
            raise KeyboardInterrupt

    with pytest.warns(rollout.StoppedWarning, match=r"run_work\.npy\.part"):
        stopped = treesim.rollout(robot, q, v, forces, work=True, out=tmp_path / "run", progress=stop)
    found = rollout.read_unfinished(tmp_path / "run", robot)
    assert np.array_equal(found.work, whole.work[:2]) and np.array_equal(found.energy, whole.energy[:2])
    assert np.array_equal(stopped.energy_error, whole.energy_error[:2])
    with pytest.raises(treesim.ArgumentError, match="energy at the start is not stored"):
        found.energy_error  # noqa: B018
    with pytest.raises(treesim.ArgumentError, match="energies need the robot"):
        rollout.read_unfinished(tmp_path / "run").energy  # noqa: B018


def test_what_was_not_counted_is_said():
    runs = treesim.rollout(generators.chain(4), np.zeros(4), np.zeros(4), steps=2)
    assert runs.work is None and runs.energy.shape == (1, 2)
    with pytest.raises(treesim.ArgumentError, match="work=True"):
        runs.energy_error  # noqa: B018


@pytest.mark.parametrize(("count", "steps"), [(0, 3), (2, 0)])
def test_no_rollouts_and_no_steps_have_no_work(count, steps):
    runs = treesim.rollout(generators.chain(4), np.zeros((count, 4)), np.zeros(4), steps=steps, work=True)
    assert runs.work.shape == (count, steps, 2) and runs.energy_error.shape == (count, steps)
    still = treesim.rollout(treesim.Tree("still", []), np.zeros((3, 0)), np.zeros(0), steps=2, work=True)
    assert np.array_equal(still.work, np.zeros((3, 2, 2))) and not still.energy_error.any()


@pytest.mark.parametrize(
    ("records", "steps", "checked"),
    [(1000, 49, 1), (1000, 50, 2), (1000, 1549, 31), (1000, 10**5, 32), (20, 10**5, 20)],
)
def test_an_energy_is_checked_for_every_fifty_steps_up_to_32_times(records, steps, checked, monkeypatch):
    picked = []
    monkeypatch.setattr(energy, "_balance", lambda robot, q, v, work, *rest: picked.append(rest[0]) or energy.NOTHING)
    robot, states = generators.chain(1), np.zeros((1, records, 1))
    energy.balance(robot, (states[:, 0],) * 2, states, states, np.zeros((1, records, 2)), steps)
    assert len(picked[0]) == checked and picked[0][-1] == records - 1


@pytest.mark.parametrize(("speed", "known"), [(0.95e75, True), (1.05e75, False)])
def test_the_energy_of_the_fastest_states_is_no_number(speed, known):
    robot = generators.chain(1)
    found = energy.total_energy(robot, np.zeros((1, 1, 1)), np.full((1, 1, 1), speed), np.array([1]))
    assert np.isfinite(found).all() == known
