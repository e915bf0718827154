"""Of a body in free fall, whose motion is known, nothing is lost; what is taken away is found to the digit."""

from __future__ import annotations

import numpy as np
import pytest

from treesim import Body, Inertia, Joint, Tree
from treesim.compare.conservation import conservation
from treesim.compare.source import without_losses
from treesim.compare.treesim_engine import TreesimModel, random_batch
from treesim.model.generators import chain
from treesim.testing.samples import on_floating_base

MASS, DT, STEPS = 2.0, 1e-2, 50
INERTIA = Inertia(MASS, (0.1, 0.0, 0.0), np.diag([0.1, 0.2, 0.2]))
THROWN = Tree("thrown", [Body("ball", 0, Joint("free", "floating"), INERTIA)])
V0, G = np.array([1.0, 2.0, 3.0]), np.array([0.0, 0.0, -9.81])
T = DT * np.arange(STEPS + 1)


def flight(gravity=G):
    """Free fall without rotation: world and body axes stay the same."""
    q = np.zeros((STEPS + 1, 7))
    q[:, :3], q[:, 6] = T[:, None] * V0 + T[:, None] ** 2 / 2 * gravity, 1.0
    v = np.zeros((STEPS + 1, 6))
    v[:, :3] = V0 + T[:, None] * gravity
    return q, v


def test_free_fall_keeps_everything():
    found = conservation("fall", THROWN, *flight(), DT)
    assert found.run == "fall" and found.t == pytest.approx(T)
    for curve in (found.energy, found.linear_momentum, found.angular_momentum):
        assert np.abs(curve).max() < 1e-12


def test_a_wrong_gravity_is_found():
    wrong = conservation("moon", THROWN, *flight(G / 6), DT)
    largest = np.linalg.norm(V0 - T[-1] * 5 / 6 * G)
    assert wrong.linear_momentum[-1] == pytest.approx(np.linalg.norm(T[-1] * 5 / 6 * G) / largest, rel=1e-12)
    assert np.abs(wrong.angular_momentum).max() < 1e-12 < np.abs(wrong.energy).max()


def test_a_spin_from_nowhere_is_found():
    q, v = flight()
    v[-1, 5] = 0.5
    found = conservation("spun", THROWN, q, v, DT)
    most = MASS * np.linalg.norm(V0 + np.array([0.0, 0.05, 0.0]))  # the centre of mass moves too
    assert found.angular_momentum[-1] == pytest.approx(0.2 * 0.5 / (0.1 * most)) and found.angular_momentum[-2] < 1e-12


def test_a_held_base_takes_momentum():
    model = TreesimModel(without_losses(chain(2)), "rk4", "generic")
    batch = random_batch(model.robot, 1, 0, 20, 1e-3)
    found = conservation("held", model.robot, *model.trajectory(batch.q0, batch.v0, 20, 1e-3), 1e-3)
    assert found.linear_momentum == () == found.angular_momentum and np.abs(found.energy).max() < 1e-8


def test_a_tumbling_robot_keeps_what_it_should():
    model = TreesimModel(without_losses(on_floating_base(chain(2))), "rk4", "generic")
    batch = random_batch(model.robot, 1, 0, 20, 1e-3)
    found = conservation("tumbling", model.robot, *model.trajectory(batch.q0, batch.v0, 20, 1e-3), 1e-3)
    for curve in (found.energy, found.linear_momentum, found.angular_momentum):
        assert np.abs(curve).max() < 1e-8


def test_only_finite_states_count():
    q, v = flight()
    q[7] = np.nan
    assert len(conservation("broken", THROWN, q, v, DT).energy) == 7
    q[0] = np.nan
    assert conservation("broken", THROWN, q, v, DT).energy == ()
