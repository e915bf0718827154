"""The pool's threads work at the same time, awake or asleep; the caller waits for those that entered, for no others."""

import _thread
import ctypes
import random
import threading
import time

import numpy as np
import pytest

import treesim
from tests.waiting import PATIENCE, wait_until
from treesim.engine.call import specialized
from treesim.engine.call.generic import runs_compiled
from treesim.engine.llvm import thread_pool
from treesim.engine.llvm.thread_pool import ThreadPool, together
from treesim.model.generators import chain

pytestmark = pytest.mark.skipif(not runs_compiled(), reason="kernels run as plain Python")
FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


@pytest.fixture(scope="module")
def pool():
    return ThreadPool()


def run(pool, work, threads):
    """Call a Python function on threads of a pool; return what it returned, in the order in which threads left."""
    returned = []
    function = FUNCTION(lambda job: returned.append(work()))
    pool.run(ctypes.cast(function, ctypes.c_void_p).value, 0, threads)
    return returned


@pytest.mark.parametrize("pause", [0.0, 0.02], ids=["awake", "asleep"])
@pytest.mark.parametrize("threads", [2, 5, 3])
def test_threads_work_at_the_same_time(pool, threads, pause):
    for _ in range(3):
        time.sleep(pause)
        everyone = threading.Barrier(threads)
        assert len(run(pool, lambda: everyone.wait(PATIENCE), threads)) == threads  # noqa: B023


def test_a_caller_waits_for_a_slow_thread_and_sleeps_meanwhile(pool):
    me, entered = threading.get_ident(), threading.Event()

    def work():
        if threading.get_ident() == me:
            return entered.wait(PATIENCE)
        entered.set()
        wait_until(lambda: pool._words.waiting)
        return "slow"

    assert run(pool, work, 2) == [True, "slow"]


def test_a_caller_does_not_wait_for_threads_that_do_not_come(monkeypatch):
    """None can be started while the interpreter shuts down; others wake late."""

    def none(*arguments):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(_thread, "start_new_thread", none)
    pool = ThreadPool()
    assert [run(pool, lambda: "alone", 4) for _ in range(2)] == [["alone"]] * 2


def test_ctrl_c_waits_for_the_threads_that_use_the_caller_s_memory():
    me, done, entered = threading.get_ident(), [], threading.Event()

    def work(job):
        if threading.get_ident() == me:
            entered.wait(PATIENCE)
        else:
            entered.set()
            wait_until(lambda: thread_pool.thread_pool()._words.waiting)  # the caller has left its Python function
            _thread.interrupt_main()
            time.sleep(0.01)
            done.append(True)

    function = FUNCTION(work)
    with pytest.raises(KeyboardInterrupt):
        together(ctypes.cast(function, ctypes.c_void_p).value, ctypes.c_int64(), 2)
    assert done and not thread_pool._busy.locked()


def test_no_wake_up_is_lost_where_threads_are_about_to_sleep(monkeypatch):
    """Pauses about as long as threads stay awake, and more threads than cores."""
    robot, rng = chain(1), random.Random(0)
    x = np.random.default_rng(0).normal(size=(512, 1))
    bound = [treesim.Dynamics(robot, threads=threads) for threads in (2, 3, 8)]
    expected = bound[0].inverse_dynamics(x, x, x)
    calls = []
    monkeypatch.setattr(specialized, "together", lambda *job: (calls.append(job[-1]), together(*job)))
    for _ in range(500):
        assert np.array_equal(rng.choice(bound).inverse_dynamics(x, x, x), expected)
        time.sleep(rng.choice((0, thread_pool.AWAKE / 2, thread_pool.AWAKE)))
    assert {*calls} == {2, 3, 8}
