"""Conformance checks of a viewer: of the protocols in `viewing.protocols` that its methods implement."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..contact.ground import Ground
from ..contact.height_field import HeightField
from ..contact.static_box import StaticBox
from ..contact.static_mesh import StaticMesh
from ..errors import ArgumentError, TreesimError
from ..model.tree import Tree
from ..simulation.simulation import Simulation
from ..viewing.protocols import (
    ClickViewer,
    FormatRecorder,
    GroundViewer,
    InteractiveViewer,
    MarkViewer,
    OpeningViewer,
    Recorder,
    ReferenceViewer,
    SliderViewer,
)
from .report import Checks, Conformance, begin, demand, demand_error
from .samples import Robots, random_state, robots_of, sample_robots

DURATION, FPS = 0.1, 20.0  # [s], [1/s]: of the motion that is recorded
GROUND = (Ground(), StaticBox((1, 1, 0.1)), HeightField(np.zeros((3, 3))), StaticMesh(np.eye(3), [[0, 1, 2]]))


def check_viewer(viewer: str | Any, robots: Robots = None) -> Conformance:
    """Check that a viewer meets the protocol `Viewer`, except for the viewer's pictures, which a person must check.

    The viewer must show robots with and without shapes, update the configuration, and replace a robot by another one. A
    `GroundViewer` must accept every kind of ground. A `ReferenceViewer` must show a reference run as an overlay, and
    remove it. An `InteractiveViewer` must offer a panel of settings, and show states of a simulation. If the viewer
    offers sliders, marks (arrows and frames) or clicks, these are checked, too. A second call of `close` must do
    nothing. After `close`, the viewer must be able to show a robot again. Wrong shapes, NaN, and `update` before `show`
    must raise clear errors. A `Recorder` must write a file, and reject a frame rate that is not positive.

    Parameters
    ----------
    viewer : str or Viewer
        Name in `available("viewers")`, or an object.
    robots : sequence of Tree, optional
        Robots of the check; `sample_robots()` by default.

    Returns
    -------
    Conformance
        All requirements, which are met.

    Raises
    ------
    ConformanceError
        If a requirement is not met. The message lists all such requirements.

    Examples
    --------
    >>> from treesim import testing
    >>> testing.check_viewer("meshcat").failures
    ()
    """
    viewer, checks = begin("viewers", viewer)
    for method in ("show", "update", "close"):
        with checks.require(f"has the method {method!r}"):
            demand(callable(getattr(viewer, method, None)), f"{type(viewer).__name__} has none")
    if any(finding.problem for finding in checks.findings):
        return checks.report()
    trees = robots_of(robots, sample_robots)
    with checks.require("refuses an update before show"):
        demand_error(TreesimError, lambda: viewer.update(trees[0].neutral()), "show", "update of nothing")
    try:
        for robot in trees:
            _check_showing(checks, viewer, robot)
    finally:
        with checks.require("closes, and closing twice does nothing"):
            viewer.close()
            viewer.close()
    with checks.require("shows again after it was closed", trees[0].name):
        viewer.show(trees[0], trees[0].neutral())
        viewer.close()
    if isinstance(viewer, OpeningViewer):
        with checks.require("opens its page before there is a robot", trees[0].name):
            url = viewer.open()
            viewer.show(trees[0], trees[0].neutral())
            demand(url == viewer.url, f"it was opened at {url}, and shows at {viewer.url}")
            viewer.close()
    if isinstance(viewer, FormatRecorder):
        with checks.require("reports which files it writes"):
            wrong = "motion.no-such-format"
            demand_error(ArgumentError, lambda: viewer.check_record(wrong), "format", f"a file {wrong}")
            demand(".html" in viewer.formats, f"formats are {viewer.formats}")
    if isinstance(viewer, Recorder):
        for robot in trees:
            _check_recording(checks, viewer, robot)
    return checks.report()


def _check_showing(checks: Checks, viewer: Any, robot: Tree) -> None:
    q = random_state(robot).q
    with checks.require("shows a robot and follows it", robot.name):
        viewer.show(robot, robot.neutral())
        for seed in range(3):
            viewer.update(random_state(robot, seed).q)
    for what, wrong in (("of a wrong shape", np.zeros(robot.nq + 1)), ("of NaN", q * np.nan)):
        with checks.require(f"refuses a configuration {what}", robot.name):
            demand_error(TreesimError, partial(viewer.update, wrong), "q", f"update by one {what}")
            demand_error(TreesimError, partial(viewer.show, robot, wrong), "q", f"show of one {what}")
    if isinstance(viewer, GroundViewer):
        with checks.require("shows the ground, and follows the robot on it", robot.name):
            viewer.show(robot, robot.neutral())
            viewer.show_ground(GROUND)
            viewer.update(q)
    if isinstance(viewer, ReferenceViewer):
        with checks.require("shows a reference, and removes it", robot.name):
            for reference in (q, None):
                viewer.set_reference(reference)
                viewer.update(q)
            demand_error(TreesimError, lambda: viewer.set_reference(np.zeros(robot.nq + 1)), "q", "wrong shape")
    if isinstance(viewer, InteractiveViewer):
        with checks.require("offers a panel and shows a state", robot.name):
            viewer.listen(lambda message, reply: None)
            viewer.show_panel({"robot": robot.name, "joints": [], "bodies": ["base", *robot.body_names], "can": []})
            viewer.show_state({"t": 0.0, "running": False, "q": q.tolist()})
    _check_program(checks, viewer, robot)


def _check_program(checks: Checks, viewer: Any, robot: Tree) -> None:
    """Check elements that a program adds before a robot is shown; each is set twice, as it may be changed later."""
    if isinstance(viewer, SliderViewer):
        with checks.require("takes sliders", robot.name):
            for value in (0.0, 0.5):
                viewer.set_slider("gain", -1.0, 1.0, value, "N", lambda chosen: None)
    if isinstance(viewer, MarkViewer):
        with checks.require("draws arrows and frames, and removes them", robot.name):
            for scale in (1.0, 0.5):
                viewer.set_arrow("force", np.zeros(3), np.array([0, 0, scale]), (1.0, 0.5, 0.0))
                viewer.set_frame("goal", np.eye(4), scale)
            viewer.set_frame("force", np.eye(4), 1.0)
            for name in ("force", "goal", "never there"):
                viewer.remove_mark(name)
    if isinstance(viewer, ClickViewer):
        with checks.require("listens to clicks", robot.name):
            viewer.listen_clicks(lambda body, point: None)


def _check_recording(checks: Checks, viewer: Any, robot: Tree) -> None:
    with tempfile.TemporaryDirectory() as folder, checks.require("records a trajectory", robot.name):
        trajectory = Simulation(robot, dt=1e-2).run(DURATION)
        path = Path(folder) / "motion.html"
        written = viewer.record(robot, trajectory, path, FPS)
        demand(Path(written).is_file(), f"it returned {written}, where there is no file")
        demand(Path(written).stat().st_size > 0, f"{written} is empty")
        demand_error(ArgumentError, lambda: viewer.record(robot, trajectory, path, 0), "fps", "no frames a second")
