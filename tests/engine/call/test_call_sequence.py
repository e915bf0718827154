"""Compiled entries in sequence, by one call."""

import numpy as np
import pytest

import treesim
from tests.trees import random_state, tree
from treesim.dynamics.tables import constants_of
from treesim.engine.call.bound_entry import BoundEntry
from treesim.engine.call.call_sequence import Bound, Place, call_sequence
from treesim.engine.call.generic import runs_compiled
from treesim.engine.frontend.fastcall import BAD_LAYOUT, OUT_OF_BOUNDS
from treesim.kernels.dynamics.aba import forward_dynamics_states
from treesim.kernels.dynamics.rnea import inverse_dynamics_states
from treesim.kernels.entries.status import FINE, NOT_FINITE

pytestmark = pytest.mark.skipif(not runs_compiled(), reason="kernels run as plain Python")


def there_and_back(robot, engine, *bounds):
    """tau -> qdd -> tau: arguments (q, v, tau, out), out = (qdd, tau of these)."""
    nq, nv = robot.nq, robot.nv
    shapes = ((nq,), (nv,), (nv,), (0, 6)), ((nv,),)
    q, v, tau, qdd, back = Place(0, 0, nq), Place(1, 0, nv), Place(2, 0, nv), Place(3, 0, nv), Place(3, nv, nv)
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
