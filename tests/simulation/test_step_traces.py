"""Traces of a step: where they are cut, and what they hold once."""

import pytest

from tests import coupled, trees
from treesim.errors import UnsupportedError
from treesim.simulation.step import forward_kernel
from treesim.simulation.step_traces import CALLS, step_traces

CALLED = {  # how often a rule calls the forward dynamics
    "implicit_midpoint": 4, "semi_implicit_euler": 1, "explicit_euler": 1, "midpoint": 2, "rk4": 4, "bullet": 1,
}  # fmt: skip


@pytest.mark.parametrize("robot", [trees.tree("random_a"), coupled.coupled(2)], ids=["free", "tied"])
def test_rules_are_cut_at_every_call_of_the_dynamics(robot):
    traces = step_traces(robot, forward_kernel(robot, "aba"))
    assert {name: len(parts) - 1 for name, parts in traces.rules.items()} == CALLED
    asked, given = sum(traces.dynamics.values()), sum(traces.inputs.values()) + CALLS * robot.spanning.nv
    assert traces.forward.inputs == asked and len(traces.forward.results) == robot.spanning.nv
    for *calls, end in traces.rules.values():
        assert [len(part.results) for part in calls] == [asked] * len(calls)
        assert len(end.results) == sum(traces.results.values())
        assert {part.inputs for part in (*calls, end)} == {given}
    assert len(traces.view.results) == sum(traces.views.values())


def test_rules_hold_no_copy_of_the_dynamics():
    robot = trees.on_floating_base(trees.tree("random_a"))
    few, many = (step_traces(robot, forward_kernel(robot, name)) for name in ("aba", "crba_ltdl"))

    def operations(traces):
        return {name: [len(part.graph.needed(part.results)) for part in parts] for name, parts in traces.rules.items()}

    assert operations(few) == operations(many), "whatever the backend"
    assert few.forward.graph.operation != many.forward.graph.operation


def test_backends_that_branch_on_the_state_are_refused():
    robot = trees.tree("random_a")
    with pytest.raises(UnsupportedError):
        step_traces(robot, forward_kernel(robot, "conjugate_gradient"))
