"""The points of a body that carry are kept: thin, small, chamfered and crowned bodies rest, whatever their size."""

import numpy as np
import pytest

import treesim
from treesim import Body, CollisionShape, Ground, Inertia, Joint, Placement, Simulation, Tree, World, free_body

FEW = 12  # iterations, of both solves of a step


def resting(tree, height, slope=0.0, mu=0.8, duration=0.5):
    """The run of a body that starts flat on a slope, with its lowest points on it, and where it started."""
    a = np.arctan(slope)
    normal = np.array([np.sin(a), 0, np.cos(a)])
    q0 = np.r_[height * normal, 0, np.sin(a / 2), 0, np.cos(a / 2)]
    run = Simulation(World(tree, ground=Ground(friction=mu, normal=normal))).run(duration, q0)
    return run, q0


def check_rest(run, q0, size):
    assert np.abs(run.q[-1] - q0).max() < 1e-6 * max(size, 1e-3)
    assert np.abs(run.v[len(run) // 2 :]).max() < 1e-8
    assert run.residual.max() < 1e-9 and run.contact.solver_info[10:-1, 4].max() <= FEW


def hull(rings, mass=1.0):
    """A body whose hull has rectangles (half length, half width, z)."""
    corners = np.array([(sx * x, sy * y, z) for x, y, z in rings for sx in (-1, 1) for sy in (-1, 1)])
    length, width, height = np.ptp(corners, axis=0)
    moments = mass / 12 * np.array([width**2 + height**2, length**2 + height**2, length**2 + width**2])
    shape = CollisionShape(1, Placement(), "hull", vertices=corners, link="foot")
    body = Body("foot", 0, Joint("free", "floating"), Inertia(mass, np.zeros(3), np.diag(moments)))
    return Tree("foot", [body], shapes=[shape])


@pytest.mark.parametrize("slope", [0.0, 0.5])
@pytest.mark.parametrize(
    "size", [(1e-3,) * 3, (0.2, 0.2, 1.5e-3), (0.01, 0.02, 1e-4), (2.0, 1.0, 2e-3), (1.0, 1.0, 1.0)], ids=str
)
def test_thin_and_small_boxes_rest(size, slope):
    run, q0 = resting(free_body("chip", "box", size, 1e3 * np.prod(size)), size[2] / 2, slope)
    check_rest(run, q0, max(size))


@pytest.mark.parametrize("slope", [0.0, 0.3])
@pytest.mark.parametrize("chamfer", [1e-4, 5e-4, 1e-3, 1.9e-3, 2.1e-3, 5e-3])
def test_chamfered_soles_rest(chamfer, slope):
    rings = [(0.1 - chamfer, 0.05 - chamfer, -0.025), (0.1, 0.05, chamfer - 0.025), (0.1, 0.05, 0.025)]
    check_rest(*resting(hull(rings), 0.025, slope), 0.2)


@pytest.mark.parametrize("size", [0.02, 0.2, 2.0])
def test_rounded_edges_rest_whatever_the_size(size):
    """Four rings of points, as a rounded edge of CAD has."""
    turn = np.linspace(0, np.pi / 2, 4)
    radius = 0.02 * size
    rings = [
        (size / 2 - radius * (1 - np.sin(t)), size / 4 - radius * (1 - np.sin(t)), radius * (1 - np.cos(t)) - size / 8)
        for t in turn
    ]
    check_rest(*resting(hull([*rings, (size / 2, size / 4, size / 8)]), size / 8), size)


def test_a_coin_rests():
    turn = np.arange(60) * np.pi / 30
    rim = [np.stack([0.012 * np.cos(turn), 0.012 * np.sin(turn), np.full(60, z)], axis=1) for z in (-1e-3, 1e-3)]
    shape = CollisionShape(1, Placement(), "hull", vertices=np.concatenate(rim), link="coin")
    inertia = Inertia(7e-3, np.zeros(3), 7e-3 * 0.012**2 * np.diag([0.25, 0.25, 0.5]))
    coin = Tree("coin", [Body("coin", 0, Joint("free", "floating"), inertia)], shapes=[shape])
    check_rest(*resting(coin, 1e-3, 0.3), 0.024)


def test_a_stack_of_cards_rests():
    cards = [free_body(f"card{i}", "box", (0.09, 0.06, 5e-4), 2e-3) for i in range(5)]
    q0 = np.concatenate([[0, 0, 5e-4 * (i + 0.5), 0, 0, 0, 1] for i in range(5)])
    run = Simulation(World(cards[0], bodies=cards[1:], ground=Ground())).run(0.05, q0)
    assert np.abs(run.q[-1] - q0).max() < 1e-7 and run.residual.max() < 1e-9


def test_lanes_keep_the_same_points():
    tree = hull([(0.099, 0.049, -0.025), (0.1, 0.05, -0.024), (0.1, 0.05, 0.025)])
    q0 = np.array([[0, 0, 0.025 + 1e-4 * k, 0, 0, 0, 1] for k in range(9)])
    runs = treesim.rollout(World(tree, ground=Ground()), q0, np.zeros(6), steps=300)
    for k in (0, 5):
        single = Simulation(World(tree, ground=Ground())).run(0.3, q0[k])
        np.testing.assert_allclose(runs.q[k, -1], single.q[-1], atol=1e-8)
    assert np.abs(runs.v[:, -1]).max() < 1e-8
