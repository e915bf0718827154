"""Overlay of a second robot on the live page in a real browser: its pose, and when it is shown."""

from __future__ import annotations

import numpy as np
import pytest

pytestmark = pytest.mark.filterwarnings("ignore::treesim.SlowWarning")

GHOST_ROWS = "reference.bodies.map((body) => [...body.position.toArray(), ...body.quaternion.toArray()])"
MATERIALS = """(() => {
    const found = [];
    for (const body of reference.bodies) body.traverse(({material}) => material && found.push(material));
    return found;
})()"""


@pytest.mark.slow
def test_a_reference_by_another_rule_leaves_the_robot_and_meets_it_again(live, body_rows):
    page, physics = live.watched.page, live.session.physics
    page.set_viewport_size({"width": 1000, "height": 700})
    assert page.evaluate("reference.bodies.length") == 0 and page.evaluate("treesim.referencePose('lower')") is None
    page.evaluate("treesim.set({dt: 0.02, gravity: [5, 0, 0], controller: 'none', integrator: 'semi_implicit_euler'})")
    live.wait("treesim.state().integrator === 'semi_implicit_euler'")
    page.select_option("#reference", "simulation")
    page.select_option("#referenceIntegrator", "implicit_midpoint")
    live.wait("treesim.state().apart && treesim.state().apart.distance > 0.01")
    live.pause()
    live.wait("!session.waiting")
    live.watched.draw()
    rows = body_rows(live.robot, physics.reference.q)
    seen = np.array(page.evaluate(GHOST_ROWS))
    np.testing.assert_allclose(seen * np.sign(seen[:, 6:]) ** [0, 0, 0, 1, 1, 1, 1], rows, atol=1e-6)
    assert page.evaluate(f"{MATERIALS}.length") == 2 and page.evaluate(
        f"{MATERIALS}.every(({{opacity}}) => opacity < 0.5)"
    )
    assert live.watched.n_bodies() == 3, "it is none of the robot's bodies: nobody pulls it"
    apart = page.evaluate("treesim.state().apart")
    live.wait("(mm) => element('apart').textContent.startsWith(mm)", f"{1000 * apart['distance']:.3f} mm")
    page.click("#meet")
    live.wait("treesim.state().apart.distance === 0")
    np.testing.assert_array_equal(physics.reference.q, physics.player.q)
    page.select_option("#reference", "none")
    live.wait("!treesim.state().apart && element('apart').closest('.row').hidden")
    live.wait("!session.waiting && reference.bodies.every((body) => !body.visible)")
