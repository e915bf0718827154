"""Limits of commands: just below, and just above."""

from __future__ import annotations

import io
from types import SimpleNamespace

import numpy as np
import pytest

import treesim
from treesim.cli import common, doctor, view_reference
from treesim.cli.check_report import _places, print_report
from treesim.cli.console import PlainConsole
from treesim.cli.formulas import formula
from treesim.cli.simulation_options import _carrying
from treesim.cli.states import _with_unit_quaternions
from treesim.cli.topology_tables import typed_topology
from treesim.cli.view import _check_frames
from treesim.dynamics import inverse_dynamics
from treesim.errors import ArgumentError
from treesim.viewing import live

ROBOT = treesim.load("ur5")


@pytest.mark.parametrize(
    ("text", "beyond", "message"),
    [
        ("q[0]**64", "q[0]**65", "exponents are whole numbers from -64 to 64"),
        ("q[0]**-64", "q[0]**-65", "exponents are whole numbers from -64 to 64"),
        ("q[0]" + 3996 * " ", "q[0]" + 3997 * " ", "has 4,001 characters: a formula has 4,000 at most"),
        ("q[0]" + 199 * "+q[0]", "q[0]" + 200 * "+q[0]", "more than 200 operations are inside one another"),
    ],
    ids=["power", "negative power", "length", "depth"],
)
def test_the_largest_formulas(text, beyond, message):
    formula(text, ROBOT)
    with pytest.raises(ArgumentError, match=message):
        formula(beyond, ROBOT)


def test_trees_of_two_thousand_bodies_are_listed():
    assert typed_topology("0 " * 2000, None).n_bodies == 2000
    with pytest.raises(ArgumentError, match="the parents of 1 to 2,000 bodies, got 2,001"):
        typed_topology("0 " * 2001, None)


def test_a_picture_has_a_million_steps_at_most():
    _check_frames(1.0, 3.4e-8)
    with pytest.raises(ArgumentError, match=r"would be 1.02e\+06 steps for each picture"):
        _check_frames(1.0, 3.26e-8)


def test_the_motion_of_an_engine_takes_ten_seconds(monkeypatch):
    asked = []
    monkeypatch.setattr(live, "engine_motion", lambda name, robot, q, v, seconds, dt, t: asked.append(seconds))
    start = SimpleNamespace(q=ROBOT.neutral(), v=np.zeros(6), dt=1e-3, t=0.0)
    view_reference.recorded_reference("an engine", ROBOT, start)
    assert asked == [10.0]


@pytest.mark.parametrize(("error", "outcome"), [(0.96e-10, "passed"), (1.04e-10, "failed")])
def test_the_doctor_allows_for_rounding(error, outcome, monkeypatch):
    def off(robot, q, v, a):
        return np.linspace(-1.0, 2.0, 4) + error  # the forces that the doctor takes

    monkeypatch.setattr(inverse_dynamics, "inverse_dynamics", off)
    assert doctor.check().startswith(f"{outcome}: ")


@pytest.mark.parametrize(("length", "accepted"), [(0.96e-9, False), (1.04e-9, True)])
def test_a_quaternion_of_the_command_line_has_a_length(length, accepted):
    ball = treesim.free_body("ball", "sphere", (0.1,), 2.0)
    q = np.array([0, 0, 0, 0, 0, 0, length])
    if accepted:
        assert _with_unit_quaternions(ball, q)[6] == 1
    else:
        with pytest.raises(ArgumentError, match=r"--q0: the quaternion of .* is zero"):
            _with_unit_quaternions(ball, q)


def test_a_robot_is_held_upright_by_five_times_what_gravity_needs():
    ball = treesim.free_body("ball", "sphere", (0.1,), 2.0)
    heavy = treesim.Tree("ball", ball.bodies, gravity=(0, 0, -10.0))
    assert _carrying(heavy, np.array([0, 0, 0.7, 0, 0, 0, 1])) == (70.0, 70.0 * 0.05)


def test_tables_in_a_pipe_have_160_columns(monkeypatch):
    monkeypatch.setattr(common, "standard_output", io.StringIO)
    assert common.output().width == 160


@pytest.mark.parametrize(("count", "more"), [(6, []), (7, ["and 1 more; --usage lists all"])])
def test_six_kinds_of_elements_are_named(count, more):
    entries = [SimpleNamespace(path=f"link/{k}") for k in range(count)]
    assert list(_places(entries)) == [f"link/{k}" for k in range(6)] + more


@pytest.mark.parametrize(("count", "more"), [(5, False), (6, True)])
def test_five_findings_of_one_code_are_printed(count, more):
    links = "".join(f'<link name="l{k}" extra="1"/>' for k in range(count))
    joints = "".join(
        f'<joint name="j{k}" type="fixed"><parent link="base"/><child link="l{k}"/></joint>' for k in range(count)
    )
    stream = io.StringIO()
    found = treesim.check(f'<robot name="r"><link name="base"/>{links}{joints}</robot>')
    print_report("r", found, PlainConsole(stream, width=160), False)
    assert stream.getvalue().count("'extra' ignored") == 5
    assert ("and 1 more (--json lists all)" in stream.getvalue()) == more
