"""Threads: who takes which states changes no result, and a fork does not leave anyone waiting."""

import multiprocessing
import pickle
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor, wait

import numpy as np
import pytest

import treesim
from tests import trees
from tests.waiting import PATIENCE
from treesim.engine import threads
from treesim.engine.call import specialized
from treesim.engine.call.generic import runs_compiled

pytestmark = pytest.mark.skipif(not runs_compiled(), reason="kernels run as plain Python")
ROBOT = trees.tree("random_a")


def batch(count=1003):
    rng = np.random.default_rng(0)
    q = np.array([ROBOT.random(rng) for _ in range(count)])
    return q, *rng.normal(size=(2, count, ROBOT.nv))


@pytest.fixture(scope="module")
def states():
    return batch()


@pytest.fixture(scope="module")
def expected(states):
    return treesim.forward_dynamics(ROBOT, *states)


@pytest.mark.parametrize("number", [1, 2, 3, 16])
def test_their_number_changes_no_result(states, expected, number, monkeypatch):
    for module in (threads, specialized):
        monkeypatch.setattr(module, "thread_count", lambda: number)
    for _ in range(3):
        assert np.array_equal(treesim.forward_dynamics(ROBOT, *states), expected)


@pytest.mark.parametrize("first, last", [(3, 998), (0, 513), (491, 1003)])
def test_a_state_s_result_does_not_depend_on_its_place(states, expected, first, last):
    part = [x[first:last] for x in states]
    assert np.array_equal(treesim.forward_dynamics(ROBOT, *part), expected[first:last])


def test_one_bad_state_is_found_whoever_takes_it(states, monkeypatch):
    for module in (threads, specialized):
        monkeypatch.setattr(module, "thread_count", lambda: 4)
    q, v, tau = (x.copy() for x in states)
    for state in (0, 500, 1002):
        wrong = tau.copy()
        wrong[state, -1] = np.inf
        with pytest.raises(treesim.NonFiniteError, match=rf"tau\[{state}, "):
            treesim.forward_dynamics(ROBOT, q, v, wrong)


def test_several_python_threads_at_once(states, expected, monkeypatch):
    for module in (threads, specialized):
        monkeypatch.setattr(module, "thread_count", lambda: 3)
    found = {}

    def work(me):
        found[me] = [treesim.forward_dynamics(ROBOT, *states) for _ in range(5)]

    users = [threading.Thread(target=work, args=(me,)) for me in range(4)]
    for user in users:
        user.start()
    for user in users:
        user.join()
    assert sorted(found) == [0, 1, 2, 3]
    assert all(np.array_equal(x, expected) for results in found.values() for x in results)


@pytest.mark.parametrize("bad", [KeyboardInterrupt, RuntimeError])
def test_a_batch_ends_when_nobody_works_on_it_any_more(bad, states, monkeypatch):
    """After Ctrl-C while the caller waits for the others, and where the second thread cannot be started."""
    expected = treesim.forward_dynamics(ROBOT, *states, engine="generic")
    left = []

    class Others:
        def __init__(self):
            self.pool = ThreadPoolExecutor(2)

        def submit(self, work):
            if bad is RuntimeError and left:
                raise bad
            left.append(self.pool.submit(lambda: (time.sleep(0.05), work())[1]))
            while not left[-1].running() and not left[-1].done():
                time.sleep(0.001)
            return left[-1]

    def wait_with_ctrl_c(others):
        monkeypatch.setattr(threads, "wait", wait)
        if bad is KeyboardInterrupt:
            raise bad
        return wait(others)

    monkeypatch.setattr(threads, "wait", wait_with_ctrl_c)
    others = Others()
    monkeypatch.setattr(threads, "pool", lambda: others)
    for module in (threads, specialized):
        monkeypatch.setattr(module, "thread_count", lambda: 3)
    if bad is KeyboardInterrupt:
        with pytest.raises(bad):
            treesim.forward_dynamics(ROBOT, *states, engine="generic")
    else:
        assert np.array_equal(treesim.forward_dynamics(ROBOT, *states, engine="generic"), expected)
    assert left and all(other.done() for other in left)
    others.pool.shutdown()


def _in_a_child(engine):
    return treesim.forward_dynamics(ROBOT, *batch(), engine=engine)


@pytest.mark.skipif(sys.platform != "linux", reason="forks are Linux's way")
@pytest.mark.parametrize("engine", ["specialized", "generic"])
def test_a_forked_child_has_threads_of_its_own(states, engine, monkeypatch):
    """The parent's threads do not exist in the child: waiting for them would never end."""
    for module in (threads, specialized):
        monkeypatch.setattr(module, "thread_count", lambda: 2)
    before = treesim.forward_dynamics(ROBOT, *states, engine=engine)
    with multiprocessing.get_context("fork").Pool(2) as children:
        found = children.map_async(_in_a_child, [engine] * 2).get(timeout=PATIENCE)
    assert all(np.array_equal(x, before) for x in found)
    assert np.array_equal(treesim.forward_dynamics(ROBOT, *states, engine=engine), before)


