"""The pages in a real browser: no errors, nothing fetched from outside, and bodies where they belong."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest
from treesim_meshcat import MeshcatViewer

import treesim
from treesim.contact.description import described
from treesim.contact.history import ContactHistory
from treesim.trajectory import Trajectory

pytestmark = pytest.mark.browser

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = [
    "--no-sandbox",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
]
PATIENCE = 120.0  # [s] until a test fails; software rendering on a busy machine is slow
SEEK = "(t) => { stage.viewer.animator.pause(); stage.viewer.animator.seek(t); }"
POSES = "stage.bodies.map((body) => [...body.position.toArray(), ...body.quaternion.toArray()])"


@dataclass
class Watched:
    """A page, with the errors and the requests it caused."""

    page: Any
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def poses(self) -> np.ndarray:
        """Poses of the bodies as drawn, (n_bodies + 1, 7), quaternions with w >= 0."""
        rows = np.array(self.page.evaluate(POSES))
        return rows * np.where(rows[:, 6:] < 0, [[1, 1, 1, -1, -1, -1, -1]], 1.0)

    def wait(self, condition: str, argument: Any = None) -> None:
        """Wait until the JavaScript `condition` holds; by asking, since the pages forbid scripts to evaluate text."""
        end = time.monotonic() + PATIENCE
        while not self.page.evaluate(condition, argument):
            assert time.monotonic() < end, f"never came true: {condition}; errors: {self.errors}"
            self.page.wait_for_timeout(20)

    def draw(self) -> None:
        """Wait until a frame is drawn that was begun after this call, with bodies and camera where they are now."""
        self.wait("(n) => stage.frames > n", self.page.evaluate("stage.frames"))

    def wait_for_poses(self, rows: np.ndarray, atol: float) -> None:
        """Wait until all bodies are drawn at the poses `rows`."""
        end = time.monotonic() + PATIENCE
        while not (self.n_bodies() == len(rows) and np.allclose(self.poses(), rows, rtol=0, atol=atol)):
            assert time.monotonic() < end, f"poses never became\n{rows}\nbut are\n{self.poses()}"
            self.page.wait_for_timeout(20)
        self.draw()

    def n_bodies(self) -> int:
        """How many bodies the page knows, the base included."""
        return int(self.page.evaluate("stage.bodies.length"))


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium without a screen; the tests are skipped, and say why, where there is none."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright (pip install playwright)")
    executable = next(filter(None, map(shutil.which, BROWSERS)), None)
    with sync_api.sync_playwright() as playwright:
        try:
            launched = playwright.chromium.launch(executable_path=executable, args=FLAGS, timeout=1000 * PATIENCE)
        except sync_api.Error as error:
            pytest.skip(f"no Chromium starts here: {str(error).splitlines()[0]}")
        yield launched
        launched.close()


@pytest.fixture
def watch(browser) -> Iterator[Callable[[str], Watched]]:
    """A function that opens an address in a fresh, watched page."""
    context = browser.new_context(viewport={"width": 320, "height": 240})
    context.set_default_timeout(1000 * PATIENCE)

    def opened(url: str) -> Watched:
        watched = Watched(context.new_page())
        watched.page.on("pageerror", lambda error: watched.errors.append(str(error)))
        watched.page.on("console", lambda line: watched.errors.append(line.text) if line.type == "error" else None)
        watched.page.on("request", lambda request: watched.requests.append(request.url))
        watched.page.goto(url)
        return watched

    yield opened
    context.close()


def outside(watched: Watched, url: str) -> list[str]:
    """Requests that left the page at `url` and its own server."""
    own = urlsplit(url)[:2]
    return [to for to in watched.requests if urlsplit(to)[:2] != own and urlsplit(to).scheme not in ("data", "blob")]


def red_pixels(page: Any) -> int:
    """How many of the 60 x 60 pixels in the middle of the window are reddish."""
    return page.evaluate(
        """() => {
            stage.viewer.render();
            const gl = stage.viewer.renderer.getContext(), size = 60, pixels = new Uint8Array(size * size * 4);
            const [width, height] = [gl.drawingBufferWidth, gl.drawingBufferHeight];
            gl.readPixels((width - size) / 2, (height - size) / 2, size, size, gl.RGBA, gl.UNSIGNED_BYTE, pixels);
            return pixels.filter((value, i) => i % 4 === 0 && value > 1.5 * pixels[i + 2]).length;
        }"""
    )


def test_a_recording_replays_from_disk(robot, motion, tmp_path, watch, body_rows):
    trajectory = motion(robot, duration=1.0)
    path = MeshcatViewer().record(robot, trajectory, tmp_path / "motion.html")
    watched = watch(path.as_uri())
    watched.wait("stage.viewer.animator.playing && stage.viewer.animator.time > 0")
    for k in (0, 50, 100):
        watched.page.evaluate(SEEK, trajectory.t[k] - trajectory.t[0])
        watched.draw()
        np.testing.assert_allclose(watched.poses(), body_rows(robot, trajectory.q[k]), atol=2e-3)
    assert red_pixels(watched.page) > 100, "the red trunk is not in the middle of the picture"
    assert watched.errors == []
    assert outside(watched, path.as_uri()) == []


def test_the_camera_follows_a_falling_robot(robot, motion, tmp_path, watch):
    trajectory = motion(robot)
    trajectory.q[:, 2] -= 50 * (trajectory.t - trajectory.t[0])
    path = MeshcatViewer().record(robot, trajectory, tmp_path / "motion.html")
    watched = watch(path.as_uri())
    watched.wait("stage.viewer.animator.time > 0")
    watched.page.evaluate(SEEK, 1.0)
    watched.draw()
    assert watched.page.evaluate("stage.bodies[1].position.z") < -40
    assert red_pixels(watched.page) > 100, "the red trunk is not in the middle of the picture"
    assert watched.errors == []


def test_a_recording_repeats_in_its_own_time(robot, motion, tmp_path, watch):
    path = MeshcatViewer().record(robot, motion(robot, duration=0.5), tmp_path / "motion.html")
    watched = watch(path.as_uri())
    watched.wait("stage.viewer.animator.playing")
    times = watched.page.evaluate(
        """() => {
            let now = performance.now();
            performance.now = () => now;  // the clock stands but for the steps below
            const times = [];
            for (let k = 0; k < 16; k++) {
                stage.tick();
                times.push(stage.viewer.animator.time);
                now += 100;
            }
            return times;
        }"""
    )
    steps = np.diff(times)
    assert np.isclose(steps, 0.1, atol=1e-3).sum() >= 11, times
    np.testing.assert_allclose(steps[steps < 0], 0.1 - 0.5, atol=1e-3)
    assert np.ptp(times) < 0.5 and (steps < 0).sum() == 3, times
    assert watched.errors == []


def test_the_bar_plays_pauses_and_seeks(robot, motion, tmp_path, watch):
    path = MeshcatViewer().record(robot, motion(robot), tmp_path / "motion.html")
    watched = watch(path.as_uri())
    watched.wait("stage.viewer.animator.playing")
    watched.page.click("#play")
    watched.wait("!stage.viewer.animator.playing")
    watched.page.fill("#time", "0.5")
    watched.wait("Math.abs(stage.viewer.animator.actions[0].time - 0.5) < 1e-3")
    watched.wait("document.getElementById('clock').textContent === '0.50 / 1.00 s'")
    watched.page.keyboard.press("Tab")
    watched.page.select_option("#speed", "0.25")
    watched.page.click("#play")
    watched.wait("stage.viewer.animator.playing && stage.viewer.animator.mixer.timeScale === 0.25")
    assert watched.errors == []


def test_the_live_page_follows_the_program(robot, motion, watch, body_rows):
    trajectory = motion(robot)
    viewer = MeshcatViewer()
    url = viewer.show(robot, trajectory.q[0])
    watched = watch(url)
    watched.wait(f"stage.bodies.length === {robot.n_bodies + 1}")
    for q in trajectory.q:
        viewer.update(q)
    last = body_rows(robot, trajectory.q[-1])
    watched.wait_for_poses(last, atol=1e-5)
    assert watched.page.title() == "two limbs"

    watched.page.reload()
    watched.wait_for_poses(last, atol=1e-5)
    assert watched.errors == []
    assert outside(watched, url) == []

    viewer.close()
    watched.wait("document.getElementById('status').textContent.includes('closed')")


def test_the_live_page_takes_a_new_robot(robot, motion, watch):
    other = type(robot)("trunk alone", robot.bodies[:1], visuals=robot.visuals[:2])
    viewer = MeshcatViewer()
    watched = watch(viewer.show(robot, robot.neutral()))
    watched.wait(f"stage.bodies.length === {robot.n_bodies + 1}")
    viewer.show(other, other.neutral())
    watched.wait(f"stage.bodies.length === {other.n_bodies + 1}")
    paths = watched.page.evaluate("Object.keys(stage.viewer.scene_tree.find(['robot']).children)")
    assert "3 forearm" not in paths and "1 trunk" in paths
    assert watched.errors == []
    viewer.close()


def test_arrows_come_and_go_with_the_force(tmp_path, watch):
    """A ball that is held up in the second half of a second, by its weight and then by twice that."""
    ball = treesim.free_body("ball", "sphere", (0.1,), 1.0)
    t, q = np.linspace(0, 1, 31), np.tile([0, 0, 0.1, 0, 0, 0, 1.0], (31, 1))
    wrench = np.zeros((31, 1, 6))
    wrench[:, 0, 2] = np.where(t < 0.5, 0.0, 9.80665 * np.where(t < 0.8, 1.0, 2.0))
    contact = ContactHistory(("ball",), wrench, np.zeros((31, 6)))
    still = np.zeros((31, 6))
    floor = {"ground": [described(treesim.Ground())]}
    run = Trajectory.of(ball, t, q, still, still, t, floor, contact=contact)
    path = MeshcatViewer().record(ball, run, tmp_path / "motion.html")
    watched = watch(path.as_uri())
    watched.wait("stage.viewer.animator.playing")
    weight = watched.page.evaluate("scene.view.weight")
    for time_s, length in ((0.25, 0.0), (0.7, weight), (0.95, 2 * weight), (0.25, 0.0)):
        watched.page.evaluate(SEEK, time_s)
        watched.draw()
        visible, scale, place = watched.page.evaluate(
            """() => {
                const arrow = stage.viewer.scene_tree.find(["forces", "0 ball"]).object;
                return [arrow.visible, arrow.scale.toArray(), arrow.position.toArray()];
            }"""
        )
        assert visible == (length > 0)
        np.testing.assert_allclose(place, 0, atol=1e-6)
        if visible:
            np.testing.assert_allclose(scale, length, rtol=1e-5)
    assert watched.page.evaluate("Object.keys(stage.viewer.scene_tree.find(['ground']).children)") == ["0 Ground"]
    assert watched.errors == []


def test_the_ground_of_the_live_page_goes_with_its_robot(robot, watch):
    viewer = MeshcatViewer()
    watched = watch(viewer.show(robot, robot.neutral()))
    grounds = "Object.keys(stage.viewer.scene_tree.find(['ground']).children)"
    viewer.show_ground([treesim.Ground(), treesim.StaticBox((1, 1, 0.1))])
    watched.wait(f"{grounds}.join() === '0 Ground,1 StaticBox'")
    viewer.show(robot, robot.neutral())
    watched.wait(f"{grounds}.length === 0")
    assert watched.errors == []
    viewer.close()
