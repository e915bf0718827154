"""The live page in a real browser: every control reaches the physics and is seen in the page."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from treesim_meshcat import MeshcatViewer

import treesim
from treesim import Body, CollisionShape, Frame, Inertia, Joint, Placement, Tree, Visual
from treesim.live import LiveSession
from treesim.live.physics import Scene
from treesim.live.settings import Settings
from treesim.player import Player
from treesim.urdf.findings import Finding

pytestmark = [pytest.mark.browser, pytest.mark.filterwarnings("ignore::treesim.player.SlowWarning")]

LENGTH = 0.5  # m, of each link
CORNERS = np.array(np.meshgrid([-0.1, 0.1], [-0.1, 0.1], [-0.1, 0.1])).reshape(3, 8).T
SEEN = "(kind) => panel.overlays.layers[kind].map((object) => object.visible)"
CAMERA = "[...stage.viewer.camera.position.toArray(), ...stage.viewer.controls.target.toArray()]"
SLIDE = "(input, value) => { input.value = value; input.dispatchEvent(new Event('input')); }"
SETTINGS = Settings(gravity=(0.0, 0.0, 0.0), controller="hold", kp=50.0, kd=10.0)


def arm() -> Tree:
    """Two links that hang down one below the other; their hinges turn about y, the axis across the view."""
    inertia = Inertia(1.0, (0, 0, -LENGTH / 2), np.diag([0.02, 0.02, 0.002]))
    places = Placement(), Placement.from_xyz_rpy((0, 0, -LENGTH))
    bodies = [
        Body(name, i, Joint(joint, "revolute", place, (0, 1, 0), lower=-2, upper=2), inertia)
        for i, (name, joint, place) in enumerate(zip(("upper", "lower"), ("shoulder", "elbow"), places, strict=True))
    ]
    middle = Placement.from_xyz_rpy((0, 0, -LENGTH / 2))
    boxes = [Visual(i, middle, "box", (0.12, 0.12, LENGTH), color=(0.8, 0.2, 0.2, 1.0)) for i in (1, 2)]
    shapes = [CollisionShape(2, middle, "capsule", (0.07, 0.3)), CollisionShape(2, middle, "hull", vertices=CORNERS)]
    hand = Frame("hand", 2, Placement.from_xyz_rpy((0, 0, -LENGTH)))
    notes = [Finding("U212", "info", "attribute 'colour' ignored", "arm.urdf", 7, link="hand")]
    return Tree("arm", bodies, frames=[hand], visuals=boxes, shapes=shapes, notes=notes)


class Live:
    """A session that plays on a thread of its own, before a page."""

    def __init__(self, watch: Callable[[str], Any], port: int = 0) -> None:
        self.robot, self.viewer = arm(), MeshcatViewer()
        self.viewer.port = port
        scene = Scene(treesim.World(self.robot), self.robot.neutral(), np.zeros(2), "fixed")
        self.session = LiveSession(scene, self.viewer, SETTINGS)
        self.session._warm_others = lambda: None
        self.url = self.viewer.url
        self.thread = threading.Thread(target=self.play, daemon=True)
        self.thread.start()
        self.watched = watch(self.url) if watch else None
        if watch:
            self.watched.wait("stage.bodies.length === 3 && window.treesim.state() && window.treesim.state().t > 0")

    def play(self) -> None:
        with suppress(KeyboardInterrupt):
            self.session.run()

    def close(self) -> None:
        def end(player: Player) -> None:
            raise KeyboardInterrupt

        self.session.physics.player.post(end)
        self.thread.join(30)
        assert not self.thread.is_alive()
        self.viewer.close()

    def wait(self, condition: str, argument: Any = None) -> None:
        self.watched.wait(condition, argument)

    def pause(self) -> None:
        self.watched.page.evaluate("treesim.set({running: false})")
        self.wait("!treesim.state().running")


@pytest.fixture
def live(watch) -> Iterator[Live]:
    playing = Live(watch)
    yield playing
    assert playing.watched.errors == []
    playing.close()


def test_the_bar_pauses_steps_resets_and_sets_the_speed(live):
    page, physics = live.watched.page, live.session.physics
    live.wait("document.getElementById('play').textContent === 'pause'")
    page.click("#play")
    live.wait("!treesim.state().running && document.getElementById('play').textContent === 'play'")
    assert physics.player.paused
    t = physics.player.t
    page.click("#step")
    live.wait("(t) => treesim.state().t > t", t)
    assert physics.player.t == pytest.approx(t + SETTINGS.dt)
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


def test_the_settings_of_the_panel_reach_the_physics(live):
    page = live.watched.page
    page.set_viewport_size({"width": 1000, "height": 700})
    for control, value, name, told in CONTROLS:
        locator = page.locator(f"#{control}")
        if locator.evaluate("(input) => input.tagName") == "SELECT":
            locator.select_option(value)
        else:
            locator.fill(value)
            locator.press("Enter")
        live.wait("([name, told]) => JSON.stringify(treesim.state()[name]) === JSON.stringify(told)", [name, told])
        assert live.session.physics.state()[name] == told
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


def test_pause_shows_the_exact_final_pose_and_history_is_scrubbed(live, body_rows):
    live.watched.page.evaluate("treesim.set({gravity: [3, 0, -9.81]})")
    live.wait("Math.abs(treesim.state().v[0]) > 0.05")
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


def middle_of_lower(page: Any) -> list[float]:
    """Where the middle of the lower link is seen in the page [pixels]."""
    at: list[float] = page.evaluate(
        """() => {
            const middle = new MeshCat.THREE.Vector3(0, 0, -0.25);
            const at = stage.bodies[2].localToWorld(middle).project(stage.viewer.camera);
            const box = element("meshcat-pane").getBoundingClientRect();
            return [box.left + (at.x + 1) / 2 * box.width, box.top + (1 - at.y) / 2 * box.height];
        }"""
    )
    return at


def drag(live: Live, control: bool, dx: float = 60.0, lift: bool = True) -> None:
    """Drag from the middle of the lower link, to the right."""
    page = live.watched.page
    x, y = middle_of_lower(page)
    if control:
        page.keyboard.down("Control")
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + dx / 2, y)
    page.mouse.move(x + dx, y)
    if lift:
        page.mouse.up()
        page.keyboard.up("Control")


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


def test_overlays_come_and_go_and_the_plot_is_drawn(live):
    page = live.watched.page
    page.set_viewport_size({"width": 1000, "height": 700})
    for name in ("frames", "com"):
        page.evaluate("(name) => element(`show_${name}`).click()", name)
    live.wait("panel.overlays.axes && panel.overlays.axes.every((axes) => axes.visible)")
    live.wait("panel.overlays.centre && panel.overlays.centre.visible")
    centre = np.array(page.evaluate("panel.overlays.centre.position.toArray()"))
    np.testing.assert_allclose(centre, treesim.center_of_mass(live.robot, live.session.physics.player.q), atol=1e-6)
    assert page.evaluate("!element('show_contacts')"), "nothing is there to be touched"
    drawn = "element('plot').getContext('2d').getImageData(0, 0, 200, 100).data.some((value) => value > 0)"
    for quantity in page.evaluate("Object.keys(panel.plot.quantities)"):
        page.select_option("#plotted", quantity)
        live.wait(drawn)
    page.evaluate("element('show_frames').click()")
    live.wait("panel.overlays.axes.every((axes) => !axes.visible)")


def test_what_lies_over_the_robot_is_shown_and_lets_see_through(live):
    page = live.watched.page
    page.set_viewport_size({"width": 1000, "height": 700})
    opacity = "panel.overlays.layers.visual[0].children[0].material.opacity"
    for kind, count in (("collision", 2), ("skeleton", 4), ("inertia", 2), ("axes", 2)):
        assert page.evaluate(SEEN, kind) == [False] * count
        page.evaluate("(kind) => element(`show_${kind}`).click()", kind)
        live.wait(f"(kind) => ({SEEN})(kind).every(Boolean)", kind)
        assert page.evaluate(opacity) == (1 if kind == "axes" else pytest.approx(0.22))
        page.evaluate("(kind) => element(`show_${kind}`).click()", kind)
        assert not any(page.evaluate(SEEN, kind)) and page.evaluate(opacity) == 1
    page.evaluate("element('show_visual').click()")
    assert not any(page.evaluate(SEEN, "visual"))
    live.viewer.show(live.robot, live.robot.neutral())  # what is shown stays so, in another scene
    live.wait(f"() => !({SEEN})('visual').some(Boolean)")


def test_joint_torques_are_arrows_along_their_axes(live):
    page = live.watched.page
    page.evaluate("element('show_torques').click()")
    page.evaluate("treesim.set({gravity: [9, 0, 0]})")
    live.wait("Math.abs(treesim.state().tau[0]) > 5")
    live.pause()
    live.watched.draw()
    arrow = "panel.overlays.torques.shoulder"
    tau, weight, radius = page.evaluate("[treesim.state().tau[0], treesim.state().weight, stage.radius]")
    along = np.array(page.evaluate(f"new MeshCat.THREE.Vector3(0, 1, 0).applyQuaternion({arrow}.quaternion).toArray()"))
    np.testing.assert_allclose(along, [0, np.sign(tau), 0], atol=1e-6)
    tip = f"children[1].position.y + {arrow}.children[1].scale.y"
    length = page.evaluate("stage.weight") * abs(tau) / (0.3 * radius * weight)
    assert page.evaluate(f"{arrow}.{tip}") == pytest.approx(length)


def test_a_click_tells_of_a_link(live):
    page = live.watched.page
    page.set_viewport_size({"width": 1000, "height": 700})
    live.watched.draw()
    page.mouse.click(*middle_of_lower(page))
    live.wait("!element('link').hidden && element('link').querySelector('h2').textContent === 'lower'")
    facts = page.evaluate("[...element('link').querySelectorAll('dd')].map((value) => value.textContent)")
    assert facts[:2] == ["1 kg", "elbow, revolute"] and facts[5:] == ["-2 to 2 rad", "hand"]
    assert page.evaluate("element('link').querySelector('.finding').textContent").startswith("line 7: U212")
    page.evaluate("treesim.set({joints: {elbow: 0.5}})")
    shown = "[...element('link').querySelectorAll('output')].map((output) => parseFloat(output.textContent))"
    live.wait(f"Math.abs(({shown})[0] - 0.5) < 0.01 && Math.abs(({shown})[0] - treesim.state().q[1]) < 1e-3")
    assert live.session.physics.pull is None
    page.keyboard.press("Escape")
    live.wait("element('link').hidden")
    page.mouse.click(20, 600)
    assert page.evaluate("element('link').hidden"), "there is no link"


@pytest.mark.parametrize("size", [(1280, 720), (390, 844)])
def test_the_first_picture_is_the_whole_robot_from_its_front(live, size):
    page = live.watched.page
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.reload()
    live.wait("window.stage !== null && stage.bodies.length === 3 && stage.frames > 2")
    page.evaluate("treesim.reset()")
    seen = np.array(
        page.evaluate(
            """async () => {
                const {camera} = stage.viewer, corners = [], drawn = stage.frames + 3;
                while (stage.frames < drawn) await new Promise(requestAnimationFrame);
                stage.bodies[0].parent.updateMatrixWorld(true);
                for (const x of [-0.06, 0.06]) for (const y of [-0.06, 0.06]) for (const z of [0, -1])
                    corners.push(stage.viewer.scene.localToWorld(new MeshCat.THREE.Vector3(x, y, z)).project(camera));
                return corners.map(({x, y}) => [x, y]);
            }"""
        )
    )
    assert 0.8 < np.abs(seen).max() < 0.95
    towards = np.array(page.evaluate("stage.viewer.camera.position.toArray()")) - np.array(
        page.evaluate("stage.viewer.controls.target.toArray()")
    )
    x, z, y = towards / np.linalg.norm(towards) * [1, 1, -1]
    assert x > 0.85 and y > 0.1 and z > 0.1


def test_programs_pull_and_are_told_what_cannot_be_done(live):
    page = live.watched.page
    page.evaluate("treesim.pull('lower', [0, 0, -0.5], [0.5, 0, -0.8])")
    live.wait("treesim.state().q[0] < -0.02 || treesim.state().q[0] > 0.02")
    page.evaluate("treesim.release()")
    live.wait("!treesim.state().pull")
    page.evaluate("treesim.set({dt: 'soon'})")
    live.wait("document.getElementById('status').textContent.includes('dt must be')")
    assert live.session.physics.settings.dt == SETTINGS.dt


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


def test_what_diverges_pauses_says_so_and_is_reset(live):
    page = live.watched.page
    page.evaluate("treesim.set({controller: 'none', integrator: 'explicit_euler', dt: 0.1, gravity: [0, 0, -1000]})")
    live.wait("treesim.state().integrator === 'explicit_euler'")
    page.evaluate("treesim.pull('lower', [0, 0, -0.5], [5, 5, 5])")
    live.wait("(treesim.state().message || '').includes('cannot go on')")
    live.wait("!treesim.state().running && document.getElementById('status').textContent.includes('cannot go on')")
    page.click("#reset")
    live.wait("treesim.state().t === 0 && !treesim.state().message")


def test_a_page_finds_its_program_again_after_a_restart(watch, monkeypatch, tmp_path):
    monkeypatch.setenv("TREESIM_CACHE_DIR", str(tmp_path))
    first = Live(watch, port := free_port())
    first.close()
    first.wait("document.getElementById('status').textContent.includes('ended')")
    second = Live(None, port)
    assert second.url == first.url
    first.wait("document.getElementById('status').textContent === '' && treesim.state().running")
    second.watched = first.watched
    second.pause()
    second.close()


def test_a_session_ends_with_its_last_page(watch):
    live = Live(watch)
    live.viewer.when_left(live.session.end)
    live.watched.page.close()
    live.thread.join(60)
    assert not live.thread.is_alive()
    live.viewer.close()


def free_port() -> int:
    """A port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_nothing_of_the_page_overlaps_or_leaves_it(live):
    for width, height in ((1280, 720), (1920, 1080), (390, 844)):
        _check_layout(live.watched.page, width, height)


def _check_layout(page: Any, width: int, height: int) -> None:
    page.set_viewport_size({"width": width, "height": height})
    boxes = page.evaluate(
        """() => ["meshcat-pane", "bar", "side"].map((id) => {
            const {left, top, right, bottom} = element(id).getBoundingClientRect();
            return [left, top, right, bottom];
        })"""
    )
    for k, (left, top, right, bottom) in enumerate(boxes):
        assert 0 <= left < right <= width and 0 <= top < bottom <= height
        for other in boxes[:k]:
            assert right <= other[0] or other[2] <= left or bottom <= other[1] or other[3] <= top
    inside = page.evaluate(
        """() => [...document.querySelectorAll("#bar > *, #side .row, #side .joint")]
            .filter((part) => part.offsetParent && part.scrollWidth > part.clientWidth + 1 && part.tagName !== "SELECT")
            .map((part) => part.outerHTML)"""
    )
    assert inside == []
