"""Unconstrained steps that compute the kinematics of contact too, compared with both alone."""

import numpy as np
import pytest

from tests import trees
from treesim.dynamics.tables import constants_of
from treesim.engine.call.bound_entry import BoundEntry
from treesim.engine.call.generic import runs_compiled
from treesim.engine.graph.trace import trace
from treesim.kernels.contact.contact_kinematics import contact_kinematics_states, kinematics_size
from treesim.kernels.contact.placed_step import KINEMATICS
from treesim.kernels.dynamics.aba import forward_dynamics_states
from treesim.kernels.entries.entry import unfused
from treesim.kernels.entries.status import FINE
from treesim.kernels.stepping.rules import RULES
from treesim.kernels.stepping.step_entry import step_entry
from treesim.simulation.step_settings import StepSettings

DT = 1e-3


class Parts:
    """The entries of a step of a robot with damping, their constants, and the sizes of their arrays."""

    def __init__(self, name, rule):
        self.robot = robot = trees.tree(name)
        settings = StepSettings.of(robot, RULES[rule], DT, 0.0, 0.3).table
        tables, nq, nv = constants_of(robot, None), robot.nq, robot.nv
        state, size = (nq, nv, nv), kinematics_size(robot.n_bodies, nv)
        self.step = step_entry(RULES[rule], forward_dynamics_states), (*tables, settings), state, (*state, 2)
        given = nq, nv, *state, len(settings)
        self.kinematics = contact_kinematics_states, tables, given, (size,)
        results = "force", "work", "extra"
        both = unfused(step_entry(RULES[rule], forward_dynamics_states, results=results, extra=KINEMATICS))
        self.both = both, (*tables, settings), state, (*state, 2, size)
        self.settings = settings.copy()


def results(part, engine, *arrays):
    """The results of an entry for one state."""
    entry, constants, inputs, sizes = part
    made = [np.zeros(n) for n in sizes]  # what a joint type leaves out is not written
    bound = BoundEntry(entry, constants, [(n,) for n in inputs], [(n,) for n in sizes], engine=engine)
    assert bound.call(*arrays, *made) == FINE
    return made


@pytest.mark.skipif(not runs_compiled(), reason="kernels run as plain Python")
@pytest.mark.parametrize("engine", ["generic", "specialized"])
@pytest.mark.parametrize("rule", ["semi_implicit_euler", "implicit_midpoint"])
@pytest.mark.parametrize("name", ["tree_1", "free_random"])
def test_results_are_those_of_both(name, rule, engine):
    parts = Parts(name, rule)
    rng = np.random.default_rng(3)
    state = parts.robot.random(rng), *rng.normal(size=(2, parts.robot.nv))
    *end, kinematics = results(parts.both, engine, *state)
    expected = results(parts.step, engine, *state)
    for found, known in zip(end, expected, strict=True):
        np.testing.assert_allclose(found, known, rtol=1e-13, atol=1e-13)
    (alone,) = results(parts.kinematics, engine, *state[:2], *expected[:3], parts.settings)
    rows = parts.robot.n_bodies + 1
    for first, width in ((0, 12), (24, 6), (30, 6)):  # there is no joint before the base
        kinematics[first * rows : first * rows + width] = alone[first * rows : first * rows + width] = 0.0
    np.testing.assert_allclose(kinematics, alone, rtol=1e-10, atol=1e-10)


def test_common_values_are_computed_once():
    parts = Parts("free_random", "semi_implicit_euler")
    step, kinematics, both = (
        len(traced.graph.needed(traced.results))
        for traced in (trace(*part) for part in (parts.step, parts.kinematics, parts.both))
    )
    assert both < step + kinematics / 2
