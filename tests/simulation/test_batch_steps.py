"""Parts of steps of many states on SIMD lanes: contact points, and pullbacks that solve contact there only."""

import numpy as np
import pytest

import treesim
from treesim.contact.contact_solve import ContactSolve
from treesim.contact.lanes import begin_info
from treesim.differentiation.solved_part import solved_part
from treesim.engine.call.generic import runs_compiled

pytestmark = pytest.mark.skipif(not runs_compiled(), reason="SIMD lanes are compiled")
BOX = treesim.free_body("box", "box", (0.2, 0.2, 0.2), 2.0)
WORLD = treesim.World(BOX, ground=treesim.Ground(friction=0.5))


def states():
    """Return boxes that touch the ground with one to four vertices, or not at all."""
    q, rng = np.tile(BOX.neutral(), (13, 1)), np.random.default_rng(0)
    q = BOX.integrate(q, 0.3 * rng.normal(size=(13, 6)) * [0, 0, 0, 1, 1, 1])
    q[0, 3:] = 0, 0, 0, 1
    q = np.stack([BOX.standing(x) if k else x for k, x in enumerate(q)])
    q[0, 2], q[1, 2] = 0.0999, 1.0
    return q, 0.1 * rng.normal(size=(13, 6))


def test_contact_points_on_lanes_are_those_of_single_states():
    code, (q, v) = treesim.Stepper(WORLD, integrator="semi_implicit_euler").code, states()
    alone = solved_part(code, q, v, 0 * v, None)
    lanes = solved_part(code, q, v, 0 * v, np.zeros((13, WORLD.touching.warm_start_size)), info=begin_info(13))
    assert alone.info is None
    assert lanes.info is not None
    assert lanes.counts.tolist() == alone.counts.tolist()
    assert {0, 1, 4} <= set(alone.counts.tolist())
    for one, other, count in zip(alone.points, lanes.points, alone.counts, strict=True):
        np.testing.assert_allclose(other[:count], one[:count], rtol=0, atol=1e-9)


def test_pullbacks_solve_contact_on_lanes_only(monkeypatch):
    q, v = states()
    given = WORLD, q, v, np.zeros((13, 6, 6))
    runs, pullback = treesim.rollout_vjp(*given, integrator="semi_implicit_euler")
    weights = np.ones((13, 6))
    expected = pullback(weights, weights)
    monkeypatch.setattr(ContactSolve, "run", None)
    again = pullback(weights, weights)
    assert np.array_equal(again.q0, expected.q0)
    assert runs.q.shape == (13, 6, 7)
