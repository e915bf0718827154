"""Orders are fitted: of synthetic errors exactly, of treesim's own rules, and of rules that are not what they say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from treesim import Tree
from treesim.compare.convergence import Refinement, convergence, refinement_for
from treesim.compare.results import Results
from treesim.compare.source import without_losses
from treesim.compare.treesim_engine import TreesimModel, random_batch
from treesim.model.generators import chain

ROBOT = without_losses(chain(2))
RUNS = tuple((8 * 2**k, 4e-3 / 2**k) for k in range(6))


@pytest.fixture(scope="module")
def motion():
    batch = random_batch(ROBOT, 1, 0, 1, 1e-3)
    found = refinement_for(TreesimModel(ROBOT, "semi_implicit_euler", "generic"), 1, batch.q0, batch.v0)
    return batch, found


def ends(errors):
    q = np.zeros((6, 2)) + np.array(errors)[:, None]
    return Results({"ends_q": q, "ends_v": np.zeros((6, 2))})


def of_synthetic(law):
    rest = Refinement(1, RUNS, np.zeros(2), np.zeros(2))
    return convergence(ROBOT, rest, ends([law(dt) for _, dt in RUNS]))


def test_a_first_order_error_with_a_second_order_rest():
    found = of_synthetic(lambda dt: 1e-3 * dt + 1e-3 * dt**2)
    assert found.slope == pytest.approx(1.0, abs=0.01) and found.extrapolated_slope == pytest.approx(2.0, abs=1e-6)
    assert found.passed and found.horizon == pytest.approx(0.032)
    assert np.array(found.extrapolated) == pytest.approx([np.sqrt(2) * 5e-4 * dt**2 for _, dt in RUNS[:-1]], rel=1e-6)


@pytest.mark.parametrize("law", [lambda dt: dt**2, lambda dt: dt + 1e-5, lambda dt: np.nan], ids=["2", "bias", "nan"])
def test_errors_that_are_not_of_first_order_fail(law):
    assert not of_synthetic(law).passed


def test_the_accurate_end_is_reached_by_a_rule_of_high_order(motion):
    batch, found = motion
    q, v = TreesimModel(ROBOT, "rk4", "generic").trajectory(batch.q0, batch.v0, *found.runs[-1])
    np.testing.assert_allclose(q[-1], found.q, atol=1e-11)
    np.testing.assert_allclose(v[-1], found.v, atol=1e-11)


def of_rule(motion, rule, gravity=(0.0, 0.0, -9.81)):
    batch, found = motion
    robot = Tree(ROBOT.name, ROBOT.bodies, gravity=gravity)
    model = TreesimModel(robot, rule, "generic")
    return convergence(ROBOT, found, model.evaluate(replace(batch, steps=0, refinements=found.runs)))


def test_rules_of_first_order_pass(motion):
    assert of_rule(motion, "semi_implicit_euler").passed and of_rule(motion, "explicit_euler").passed


def test_a_rule_of_another_order_fails(motion):
    found = of_rule(motion, "midpoint")
    assert not found.passed and found.slope == pytest.approx(2.0, abs=0.1)


def test_a_force_that_is_left_on_fails(motion):
    found = of_rule(motion, "semi_implicit_euler", gravity=(0.0, 0.0, -9.80))
    assert not found.passed and abs(found.slope) < 0.9


def test_a_motion_that_breaks_down_has_no_horizon():
    class Broken(TreesimModel):
        def trajectory(self, *motion):
            q, v = super().trajectory(*motion)
            return q * np.nan, v

    batch = random_batch(ROBOT, 1, 0, 1, 1e-3)
    assert refinement_for(Broken(ROBOT, "semi_implicit_euler", "generic"), 1, batch.q0, batch.v0) is None
