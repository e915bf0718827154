"""Results of a step and of its equal parts."""

from __future__ import annotations

import numpy as np
import pytest

import treesim
from treesim.kernels.entries.status import FINE
from treesim.simulation.step_result import substeps

RULES = ("implicit_midpoint", "semi_implicit_euler")


def box() -> treesim.World:
    """A cube of 1 kg on the ground."""
    inertia = treesim.Inertia(1.0, (0, 0, 0), np.eye(3) * 0.01**2)
    shape = treesim.CollisionShape(1, treesim.Placement(), "box", size=(0.1, 0.1, 0.1), link="cube")
    body = treesim.Body("cube", 0, treesim.Joint("free", "floating"), inertia)
    return treesim.World(treesim.Tree("cube", [body], shapes=[shape]), ground=treesim.Ground(friction=0.5))


START = np.array([0, 0, 0.05, 0, 0, 0, 1.0])
PUSHED = np.array([0.5, 0.1, 0, 0, 0, 0.2])


@pytest.mark.parametrize("rule", RULES)
def test_parts_of_a_step_are_steps_of_a_part(rule):
    """Three parts of 3 ms are three steps of 1 ms, and the report contains their sums, means and extremes."""
    whole = treesim.Stepper(box(), 3e-3, integrator=rule, substeps=3)
    part = treesim.Stepper(box(), 1e-3, integrator=rule, substeps=1)
    control = np.array([0, 0, 0, 0.01, 0, 0])
    end, report = whole.step(whole.reset(START, PUSHED), control)
    state, reports = part.reset(START, PUSHED), []
    for _ in range(3):
        state, each = part.step(state, control)
        reports.append(each)
    for name in ("q", "v", "contact"):
        assert np.array_equal(getattr(end, name), getattr(state, name)), name
    assert report.control_work == pytest.approx(sum(each.control_work for each in reports), rel=1e-15)
    assert report.passive_work == pytest.approx(sum(each.passive_work for each in reports), rel=1e-15)
    assert report.passive_work < 0
    found = [each.contact for each in reports]
    np.testing.assert_allclose(report.contact.wrench, np.mean([each.wrench for each in found], axis=0), atol=1e-12)
    pairs = [each.pair_wrench_array for each in found]
    np.testing.assert_allclose(report.contact.pair_wrench_array, np.mean(pairs, axis=0), atol=1e-12)
    assert report.contact.iterations == sum(each.iterations for each in found)
    assert report.contact.residual == max(each.residual for each in found)
    assert report.contact.count == found[-1].count == 4


def test_what_a_step_returned_stays_as_it_is():
    """Later steps overwrite neither states nor reports of earlier ones."""
    stepper = treesim.Stepper(box(), 1e-3, substeps=2)
    first, report = stepper.step(stepper.reset(START, PUSHED))
    kept = first.q.copy(), first.v.copy(), first.contact.copy(), report.contact.wrench.copy(), report.force.copy()
    state = first
    for _ in range(5):
        state, _ = stepper.step(state)
    now = first.q, first.v, first.contact, report.contact.wrench, report.force
    assert all(np.array_equal(x, y) for x, y in zip(kept, now, strict=True))
    again = stepper.step(stepper.reset(START, PUSHED))[0]
    assert np.array_equal(again.q, first.q) and np.array_equal(again.v, first.v)


def test_a_part_that_fails_is_reported_with_its_state():
    """Of four parts the control of the third is infinite: that part's state is passed on, and nothing after it runs."""
    stepper = treesim.Stepper(treesim.load("ur5"), 4e-3, substeps=4)
    state, asked = stepper.reset(np.zeros(6), np.ones(6)), []

    class Failed(Exception):
        pass

    def control(k: int, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        asked.append((k, q, v))
        return np.full(6, np.nan if k == 2 else 0.0)

    def failed(q: np.ndarray, v: np.ndarray, u: np.ndarray) -> None:
        assert q is asked[2][1] and v is asked[2][2] and np.isnan(u).all()
        raise Failed

    with pytest.raises(Failed):
        substeps(stepper.code, state.q, state.v, None, 4, control, failed)
    assert [k for k, *_ in asked] == [0, 1, 2]
    worst, results = substeps(stepper.code, state.q, state.v, None, 4, control)
    assert worst != FINE and len(results) == 4 and np.isfinite(results[1].q).all() and np.isnan(results[2].v).all()
