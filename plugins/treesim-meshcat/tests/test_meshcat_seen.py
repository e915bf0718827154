"""Appearance of the live page in a real browser: overlays, plots, link properties, the first picture, layout."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import treesim

pytestmark = pytest.mark.filterwarnings("ignore::treesim.SlowWarning")

SEEN = "(kind) => panel.overlays.layers[kind].map((object) => object.visible)"


@pytest.mark.slow
def test_frames_and_the_centre_of_mass_come_and_go(live):
    page = live.watched.page
    for name in ("frames", "com"):
        page.evaluate("(name) => element(`show_${name}`).click()", name)
    live.wait("panel.overlays.axes && panel.overlays.axes.every((axes) => axes.visible)")
    live.wait("panel.overlays.centre && panel.overlays.centre.visible")
    centre = np.array(page.evaluate("panel.overlays.centre.position.toArray()"))
    np.testing.assert_allclose(centre, treesim.center_of_mass(live.robot, live.session.physics.player.q), atol=1e-6)
    assert page.evaluate("!element('show_contacts')"), "nothing is there to be touched"
    page.evaluate("element('show_frames').click()")
    live.wait("panel.overlays.axes.every((axes) => !axes.visible)")


@pytest.mark.slow
def test_plots_are_drawn_of_what_is_chosen(live):
    page = live.watched.page
    page.set_viewport_size({"width": 1000, "height": 700})
    page.evaluate("treesim.set({gravity: [3, 0, 0], reference: 'simulation'})")
    live.wait("treesim.state().referenceStepTime > 0")
    lines = """(name) => {
        const [, lines] = panel.plots.quantities[name];
        return lines(panel.plots.states).map(([label, value]) => [label, value(treesim.state())]);
    }"""
    quantities = page.evaluate("Object.keys(panel.plots.quantities)")
    assert {"linear momentum", "time of a step", "reference: distance", "elbow: tau"} <= set(quantities)
    assert "contact force" not in quantities, "nothing is there to be touched"
    drawn = """(k) => {
        const {data} = element(`plot_${k}`).getContext("2d").getImageData(60, 12, 120, 60);
        return data.some((value, i) => i % 4 === 3 && value > 0);
    }"""
    for quantity in quantities:
        page.select_option("#plotted_0", quantity)
        assert all(np.isfinite(value) for _, value in page.evaluate(lines, quantity)), quantity
        assert page.evaluate("element('plotted_0').value") == quantity
        live.wait(drawn, 0)
    live.pause()
    state = page.evaluate("treesim.state()")
    p = treesim.momentum(live.robot, state["q"], state["v"])
    details = page.evaluate(lines, "linear momentum")
    assert [label for label, _ in details] == ["x", "y", "z"]
    np.testing.assert_allclose([value for _, value in details], p[:3], atol=1e-12)
    assert [label for label, _ in page.evaluate(lines, "time of a step")] == ["aba", "reference"]
    page.click("#more_plots")
    live.wait("document.querySelectorAll('#plots canvas').length === 2")
    live.wait(drawn, 1)
    page.click("#unplot_0")
    live.wait(
        "document.querySelectorAll('#plots canvas').length === 1 && element('plotted_0').value === 'real-time factor'"
    )


@pytest.mark.slow
def test_the_effective_mass_at_a_frame_is_an_ellipsoid(live):
    page = live.watched.page
    page.set_viewport_size({"width": 1000, "height": 700})
    live.pause()
    page.evaluate("treesim.set({joints: {elbow: 1.2}})")
    page.select_option("#frame", "hand")
    live.wait("treesim.state().effective_mass && treesim.state().joints.elbow === 1.2")
    live.watched.draw()
    q = live.session.physics.player.q
    task = treesim.FrameTask("hand", "linear")
    space = treesim.operational_space(live.robot, q, np.zeros(2), task)
    ellipsoid = "panel.overlays.ellipsoid"
    place, scale, turn = page.evaluate(
        f"[{ellipsoid}.position, {ellipsoid}.scale, {ellipsoid}.quaternion].map((x) => x.toArray())"
    )
    np.testing.assert_allclose(place, treesim.frame_pose(live.robot, q, "hand")[:3, 3], atol=1e-12)
    weight = page.evaluate("stage.weight / 2")
    masses = np.linalg.eigvalsh(space.inertia)[1:]  # the first is 0: nothing moves across the plane of the arm
    np.testing.assert_allclose(np.sort(scale), np.sort([weight, *np.minimum(masses / 2.0, 1) * weight]), rtol=1e-9)
    assert np.linalg.norm(turn) == pytest.approx(1)
    live.wait(
        "element('effective_mass').textContent.startsWith('∞') && element('effective_mass').textContent.endsWith('kg')"
    )
    page.select_option("#frame", "none")
    live.wait("!treesim.state().effective_mass")
    live.watched.draw()
    assert not page.evaluate(f"{ellipsoid}.visible")


@pytest.mark.slow
def test_external_forces_are_arrows_that_push(live):
    page, physics = live.watched.page, live.session.physics
    page.evaluate("treesim.force('wind', 'lower', [0, 0, -0.5], [4, 0, 0])")
    live.wait("treesim.state().forces.wind && treesim.state().q[0] < -0.02")
    live.session.set_force("lift", "upper", (0, 0, 5.0))
    live.wait("Object.keys(treesim.state().forces).join() === 'wind,lift'")
    live.pause()
    live.watched.draw()
    arrow = "panel.overlays.external.wind"
    place = np.array(page.evaluate(f"{arrow}.position.toArray()"))
    pose = treesim.frame_pose(live.robot, physics.player.q, "hand")
    np.testing.assert_allclose(place, pose[:3, 3], atol=1e-6)
    along = page.evaluate(f"new MeshCat.THREE.Vector3(0, 1, 0).applyQuaternion({arrow}.quaternion).toArray()")
    np.testing.assert_allclose(along, [1, 0, 0], atol=1e-6)
    page.evaluate("treesim.force('wind', 'nobody', [0, 0, 0], [1, 0, 0])")
    live.wait("element('status').textContent.includes('nobody')")
    page.evaluate("treesim.removeForce('wind')")
    live.wait("Object.keys(treesim.state().forces).join() === 'lift'")
    live.watched.draw()
    assert not page.evaluate(f"{arrow}.visible")


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
    page.evaluate("element('show_collision').click(); stage.detail.show(true)")  # as in slow pictures
    assert page.evaluate(opacity) == pytest.approx(0.22)
    page.evaluate("element('show_collision').click()")
    assert page.evaluate(opacity) == 1
    page.evaluate("element('show_visual').click()")
    assert not any(page.evaluate(SEEN, "visual"))
    live.viewer.show(live.robot, live.robot.neutral())  # what is shown stays so, in another scene
    live.wait(f"() => !({SEEN})('visual').some(Boolean)")


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_click_tells_of_a_link(live):
    page = live.watched.page
    page.set_viewport_size({"width": 1000, "height": 700})
    live.watched.draw()
    page.mouse.click(*live.middle_of_lower())
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


@pytest.mark.parametrize("size", [pytest.param((1280, 720), marks=pytest.mark.slow), (390, 844)])
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_what_is_said_and_the_card_of_a_link_lie_beside_each_other(live):
    page = live.watched.page
    text = "physics reaches 0.13 times real time, not 1: take a larger time step, or another integrator"
    for width, height in ((1280, 720), (800, 500), (390, 844), (700, 360)):
        page.set_viewport_size({"width": width, "height": height})
        page.evaluate("(text) => { inspector.open(2); panel.lost = text; panel.emit(); }", text)
        boxes = page.evaluate(
            """() => ["meshcat-pane", "heading", "link"].map((id) => {
                const {left, top, right, bottom} = element(id).getBoundingClientRect();
                return [left, top, right, bottom];
            })"""
        )
        pane, heading, link = boxes
        assert heading[2] <= link[0] or heading[3] <= link[1], (width, height, boxes)
        for box in (heading, link):
            assert pane[0] <= box[0] < box[2] <= pane[2] and pane[1] <= box[1] < box[3] <= pane[3], (
                width,
                height,
                boxes,
            )
        assert page.evaluate("element('status').scrollWidth <= element('status').clientWidth")
