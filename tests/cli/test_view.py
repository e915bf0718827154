"""`treesim view`: what it shows, how fast, and that it closes what it opened."""

from __future__ import annotations

import time
import webbrowser
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from treesim import Ground
from treesim.cli import common
from treesim.viewers.base import Viewer


class Screen:
    """A viewer that remembers."""

    url = "http://127.0.0.1:7000/"

    def __init__(self) -> None:
        self.shown: list[np.ndarray] = []
        self.closed = False

    def show(self, robot: Any, q: np.ndarray) -> None:
        self.shown.append(q)

    def update(self, q: np.ndarray) -> None:
        self.shown.append(q)

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Screen:
    """Stand in for the meshcat viewer, and open no browser."""
    stand_in = Screen()
    assert isinstance(stand_in, Viewer)
    monkeypatch.setattr(common, "get_viewer", lambda name: stand_in)
    monkeypatch.setattr(webbrowser, "open", lambda url: pytest.fail("opened a browser"))
    return stand_in


def test_plays_at_the_pace_of_real_time(answer: Callable[..., Any], robot: str, screen: Screen) -> None:
    answer("view", robot, "--no-browser", "--duration", 0.1)  # kernels are ready now
    screen.shown.clear()
    began = time.perf_counter()
    result = answer("view", robot, "--no-browser", "--duration", 0.5, "--q0", "hip=1", "--base", "fixed")
    assert time.perf_counter() - began >= 0.5
    assert result["simulated_s"] == pytest.approx(0.5, abs=2e-3) and result["url"] == screen.url
    assert 15 <= len(screen.shown) <= 17
    assert screen.shown[0][0] == 1 and screen.shown[-1][0] < 1, "it falls"
    assert screen.closed


def test_prints_the_address(treesim: Callable[..., Any], robot: str, screen: Screen) -> None:
    assert screen.url in treesim("view", robot, "--no-browser", "--duration", 0.05).stdout


def test_missing_viewer_is_named(treesim: Callable[..., Any], robot: str) -> None:
    result = treesim("view", robot, "--viewer", "nothing", "--no-browser")
    assert result.exit_code == 2 and "unknown viewer 'nothing'" in result.stderr


def test_divergence_ends_the_play(treesim: Callable[..., Any], robot: str, screen: Screen) -> None:
    wild = ("--dt", 0.5, "--integrator", "explicit_euler", "--v0", "hip=50,knee=-80", "--duration", 1000)
    result = treesim("view", robot, "--no-browser", *wild)
    assert result.exit_code == 1 and "after" in result.stderr and screen.closed


class GroundScreen(Screen):
    """A viewer that draws the ground too."""

    def show_ground(self, ground: Any) -> None:
        assert self.shown, "before it, the robot is shown"
        self.ground = ground


def test_the_ground_is_shown_to_viewers_that_draw_it(
    answer: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for window in (GroundScreen(), Screen()):
        monkeypatch.setattr(common, "get_viewer", lambda name, window=window: window)
        floor = ("--base", "floating", "--ground", "--friction", 0.3)
        answer("view", "simple_humanoid", *floor, "--no-browser", "--duration", 0.01)
        assert window.closed and getattr(window, "ground", (Ground(friction=0.3),)) == (Ground(friction=0.3),)
