"""Progress of commands: counts on standard error if this is a terminal, nothing otherwise."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import need_command
from tests.terminal import Terminal
from treesim.cli.main import app

CHAIN = ("--base", "fixed")
COMMANDS = {
    "check": ("check", "ROBOT", "ROBOT"),
    "compare": ("compare", "ROBOT", "--against", "mujoco", "--states", "2", "--steps", "2", *CHAIN),
    "simulate": ("simulate", "ROBOT", "--duration", "0.05", *CHAIN),
    "replay": ("replay", "RUN"),
    "convert": ("convert", "RUN", "TARGET.mcap"),
    "sweep": ("sweep", "ROBOT", "--samples", "4", "--steps", "10", "-o", "TARGET.zarr", *CHAIN),
    "doctor": ("doctor",),
    "cost": ("cost", "ROBOT", "--repeats", "1", *CHAIN),
    "bench": ("bench", "ROBOT", "--repeats", "1", *CHAIN),
    "survey": ("survey", "double_pendulum_"),
    "bench schedule": ("bench", "schedule", "ROBOT", *CHAIN),
    "bench energy": ("bench", "energy", "ROBOT", "ROBOT", "--duration", "0.01", *CHAIN),
    "compare --all": ("compare", "--all", "ROBOT", "ROBOT", "--against", "mujoco", "--states", "2", *CHAIN),
}
SLOW = ("bench", "cost", "survey", "compare --all")  # seconds each


@pytest.fixture
def on_terminal(robot: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Run a command whose standard error is a terminal, and return what is printed there."""

    def run(*words: str) -> str:
        files = {"ROBOT": robot, "RUN": str(tmp_path / "run.npz")}
        terminal = Terminal()
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stderr", terminal)
            with pytest.raises(SystemExit) as ended:
                app([files.get(word, word.replace("TARGET", str(tmp_path / "target"))) for word in words])
        assert ended.value.code == 0, terminal.getvalue()
        return terminal.getvalue()

    return run


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in COMMANDS]
)
def test_commands_count_what_is_done(name: str, on_terminal: Callable[..., str], treesim: Any, capsys: Any) -> None:
    words = COMMANDS[name]
    need_command(words[0])
    for package in ("mujoco",) * ("mujoco" in words) + ("mcap",) * ("TARGET.mcap" in words):
        pytest.importorskip(package)
    if "RUN" in words:
        on_terminal("simulate", "ROBOT", "--duration", "0.05", "--out", "RUN", *CHAIN)
    assert re.search(r"\d+/\d+", on_terminal(*words))
    assert "\x1b[?25l" not in capsys.readouterr().out  # the bar hides the cursor


def test_nothing_is_counted_without_a_terminal(treesim: Callable[..., Any], robot: str) -> None:
    assert treesim("check", robot, robot).stderr == "" == treesim("doctor").stderr
