"""`treesim bench`: honest numbers, and a plain word when there is no peer."""

from __future__ import annotations

import builtins
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from treesim.cli.operational_rows import spread_leaves
from treesim.cli.timing import first_result, interleaved
from treesim.errors import TreesimError
from treesim.model import generators

QUICK = ("--repeats", 2)


def test_frames_are_those_of_leaves_far_apart() -> None:
    robot = generators.asimo()
    chosen = [robot.body_names[i - 1] for i in spread_leaves(robot.topology, 4)]
    assert chosen == ["left_front_finger", "right_front_finger", "left_leg_ankle_roll", "head_neck_roll"]
    assert spread_leaves(generators.chain(3).topology, 4) == [3]


def test_slower_call_measures_slower() -> None:
    timings = interleaved({"short": lambda: time.sleep(1e-4), "long": lambda: time.sleep(2e-3)}, rounds=3)
    assert 100 <= timings["short"].min_us <= timings["short"].median_us
    assert timings["long"].min_us >= 2000


@pytest.mark.parametrize("base", ["fixed", "floating"])
def test_agrees_with_pinocchio(answer: Callable[..., Any], make_robot: Callable[..., str], base: str) -> None:
    pytest.importorskip("pinocchio")
    robot = make_robot(shoulder="continuous")  # which is a cosine and a sine in Pinocchio
    result = answer("bench", robot, "--base", base, *QUICK)
    calls = {row["call"]: row for row in result["calls"]}
    assert {"forward_dynamics, aba", "mass_matrix", "inverse_operational_inertia, 6 rows"} <= set(calls)
    for row in calls.values():
        assert row["difference"] < 1e-9, row
        assert row["ratio_min"] == pytest.approx(row["peer"]["min_us"] / row["treesim"]["min_us"])
    start = result["new_process"]["warm cache"]
    assert start["total_s"] > start["import_s"] + start["load_s"] + start["first_call_s"]


def test_robot_that_pinocchio_cannot_read(treesim: Callable[..., Any], make_robot: Callable[..., str]) -> None:
    pytest.importorskip("pinocchio")
    result = treesim("bench", make_robot(shoulder="spherical"), *QUICK)
    assert result.exit_code == 0 and "note: Pinocchio does not read spherical joints" in result.stdout


def test_without_pinocchio_it_says_so(treesim: Callable[..., Any], robot: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name == "pinocchio":
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    result = treesim("bench", robot, *QUICK)
    assert result.exit_code == 0
    assert "note: Pinocchio is not installed" in result.stdout and "mass_matrix" in result.stdout


def test_failing_process_is_reported(tmp_path: Path) -> None:
    with pytest.raises(TreesimError, match=r"first call failed: .*nowhere"):
        first_result(str(tmp_path / "nowhere.urdf"), "fixed", None, cold=False)


@pytest.mark.parametrize("base", ["fixed", "floating"])
def test_batches_beside_pinocchio(answer: Callable[..., Any], make_robot: Callable[..., str], base: str) -> None:
    pytest.importorskip("pinocchio")
    result = answer("bench", make_robot(), "--base", base, "--batch", 600, *QUICK)
    assert result["states"] == 600
    calls = {(row["call"], row["numbers"]): row for row in result["batches"]}
    assert len(calls) == 8 and all(0 < row["min_ns"] <= row["median_ns"] for row in calls.values())
    assert 0 < calls["forward_dynamics", "float32"]["error"] < 1e-3
    assert calls["forward_dynamics", "float64"]["error"] is None
    assert calls["inverse_dynamics", "float64"]["peer"]["call"] == "pin.rneaInParallel"


def test_batches_are_shown_as_a_table(treesim: Callable[..., Any], make_robot: Callable[..., str]) -> None:
    shown = treesim("bench", make_robot(), "--batch", 600, *QUICK).output
    assert "nanoseconds per state" in shown and "rollout" in shown and "float32" in shown
