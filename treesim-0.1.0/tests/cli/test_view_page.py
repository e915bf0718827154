"""`treesim view --html`: what a viewer is asked to write, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from treesim.cli import common
from treesim.viewing.protocols import PageWriter

FIXED = ("--base", "fixed")  # the toy's root link has two joints, and would float


class Writer:
    """A viewer that writes pages, and remembers what of."""

    def write_page(self, world: Any, path: Path, q0: np.ndarray, **settings: Any) -> Path:
        self.world, self.q0, self.settings = world, q0, settings
        path.write_text("page")
        return path


@pytest.fixture
def writer(monkeypatch: pytest.MonkeyPatch) -> Writer:
    stand_in = Writer()
    assert isinstance(stand_in, PageWriter)
    monkeypatch.setattr(common, "get_viewer", lambda name: stand_in)
    return stand_in


def test_the_viewer_writes_what_the_options_say(
    answer: Callable[..., Any], robot: str, writer: Writer, tmp_path: Path
) -> None:
    path = tmp_path / "robot.html"
    begun = ("--q0", "hip=0.5", "--v0", "knee=2", "--dt", 2e-3, "--backend", "rjk", "--gravity", "-1.6", "--speed", 0.5)
    result = answer("view", robot, *FIXED, "--html", path, *begun)
    assert result == {"robot": "toy", "html": str(path), "bytes": 4}
    found = writer.settings
    assert writer.q0.tolist() == [0.5, 0, 0] and found["v0"].tolist() == [0, 2, 0] and found["speed"] == 0.5
    assert (found["dt"], found["backend"], found["gravity"].tolist()) == (2e-3, "rjk", [0, 0, -1.6])
    assert (found["controller"], found["kp"], found["kd"]) == ("none", 100, 10), "as on the live page"
    answer("view", robot, *FIXED, "--html", path, "--controller", "hold", "--kp", 30)
    assert (writer.settings["controller"], writer.settings["kp"]) == ("hold", 30)
    answer("view", robot, *FIXED, "--html", path, "--kp", 30)
    assert (writer.settings["controller"], writer.settings["kp"]) == ("hold", 30)
    answer("view", robot, *FIXED, "--html", path, "--controller", "none")
    assert writer.settings["controller"] == "none"


def test_a_robot_that_stands_is_held(answer: Callable[..., Any], writer: Writer, tmp_path: Path) -> None:
    answer("view", "simple_humanoid", "--base", "floating", "--html", tmp_path / "robot.html")
    assert writer.world.ground and writer.settings["controller"] == "hold" and writer.settings["kp"] > 100


@pytest.mark.parametrize(
    ("options", "details"),
    [
        (("--push", "1,0,0"), "--push does not go with --html"),
        (("--substeps", 3), "--substeps does not go with --html"),
        (("--duration", 3), "--duration does not go with --html"),
        (("--reference", "mujoco"), "--reference does not go with --html"),
        (("--port", 8000), "--port does not go with --html"),
        (("--no-browser",), "--no-browser does not go with --html"),
        (("--until-closed",), "--until-closed does not go with --html"),
        (("--controller", "pd"), "unknown controller of --html 'pd'"),
    ],
)
def test_what_a_page_does_not_know_is_refused(
    treesim: Callable[..., Any], robot: str, writer: Writer, tmp_path: Path, options: tuple[Any, ...], details: str
) -> None:
    result = treesim("view", robot, *FIXED, "--html", tmp_path / "robot.html", *options)
    assert result.exit_code == 2 and details in result.stderr and not (tmp_path / "robot.html").exists()


def test_files_and_viewers_that_do_not_fit_are_refused(
    treesim: Callable[..., Any], robot: str, writer: Writer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = treesim("view", robot, *FIXED, "--html", tmp_path / "robot.png")
    assert result.exit_code == 2 and ".html" in result.stderr
    monkeypatch.setattr(common, "get_viewer", lambda name: object())
    result = treesim("view", robot, *FIXED, "--html", tmp_path / "robot.html")
    assert result.exit_code != 0 and "no method `write_page`" in result.stderr
