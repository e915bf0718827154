"""Limits of benchmarks, counts and accuracy reports: just below, and just above."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from treesim_lab.audits import identities
from treesim_lab.audits.report import Row
from treesim_lab.bench import contact_runs, contact_survey, load_survey
from treesim_lab.bench.load_survey import LoadResult
from treesim_lab.bench.stability import Stability
from treesim_lab.cli import bench, cost_tree, schedule, stability, survey
from treesim_lab.cost.engine_errors import Problem
from treesim_lab.cost.scaling import fitted_exponent
from treesim_lab.plotting.schedule import _name_bodies

from treesim.errors import ArgumentError
from treesim.model.generators import chain


@pytest.mark.parametrize(("missed", "holds"), [(0.96e-18, True), (1.04e-18, False)])
def test_identities_hold_to_1e_18(missed, holds):
    """Relative to their largest number."""
    assert identities._row("M is symmetric", np.array([0.0, -2 * missed]), np.array([1.0, -2.0])).passed == holds


@pytest.mark.parametrize(("exponent", "digits"), [(15.9, 15.9), (16.1, 16.0)])
def test_results_have_sixteen_digits(exponent, digits):
    assert Row("group", "method", 10**-exponent, 1.0).digits == pytest.approx(digits)


@pytest.mark.parametrize(("descent", "reached"), [(1.96e-3, False), (2.04e-3, True)])
def test_a_plane_is_reached_by_a_shape_that_descends_two_millimetres(descent, reached, monkeypatch):
    monkeypatch.setattr(contact_runs, "gaps", lambda robot, q, up, margin: np.array([[0.5, 0.7], [0.5 - descent, 0.7]]))
    still = SimpleNamespace(run=lambda duration, q: SimpleNamespace(q=q))
    monkeypatch.setattr(contact_runs, "Simulation", lambda *scene, **options: still)
    settings = contact_runs.ContactSettings()
    if reached:
        assert contact_runs._start(chain(2), "fixed", settings)[1].height == pytest.approx(0.5 - descent / 2)
    else:
        with pytest.raises(ArgumentError, match="no plane is reached"):
            contact_runs._start(chain(2), "fixed", settings)


@pytest.mark.parametrize(("height", "length"), [(0.96e-3, 1e-3), (1.04e-3, 1.04e-3)])
def test_gains_are_those_of_a_robot_of_a_millimetre_at_least(height, length, monkeypatch):
    monkeypatch.setattr(contact_runs, "center_of_mass", lambda robot, q: np.array([0.0, 0.0, height]))
    robot = chain(2)
    gains = contact_runs.holding_gains(robot, robot.neutral())
    assert gains == pytest.approx([10 * 9.81 * robot.mass * length] * 2)


@pytest.mark.parametrize(("smallest", "counts"), [(96, False), (104, True)])
def test_exponents_are_those_of_sizes_up_to_ten_times_smaller(smallest, counts):
    """The cost doubles from 500 to 1000 bodies, and is nearly nothing for the smallest."""
    assert (fitted_exponent([smallest, 500, 1000], [1e-3, 0.5, 1.0]) != pytest.approx(1.0)) == counts


def test_a_robot_on_one_base_has_ten_minutes(monkeypatch):
    given = []

    def worker(timeout):
        given.append(timeout)
        return SimpleNamespace(rows=lambda job: [job.name], close=lambda: None)

    monkeypatch.setattr(contact_survey, "_Worker", worker)
    assert contact_survey.contact_survey(["robot"], ["fixed"]) == ["robot"] and given == [600.0]


def test_pinocchio_has_a_minute_for_a_file(monkeypatch):
    given = []
    monkeypatch.setattr(load_survey, "find_spec", lambda name: name)
    monkeypatch.setattr(
        load_survey, "run", lambda command, timeout: given.append(timeout) or SimpleNamespace(failed="no")
    )
    assert load_survey.pinocchio_outcomes(Path("robot.urdf")) == ("crashes", "crashes") and given == [60]


@pytest.mark.parametrize(("load", "warnings"), [(0.48, 0), (0.52, 1)])
def test_a_machine_is_busy_above_half_a_process(load, warnings, monkeypatch):
    monkeypatch.setattr(bench, "_load", lambda: load)
    assert len(bench._Report(False, None, None).notes) == warnings


def test_200_joints_are_added_to_a_limb():
    assert cost_tree._range("joints_per_limb=198..200") == range(198, 201)
    with pytest.raises(ArgumentError, match=r"up to 200; got 'joints_per_limb=198\.\.201'"):
        cost_tree._range("joints_per_limb=198..201")


@pytest.mark.parametrize(("count", "more"), [(8, ""), (9, ", ... (1 more)")])
def test_eight_blocks_of_a_stage_are_named(count, more):
    blocks = tuple((k,) for k in range(1, count + 1))
    assert schedule._listed(chain(9), blocks) == ", ".join(f"body_{k}" for k in range(1, 9)) + more


@pytest.mark.parametrize(("drift", "good"), [(0.0096, True), (0.0104, False)])
def test_energies_drift_by_a_hundredth(drift, good):
    for gained, lost in ((drift, 0.0), (0.0, drift)):
        row = Stability("robot", "fixed", "treesim", "rk4", 1e-3, 1, gained, lost, 1.0, None, 1e-6)
        assert f"{int(good)} of 1 within 1 %" in stability._summary([row])
    assert stability._share(drift).style == ("" if good else "red")


@pytest.mark.parametrize(("length", "whole"), [(56, True), (57, False)])
def test_reasons_of_56_characters_are_printed(length, whole):
    why = "x" * length
    row = LoadResult("robot", "package", "fixed", "refused", (), (), why, "simulates")
    assert survey._cells(row)[-1] == (why if whole else f"{28 * 'x'} ... {28 * 'x'}")


def test_engines_agree_to_1e_13_or_as_matrices_allow():
    problem = Problem("aba", lambda: 0, (), (), (), np.array([0.0, 0.96e-13, 1.04e-13]))
    assert problem.allowed == pytest.approx([1e-13, 1e-13, 1.04e-13], rel=1e-9, abs=0)


@pytest.mark.parametrize(("count", "labels"), [(60, 60), (61, 0)])
def test_plots_name_sixty_bodies(count, labels):
    ticks = []
    axes = SimpleNamespace(
        set_yticks=lambda places, names=(), fontsize=0: ticks.extend(names), set_ylabel=lambda text: None
    )
    _name_bodies(axes, chain(count), list(range(1, count + 1)))
    assert len(ticks) == labels
