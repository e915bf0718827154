"""Limits of conformance checks: just below, and just above."""

from types import SimpleNamespace

import numpy as np
import pytest

import treesim
from treesim.compare.layouts import Reordered
from treesim.model import generators as make
from treesim.testing import ConformanceError, bounds, contact, engines, integrators
from treesim.testing.report import Checks, Conformance, Finding, Unmet


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
    assert bounds.of_sums([one, one], one) == pytest.approx(30 * eps * 2, rel=1e-12, abs=0)
    assert bounds.of_solution(np.eye(2), one, one) == pytest.approx(30 * eps * 2, rel=1e-12, abs=0)
    assert bounds.of_inverse_inertia(np.eye(2), np.eye(2)) == pytest.approx(30 * eps * 3, rel=1e-12, abs=0)
    allowed = bounds.of_constrained(np.eye(2), np.ones((1, 2)), one, np.zeros(1), one, np.ones(1))
    moved = bounds.moved_by_rounding(np.array([[1.0, 0, -1], [0, 1, -1], [1, 1, 0]]), np.array([1.0, 1, 0]), np.ones(3))
    assert allowed == pytest.approx([30 * moved[:2].max(), 30 * moved[2]], abs=0)


@pytest.mark.parametrize(("order", "found"), [(1.146, False), (1.154, True), (0.854, False), (0.846, True)])
def test_integrators_converge_at_about_their_order(order, found, monkeypatch):
    def motion(integrator, robot, steps, duration, q, v):
        return np.zeros(1), np.full(1, 0.0 if steps == 1024 else float(steps) ** -order)

    monkeypatch.setattr(integrators, "motion", motion)
    assert unmet(integrators._demand_order, SimpleNamespace(order=1), make.chain(1)) == found


@pytest.mark.parametrize(("part", "found"), [(0.96, False), (1.04, True)])
def test_integrators_let_bodies_fall_and_stop_exactly(part, found, monkeypatch):
    for speed, place in ((part * 1e-9, 0.0), (0.0, part * 1e-9)):
        falls = np.array([0, 0, -9.81 / 2 - place, 0, 0, 0, 1]), np.array([0, 0, -9.81 - speed, 0, 0, 0])
        monkeypatch.setattr(integrators, "motion", lambda *_, end=falls: end)
        assert unmet(integrators._demand_fall, SimpleNamespace(order=2)) == found
    for speed, place in ((part * 1e-3, 0.0), (0.0, part * 3e-3)):
        stops = np.array([0.75 + place]), np.array([speed])
        monkeypatch.setattr(integrators, "motion", lambda *_, end=stops: end)
        assert unmet(integrators._demand_friction, None) == found


class OffLayout(Reordered):
    """A layout of engines that rounds what comes back, and rates of velocities."""

    off, rate = 0.0, 0.0

    def velocity_from_engine(self, q, theirs):
        return super().velocity_from_engine(q, theirs) + self.off

    def force_from_engine(self, q, theirs):
        return super().velocity_from_engine(q, theirs)

    def acceleration_to_engine(self, q, v, a):
        return super().acceleration_to_engine(q, v, a) + self.rate

    def acceleration_from_engine(self, q, v, theirs):
        return super().velocity_from_engine(q, theirs) - self.rate


@pytest.mark.parametrize(
    ("off", "rate", "wrong"),
    [(0.96e-12, 0.0, False), (1.04e-12, 0.0, True), (0.0, 0.96e-6, False), (0.0, 1.04e-6, True)],
)
def test_layouts_of_engines_are_exact_and_their_rates_to_a_millionth(off, rate, wrong):
    layout, checks = OffLayout(np.arange(2), np.arange(2)), Checks("engine", "mine")
    layout.off, layout.rate = off, rate
    engines._try_layout(checks, layout, make.chain(2))
    assert any(finding.problem for finding in checks.findings) == wrong


def test_solvers_of_contact_are_given_their_tolerance():
    class Solver:
        exact = True

        @staticmethod
        def kernel(problem, impulse, sigma, tolerance, most, memory):
            given.append((tolerance, most))
            return 0

        @staticmethod
        def memory(rows, q):
            return np.empty(0)

    given = []
    contact.solved(Solver(), contact._problem(np.eye(1), np.zeros(1)))
    assert given == [(1e-9, 5000)]


def test_single_precision_is_coarser():
    assert bounds.COARSER == 2.0**29
