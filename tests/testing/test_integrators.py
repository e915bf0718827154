"""The conformance check of integrators: all of treesim's pass, and each way to break a promise is found."""

import pytest

import treesim
from treesim import plugins, testing

Midpoint = type(plugins.get("integrators", "midpoint"))


@pytest.mark.parametrize("integrator", treesim.available("integrators"))
def test_every_integrator_keeps_its_promises(integrator):
    assert not testing.check_integrator(integrator).failures


def broken(**members):
    return type("Broken", (Midpoint,), {"name": "mine", **members})()


def added_to_quaternions(self, system, t, q, v, dt):
    q, v = Midpoint().step(system, t, q, v, dt)
    q[-4:] *= 1 + 1e-7
    return q, v


def in_place(self, system, t, q, v, dt):
    q[:], v[:] = Midpoint().step(system, t, q, v, dt)
    return q, v


class Remembers(Midpoint):
    """Takes the acceleration of the step before."""

    name, last = "mine", 0.0

    def step(self, system, t, q, v, dt):
        q_new, v_new = Midpoint().step(system, t, q, v, dt)
        v_new, self.last = v_new + 1e-12 * self.last, float(v_new[0])
        return q_new, v_new


def once(self, system, t, q, v, dt):
    """Explicit Euler."""
    return system.robot.integrate(q, dt * v), v + dt * system.acceleration(t, q, v)


def weightless(self, system, t, q, v, dt):
    return system.robot.integrate(q, dt * v), v


BROKEN = {
    "a higher order than it has": (broken(step=once), "of order 1.*, not 2"),
    "a lower order than it has": (broken(order=1), "not 1"),
    "quaternions that grow": (broken(step=added_to_quaternions), "length"),
    "writes to its arguments": (broken(step=in_place), "leaves its arguments alone"),
    "remembers": (Remembers(), "remembers nothing"),
    "no gravity": (broken(step=weightless), "lets a body fall"),
    "no friction": (broken(joint_friction=True), "Coulomb friction"),
    "no order": (broken(order="two"), "attribute 'order'"),
    "no step": (object(), "method 'step'"),
}


@pytest.mark.parametrize("integrator, why", BROKEN.values(), ids=BROKEN)
def test_a_broken_promise_is_found_and_named(integrator, why):
    with pytest.raises(testing.ConformanceError, match=why):
        testing.check_integrator(integrator)


def test_a_name_that_nobody_registered():
    with pytest.raises(treesim.UnknownNameError, match="rk5"):
        testing.check_integrator("rk5")
    assert plugins.get("integrators", "rk4").order == 4
