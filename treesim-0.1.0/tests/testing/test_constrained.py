"""The conformance check of constrained dynamics: all of treesim's methods pass, and broken promises are found."""

from dataclasses import replace

import numpy as np
import pytest

import treesim
from treesim import plugins, testing
from treesim.model import generators as make

ROBOTS = [make.chain(6)]


@pytest.mark.parametrize("method", treesim.available("constrained"))
def test_every_method_keeps_its_promises(method):
    assert not testing.check_constrained(method).failures


class Method:
    """The direct method under another name, to be broken."""

    name, source = "mine", "this file"

    def solve(self, problem):
        return plugins.get("constrained", "direct").solve(problem)


def changed(change):
    return type("Broken", (Method,), {"solve": lambda self, problem: change(Method().solve(problem))})()


def forgiving(self, problem):
    try:
        return Method().solve(problem)
    except treesim.TreesimError:
        nothing = np.zeros(problem.m)
        return treesim.ConstrainedAcceleration(np.zeros(problem.robot.nv), nothing, nothing, np.array(0))


BROKEN = {
    "accelerations": (
        changed(lambda found: replace(found, acceleration=found.acceleration * 1.001)),
        "acceleration is off",
    ),
    "forces of the other sign": (changed(lambda found: replace(found, force=-found.force)), "force is off"),
    "a residual of its own": (changed(lambda found: replace(found, residual=found.residual + 1)), "residual"),
    "a tuple": (changed(lambda found: (found.acceleration, found.force)), "returns a tuple"),
    "no errors": (type("Broken", (Method,), {"solve": forgiving})(), "raises nothing"),
    "one state": (changed(lambda found: replace(found, force=np.atleast_2d(found.force)[0])), "force has the shape"),
}


def test_one_that_is_whole_passes():
    assert not testing.check_constrained(Method(), ROBOTS).failures


@pytest.mark.parametrize("method, why", BROKEN.values(), ids=BROKEN)
def test_a_broken_promise_is_found_and_named(method, why):
    with pytest.raises(testing.ConformanceError, match=why):
        testing.check_constrained(method, ROBOTS)