ENVIRONMENTS = {
    "nothing": ({}, 5),
    "treesim's": ({"TREESIM_NUM_THREADS": "3"}, 3),
    "OpenMP's": ({"OMP_NUM_THREADS": "2"}, 2),
    "both": ({"TREESIM_NUM_THREADS": " 7 ", "OMP_NUM_THREADS": "2"}, 7),
    "nested": ({"OMP_NUM_THREADS": "4, 2,1"}, 4),
    "most": ({"TREESIM_NUM_THREADS": "00000000000000004096"}, 4096),
    "empty": ({"TREESIM_NUM_THREADS": "", "OMP_NUM_THREADS": ""}, 5),
}


def set_environment(monkeypatch, variables):
    for name in threads.VARIABLES:
        monkeypatch.delenv(name, raising=False)
    for name, text in variables.items():
        monkeypatch.setenv(name, text)
    monkeypatch.setattr(threads, "usable_cores", lambda: 5)


@pytest.mark.parametrize(("variables", "count"), ENVIRONMENTS.values(), ids=ENVIRONMENTS)
def test_how_many_threads(monkeypatch, variables, count):
    set_environment(monkeypatch, variables)
    assert threads.default_thread_count.__wrapped__() == count


@pytest.mark.parametrize("name", threads.VARIABLES)
@pytest.mark.parametrize("text", ["0", "-1", "2.5", "many", "²", ",", "4097", "000000000000000000001"])
def test_what_is_no_number_of_threads_is_told(monkeypatch, name, text):
    set_environment(monkeypatch, {name: text})
    with pytest.raises(treesim.ArgumentError, match=rf"\${name} is '.*', but must be a whole number of threads, 1 to"):
        threads.default_thread_count.__wrapped__()


def test_the_largest_number_of_threads():
    with treesim.use_threads(4096):
        assert threads.thread_count() == 4096


def test_threads_are_asked_for_in_a_block_and_in_one_python_thread():
    before, elsewhere = threads.thread_count(), []
    with treesim.use_threads(3):
        with treesim.use_threads(before + 4):
            assert threads.thread_count() == before + 4
            with treesim.use_threads(None):
                assert threads.thread_count() == before + 4
        other = threading.Thread(target=lambda: elsewhere.append(threads.thread_count()))
        other.start()
        other.join()
        assert (threads.thread_count(), elsewhere) == (3, [before])
    assert threads.thread_count() == before


@pytest.mark.parametrize("wrong", [0, -1, 2.0, True, np.True_, "2", 4097, 10**9, [2]])
def test_threads_that_are_no_number_are_told_by_all_who_take_them(wrong, tmp_path):
    robot = treesim.load("ur5")
    for call in (
        lambda: treesim.use_threads(wrong).__enter__(),
        lambda: treesim.Dynamics(robot, threads=wrong),
        lambda: treesim.rollout(robot, np.zeros(6), np.zeros(6), steps=2, threads=wrong, out=str(tmp_path / "run")),
    ):
        with pytest.raises(treesim.ArgumentError, match="threads must be a whole number"):
            call()
    assert not list(tmp_path.iterdir())


def test_batches_run_on_the_threads_asked_for(monkeypatch):
    robot, asked = treesim.load("ur5"), []
    q = np.zeros((5000, 6))
    together = specialized.together
    monkeypatch.setattr(specialized, "together", lambda f, job, count: asked.append(count) or together(f, job, count))
    bound = treesim.Dynamics(robot, threads=3)
    expected = treesim.mass_matrix(robot, q)
    assert np.array_equal(bound.mass_matrix(q), expected)
    with treesim.use_threads(2):
        assert np.array_equal(treesim.mass_matrix(robot, q), expected)
    treesim.rollout(robot, np.zeros((4000, 6)), np.zeros(6), steps=3, threads=4)
    assert asked[1:4] == [3, 2, 4]  # before: as many as by default
    assert pickle.loads(pickle.dumps(bound)).threads == 3


@pytest.fixture
def executor(monkeypatch):
    """Python's threads: one."""
    with ThreadPoolExecutor(1) as executor:
        monkeypatch.setattr(threads, "pool", lambda: executor)
        for module in (threads, specialized):
            monkeypatch.setattr(module, "thread_count", lambda: 4)
        yield executor


@pytest.mark.parametrize("engine", ["generic", "specialized"])
def test_one_thread_does_the_work_where_no_other_starts(engine, executor, states):
    """As in a thread that runs on while the interpreter shuts down."""
    expected = treesim.forward_dynamics(ROBOT, *states, engine=engine)
    executor.shutdown()
    assert np.array_equal(treesim.forward_dynamics(ROBOT, *states, engine=engine), expected)


@pytest.mark.parametrize("engine", ["generic", "specialized"])
def test_work_does_not_wait_for_busy_threads(engine, executor, states, expected):
    """Else tasks of the only thread that divide their own work would wait for themselves."""
    go_on = threading.Event()
    busy = executor.submit(go_on.wait, PATIENCE)
    found = treesim.forward_dynamics(ROBOT, *states, engine=engine)
    assert not busy.done()
    go_on.set()
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
