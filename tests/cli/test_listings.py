"""`treesim robots`, `plugins` and the program itself."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from treesim import plugins as registry


def test_plugins_lists_every_kind(answer: Callable[..., Any], treesim: Callable[..., Any]) -> None:
    rows = answer("plugins")
    assert {row["name"] for row in rows if row["kind"] == "dynamics"} >= {"aba", "crba_ltdl", "rjk"}
    for row in rows:
        assert set(row) == {"kind", "name", "origin", "target", "problem", "capabilities"}
    assert [row["origin"] for row in rows if row["name"] == "aba"] == ["treesim"]
    assert "semi_implicit_euler" in treesim("plugins").stdout


def test_broken_plugin_is_listed_not_raised(treesim: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    broken = registry.Plugin("viewers", "ghost", "ghostly 1.0", "ghostly:Viewer", "broken: No module named 'ghostly'")
    monkeypatch.setattr(registry, "listing", lambda: [broken])
    result = treesim("plugins")
    assert result.exit_code == 0 and "ghostly" in result.stdout and "broken" in result.stdout


def test_robots_filters_by_name(answer: Callable[..., Any]) -> None:
    pytest.importorskip("pinocchio", reason="example-robot-data comes with it")
    everything, talos = answer("robots"), answer("robots", "TALOS")
    assert talos and len(talos) < len(everything)
    assert all("talos" in row["name"].lower() and Path(row["path"]).is_file() for row in talos)


def test_robots_says_when_there_are_none(treesim: Callable[..., Any]) -> None:
    result = treesim("robots", "no such name")
    assert result.exit_code == 0 and "no installed robot whose name contains 'no such name'" in result.stdout


def test_version_and_unknown_command(treesim: Callable[..., Any]) -> None:
    assert treesim("simulat").exit_code == 2
    assert treesim("info").exit_code == 2


def test_program_starts_without_importing_anything_heavy() -> None:
    code = (
        "import sys, treesim.cli.main;"
        "print(sorted({'llvmlite', 'scipy', 'trimesh', 'matplotlib', 'meshcat', 'pinocchio'} & set(sys.modules)))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert found.strip() == "[]"


def test_module_runs_as_a_program() -> None:
    ended = subprocess.run([sys.executable, "-m", "treesim", "--help"], capture_output=True, text=True, check=True)
    assert "simulate" in ended.stdout


def test_robots_lists_what_moves_in_columns_and_all_of_it_if_asked(
    answer: Callable[..., Any], treesim: Callable[..., Any]
) -> None:
    pytest.importorskip("pybullet_data")
    moving, every = ({row["name"] for row in answer("robots", *options)} for options in ((), ("--all",)))
    assert moving < every and "cube" in every - moving and "panda" in moving
    assert {row["name"] for row in answer("robots", "g1", "HANDS")} == {"g1_with_hands"}
    lines = treesim("robots").stdout.splitlines()
    assert max(map(len, lines)) <= 80 and "  ur5  " in "\n".join(lines)


def test_long_help_shows_main_options_and_all_of_them_if_asked(treesim: Callable[..., Any]) -> None:
    short, full, other = (treesim(*words).stdout for words in (("view", "-h"), ("view", "--help-all"), ("info", "-h")))
    assert "--help-all:" in short and "--ground" in short and "--substeps" not in short and "--record" in short
    assert "--substeps" in full and len(short.splitlines()) < len(full.splitlines()) / 2 and "--help-all" not in other
    assert "--substeps" not in treesim("view", "-h").stdout
