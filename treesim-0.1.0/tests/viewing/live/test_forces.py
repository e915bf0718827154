"""External forces on a live robot: their power is force times velocity, and they move what they hold."""

import numpy as np
import pytest

import treesim
from tests.viewing.live.driven import ROBOT, STILL, Driven
from treesim.viewing.live.forces import Force

TIP = ROBOT.body_names[-1]


def test_power_is_force_times_the_point_s_velocity():
    rng = np.random.default_rng(5)
    q, v, force, h = ROBOT.random(rng), rng.normal(size=6), rng.normal(size=3), 1e-6
    push = Force(ROBOT, TIP, (0.1, -0.2, 0.3), force)
    velocity = (push.at(ROBOT.integrate(q, h * v))[0] - push.at(ROBOT.integrate(q, -h * v))[0]) / (2 * h)
    assert push.generalised(q, v) @ v == pytest.approx(force @ velocity, abs=1e-8)


def test_a_force_holds_up_what_weighs_as_much():
    slide = treesim.Joint("slide", "prismatic", axis=(0, 0, 1))
    robot = treesim.Tree("lift", [treesim.Body("cabin", 0, slide, treesim.Inertia(2.0))])
    driven = Driven(robot, settings=STILL.changed({"gravity": [0, 0, -9.0]}))
    assert driven.ask(do="force", name="rope", body="cabin", point=[0.5, 0, 0], force=[3, 0, 18.0]) == []
    driven.play(0.3)
    assert driven.player.v[0] == pytest.approx(0, abs=1e-12)
    driven.session.set_force("more", "cabin", (0, 0, 2.0))
    driven.player.wait(0)
    t = driven.player.t
    driven.play(0.2)
    assert driven.player.v[0] == pytest.approx(driven.player.t - t), "2 N on 2 kg"
    assert driven.state["forces"]["more"] == {"body": "cabin", "point": [0, 0, 0], "vector": [0, 0, 2]}
    driven.ask(do="reset")
    assert set(driven.state["forces"]) == {"rope", "more"}, "they are set, as gravity is"
    driven.session.remove_force("more")
    driven.ask(do="force", name="rope", force=None)
    assert driven.state["forces"] == {}


NONSENSE = [
    {}, {"name": ""}, {"name": 3}, {"name": "a", "force": [1, 2]}, {"name": "a", "force": [1, 2, 3]},
    {"name": "a", "body": TIP, "force": [1, 2, 3]},
    {"name": "a", "body": TIP, "point": [0, 0, 0], "force": [1, 2, "x"]},
    {"name": "a", "body": TIP, "point": [0, 0, float("nan")], "force": [1, 2, 3]},
]  # fmt: skip


@pytest.mark.parametrize("message", NONSENSE, ids=str)
def test_what_is_no_force_is_told_and_changes_nothing(message):
    driven = Driven()
    (reply,) = driven.ask(do="force", **message)
    assert reply and driven.state["forces"] == {}


def test_there_is_an_end_to_forces():
    driven = Driven()
    for k in range(100):
        driven.session.set_force(str(k), TIP, (0, 0, 0))
    (reply,) = driven.ask(do="force", name="one more", body=TIP, point=[0, 0, 0], force=[0, 0, 1])
    assert "there are 100 forces already" in reply and len(driven.state["forces"]) == 100
