"""Components on SIMD lanes: a state has the bits that it has alone, whatever bodies its contacts connect."""

import numpy as np
import pytest

import treesim
from treesim.contact.lanes import ContactLanes
from treesim.engine.call.generic import runs_compiled
from treesim.engine.frontend.types import WIDTH
from treesim.kernels.contact.simd_components import LARGE

pytestmark = pytest.mark.skipif(not runs_compiled(), reason="plain Python has no lanes")
DT, SIDE, LANES = 1e-3, 0.2, WIDTH
RULES = ["semi_implicit_euler", "implicit_midpoint"]


def stacks(*heights, **surface):
    """World of stacks of boxes half a metre apart, and its configuration."""
    places = [(s / 2, 0.0, SIDE * (k + 0.5)) for s, n in enumerate(heights) for k in range(n)]
    bodies = [treesim.free_body(f"box {k}", "box", (SIDE,) * 3, 1.0) for k in range(len(places))]
    options = {"friction": 0.5, **surface}
    world = treesim.World(
        bodies[0], bodies=bodies[1:], ground=treesim.Ground(**options), surface=treesim.Surface(**options)
    )
    return world, np.c_[places, np.tile([0.0, 0, 0, 1], (len(places), 1))].ravel()


def check_rollouts(world, q, v, rule, steps):
    """Assert that rollouts have the bits of single steps."""
    runs = treesim.rollout(world, q, v, steps=steps, dt=DT, integrator=rule, substeps=1)
    stepper = treesim.Stepper(world, DT, integrator=rule, substeps=1)
    for k in range(len(q)):
        state = stepper.reset(q[k], v[k])
        for i in range(steps):
            state, _ = stepper.step(state)
            np.testing.assert_array_equal(state.q, runs.q[k, i], err_msg=f"state {k}, step {i}")
            np.testing.assert_array_equal(state.v, runs.v[k, i])
    return runs


@pytest.fixture
def alone(monkeypatch):
    """States that lanes leave to single steps, of each step."""
    found, step = [], ContactLanes._one_by_one
    monkeypatch.setattr(
        ContactLanes, "_one_by_one", lambda self, left, *rest: found.append(left.tolist()) or step(self, left, *rest)
    )
    return found


@pytest.mark.parametrize("surface", [{}, {"restitution": 0.5, "rolling_friction": 0.01}, {"stiffness": 1e5}], ids=str)
@pytest.mark.parametrize("rule", RULES)
def test_rollouts_of_bodies_have_the_bits_of_steps(rule, surface):
    world, q = stacks(2, 1, 1, **surface)
    v = np.random.default_rng(0).normal(scale=0.6, size=(11, 24))
    check_rollouts(world, np.tile(q, (11, 1)), v, rule, 60)


def test_states_that_contacts_connect_otherwise_form_groups_of_their_own(alone):
    """In each second state a box falls on another one; in that step it is not known before."""
    world, q = stacks(2, 1)
    n = 2 * LANES
    q, v = np.tile(q, (n, 1)), np.zeros((n, 18))
    q[:, 9], q[1::2, 7] = 1.5 * SIDE + 0.02, 1.5
    v[::2, 6] = 0.1 + 0.001 * np.arange(LANES)
    check_rollouts(world, q, v, RULES[0], 90)
    assert alone[0] == [*range(n)]
    assert 1 <= len(alone[1:]) <= 3 and len(alone[1]) < n


def test_few_states_of_a_partition_are_alone(alone):
    world, q = stacks(2)
    for few in (LANES // 4, LANES // 4 + 1):
        states = np.tile(q, (few + LANES, 1))
        states[:few, 9] = 1.0
        alone.clear()
        check_rollouts(world, states, np.zeros((few + LANES, 12)), RULES[0], 5)
        assert alone[1:] == ([[*range(few)]] * 4 if few <= LANES // 4 else [])


@pytest.mark.parametrize(("height", "expected"), [(LARGE // 4, 1), (LARGE // 4 + 1, 20)])
def test_states_with_large_components_are_alone(alone, height, expected):
    """A box on another has four contacts; after the first step their number is known."""
    world, q = stacks(height)
    check_rollouts(world, np.tile(q, (3, 1)), np.zeros((3, 6 * height)), RULES[0], 20)
    assert alone == [[0, 1, 2]] * expected


def test_components_that_become_large_are_left_to_single_steps(alone):
    """Two stacks of two collide; their state is known to be large only then."""
    world, q = stacks(2, 2)
    q, v = np.tile(q, (3, 1)), np.zeros((3, 4, 6))
    q[:, 14::7], v[:, :2, 0] = SIDE + 0.004, 0.3
    check_rollouts(world, q, v.reshape(3, -1), RULES[0], 30)
    assert 2 < len(alone) < 30


def test_contacts_of_all_states_beyond_the_room_of_lanes():
    """A pile whose contacts are more than lanes have room for."""
    world, q = stacks(*(2,) * 10)
    v = np.random.default_rng(0).normal(scale=0.3, size=(3, 120))
    check_rollouts(world, np.tile(q, (3, 1)), v, RULES[0], 4)
