"""`treesim bench energy`: numbers of known motions, other engines, and user errors."""

from collections.abc import Callable
from typing import Any

import pytest

QUICK = ("--duration", 1, "--dt", "1e-3")


def test_rules_are_told_apart(answer: Callable[..., Any], robot: str) -> None:
    rules = "implicit_midpoint,semi_implicit_euler,rk4"
    rows = answer("stability", robot, *QUICK, "--integrator", rules, "--base", "fixed")["stability"]
    by = {row["integrator"]: row for row in rows}
    assert list(by) == rules.split(",") and by["implicit_midpoint"]["substeps"] == 2
    worst = {name: max(row["gained"], row["lost"]) for name, row in by.items()}
    assert worst["rk4"] < worst["implicit_midpoint"] < 1e-4 < worst["semi_implicit_euler"]
    assert all(row["finite_until"] is None and row["step_s"] > 0 for row in rows)


def test_substeps_make_it_finer(answer: Callable[..., Any], robot: str) -> None:
    lost = {}
    for parts in (1, 4):
        rows = answer("stability", robot, *QUICK, "--base", "fixed", "--substeps", parts)["stability"]
        assert rows[0]["substeps"] == parts
        lost[parts] = max(rows[0]["gained"], rows[0]["lost"])
    assert lost[4] < lost[1] / 10


def test_free_flight_leaves_the_fall_out(answer: Callable[..., Any], robot: str) -> None:
    (row,) = answer("stability", robot, *QUICK, "--base", "floating")["stability"]
    assert row["base"] == "floating" and max(row["gained"], row["lost"]) < 1e-5 and row["energy_range"] < 50


def test_losses_are_told_beside_the_work_of_damping(answer: Callable[..., Any], make_robot: Callable[..., str]) -> None:
    damped = make_robot(more='<dynamics damping="0.5"/>')
    (row,) = answer("stability", damped, *QUICK, "--base", "fixed")["stability"]
    assert max(row["gained"], row["lost"]) < 1e-5


def test_beside_mujoco(answer: Callable[..., Any], make_robot: Callable[..., str]) -> None:
    pytest.importorskip("treesim_mujoco")
    found = answer("stability", make_robot(), *QUICK, "--base", "fixed", "--against", "mujoco")
    by = {(row["engine"], row["integrator"]): row for row in found["stability"]}
    assert {("MuJoCo", name) for name in ("Euler", "implicitfast", "RK4")} < set(by)
    assert max(by["MuJoCo", "RK4"]["gained"], by["MuJoCo", "RK4"]["lost"]) < 1e-8


def test_the_table_tells_how_many_hold(treesim: Callable[..., Any], robot: str) -> None:
    details = treesim("stability", robot, *QUICK, "--base", "fixed").stdout
    assert "red]" not in details
    assert "implicit_midpoint, dt 1 ms: 1 of 1 within 1 % of the energy range, 1 finite to the end" in details


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--dt", "fast"), "--dt must be numbers separated by commas, not 'fast'"),
        (("--dt", "0"), "--dt"),
        (("--integrator", "rk5"), "unknown integrator 'rk5'"),
        (("--base", "flying"), "--base must be fixed, floating or both"),
        (("--against", "bullets"), "no engine called 'bullets'"),
    ],
)
def test_mistakes_are_named(treesim: Callable[..., Any], robot: str, arguments: tuple[str, ...], message: str) -> None:
    result = treesim("stability", robot, *arguments)
    assert result.exit_code == 2 and message in result.stderr and "Traceback" not in result.stderr


@pytest.mark.slow
def test_on_a_plane_every_run_is_a_row(treesim: Callable[..., Any], answer: Callable[..., Any], robot: str) -> None:
    """The toy robot has no shapes; its row contains the reason."""
    (row,) = answer("stability", "--ground", robot, "--base", "floating")["contact"]
    assert "nothing to touch the ground with" in row["why"] and row["residual"] is None
    details = treesim("stability", "--ground", "soccerball", "--duration", 0.1, "--base", "floating").stdout
    assert details.count("soccerball") == 6 and "6 runs of 1 robots: 6 without ContactWarning" in details


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--integrator", "rk4"), "integrator 'rk4' does not simulate contact"),
        (("--against", "mujoco"), "--against does not go with --ground"),
        (("--duration", "0.0015"), "--duration 0.0015 s is no whole number of steps of --dt 0.001 s"),
    ],
)
def test_mistakes_on_a_plane_are_named(
    treesim: Callable[..., Any], robot: str, arguments: tuple[str, ...], message: str
) -> None:
    result = treesim("stability", "--ground", robot, *arguments)
    assert result.exit_code == 2 and message in result.stderr
