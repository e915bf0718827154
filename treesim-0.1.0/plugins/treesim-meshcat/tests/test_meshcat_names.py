"""Names that look like markup, script, or a built-in property of objects: pages show them literally."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from treesim_meshcat import MeshcatViewer

import treesim
from treesim import Body, Inertia, Joint, Placement, Tree, Visual
from treesim.viewing.live import LiveSession, Scene

NAMES = (
    "</script><script>window.ran = 1</script>", "<!--<script>", "<img src=x onerror='window.ran = 1'>", "]]>",
    "&lt;b&amp;",
    "a\"b'c\\d\\n`${window.ran = 1}`", "u\u2028v\u2029w", "\x00\x1b[2J", "__proto__", "constructor", "toString", " ",
)  # fmt: skip


def odd() -> Tree:
    """Return a chain whose joints and links have such names."""
    inertia, down = Inertia(1.0, np.array([0, 0, -0.2]), 0.01 * np.eye(3)), Placement.from_xyz_rpy((0, 0, -0.1))
    bodies = [
        Body(
            f"{name} " if name == " " else name,
            i,
            Joint(name, "revolute", placement=down, axis=(0, 1, 0), lower=-1, upper=1),
            inertia,
        )
        for i, name in enumerate(NAMES)
    ]
    return Tree(NAMES[0], bodies, visuals=[Visual(1, Placement(), "box", (0.1, 0.1, 0.1))])


def check(watched: Any) -> None:
    """Fail if a page has an error, has run a script, or shows another name."""
    watched.draw()
    labels = watched.page.evaluate("[...document.querySelectorAll('*')].map((one) => one.textContent)")
    for name in NAMES:
        assert any(name in label for label in labels), name
    assert watched.errors == [] and watched.page.evaluate("window.ran") is None


@pytest.mark.slow
def test_a_page_with_physics(watch: Callable[[str], Any], tmp_path: Path) -> None:
    path = MeshcatViewer().write_page(odd(), tmp_path / "odd.html")
    watched = watch(path.as_uri())
    watched.wait("window.treesim && treesim.state() && treesim.state().t > 0.05")
    for name in NAMES:
        watched.page.evaluate("(name) => treesim.set({joints: {[name]: 0.25}})", name)
    watched.page.evaluate("document.querySelectorAll('input[type=checkbox]').forEach((box) => box.click())")
    check(watched)


def test_a_live_page(watch: Callable[[str], Any]) -> None:
    robot, viewer = odd(), MeshcatViewer()
    session = LiveSession(Scene(treesim.World(robot), robot.neutral(), np.zeros(robot.nv)), viewer)
    session._compiled.warm_others = lambda physics: None  # type: ignore[method-assign]  # it would compile
    session.start()
    try:
        watched = watch(viewer.url or "")
        watched.wait("window.treesim && treesim.state() && treesim.state().t > 0.05")
        for name in NAMES:
            session.set_force(name, robot.body_names[0], (1.0, 0.0, 0.0))
        watched.page.evaluate("document.querySelectorAll('input[type=checkbox]').forEach((box) => box.click())")
        check(watched)
    finally:
        session.close()
        viewer.close()


def test_a_recording(watch: Callable[[str], Any], motion: Callable[[Tree], Any], tmp_path: Path) -> None:
    robot = odd()
    watched = watch(MeshcatViewer().record(robot, motion(robot), tmp_path / "odd.html").as_uri())
    watched.draw()
    assert watched.page.title().startswith(NAMES[0])
    assert watched.errors == [] and watched.page.evaluate("window.ran") is None
