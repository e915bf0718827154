"""The conformance check of methods for Λ⁻¹: all of treesim's pass, and each way to break a promise is found."""

import numpy as np
import pytest

import treesim
from treesim import plugins, testing
from treesim.model import generators as make

ROBOTS = [make.tree_1()]


@pytest.mark.parametrize("method", treesim.available("operational"))
def test_every_method_keeps_its_promises(method):
    factor = plugins.get("dynamics", method).capabilities.error_factor if method == "constraint_force" else 1.0
    assert not testing.check_operational(method, error_factor=factor).failures


class Method:
    """Articulated bodies under another name, to be broken."""

    name, source = "mine", "this file"

    def inverse_inertia(self, robot, q, frames, reference):
        return treesim.inverse_operational_inertia(robot, q, frames, reference=reference)


def broken(inverse_inertia):
    return type("Broken", (Method,), {"inverse_inertia": inverse_inertia})()


def changed(change):
    def inverse_inertia(self, *given):
        return change(Method().inverse_inertia(*given))

    return broken(inverse_inertia)


def asymmetric(inverse):
    inverse[..., 1:, :1] *= 1 + 1e-15
    return inverse + np.triu(np.full(inverse.shape[-2:], 1e-18), 1)


def of_world(self, robot, q, frames, reference):
    return Method().inverse_inertia(robot, q, frames, "world")


def of_known(self, robot, q, frames, reference):
    return Method().inverse_inertia(robot, q, [frame for frame in frames if frame in robot.frame_names], reference)


def of_sorted(self, robot, q, frames, reference):
    return Method().inverse_inertia(robot, q, sorted(frames), reference)


BROKEN = {
    "inexact": (changed(lambda inverse: inverse * (1 + 1e-6)), "Λ⁻¹ = J M⁻¹ Jᵀ"),
    "asymmetric": (changed(asymmetric), "not symmetric"),
    "one axis only": (broken(of_world), "local axes"),
    "unknown frames left out": (broken(of_known), "UnknownNameError is needed"),
    "frames sorted": (broken(of_sorted), "frames in no order"),
}


def test_one_that_is_whole_passes():
    assert not testing.check_operational(Method(), ROBOTS).failures


@pytest.mark.parametrize("method, why", BROKEN.values(), ids=BROKEN)
def test_a_broken_promise_is_found_and_named(method, why):
    with pytest.raises(testing.ConformanceError, match=why):
        testing.check_operational(method, ROBOTS)


def test_an_object_that_is_no_method():
    with pytest.raises(testing.ConformanceError, match="attribute 'name': object has none"):
        testing.check_operational(object())
