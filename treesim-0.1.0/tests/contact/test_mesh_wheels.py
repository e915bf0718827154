"""Wheels and balls given as meshes roll, as their polygons do."""

import numpy as np
import pytest

import treesim
from treesim import Body, CollisionShape, Ground, Inertia, Joint, Placement, Simulation, Tree, World
from treesim.model.hulls import reduced

SLOPE = np.radians(10)


def rolling(points, radius, moment):
    """The speed along a slope of a body of 1 kg after 1 s, and that of a round one."""
    shape = CollisionShape(1, Placement(), "hull", vertices=reduced(points), link="wheel")
    inertia = Inertia(1.0, np.zeros(3), np.diag([0.6 * moment, moment, 0.6 * moment]))
    wheel = Tree("wheel", [Body("wheel", 0, Joint("root_joint", "floating"), inertia)], shapes=[shape])
    ground = Ground(normal=(np.sin(SLOPE), 0, np.cos(SLOPE)))
    run = Simulation(World(wheel, ground=ground)).run(1.0, treesim.standing(wheel, wheel.neutral(), ground))
    assert run.residual.max() < 1e-9
    return np.linalg.norm(run.v[-1][:3]), 9.81 * np.sin(SLOPE) / (1 + moment / radius**2)


@pytest.mark.parametrize("sides", [32, 64, 200])
def test_a_wheel_of_many_sides_rolls(sides):
    turn = np.arange(sides) * 2 * np.pi / sides
    rim = [np.stack([0.1 * np.cos(turn), np.full(sides, y), 0.1 * np.sin(turn)], axis=1) for y in (-0.025, 0.025)]
    speed, right = rolling(np.concatenate(rim), 0.1, 0.005)
    assert 0.75 * right < speed < right


def test_an_octagon_stays_where_it_stands():
    turn = np.arange(8) * np.pi / 4
    rim = [np.stack([0.1 * np.cos(turn), np.full(8, y), 0.1 * np.sin(turn)], axis=1) for y in (-0.025, 0.025)]
    assert rolling(np.concatenate(rim), 0.1, 0.005)[0] < 1e-6


def test_a_ball_rolls():
    import trimesh

    speed, right = rolling(np.asarray(trimesh.creation.icosphere(4, 0.1).vertices), 0.1, 0.004)
    assert 0.75 * right < speed < right
