"""The condition number of the mass matrix, in closed form for two discs on one axis."""

import numpy as np
import pytest

import treesim
from tests.doctor.robots import joint, robot, solid

DISC = 0.1


def coaxial(inner, kind="continuous"):
    return robot(
        joint("spin", "base", "ring", axis="0 0 1"),
        joint("turn", "ring", "disc", kind, axis="0 0 1"),
        base="",
        ring=solid(inner, moments=3 * (inner,)),
        disc=solid(1.0, moments=3 * (DISC,)),
    )


def condition(inner):
    """M = [[a + b, b], [b, b]]; scaled to unit diagonal its eigenvalues are 1 + r and 1 - r, r = sqrt(b / (a + b))."""
    gap = inner / (inner + DISC)  # 1 - r^2
    return (1 + np.sqrt(1 - gap)) ** 2 / gap


def test_joints_that_together_move_next_to_nothing_are_named():
    (found,) = [one for one in treesim.check(coaxial(1e-10)).findings if one.code == "U605"]
    details = float(found.message.partition("condition number ")[2].split()[0])
    assert details == pytest.approx(condition(1e-10), rel=0.05), "two digits are told"
    assert "'spin', 'turn' together" in found.message and found.link == "ring"


def test_half_of_the_digits_are_enough():
    assert condition(1e-8) < 1e8 < condition(1e-10)
    assert "U605" not in [one.code for one in treesim.check(coaxial(1e-8)).findings]


def test_light_links_at_the_end_of_heavy_ones_are_no_fault():
    """The finger of a crane: units and sizes are scaled away."""
    text = robot(
        joint("lift", "base", "crane"),
        joint("bend", "crane", "finger", xyz="0 0 1"),
        base="",
        crane=solid(1e6, "0 0 0.5", 3 * (1e6,)),
        finger=solid(1e-6, "0 0 0.01", 3 * (1e-9,)),
    )
    assert np.linalg.cond(treesim.mass_matrix(treesim.load(text), np.zeros(2))) > 1e12
    assert "U605" not in [one.code for one in treesim.check(text).findings]
