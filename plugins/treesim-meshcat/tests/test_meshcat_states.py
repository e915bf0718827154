"""States that users store and links that they hide, on the live page in a real browser."""

from __future__ import annotations

import json

import numpy as np
import pytest

import treesim

pytestmark = pytest.mark.filterwarnings("ignore::treesim.SlowWarning")


def test_states_are_stored_copied_and_loaded(live):
    page, player = live.watched.page, live.session.physics.player
    live.pause()
    page.evaluate("treesim.set({joints: {shoulder: 0.4, elbow: -0.7}})")
    live.wait("treesim.state().joints.elbow === -0.7")
    page.evaluate("element('store_state').click(); element('copy_state').click()")
    state = json.loads(page.evaluate("element('state_text').value"))
    assert (state["robot"], state["q"], len(state["v"])) == ("arm", [0.4, -0.7], 2)
    page.evaluate("session.do('reset')")
    live.wait("treesim.state().joints.elbow === 0")
    page.evaluate("element('states').querySelector('button').click()")  # load
    live.wait("treesim.state().joints.elbow === -0.7 && !treesim.state().running")
    np.testing.assert_array_equal(player.q, [0.4, -0.7])
    type_in = """(text) => {
        element("state_text").value = text;
        element("state_text").dispatchEvent(new Event("change"));
    }"""
    page.evaluate(type_in, json.dumps({"q": [0.1, 0.2], "v": [0.0, 3.0]}))
    live.wait("treesim.state().joints.elbow === 0.2")
    np.testing.assert_array_equal(player.v, [0.0, 3.0])
    for text, reason in (("nonsense", "this is no state"), ('{"v": [1]}', "it has no q"), ('{"q": [1, 2, 3]}', "q")):
        page.evaluate(type_in, text)
        live.wait("(reason) => element('status').textContent.includes(reason)", reason)
    np.testing.assert_array_equal(player.q, [0.1, 0.2])
    page.evaluate("[...element('states').querySelectorAll('button')].at(-1).click()")  # remove
    assert page.evaluate("element('states').children.length") == 0


def test_links_are_hidden_with_what_they_move_and_shown(live):
    page = live.watched.page
    seen = "() => stage.bodies.map((body) => body.visible)"
    names = page.evaluate("[...element('links').querySelectorAll('.name')].map((name) => name.textContent)")
    assert names == ["base", "upper", "lower"] and page.evaluate(seen) == [True] * 3
    page.evaluate("element('link_1').click()")
    assert page.evaluate(seen) == [True, False, True]
    page.evaluate("element('show_links').click()")
    assert page.evaluate(seen) == [True] * 3
    page.evaluate("element('link_1').dispatchEvent(new MouseEvent('click', {shiftKey: true}))")
    assert page.evaluate(seen) == [True, False, False]
    live.watched.draw()
    ray = "(at) => { grab.aim({clientX: at[0], clientY: at[1]}); return stage.hit(grab.ray); }"
    assert page.evaluate(ray, live.middle_of_lower()) is None, "what is hidden cannot be clicked"
    page.evaluate("element('links').querySelectorAll('.name')[2].click()")
    assert page.inner_text("#link h2") == "lower"


def test_the_mouse_turns_a_link_by_a_torque(live):
    page, physics = live.watched.page, live.session.physics
    page.set_viewport_size({"width": 1000, "height": 700})
    page.evaluate("element('view_front').click()")
    live.watched.draw()
    x, y = live.middle_of_lower()
    page.keyboard.down("Control")
    page.keyboard.down("Shift")
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x, y + 60)  # about the axis to the right in the picture, which is that of the hinges
    live.wait("Object.keys(treesim.state().forces).length === 2")
    pair = list(physics.forces.values())
    np.testing.assert_allclose(pair[0].force + pair[1].force, 0, atol=1e-12)
    poses = [treesim.frame_pose(live.robot, physics.player.q, force.body)[:3, :3] @ force.point for force in pair]
    torque = sum(np.cross(r, force.force) for r, force in zip(poses, pair, strict=True))
    assert abs(torque[1]) > 0.9 * np.linalg.norm(torque) > 0.1, "about y, but for the time between"
    live.wait("Math.abs(treesim.state().joints.elbow) > 0.02")
    assert np.sign(physics.player.q[1]) == np.sign(torque[1]) and page.inner_text(".pull-label").endswith("N m")
    page.mouse.up()
    page.keyboard.up("Shift")
    page.keyboard.up("Control")
    live.wait("Object.keys(treesim.state().forces).length === 0 && element('status').textContent === ''")
