"""Rollouts against simulations, one by one."""

import pickle
import tracemalloc
import warnings

import numpy as np
import pytest

import treesim
from tests import trees
from treesim.engine import threads
from treesim.engine.call import specialized
from treesim.engine.call.generic import runs_compiled
from treesim.errors import DivergedWarning
from treesim.kernels.algebra import numbers
from treesim.model import generators
from treesim.rollouts import rollout
from treesim.simulation import control


@pytest.fixture(params=["specialized", "generic"])
def engine(request):
    if request.param == "specialized" and not runs_compiled():
        pytest.skip("kernels run as plain Python")
    return request.param


class Recorded:
    """A controller that plays forces back, step by step."""

    def __init__(self, forces, dt):
        self.forces, self.dt = forces, dt

    def torque(self, t, q, v):
        return self.forces[min(round(t / self.dt), len(self.forces) - 1)]


def start(robot, count, seed=0, speed=0.1):
    rng = np.random.default_rng(seed)
    return np.array([robot.random(rng) for _ in range(count)]), speed * rng.normal(size=(count, robot.nv)), rng


def rough(robot):
    """The same tree with damping and friction in every simple joint."""
    bodies = []
    for body in robot.bodies:
        joint = body.joint
        if joint.nv == 1:
            joint = treesim.Joint(
                joint.name, joint.type, placement=joint.placement, axis=joint.axis, damping=0.3, joint_friction=0.05
            )
        bodies.append(treesim.Body(body.name, body.parent, joint, body.inertia))
    return treesim.Tree(f"rough_{robot.name}", bodies)


@pytest.mark.parametrize("name", ["random_a", "random_c", "humanoid_2005", "side_branches_5"])
def test_rollouts_under_forces_are_simulations(name, engine):
    robot = rough(trees.tree(name))
    q0, v0, rng = start(robot, 11)
    forces = 0.1 * rng.normal(size=(11, 20, robot.nv))
    found = treesim.rollout(robot, q0, v0, forces, dt=1e-3, engine=engine)
    assert found.q.shape == (11, 20, robot.nq) and found.t[-1] == pytest.approx(0.02)
    assert not found.diverged.any() and (found.diverged_at == -1).all()
    # friction is solved to 1e-9 rad/s in each of 20 steps, on lanes in another order than for single states
    off = 1e-13 if engine == "generic" else 20 * 1e-9
    assert found.residual is None or found.residual.max() < 1e-9
    for b in (0, 7, 10):
        run = treesim.Simulation(robot, dt=1e-3, controller=Recorded(forces[b], 1e-3), engine="generic").run(
            0.02, q0[b], v0[b]
        )
        assert trees.relative_error(found.q[b], run.q[1:]) < (off if engine == "generic" else off * 0.02)
        assert trees.relative_error(found.v[b], run.v[1:]) < off


def test_rollouts_towards_targets_are_simulations(engine):
    robot = treesim.load("anymal", base="floating")
    q0, v0, _ = start(robot, 3)
    q0[:, :7] = robot.neutral()[:7]
    target = robot.neutral()
    kp = np.concatenate([np.zeros(6), np.full(robot.nv - 6, 500.0)])  # saturates at first
    targets = np.broadcast_to(np.concatenate([np.zeros(6), target[7:]]), (40, robot.nv))
    found = treesim.rollout(robot, q0, v0, targets, dt=2e-3, kp=kp, kd=kp / 20, engine=engine)
    for b in range(3):
        controller = control.PD(robot, target, kp=kp, kd=kp / 20)
        run = treesim.Simulation(robot, dt=2e-3, controller=controller, engine="generic").run(0.08, q0[b], v0[b])
        assert trees.relative_error(found.q[b], run.q[1:]) < 1e-9


def test_neither_threads_nor_chunks_nor_company_change_a_rollout(monkeypatch, engine):
    robot = trees.tree("random_a")
    q0, v0, _ = start(robot, 21)
    found = treesim.rollout(robot, q0, v0, steps=15, engine=engine)
    assert np.array_equal(treesim.rollout(robot, q0[4:9], v0[4:9], steps=15, engine=engine).q, found.q[4:9])
    whole = rollout.CHUNK_BYTES
    monkeypatch.setattr(rollout, "CHUNK_BYTES", 1)
    details = []
    save_progress = lambda done, total: details.append((done, total))  # noqa: E731
    again = treesim.rollout(robot, q0, v0, steps=15, progress=save_progress, engine=engine)
    assert np.array_equal(again.q, found.q) and details == [(k, 21) for k in range(1, 22)]
    monkeypatch.setattr(rollout, "CHUNK_BYTES", whole)
    for module in (specialized, threads):
        monkeypatch.setattr(module, "thread_count", lambda: 1)
    assert np.array_equal(treesim.rollout(robot, q0, v0, steps=15, engine=engine).v, found.v)


