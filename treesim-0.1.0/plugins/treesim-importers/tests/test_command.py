"""Output and exit codes of `treesim readers`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from treesim_importers.examples import LIMIT, SOUND
from treesim_importers.verify import Verification
from typer.testing import Result


@pytest.fixture
def sound(tmp_path: Path) -> str:
    path = tmp_path / "sound.urdf"
    path.write_text(SOUND)
    return str(path)


@pytest.fixture
def unlimited(tmp_path: Path) -> str:
    path = tmp_path / "unlimited.urdf"
    path.write_text(SOUND.replace(LIMIT, ""))
    return str(path)


def test_table_tells_rule_place_effect_and_cure(treesim: Callable[..., Result], sound: str) -> None:
    result = treesim("readers", sound, "--reader", "drake")
    assert result.exit_code == 0
    for text in ("Drake", "DR17", "line 2: link 'base'", "nv 1 -> 7", "plant.WeldFrames"):
        assert text in result.stdout


def test_refusal_is_exit_code_1(treesim: Callable[..., Result], unlimited: str) -> None:
    result = treesim("readers", unlimited, "--reader", "pybullet", "--reader", "mujoco")
    assert result.exit_code == 1 and "PyBullet (loadURDF(path)) refuses this file" in result.stdout
    assert treesim("readers", unlimited, "--reader", "mujoco").exit_code == 0


def test_json_holds_what_the_table_does_and_the_evidence(answer: Callable[..., Any], sound: str) -> None:
    (found,) = answer("readers", sound, "--reader", "pinocchio")
    assert (found["reader"], found["refuses"], found["verification"]) == ("pinocchio", False, None)
    (reading,) = found["readings"]
    assert (reading["code"], reading["evidence"]) == ("PI08", "measured, Pinocchio 4.1.0")
    assert reading["places"] == [{"file": sound, "line": 12, "name": "joint 'weld'"}]


def test_errors_are_exit_code_2(treesim: Callable[..., Result], sound: str) -> None:
    assert treesim("readers", "nowhere.urdf").exit_code == 2
    result = treesim("readers", sound, "--reader", "bullet")
    assert result.exit_code == 2 and "pybullet" in result.stderr


@pytest.mark.parametrize(
    ("differences", "code", "details"), [((), 0, "as predicted"), (("more",), 1, "otherwise than predicted")]
)
def test_verification_is_told_and_decides(
    treesim: Callable[..., Result], sound: str, monkeypatch: pytest.MonkeyPatch,
    differences: tuple[str, ...], code: int, details: str,
) -> None:  # fmt: skip
    found = Verification("newton", "9.9", "", 1, 6.5, differences)
    monkeypatch.setattr("treesim_importers.reading.is_installed", lambda reader: True)
    monkeypatch.setattr("treesim_importers.reading.verified", lambda *arguments: found)
    result = treesim("readers", sound, "--reader", "newton", "--verify")
    assert result.exit_code == code and f"asked (9.9): nv 1, 6.5 kg, {details}" in result.stdout
    assert ("NE00" in result.stdout) == bool(differences)
    shown = treesim("readers", sound, "--reader", "newton", "--verify", "--json")
    assert json.loads(shown.stdout)[0]["verification"]["differences"] == list(differences)


def test_check_reports_on_other_programs(treesim: Callable[..., Result], sound: str, unlimited: str) -> None:
    found = treesim("check", sound, "--readers").stdout
    assert "other programs" in found and "Pinocchio: PI08" in found and "`treesim readers " in found
    assert "PyBullet: refuses the file: PB" in treesim("check", unlimited).stdout
    assert "other programs" not in treesim("check", sound, "--no-readers").stdout
