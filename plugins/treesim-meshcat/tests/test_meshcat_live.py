"""Live page in a real browser: every control reaches the physics and shows its effect on the page."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.policies.contracts import linear
from tests.ports import at_free_port
from tests.waiting import PATIENCE

pytestmark = pytest.mark.filterwarnings("ignore::treesim.SlowWarning")

CAMERA = "[...stage.viewer.camera.position.toArray(), ...stage.viewer.controls.target.toArray()]"
SLIDE = "(input, value) => { input.value = value; input.dispatchEvent(new Event('input')); }"


@pytest.mark.slow
def test_the_bar_pauses_steps_resets_and_sets_the_speed(live):
    page, physics = live.watched.page, live.session.physics
    live.wait("document.getElementById('play').textContent === 'pause'")
    page.click("#play")
    live.wait("!treesim.state().running && document.getElementById('play').textContent === 'play'")
    assert physics.player.paused
    t = physics.player.t
    page.click("#step")
    live.wait("(t) => treesim.state().t > t", t)
    assert physics.player.t == pytest.approx(t + live.settings.dt)
    page.click("#reset")
    live.wait("treesim.state().t === 0")
    assert physics.player.t == 0
    page.select_option("#speed", "2")
    live.wait("treesim.state().speed === 2")
    assert physics.player.speed == 2
    page.keyboard.press("Escape")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press(" ")
    live.wait("treesim.state().running && treesim.state().t > 0")
    live.wait("parseFloat(document.getElementById('clock').textContent) > 0")


CONTROLS = [  # of the panel: its id, what is typed or chosen, what it sets, to what
    ("backend", "crba_ltdl", "backend", "crba_ltdl"),
    ("integrator", "semi_implicit_euler", "integrator", "semi_implicit_euler"),
    ("controller", "none", "controller", "none"),
    ("dt", "0.002", "dt", 0.002),
    ("kp", "77", "kp", 77),
    ("kd", "3.5", "kd", 3.5),
    ("gravity_z", "-1.62", "gravity", [0, 0, -1.62]),
]


@pytest.mark.slow
def test_the_settings_of_the_panel_reach_the_physics(live):
    page = live.watched.page
    page.set_viewport_size({"width": 1000, "height": 700})
    for control, value, name, details in CONTROLS:
        locator = page.locator(f"#{control}")
        if locator.evaluate("(input) => input.tagName") == "SELECT":
            locator.select_option(value)
        else:
            locator.fill(value)
            locator.press("Enter")
        live.wait("([name, told]) => JSON.stringify(treesim.state()[name]) === JSON.stringify(told)", [name, details])
        assert live.session.physics.state()[name] == details
    for control, value, _, _ in CONTROLS:
        live.wait("([id, value]) => [value, String(Number(value))].includes(element(id).value)", [control, value])


def test_sliders_set_the_configuration_while_paused_and_the_target_while_running(live, body_rows):
    page, physics = live.watched.page, live.session.physics
    live.pause()
    page.locator("input[data-joint=shoulder]").evaluate(SLIDE, 0.8)
    live.wait("treesim.state().joints.shoulder === 0.8")
    assert physics.player.q[0] == 0.8
    live.watched.wait_for_poses(body_rows(live.robot, np.array([0.8, 0.0])), atol=1e-6)
    page.click("#play")
    live.wait("treesim.state().running")
    page.locator("input[data-joint=elbow]").evaluate(SLIDE, -0.5)
    near = "(name, value) => Math.abs(treesim.state().joints[name] - value) < 0.01"
    live.wait(f"({near})('elbow', -0.5) && ({near})('shoulder', 0.8)")
    shown = "Number([...document.querySelectorAll('.joint output')][1].textContent)"
    live.wait(f"Math.abs({shown} + 0.5) < 0.011")


@pytest.mark.slow
def test_pause_shows_the_exact_final_pose_and_history_is_scrubbed(live, body_rows):
    live.watched.page.evaluate("treesim.set({gravity: [3, 0, -9.81]})")
    live.wait("Math.abs(treesim.state().v[0]) > 0.05")
    live.wait("treesim.state().t > 2 * treesim.state().history[0] + 0.3")  # half of what has been is kept
    live.pause()
    q = live.session.physics.player.q
    live.watched.wait_for_poses(body_rows(live.robot, q), atol=1e-6)
    pose = live.watched.page.evaluate("treesim.bodyPose('lower')")
    row = body_rows(live.robot, q)[2]
    np.testing.assert_allclose(np.array(pose) * np.sign(pose[6]), row * np.sign(row[6]), atol=1e-6)
    assert live.watched.page.evaluate("treesim.state().q") == q.tolist()
    t = live.session.physics.player.t
    live.watched.page.locator("#time").evaluate(SLIDE, t / 2)
    live.wait("(t) => treesim.state().t <= t / 2 && treesim.state().history[1] === t", t)
    assert 0 < live.session.physics.player.t <= t / 2


def drag(live: Any, control: bool, dx: float = 60.0, lift: bool = True) -> None:
    """Drag from the middle of the lower link, to the right."""
    page = live.watched.page
    x, y = live.middle_of_lower()
    if control:
        page.keyboard.down("Control")
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + dx / 2, y)
    page.mouse.move(x + dx, y)
    if lift:
        page.mouse.up()
        page.keyboard.up("Control")


@pytest.mark.slow
def test_a_drag_with_control_moves_the_robot_and_not_the_camera(live):
    page = live.watched.page
    page.set_viewport_size({"width": 900, "height": 600})
    live.watched.draw()
    camera = page.evaluate(CAMERA)
    drag(live, control=True, lift=False)
    live.wait("treesim.state().pull && treesim.state().pull.body === 'lower' && treesim.state().pull.force > 0.1")
    live.wait("Math.hypot(...treesim.state().q) > 0.02")
    live.wait("(/^[0-9.e+]+ N$/).test(document.querySelector('.pull-label:not([hidden])').textContent)")
    assert live.watched.page.evaluate("grab.arrow.visible")
    page.mouse.up()
    page.keyboard.up("Control")
    live.wait("!treesim.state().pull && document.querySelector('.pull-label').hidden")
    assert live.session.physics.pull is None
    np.testing.assert_allclose(page.evaluate(CAMERA), camera, atol=1e-12)

    drag(live, control=False)
    live.watched.draw()
    assert np.abs(np.subtract(page.evaluate(CAMERA), camera)).max() > 0.01, "without Control the camera moves"
    assert live.session.physics.pull is None

    page.check("#pull")  # as on touch screens
    drag(live, control=False, lift=False)
    live.wait("treesim.state().pull && treesim.state().pull.force > 0.1")
    page.mouse.up()
    live.wait("!treesim.state().pull")


@pytest.mark.slow
def test_programs_pull_and_are_told_what_cannot_be_done(live):
    page = live.watched.page
    page.evaluate("treesim.pull('lower', [0, 0, -0.5], [0.5, 0, -0.8])")
    live.wait("treesim.state().q[0] < -0.02 || treesim.state().q[0] > 0.02")
    page.evaluate("treesim.release()")
    live.wait("!treesim.state().pull")
    page.evaluate("treesim.set({dt: 'soon'})")
    live.wait("document.getElementById('status').textContent.includes('dt must be')")
    assert live.session.physics.settings.dt == live.settings.dt


@pytest.mark.slow
def test_a_reload_and_a_second_page_show_the_same(live, watch, body_rows):
    live.watched.page.evaluate("treesim.set({joints: {shoulder: 0.4}})")
    live.wait("treesim.state().t > 0.3")
    live.pause()
    rows = body_rows(live.robot, live.session.physics.player.q)
    live.watched.page.reload()
    live.watched.wait_for_poses(rows, atol=1e-6)
    second = watch(live.url)
    second.wait_for_poses(rows, atol=1e-6)
    second.page.evaluate("treesim.set({running: true})")
    live.wait("treesim.state() && treesim.state().running")
    second.page.close()
    live.pause()
    assert second.errors == []


@pytest.mark.slow
def test_what_diverges_pauses_says_so_and_is_reset(live):
    page = live.watched.page
    page.evaluate("treesim.set({controller: 'none', integrator: 'explicit_euler', dt: 0.1, gravity: [0, 0, -1000]})")
    live.wait("treesim.state().integrator === 'explicit_euler'")
    page.evaluate("treesim.pull('lower', [0, 0, -0.5], [5, 5, 5])")
    live.wait("(treesim.state().message || '').includes('cannot go on')")
    live.wait("!treesim.state().running && document.getElementById('status').textContent.includes('cannot go on')")
    page.click("#reset")
    live.wait("treesim.state().t === 0 && !treesim.state().message")


def test_a_page_finds_its_program_again_after_a_restart(open_live, monkeypatch, tmp_path):
    monkeypatch.setenv("TREESIM_CACHE_DIR", str(tmp_path))

    def restarts(port: int) -> None:
        first = open_live(port)
        first.close()
        first.wait("document.getElementById('status').textContent.includes('ended')")
        second = open_live(port, seen=False)
        assert second.url == first.url
        first.wait("document.getElementById('status').textContent === '' && treesim.state().running")
        second.watched = first.watched
        second.pause()
        second.close()

    at_free_port(restarts)


@pytest.mark.slow
def test_a_session_ends_with_its_last_page(open_live):
    live = open_live()
    live.viewer.when_left(live.session.end)
    live.watched.page.close()
    live.thread.join(PATIENCE)
    assert not live.thread.is_alive()
    live.viewer.close()


STEERED = b"""
policy = 1
rate = 100
joints = {order = ["shoulder", "elbow"]}
observation = {terms = [{term = "command", names = ["go", "turn"], range = {go = [-0.5, 1]}}]}
action = {kind = "joint_position"}
actuators = {"*" = {type = "PositionServo", kp = 50, kd = 10}}
"""


def test_keys_set_the_command_of_a_policy(open_live):
    live = open_live(policy=(linear(2, 2, np.eye(2)), STEERED))
    for key, go, turn in (
        ("ArrowUp", 0.2, 0), ("ArrowUp", 0.4, 0), ("ArrowRight", 0.4, -0.2), ("ArrowLeft", 0.4, 0),
        *[("ArrowDown", x, 0) for x in (0.2, 0, -0.2, -0.4, -0.5)], ("0", 0, 0), ("ArrowLeft", 0, 0.2),
    ):  # fmt: skip
        live.watched.page.keyboard.press(key)
        near = "([go, turn]) => Math.hypot(treesim.state().command.go - go, treesim.state().command.turn - turn) < 1e-9"
        live.wait(near, [go, turn])
    live.watched.page.locator("input[data-command=go]").evaluate(SLIDE, 0.9)
    live.wait("treesim.state().command.go === 0.9 && Math.abs(treesim.state().q[0] - 0.9) < 0.02")
    assert live.watched.errors == []
    live.close()
