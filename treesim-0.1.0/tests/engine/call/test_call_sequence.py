"""Compiled entries in sequence, by one call."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import treesim
from tests.trees import random_state, tree
from treesim.dynamics.tables import constants_of
from treesim.engine.call import call_sequence as sequences
from treesim.engine.call.bound_entry import BoundEntry
from treesim.engine.call.call_sequence import Bound, Place, call_sequence
from treesim.engine.call.generic import runs_compiled
from treesim.engine.frontend.fastcall import BAD_LAYOUT, OUT_OF_BOUNDS
from treesim.kernels.dynamics.aba import forward_dynamics_states
from treesim.kernels.dynamics.rnea import inverse_dynamics_states
from treesim.kernels.entries.status import FINE, NOT_FINITE

pytestmark = pytest.mark.skipif(not runs_compiled(), reason="kernels run as plain Python")


def there_and_back(robot, engine, *bounds, between=None):
    """tau -> qdd -> tau: arguments (q, v, tau, out), out = (qdd, tau of these); between: another array for qdd."""
    nq, nv = robot.nq, robot.nv
    shapes = ((nq,), (nv,), (nv,), (0, 6)), ((nv,),)
    q, v, tau, qdd, back = Place(0, 0, nq), Place(1, 0, nv), Place(2, 0, nv), Place(3, 0, nv), Place(3, nv, nv)
    qdd = qdd if between is None else between
    forces, calls = np.empty((0, 6)), []
    for entry, given, result in (
        (forward_dynamics_states, tau, qdd), (inverse_dynamics_states, qdd, back),
    ):  # fmt: skip
        bound = BoundEntry(entry, constants_of(robot, None), *shapes, engine=engine)
        calls.append(bound.call_of([q, v, given, forces, result]))
    return call_sequence([nq, nv, nv, 2 * nv], calls, bounds)


@pytest.mark.parametrize("engine", ["generic", "specialized"])
def test_results_are_the_next_calls_arguments(engine):
    robot = tree("free_random")
    state = random_state(robot, np.random.default_rng(0))
    q, v, tau = (np.array(x) for x in (state.q, state.v, state.tau))
    out = np.empty(2 * robot.nv)
    assert there_and_back(robot, engine)(q, v, tau, out) == FINE
    qdd, back = out[: robot.nv], out[robot.nv :]
    assert np.array_equal(qdd, treesim.forward_dynamics(robot, q, v, tau, engine=engine))
    np.testing.assert_allclose(back, tau, rtol=0, atol=1e-10 * np.abs(tau).max())


@pytest.mark.parametrize("engine", ["generic", "specialized"])
def test_other_arrays_are_refused_with_nothing_done(engine):
    robot = tree("tree_1")
    call = there_and_back(robot, engine)
    q, v, tau, out = robot.neutral(), np.zeros(robot.nv), np.ones(robot.nv), np.full(2 * robot.nv, 7.0)
    fixed = tau.copy()
    fixed.setflags(write=False)
    strided = np.ones(2 * robot.nv)[::2]
    for wrong in (tau[:-1], tau.astype(np.float32), tau[None], strided, fixed, list(tau), None):
        assert call(q, v, wrong, out) == BAD_LAYOUT
    assert call(q, v, tau) == call(q, v, tau, out, out) == call() == BAD_LAYOUT
    assert np.all(out == 7.0)


def test_calls_after_one_that_fails_are_left_out():
    robot = tree("tree_1")
    out = np.full(2 * robot.nv, 7.0)
    tau = np.full(robot.nv, np.nan)
    assert there_and_back(robot, "generic")(robot.neutral(), np.zeros(robot.nv), tau, out) == NOT_FINITE
    assert np.isnan(out[: robot.nv]).any()


def test_numbers_beyond_their_bounds_are_reported():
    robot = tree("tree_1")
    q, v, tau, out = robot.neutral(), np.zeros(robot.nv), np.ones(robot.nv), np.empty(2 * robot.nv)
    own = np.zeros(2)
    call = there_and_back(robot, "generic", Bound(Place(2, 1, 2), 1.0), Bound(own, 0.5))
    assert call(q, v, tau, out) == FINE
    for part, k, value in ((tau, 1, 1.5), (tau, 2, 1.5), (own, 0, 0.6), (own, 1, np.nan), (own, 1, np.inf)):
        before, part[k] = part[k], value
        assert call(q, v, tau, out) == OUT_OF_BOUNDS
        assert np.isfinite(out).all()
        part[k] = before
    tau[0] = own[0] = -7.0  # outside of the part; only large numbers count
    assert call(q, v, tau, out) == FINE
    tau[2] = np.nan
    assert call(q, v, tau, out) == NOT_FINITE


def test_threads_take_turns_where_no_interpreter_s_lock_makes_them(monkeypatch):
    """The calls of a sequence pass on numbers in its own arrays: those of two threads would be mixed."""
    inside, most = [], []

    def call(*arguments):
        inside.append(1)
        most.append(len(inside))
        time.sleep(0.01)
        inside.pop()
        return FINE

    monkeypatch.setattr(sequences, "builtin", lambda *arguments: call)
    monkeypatch.setattr(sequences, "is_free_threaded", lambda: True)
    sequence = call_sequence([], [])
    threads = [threading.Thread(target=sequence) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] * 4


@pytest.mark.parametrize("engine", ["generic", "specialized"])
def test_threads_at_once_get_the_bits_of_one(engine):
    """Where there is no interpreter's lock, this is where threads meet."""
    robot, rng = tree("free_random"), np.random.default_rng(0)
    call = there_and_back(robot, engine, between=np.empty(robot.nv))
    states = [random_state(robot, rng) for _ in range(8)]

    def run(state):
        out = np.zeros((50, 2 * robot.nv))
        return [call(np.array(state.q), np.array(state.v), np.array(state.tau), row) for row in out], out

    expected = [run(state) for state in states]
    with ThreadPoolExecutor(8) as pool:
        for (status, out), (_, found) in zip(expected, pool.map(run, states), strict=True):
            assert {*status} == {FINE} and np.array_equal(out, found)
