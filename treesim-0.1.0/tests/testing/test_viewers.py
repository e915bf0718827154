"""The conformance check of viewers: one that is whole passes, and each way to break a promise is found."""

from pathlib import Path

import numpy as np
import pytest

import treesim
from treesim import testing
from treesim.errors import ArgumentError, NonFiniteError
from treesim.model import generators as make

ROBOTS = [make.tree_1(), make.chain(2, ("floating", "revolute"))]


class Viewer:
    """Draws nothing, but says what is wrong."""

    robot = None

    def show(self, robot, q):
        if np.shape(q) != (robot.nq,):
            raise ArgumentError(f"q has shape {np.shape(q)}")
        if not np.isfinite(q).all():
            raise NonFiniteError("q is not finite")
        self.robot = robot

    def update(self, q):
        if self.robot is None:
            raise ArgumentError("call show(robot, q) first")
        self.show(self.robot, q)

    def close(self):
        self.robot = None

    def record(self, robot, trajectory, path, fps=30):
        if fps <= 0:
            raise ArgumentError("fps must be positive")
        Path(path).write_text("motion")
        return Path(path)


def broken(**members):
    return type("Broken", (Viewer,), members)()


def closes_once(self):
    self.robot.name  # noqa: B018
    self.robot = None


def empty_file(self, robot, trajectory, path, fps=30):
    Path(path).touch()
    return path


BROKEN = {
    "no update": (broken(update=None), "method 'update'"),
    "takes any q": (broken(show=lambda self, robot, q: setattr(self, "robot", robot)), "wrong shape"),
    "updates nothing": (broken(update=lambda self, q: None), "refuses an update before show"),
    "closes once": (broken(close=closes_once), "closing twice"),
    "records nowhere": (broken(record=lambda self, robot, trajectory, path, fps=30: Path(path)), "there is no file"),
    "an empty record": (broken(record=empty_file), "empty"),
    "shows one robot": (
        broken(show=lambda self, robot, q: Viewer.show(self, self.robot or robot, q)), "shows a robot and follows it"),
}  # fmt: skip


def test_one_that_is_whole_passes():
    assert not testing.check_viewer(Viewer(), ROBOTS).failures


@pytest.mark.parametrize("viewer, why", BROKEN.values(), ids=BROKEN)
def test_a_broken_promise_is_found_and_named(viewer, why):
    with pytest.raises(testing.ConformanceError, match=why):
        testing.check_viewer(viewer, ROBOTS)


def test_a_viewer_that_records_nothing_need_not():
    class Plain:
        show, update, close, robot = Viewer.show, Viewer.update, Viewer.close, None

    report = testing.check_viewer(Plain(), ROBOTS)
    assert not any("records" in finding.requirement for finding in report.findings)


@pytest.mark.parametrize("viewer", treesim.available("viewers"))
@pytest.mark.slow
def test_every_installed_viewer_keeps_its_promises(viewer):
    assert not testing.check_viewer(viewer).failures
