"""Accuracy report of a robot: correct results pass, and every kind of error is found and named."""

from dataclasses import replace

import numpy as np
import pytest
import treesim_lab
from treesim_lab.audits import identities, methods
from treesim_lab.audits.audit import worst
from treesim_lab.audits.report import Row

import treesim
from treesim import ArgumentError, plugins
from treesim.dynamics.backends import Aba
from treesim.model import generators

MIXED = generators.random_tree(np.random.default_rng(54), 6)  # a joint of every type


def row_of(found, name, group=None):
    (row,) = [row for row in found.rows if row.name == name and group in (None, row.group)]
    return row


@pytest.mark.slow
@pytest.mark.parametrize("name, base", [("ur5", "floating"), ("g1_29dof_rev_1_0", "floating"), ("panda", "fixed")])
def test_robots_pass_with_digits_that_their_condition_leaves(name, base):
    found = treesim_lab.audit(treesim.load(name, base=base), states=1)
    assert found.passed, [row for row in found.rows if not row.passed]
    rounding = np.finfo(float).eps * found.condition[1]
    solved = [row_of(found, backend, "forward dynamics") for backend in ("aba", "crba_ltdl", "rjk", "reference")]
    assert all(row.digits > -np.log10(30 * rounding) and row.apart < 30 * rounding for row in solved)
    assert {row.name for row in found.rows if row.group == "forward dynamics"} == {
        name for name in treesim.available("dynamics") if name != "auto"
    }


@pytest.fixture(scope="module")
def of_all_joints():
    """Return the accuracy report of a tree with joints of every type."""
    return treesim_lab.audit(MIXED, states=1)


def test_every_joint_type(of_all_joints):
    assert of_all_joints.passed, [row for row in of_all_joints.rows if not row.passed]


@pytest.mark.slow
def test_joints_that_follow_others():
    hinge, mimic_joint = (
        treesim.Joint("a", "revolute"),
        treesim.Joint("b", "revolute", mimic=treesim.Mimic("a", -2, 0.5)),
    )
    inertia = treesim.Inertia(1.0, (0.1, 0.2, 0), np.eye(3) * 0.01)
    bodies = [treesim.Body("one", 0, hinge, inertia), treesim.Body("two", 1, mimic_joint, inertia)]
    gear = treesim_lab.audit(treesim.Tree("gear", bodies), states=1)
    assert gear.passed and row_of(gear, "aba", "forward dynamics").digits > 12


def test_identities_hold_far_beyond_the_digits_of_floats(of_all_joints):
    rows = [row for row in of_all_joints.rows if row.group == "identities"]
    assert len(rows) >= 6 and all(row.error < 1e-18 for row in rows)


def test_a_backend_that_loses_digits_is_found_and_named(monkeypatch):
    class Sloppy(Aba):
        def forward_dynamics(self, robot, q, v, tau, *others, **options):
            a = np.array(super().forward_dynamics(robot, q, v, tau, *others, **options))
            a[2] += 1e-9 * np.abs(a).max()
            return a

    robot, sloppy, known = treesim.load("ur5"), Sloppy(), plugins.get
    choose = lambda kind, name: sloppy if (kind, name) == ("dynamics", "rjk") else known(kind, name)  # noqa: E731
    monkeypatch.setattr(plugins, "get", choose)
    found = treesim_lab.audit(robot, states=2)
    bad = row_of(found, "rjk", "forward dynamics")
    assert not found.passed and not bad.passed and bad.where == "elbow_joint"
    assert 0.9e-9 < bad.error < 1.1e-9 and 0.9e-9 < bad.apart < 1.1e-9 and 8.9 < bad.digits < 9.1
    assert row_of(found, "aba", "forward dynamics").passed


@pytest.mark.parametrize(
    "entry, broken",
    [
        ("inverse_dynamics_states", {"Newton and Euler undo articulated bodies", "d(T + V)/dt = v . tau"}),
        ("mass_matrix_full_states", {"articulated bodies solve M a = tau - b", "d(T + V)/dt = v . tau"}),
        ("energy_and_momentum_states", {"d(T + V)/dt = v . tau", "d(momentum)/dt = weights + base wrench"}),
    ],
)
def test_identities_find_a_kernel_that_is_wrong(monkeypatch, entry, broken):
    """The kernel's state-dependent results are changed by a relative 1e-6."""
    from treesim_lab.audits import exact

    kernel, plain = getattr(exact, entry), exact.unrounded

    def wrong(called, constants, arguments, shapes):
        found = plain(called, constants, arguments, shapes)
        asked = getattr(called, "origin", called) == getattr(kernel, "origin", kernel)
        return [x * (1 + 1e-6 * arguments[0][-1]) if asked else x for x in found]

    monkeypatch.setattr(exact, "unrounded", wrong)
    found = treesim_lab.audit(treesim.load("ur5", base="floating"), states=1)
    beyond = {row.name for row in found.rows if row.group == "identities" and not row.passed}
    assert broken <= beyond


def test_what_refuses_is_told_and_is_no_error(monkeypatch):
    known = methods.inverse_operational_inertia

    def refusing(*given, method, **options):
        if method == "efpa":
            raise treesim.AccuracyError("too few digits are left")
        if method == "rjk":
            raise treesim.UnsupportedError("no such joints")
        return known(*given, method=method, **options)

    monkeypatch.setattr(methods, "inverse_operational_inertia", refusing)
    found = treesim_lab.audit(treesim.load("ur5"), states=2)
    refused = row_of(found, "efpa")
    assert found.passed and refused.error is refused.digits is None and refused.note == "too few digits are left"
    assert found.notes == ("rjk: no such joints",)
    assert not [row for row in found.rows if (row.group, row.name) == ("operational space", "rjk")]


def test_the_worst_state_is_kept_beside_its_bound():
    one = Row("g", "m", 1e-10, 1e-9, 1.0, 5.0, "a")
    other = replace(one, error=1e-11, bound=1e-11, residual=2.0, apart=4.0, where="b")
    (kept,) = worst([one, other])
    assert (kept.where, kept.error, kept.residual, kept.apart) == ("b", 1e-11, 2.0, 5.0) and kept.passed
    assert not replace(one, error=float("nan")).passed and replace(one, error=float("nan")).digits == 0.0
    assert worst([one, replace(one, error=None)])[0].error is None
    for nan in (replace(one, error=np.nan, residual=np.nan), replace(one, error=np.nan, apart=np.nan)):
        for rows in ([one, nan], [nan, one]):
            (kept,) = worst(rows)
            assert not kept.passed and np.isnan([kept.residual, kept.apart]).sum() == 1


def test_identities_that_are_no_numbers_do_not_hold():
    assert not identities._row("M is symmetric", np.array([1e-20, np.nan]), np.ones(2)).passed
    assert not identities._row("M is symmetric", np.array([1e-20]), np.array([1.0, np.nan])).passed


def test_mistakes_are_named():
    with pytest.raises(ArgumentError, match="states"):
        treesim_lab.audit(treesim.load("ur5"), states=0)
    with pytest.raises(ArgumentError, match="cannot move"):
        treesim_lab.audit(treesim.Tree("rock", []))
    with pytest.raises(ArgumentError, match="robot must be a Tree"):
        treesim_lab.audit("ur5")


def test_a_matrix_that_is_not_positive_definite_is_told():
    from treesim_lab.audits.exact import ExactState, many_digits

    robot = treesim.load("ur5")
    with many_digits():
        exact = ExactState(robot, robot.random(0), np.ones(6), np.ones(6))
        exact.M[0, 0] = -exact.M[0, 0]
        assert not identities._definite(exact).passed
