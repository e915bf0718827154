"""How many substeps a step has: by rule, by robot, or as asked for."""

import numpy as np
import pytest

import treesim
from treesim.model import generators as make
from treesim.step_settings import MANY, fastest_rate, substeps_of


def flail(inertia, **options):
    """A bar of 1 kg that hangs down 1 m, and a wheel of 1 kg at its end with such an inertia about its axle."""
    hinge, axle = (treesim.Joint(name, "revolute", place, (0, 1, 0)) for name, place in (
        ("hinge", treesim.Placement()), ("axle", treesim.Placement(translation=(0, 0, -1.0)))
    ))  # fmt: skip
    bar = treesim.Body("bar", 0, hinge, treesim.Inertia(1.0, (0, 0, -0.5), np.eye(3) / 12))
    return treesim.Tree(
        "flail", [bar, treesim.Body("wheel", 1, axle, treesim.Inertia(1.0, rotational=np.eye(3) * inertia))], **options
    )


def test_fastest_rate_is_that_of_all_energy_in_the_lightest_joint():
    assert fastest_rate(flail(1e-4)) == pytest.approx(np.sqrt(2 * 9.81 * (0.5 + 1.0) / 1e-4), rel=0.01)
    assert fastest_rate(flail(1e-4, gravity=(0, 0, 0))) == 0


def test_light_joints_take_shorter_substeps():
    heavy, light = flail(1e-2), flail(1e-6)
    assert substeps_of(heavy, "implicit_midpoint", 1e-3, None) == 2
    assert substeps_of(light, "implicit_midpoint", 1e-3, None) == 7
    assert substeps_of(light, "implicit_midpoint", 1e-3, 3) == 3
    assert substeps_of(light, "semi_implicit_euler", 1e-3, None) == 1
    assert treesim.Stepper(light).substeps == treesim.Stepper(light, dt=2e-3).substeps // 2 == 7


def test_robots_that_have_no_least_inertia_take_the_rule_s():
    assert substeps_of(make.chain(MANY + 1), "implicit_midpoint", 1e-3, None) == 2
    massless = treesim.Tree("massless", [treesim.Body("b", 0, treesim.Joint("j", "revolute"), treesim.Inertia())])
    assert substeps_of(massless, "implicit_midpoint", 1e-3, None) == 2


def test_too_many_are_refused():
    with pytest.raises(treesim.ArgumentError, match="dt 10 s would be 20000 substeps of 0"):
        substeps_of(flail(1e-2), "implicit_midpoint", 10.0, None)
