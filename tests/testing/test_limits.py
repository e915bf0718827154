"""Limits of conformance checks: just below, and just above."""

from types import SimpleNamespace

import numpy as np
import pytest

import treesim
from treesim.testing import ConformanceError, bounds, contact, integrators
from treesim.testing.report import Conformance, Finding, Unmet


@pytest.mark.parametrize(("failures", "more"), [(20, []), (21, ["  ... (21 in all)"])])
def test_twenty_failures_are_listed(failures, more):
    findings = tuple(Finding(f"promise {k}", "", "broken") for k in range(failures))
    _, *lines = str(ConformanceError(Conformance("integrator", "mine", findings))).split("\n")
    assert lines == [f"  promise {k}: broken" for k in range(20)] + more


def unmet(check, *arguments):
    """Whether a requirement is not met."""
    try:
        check(*arguments)
    except Unmet:
        return True
    return False


@pytest.mark.parametrize(("error", "found"), [(0.96e-6, False), (1.04e-6, True)])
def test_solvers_of_contact_are_exact_to_a_millionth(error, found, monkeypatch):
    """In impulses that are known, and where they begin with their own solution."""
    right = np.array([0.0, 0.0, 1.0])
    answers = iter(
        [contact.Solved(right + error, right), contact.Solved(right, right), contact.Solved(right, right + error)]
    )
    monkeypatch.setattr(contact, "solved", lambda *_: next(answers))
    assert unmet(contact._demand_known, None, None, right) == found
    assert unmet(contact._demand_rest, None, None) == found


@pytest.mark.parametrize(("error", "found"), [(0.96e-12, False), (1.04e-12, True)])
def test_quaternions_keep_their_length(error, found, monkeypatch):
    robot = treesim.free_body("ball", "sphere", (0.1,), 2.0)
    q = np.array([0, 0, 0, 0, 0, 0, 1 + error])
    monkeypatch.setattr(integrators, "motion", lambda *_: (q, np.zeros(6)))
    assert unmet(integrators._demand_unit, SimpleNamespace(), robot) == found


def test_thirty_roundings_are_allowed():
    eps, one = 2.0**-52, np.ones(2)
    assert bounds.of_sums([one, one], one) == pytest.approx(30 * eps * 2, rel=1e-12)
    assert bounds.of_solution(np.eye(2), one, one) == pytest.approx(30 * eps * 2, rel=1e-12)
    assert bounds.of_inverse_inertia(np.eye(2), np.eye(2)) == pytest.approx(30 * eps * 3, rel=1e-12)
    allowed = bounds.of_constrained(np.eye(2), np.ones((1, 2)), one, np.zeros(1), one, np.ones(1))
    moved = bounds.moved_by_rounding(np.array([[1.0, 0, -1], [0, 1, -1], [1, 1, 0]]), np.array([1.0, 1, 0]), np.ones(3))
    assert allowed == pytest.approx([30 * moved[:2].max(), 30 * moved[2]])
