"""Page with a program's own elements, in a real browser: sliders, clicks, arrows and frames."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from treesim_meshcat import MeshcatViewer
from treesim_meshcat.program import Program

import treesim
from tests.waiting import PATIENCE, wait_until
from treesim import Body, Inertia, Joint, Placement, Tree, Visual
from treesim.viewing.live import Replay
from treesim.viewing.view import Click

SLIDE = "(input, value) => { input.value = value; input.dispatchEvent(new Event('input')); }"
BODIES = ("base", "arm")
NO_NUMBERS = [float("nan"), float("inf"), True, "1", None, [1]]


def arm() -> Tree:
    """Return one box that hangs down; its hinge turns about y, the axis across the view."""
    joint = Joint("shoulder", "revolute", placement=Placement(), axis=(0, 1, 0), lower=-2, upper=2)
    box = Visual(1, Placement.from_xyz_rpy((0, 0, -0.25)), "box", (0.3, 0.3, 0.5))
    return Tree("arm", [Body("arm", 0, joint, Inertia(1.0, (0, 0, -0.25), np.eye(3)))], visuals=[box])


class Told(list):
    """List of messages to pages, with the program that sends them."""

    def __init__(self) -> None:
        self.program = Program(self.append)
        self.moved: list[float] = []
        self.clicked: list[tuple[str, list[float]]] = []
        self.program.set_slider("gain", -1.0, 1.0, 0.5, "N", self.moved.append)
        self.program.listen(lambda body, point: self.clicked.append((body, point.tolist())))


def test_what_a_user_chooses_is_within_limits_and_told_to_all_pages():
    details = Told()
    assert details.program.take({"set": {"sliders": {"gain": 5}}}, BODIES)
    assert details.moved == [1.0] and details[-1]["sliders"][0]["value"] == 1.0 and details[-1]["clicks"]


@pytest.mark.parametrize("value", NO_NUMBERS, ids=repr)
def test_what_is_no_number_moves_nothing(value):
    details = Told()
    for sliders in ({"gain": value}, {"other": 0.0}, value):
        assert details.program.take({"set": {"sliders": sliders}}, BODIES)
    for body, point in ((1, [0, 0, value]), (1, value), (2, [0, 0, 0]), (-1, [0, 0, 0]), (value, [0, 0])):
        assert details.program.take({"do": "click", "body": body, "point": point}, BODIES)
    assert details.moved == [] and details.clicked == []


def test_what_is_asked_of_a_simulation_is_left_to_it():
    details = Told()
    for message in ({"set": {"dt": 1}}, {"set": 3}, {"do": "step"}, {}):
        assert not details.program.take(message, BODIES)


@pytest.fixture
def shown(watch) -> Iterator[tuple[treesim.View, Any]]:
    """Yield a view, and its page."""
    with treesim.viewer(arm()) as view:
        watched = watch(view.url)
        watched.page.set_viewport_size({"width": 900, "height": 600})
        watched.wait("stage.bodies.length === 2")
        yield view, watched
        assert watched.errors == []


def test_a_slider_reaches_the_program_and_moves_the_robot(shown, watch, body_rows):
    view, watched = shown
    assert view.slider("angle", -2, 2, value=0.25, unit="rad") == 0.25
    watched.wait("document.querySelector('input[data-slider=angle]')?.value === '0.25'")
    watched.page.locator("input[data-slider=angle]").evaluate(SLIDE, 1.5)
    wait_until(lambda: view.slider("angle", -2, 2) == 1.5, between=lambda: view.wait(0.01))
    view.update([view.slider("angle", -2, 2)])
    watched.wait_for_poses(body_rows(view.robot, np.array([1.5])), atol=1e-6)
    second = watch(view.url)
    second.wait("treesim.program() && treesim.program().sliders[0].value === 1.5")
    assert not watched.page.locator("#play").is_visible() and watched.page.locator("#follow").is_visible()
    watched.page.wait_for_timeout(500)
    assert watched.page.locator("#program output").text_content() == "1.5"


@pytest.mark.slow
def test_a_click_on_a_body_is_heard_and_a_drag_is_not(shown):
    view, watched = shown
    heard: list[Click] = []
    view.on_click(heard.append)
    watched.wait("treesim.program() && treesim.program().clicks")
    watched.draw()
    middle = watched.page.evaluate("[meshcat.offsetWidth / 2, meshcat.offsetHeight / 2]".replace(
        "meshcat.", "element('meshcat-pane')."))  # fmt: skip
    watched.page.mouse.click(*middle)
    wait_until(lambda: heard, between=lambda: view.wait(0.01))
    (click,) = heard
    assert click.body == "arm"
    assert np.abs(click.point - [0, 0, -0.25]).max() <= 0.25 + 1e-6, "on the box"
    assert np.isclose(np.abs((click.point - [0, 0, -0.25]) / [0.15, 0.15, 0.25]).max(), 1, atol=1e-5), "on its surface"
    watched.page.mouse.click(5, 300)  # beside the robot
    watched.page.mouse.move(*middle)
    watched.page.mouse.down()
    watched.page.mouse.move(middle[0] + 60, middle[1], steps=3)
    watched.page.mouse.up()
    watched.draw()
    view.wait(0.3)
    assert len(heard) == 1


@pytest.mark.slow
def test_arrows_and_frames_are_drawn_where_they_are(shown):
    view, watched = shown
    R = Placement.from_xyz_rpy((0.1, 0.2, 0.3), (0, 0, np.pi / 2)).matrix()
    view.arrow("force", (0, 0, 1), (0, 0.5, 0), (1, 0, 0))
    view.frame("goal", R, 0.2)
    watched.wait("program.marks.force && program.marks.goal")
    place = "(name) => program.marks[name].object.position.toArray()"
    assert watched.page.evaluate(place, "force") == [0, 0, 1]
    assert watched.page.evaluate(place, "goal") == pytest.approx([0.1, 0.2, 0.3], abs=1e-6)
    axis = "new MeshCat.THREE.Vector3(1, 0, 0).applyQuaternion(program.marks.goal.object.quaternion).toArray()"
    assert watched.page.evaluate(axis) == pytest.approx([0, 1, 0], abs=1e-6)
    tip = "program.marks.force.object.children[1]"
    reach = watched.page.evaluate(f"{tip}.position.y + {tip}.scale.y")
    assert reach == pytest.approx(0.5)
    view.remove("force")
    view.frame("goal", np.eye(4), 0.4)
    watched.wait("!program.marks.force && program.marks.goal.object.scale.x === 0.4")
    assert watched.page.evaluate("stage.viewer.scene.children.includes(program.marks.goal.object)")


@pytest.mark.slow
def test_a_recorded_motion_is_played_paused_and_gone_through(watch, motion, body_rows):
    robot, viewer = arm(), MeshcatViewer()
    trajectory = motion(robot, duration=4.0)
    replay = Replay(robot, trajectory, viewer, speed=0.5)
    thread = threading.Thread(target=play, args=(replay,), daemon=True)
    watched = watch(viewer.url)
    watched.page.set_viewport_size({"width": 900, "height": 600})
    thread.start()
    watched.wait("stage.bodies.length === 2 && treesim.state() && treesim.state().t > 3.02")
    watched.page.select_option("#speed", "0.25")
    watched.page.click("#play")
    watched.wait("!treesim.state().running && treesim.state().speed === 0.25")
    assert not replay.running and replay.speed == 0.25 and replay.t < 7
    watched.page.locator("#time").evaluate(SLIDE, 5.0)
    watched.wait("treesim.state().t === 5")
    (k,) = np.flatnonzero(trajectory.t == 5)
    watched.wait_for_poses(body_rows(robot, trajectory.q[k]), atol=1e-6)
    assert watched.page.locator("input[data-joint=shoulder]").is_disabled()
    assert watched.page.locator("#backend").count() == 0 and watched.page.locator("#dt").count() == 0
    shown = "() => panel.plots.shown[0].states.map(({t}) => t)"
    assert watched.page.evaluate(shown)[::299] == [3, 7], "plots are of the whole recording"
    watched.page.evaluate(
        """() => {
            const {canvas, drawn: {left, right}} = panel.plots.shown[0], box = canvas.getBoundingClientRect();
            canvas.dispatchEvent(new MouseEvent("click", {clientX: box.left + 0.75 * left + 0.25 * right}));
        }"""
    )
    watched.wait("Math.abs(treesim.state().t - 4) < 0.05")
    watched.page.click("#play")
    watched.wait("treesim.state().running && treesim.state().t > 5")
    replay._events.post(None)  # what no page can send ends it
    thread.join(PATIENCE)
    assert not thread.is_alive() and watched.errors == []
    viewer.close()


def play(replay: Replay) -> None:
    with suppress(TypeError):
        replay.run()
