"""`treesim robots`, `plugins` and the program itself."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.terminal import Terminal
from treesim import plugins as registry
from treesim.cli.streams import Stream


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


def test_long_help_fits_on_a_screen_and_is_full_if_asked(
    treesim: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    short, full, other = (treesim(*words).stdout for words in (("view", "-h"), ("view", "--help-all"), ("cache", "-h")))
    assert "--help-all:" in short and "--[no-]ground" in short and "--substeps" not in short and "--record" in short
    assert len(short.splitlines()) <= 40 and "You can" not in short and "moves freely" not in short
    assert "--substeps" in full and "--no-ground" in full and "moves freely" in full and "--help-all" not in other
    assert "--substeps" not in treesim("view", "-h").stdout


def test_names_stay_apart_in_a_narrow_terminal(
    treesim: Callable[..., Any], make_robot: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No table cuts off names, and a table without much space breaks them after an underscore."""
    terminal = Terminal()
    monkeypatch.setattr("treesim.cli.common.standard_output", lambda: Stream(terminal, essential=True))
    monkeypatch.setenv("COLUMNS", "80")
    path = Path(make_robot())
    text = path.read_text()
    for limb in ("hip", "knee", "shoulder"):
        text = text.replace(f'"{limb}"', f'"left_front_upper_{limb}_joint"')
    path.write_text(text)
    treesim("info", path)
    printed = re.sub(r"\x1b\[[\d;]*m", "", terminal.getvalue())
    assert "\N{HORIZONTAL ELLIPSIS}" not in printed and max(map(len, printed.splitlines())) <= 80
    assert "left_front_upper_" in printed and all(f"{limb}_joint" in printed for limb in ("hip", "knee", "shoulder"))
