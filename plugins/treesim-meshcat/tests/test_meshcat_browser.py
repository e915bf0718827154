"""Pages in a real browser: no errors, no requests to other servers, and bodies at the right poses."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest
from PIL import Image
from treesim_meshcat import MeshcatViewer

import treesim
from treesim import Body, Inertia, Joint, Placement, Tree, Visual
from treesim.contact.description import described
from treesim.contact.history import ContactHistory
from treesim.kernels.contact.layout import STATE_INFO
from treesim.simulation.trajectory import Trajectory

SEEK = "(t) => { stage.viewer.animator.pause(); stage.viewer.animator.seek(t); }"


def outside(watched: Any, url: str) -> list[str]:
    """Return requests from the page at `url` to other servers."""
    own = urlsplit(url)[:2]
    return [to for to in watched.requests if urlsplit(to)[:2] != own and urlsplit(to).scheme not in ("data", "blob")]


def red_pixels(page: Any) -> int:
    """Return the number of reddish pixels among the 60 x 60 in the middle of the window."""
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


FIELDS = [[(250, 0, 0), (0, 250, 0)], [(0, 0, 250), (250, 250, 0)]]  # upper, then lower
MIDDLES = """([x, y, z]) => {
    stage.viewer.render();
    const at = stage.bodies[1].localToWorld(new MeshCat.THREE.Vector3(x, y, z)).project(stage.viewer.camera);
    const gl = stage.viewer.renderer.getContext(), pixel = new Uint8Array(4);
    const [width, height] = [gl.drawingBufferWidth, gl.drawingBufferHeight];
    gl.readPixels((at.x + 1) / 2 * width, (at.y + 1) / 2 * height, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, pixel);
    return [...pixel.slice(0, 3)];
}"""


@pytest.fixture
def board(tmp_path):
    """Return a robot that is one upright square in y and z, seen from x, with an image of four fields."""
    Image.fromarray(np.kron(np.uint8(FIELDS), np.ones((16, 16, 1), np.uint8))).save(tmp_path / "board.png")
    (tmp_path / "board.mtl").write_text("newmtl m\nmap_Kd board.png\n")
    (tmp_path / "board.obj").write_text(
        "mtllib board.mtl\nv 0 0 0\nv 0 1 0\nv 0 1 1\nv 0 0 1\nvt 0 0\nvt 1 0\nvt 1 1\nvt 0 1\n"
        "usemtl m\nf 1/1 2/2 3/3\nf 1/1 3/3 4/4\n"
    )
    visual = Visual(1, Placement(), "mesh", (1.0, 1.0, 1.0), file=str(tmp_path / "board.obj"))
    return Tree("board", [Body("board", 0, Joint("j", "prismatic"), Inertia(1.0))], visuals=[visual])


def check_fields(watched):
    """Check position and hue of each field of the image."""
    watched.wait("stage.bodies.length === 2 && stage.loading === 0")
    watched.draw()
    for row, z in enumerate((0.75, 0.25)):
        for column, y in enumerate((0.25, 0.75)):
            shown = np.array(watched.page.evaluate(MIDDLES, [0, y, z]))
            expected = np.array(FIELDS[row][column]) > 0
            assert ((shown > 0.5 * shown.max()) == expected).all() and shown.max() > 60, (row, column, shown)
    assert watched.errors == []


@pytest.mark.slow
def test_images_of_meshes_are_drawn_the_right_way_up(board, motion, tmp_path, watch):
    path = MeshcatViewer().record(board, motion(board, duration=0.0), tmp_path / "motion.html")
    watched = watch(path.as_uri())
    check_fields(watched)
    assert outside(watched, path.as_uri()) == []


@pytest.mark.slow
def test_images_of_meshes_are_on_the_live_page(board, watch):
    viewer = MeshcatViewer()
    watched = watch(viewer.show(board, board.neutral()))
    check_fields(watched)
    watched.page.evaluate("stage.bodies[1].before = true")
    viewer.show(board, board.neutral())  # again, in place of what was there
    watched.wait("stage.bodies.length === 2 && !stage.bodies[1].before")
    check_fields(watched)
    viewer.close()


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_live_page_waits_for_its_robot(robot, watch, body_rows):
    viewer = MeshcatViewer()
    watched = watch(viewer.open())
    watched.wait("document.getElementById('status').textContent === 'the robot is being loaded'")
    viewer.show(robot, robot.neutral())
    watched.wait_for_poses(body_rows(robot, robot.neutral()), atol=1e-6)
    watched.wait("document.getElementById('status').textContent === ''")
    assert watched.errors == []
    viewer.close()


@pytest.mark.slow
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


@pytest.mark.slow
def test_arrows_come_and_go_with_the_force(tmp_path, watch):
    """A force supports a ball in the second half of a second, first its weight, then twice as much."""
    ball = treesim.free_body("ball", "sphere", (0.1,), 1.0)
    t, q = np.linspace(0, 1, 31), np.tile([0, 0, 0.1, 0, 0, 0, 1.0], (31, 1))
    wrench = np.zeros((31, 1, 6))
    wrench[:, 0, 2] = np.where(t < 0.5, 0.0, 9.80665 * np.where(t < 0.8, 1.0, 2.0))
    contact = ContactHistory(("ball",), wrench, np.zeros((31, STATE_INFO)))
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
            np.testing.assert_allclose(scale, [weight, weight, length], rtol=1e-5)
    assert watched.page.evaluate("Object.keys(stage.viewer.scene_tree.find(['ground']).children)") == ["0 Ground"]
    assert watched.errors == []


@pytest.mark.slow
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