def test_records_every_few_steps_and_writes_files(tmp_path):
    robot = trees.tree("tree_1")
    q0, v0, _ = start(robot, 5)
    each = treesim.rollout(robot, q0, v0, steps=20)
    some = treesim.rollout(robot, q0, v0, steps=20, every=6, out=tmp_path / "run")
    assert np.array_equal(some.q, each.q[:, 5:18:6]) and np.array_equal(some.t, each.t[5:18:6])
    del some
    assert np.array_equal(np.load(tmp_path / "run_v.npy", mmap_mode="r"), each.v[:, 5:18:6])


@pytest.mark.skipif(not runs_compiled(), reason="kernels run as plain Python")
def test_results_go_into_arrays_that_are_there(engine):
    robot = trees.tree("humanoid_2005")
    q0, v0, _ = start(robot, 3)
    wanted = treesim.rollout(robot, q0, v0, steps=4, engine=engine)
    q, v = np.empty((3, 4, robot.nq)), np.empty((4, 3, robot.nv)).swapaxes(0, 1)  # in any order of memory
    found = treesim.rollout(robot, q0, v0, steps=4, engine=engine, out=(q, v))
    assert found.q is q
    assert found.v is v
    assert np.array_equal(q, wanted.q)
    assert np.array_equal(v, wanted.v)
    for out, message in (
        ((q,), "two arrays"),
        (q, "two arrays"),
        ((q, v[:2]), "shape"),
        ((q.astype(np.float32), v), "float32"),
        ((np.broadcast_to(q0[:, None], q.shape), v), "read-only"),
        ((q, q[..., : robot.nv]), "share"),
        ((q, np.empty(v.size * 8 + 4, np.uint8)[4:].view(float).reshape(v.shape)), "aligned"),
    ):
        with pytest.raises(treesim.ArgumentError, match=message):
            treesim.rollout(robot, q0, v0, steps=4, engine=engine, out=out)
    with pytest.raises(treesim.ArgumentError, match="share"):
        treesim.rollout(robot, q0, v[:, 0], steps=4, engine=engine, out=(q, v))


def test_memory_is_that_of_what_is_recorded():
    robot = trees.tree("tree_1")
    q0, v0, rng = start(robot, 500)
    forces = rng.normal(size=(200, robot.nv))
    treesim.rollout(robot, q0, v0, forces, every=100)  # compiles
    tracemalloc.start()
    try:
        found = treesim.rollout(robot, q0, v0, forces, every=100)
        assert tracemalloc.get_traced_memory()[1] < found.q.nbytes + found.v.nbytes + 500_000
    finally:
        tracemalloc.stop()


def test_one_state_and_shared_controls_broadcast(engine):
    robot = trees.tree("tree_1")
    q0, v0, rng = start(robot, 4)
    forces = rng.normal(size=(10, robot.nv))
    found = treesim.rollout(robot, q0[0], v0, forces, engine=engine)
    alone = treesim.rollout(robot, q0[0], v0[2], forces, engine=engine)
    assert found.q.shape == (4, 10, robot.nq) and np.array_equal(found.q[2], alone.q[0])


def test_single_precision():
    robot = treesim.load("simple_humanoid", base="floating")
    q0, v0, _ = start(robot, 20)
    exact = treesim.rollout(robot, q0, v0, steps=50)
    found = treesim.rollout(robot, q0.astype(np.float32), v0.astype(np.float32), steps=50)
    assert found.q.dtype == np.float32
    assert trees.relative_error(found.q, exact.q) < 1e-4


def test_a_rollout_that_diverges_is_named_and_the_others_are_kept(engine):
    robot = trees.tree("tree_1")
    q0, v0, _ = start(robot, 9)
    v0[6] = 1e200
    with pytest.warns(DivergedWarning, match=r"1 of 9 .* number 6"):
        found = treesim.rollout(robot, q0, v0, steps=10, engine=engine)
    assert found.diverged_at[6] >= 0 and (np.delete(found.diverged_at, 6) == -1).all()
    assert np.flatnonzero(found.diverged).tolist() == [6]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.array_equal(treesim.rollout(robot, q0[:6], v0[:6], steps=10, engine=engine).q, found.q[:6])


def test_controls_of_steps_that_nobody_sees_are_checked_too(engine):
    """A target that is not a number would be hidden by the effort limit, and the last step leaves no record."""
    robot = trees.tree("tree_1")
    for step in range(5):
        targets = np.zeros((3, 5, robot.nv))
        targets[2, step, 1] = np.nan
        with pytest.raises(treesim.NonFiniteError, match=rf"control\[2, {step}, 1\]"):
            treesim.rollout(robot, robot.neutral(), np.zeros(robot.nv), targets, kp=1.0, every=2, engine=engine)


def test_no_rollouts_and_no_steps():
    robot = trees.tree("tree_1")
    assert treesim.rollout(robot, np.zeros((0, 7)), np.zeros(7), steps=3).q.shape == (0, 3, 7)
    assert treesim.rollout(robot, np.zeros(7), np.zeros(7), steps=0).q.shape == (1, 0, 7)


# policies


GAIN, SPEED = 40.0, 3.0


def pd_to_a_sine(t, q, v, p, u):
    """Towards p[0] sin(SPEED t + p[1]) in each of the joints of a chain."""
    for k in range(len(u)):
        u[k] = GAIN * (p[0] * np.sin(SPEED * t + p[1]) - q[k]) - 2.0 * v[k]


WEIGHTS = np.random.default_rng(3).normal(size=(5, 9)), np.random.default_rng(4).normal(size=(4, 5))


def network(t, q, v, p, u):
    """A small network in NumPy's words."""
    u[:] = 3 * np.tanh(WEIGHTS[1] @ np.tanh(WEIGHTS[0] @ np.concatenate([q, v, [t]]) + p)) - np.sin(
        t * np.ones(4) - t * q
    ) / (2.0 + t)


def limited(t, q, v, p, u):
    """All that numbers can do without branching."""
    for k in range(len(u)):
        wanted = -(5.0**2) * q[k] / (1 + abs(v[k])) + numbers.exp(-t) + numbers.sqrt(q[k] ** 2 + 1) * numbers.cos(t)
        u[k] = numbers.maximum(-p[0], numbers.minimum(p[0], wanted)) * numbers.less(q[k], 2.0)


class ByPolicy:
    """A controller of simulations that asks the same function, on floats."""

    def __init__(self, policy, p, dt):
        self.policy, self.p, self.dt = policy, p, dt

    def torque(self, t, q, v):
        u = np.zeros(len(v))
        self.policy(round(t / self.dt) * self.dt, q, v, self.p, u)
        return u


POLICIES = {pd_to_a_sine: 2, network: 5, limited: 1}


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.__name__)
def test_rollouts_under_a_policy_are_simulations_under_it(policy, engine):
    robot = generators.chain(4)
    q0, v0, rng = start(robot, 19)
    p = rng.uniform(0.5, 2.0, (19, POLICIES[policy]))
    found = treesim.rollout(robot, q0, v0, policy, dt=2e-3, steps=30, policy_parameters=p, engine=engine)
    for b in (0, 8, 18):
        run = treesim.Simulation(robot, dt=2e-3, controller=ByPolicy(policy, p[b], 2e-3)).run(0.06, q0[b], v0[b])
        assert trees.relative_error(found.q[b], run.q[1:]) < 1e-13
        assert trees.relative_error(found.v[b], run.v[1:]) < 1e-13


def test_a_policy_is_what_its_controls_are_as_an_array(engine):
    robot = generators.chain(4)
    q0, v0, _ = start(robot, 6)
    p = np.array([0.7, 0.2])
    found = treesim.rollout(robot, q0, v0, pd_to_a_sine, dt=1e-3, steps=25, policy_parameters=p, engine=engine)
    controls = np.zeros((6, 25, 4))
    before_q, before_v = np.insert(found.q, 0, q0, axis=1), np.insert(found.v, 0, v0, axis=1)
    for b, k in np.ndindex(6, 25):
        pd_to_a_sine(k * 1e-3, before_q[b, k], before_v[b, k], p, controls[b, k])
    again = treesim.rollout(robot, q0, v0, controls, dt=1e-3, engine=engine)
    assert trees.relative_error(again.q, found.q) < 1e-13


def test_a_policy_gives_targets_where_there_are_gains(engine):
    robot = generators.chain(4)
    q0, v0, _ = start(robot, 3)

    def still(t, q, v, p, u):
        u[:] = [0.1, 0.2, 0.3, 0.4]

    found = treesim.rollout(robot, q0, v0, still, steps=12, kp=50.0, kd=1.0, engine=engine)
    targets = np.tile([0.1, 0.2, 0.3, 0.4], (12, 1))
    given = treesim.rollout(robot, q0, v0, targets, kp=50.0, kd=1.0, engine=engine)
    assert trees.relative_error(found.q, given.q) < 1e-14


def test_a_policy_of_a_large_time_in_single_precision():
    robot = generators.chain(4)
    q0, v0, _ = start(robot, 3)
    p = np.array([0.7, 0.2])
    exact = treesim.rollout(robot, q0, v0, pd_to_a_sine, dt=1e-3, steps=2000, every=1000, policy_parameters=p)
    small = [x.astype(np.float32) for x in (q0, v0, p)]
    found = treesim.rollout(
        robot, *small[:2], pd_to_a_sine, dt=1e-3, steps=2000, every=1000, policy_parameters=small[2]
    )
    assert found.q.dtype == np.float32 and trees.relative_error(found.q, exact.q) < 1e-3


def test_neither_company_nor_memory_of_earlier_policies_change_a_policy(engine):
    robot = generators.chain(4)
    q0, v0, rng = start(robot, 21)
    p = rng.uniform(0.5, 2.0, (21, 2))
    found = treesim.rollout(robot, q0, v0, pd_to_a_sine, steps=15, policy_parameters=p, engine=engine)
    part = treesim.rollout(robot, q0[4:9], v0[4:9], pd_to_a_sine, steps=15, policy_parameters=p[4:9], engine=engine)
    assert np.array_equal(part.q, found.q[4:9])
    gain = [1.0]

    def changing(t, q, v, p, u):
        u[:] = -gain[0] * q

    before = treesim.rollout(robot, q0, v0, changing, steps=15, engine=engine).q
    gain[0] = 2.0
    after = treesim.rollout(robot, q0, v0, changing, steps=15, engine=engine).q
    assert trees.relative_error(after, before) > 1e-6


def test_a_policy_that_gives_no_number_is_not_taken_for_its_limit(engine):
    """Effort limits must not turn NaN into a force."""
    robot = treesim.load("ur5")
    assert np.isfinite(robot.effort_limit).all()

    def root(t, q, v, p, u):
        u[0] = np.sqrt(v[0] - 1.0)

    with pytest.warns(DivergedWarning, match="number 0, from t = 0.001"):
        runs = treesim.rollout(robot, np.zeros((3, 6)), np.zeros(6), root, steps=4, engine=engine)
    assert runs.diverged.all() and (runs.diverged_at == 0).all()


def recorded(diverged, **more):
    """Two rollouts of three states, of which the second one has NaN from its second state on."""
    q = np.zeros((2, 3, 1))
    q[1, 1:] = np.nan
    return treesim.Rollouts(np.arange(3.0), q, np.zeros((2, 3, 1)), diverged, np.full(2, 3), **more)


def test_sound_rollouts_are_neither_diverged_nor_ended():
    runs = treesim.Rollouts(np.arange(3.0), *np.zeros((2, 2, 3, 1)), np.zeros(2, bool), np.full(2, 3))
    assert not runs.diverged.any() and not runs.ended.any()
    assert runs.diverged_at.tolist() == runs.ended_at.tolist() == [-1, -1]


def test_what_diverged_has_the_index_of_its_first_state():
    runs = recorded(np.array([False, True]), ended=np.array([True, False]), measured=np.array([2, 1]))
    assert runs.diverged_at.tolist() == [-1, 1] and runs.ended_at.tolist() == [2, -1]
    assert recorded(np.array([False, True]), ended=np.array([True, False])).ended_at.tolist() == [-1, -1]


def test_integers_of_older_versions_are_indices():
    runs = recorded(np.array([-1, 0]), ended=np.array([4, -1]))
    assert runs.diverged.tolist() == [False, True] and runs.diverged_at.tolist() == [-1, 0]
    assert runs.ended.tolist() == [True, False] and runs.ended_at.tolist() == [4, -1]


def test_pickles_of_older_versions_are_read():
    state = dict(vars(recorded(np.array([False, True]))))
    assert state.pop("diverged_at").tolist() == [-1, 1] and state.pop("ended_at").tolist() == [-1, -1]
    old = object.__new__(treesim.Rollouts)
    old.__setstate__(state | {"diverged": np.array([-1, 2]), "ended": np.array([3, -1])})
    assert old.diverged.tolist() == [False, True] and old.diverged_at.tolist() == [-1, 2]
    assert old.ended.tolist() == [True, False] and old.ended_at.tolist() == [3, -1]
    again = pickle.loads(pickle.dumps(old))
    assert again.diverged.tolist() == [False, True] and again.ended_at.tolist() == [3, -1]
