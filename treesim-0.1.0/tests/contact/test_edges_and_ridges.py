"""All shapes on edges and corners of static boxes, and on ridges, peaks, steps and borders of height fields.

What is supported under its centre of mass stays; what is not falls as the closed form of its first motion does.
"""

import warnings
from itertools import product

import numpy as np
import pytest

import treesim
from tests.contact.meshes import of_field
from tests.contact.scenes import G, at, free_body, shape, simulate, turned, world_velocity
from treesim import HeightField, Placement, StaticBox, StaticMesh

X, Y = turned((0, 1, 0), np.pi / 2), turned((1, 0, 0), np.pi / 2)
HULL = np.array(list(product((-0.2, 0.2), (-0.2, 0.2), (-0.05, 0.05))))
SHAPES = {  # kind, size, height of the centre, attitude
    "slab": ("box", (0.4, 0.4, 0.1), 0.05, np.eye(3)),
    "hull": ("hull", (), 0.05, np.eye(3)),
    "disc": ("cylinder", (0.2, 0.1), 0.05, np.eye(3)),
    "drum along x": ("cylinder", (0.05, 0.4), 0.05, X),
    "drum along y": ("cylinder", (0.05, 0.4), 0.05, Y),
    "capsule along x": ("capsule", (0.05, 0.4), 0.05, X),
    "capsule along y": ("capsule", (0.05, 0.4), 0.05, Y),
    "ball": ("sphere", (0.2,), 0.2, np.eye(3)),
}
FLAT = np.zeros((41, 41))
RIDGE, PEAK, STEP = FLAT.copy(), FLAT.copy(), FLAT.copy()
RIDGE[20, :], PEAK[20, 20], STEP[21:, :] = 0.1, 0.2, 0.1
GROUNDS = {  # surface, place of the centre over it, height there
    "on a post": (StaticBox((0.1, 0.1, 0.3), Placement(translation=(0, 0, 0.15))), (0, 0), 0.3),
    "over an edge": (StaticBox((2, 2, 0.2), Placement(translation=(1, 0, 0.1))), (0.06, 0), 0.2),
    "over a corner": (StaticBox((2, 2, 0.2), Placement(translation=(1, 0, 0.1))), (0.06, -0.94), 0.2),
    "on a flat field": (HeightField(FLAT), (0.02, 0.03), 0),
    "over its border": (HeightField(FLAT), (1.96, 0), 0),
    "over its corner": (HeightField(FLAT), (1.96, 1.96), 0),
    "across a ridge": (HeightField(RIDGE), (0, 0.02), 0.1),
    "on a peak": (HeightField(PEAK), (0, 0), 0.2),
    "over a step": (HeightField(STEP), (0.13, 0), 0.1),
}


def body(name):
    kind, size, _, _ = SHAPES[name]
    return free_body(1.0, (0.014, 0.014, 0.027), shape(kind, size, vertices=HULL if kind == "hull" else None))


def on(name, place, height):
    return at((*place, height + SHAPES[name][2]), SHAPES[name][3])


@pytest.fixture(autouse=True)
def no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error", treesim.ShapeWarning)
        yield


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("ground", GROUNDS)
def test_what_is_supported_under_its_centre_stays_with_the_weight_on_it(name, ground):
    surface, place, height = GROUNDS[ground]
    q0 = on(name, place, height)
    run = simulate(treesim.World(body(name), ground=surface), q0, duration=0.3)
    assert np.abs(run.q[-1] - q0).max() < 1e-6
    assert run.solver_info[:, 0].max() < 1e-6 and run.solver_info[:, 1].max() < 1e-8
    np.testing.assert_allclose(run.wrench[-1, 1, :3], (0, 0, G), atol=1e-3)


@pytest.mark.parametrize("name", ["slab", "hull", "disc"])
@pytest.mark.parametrize("ground", ["over an edge", "over its border", "over a step"])
def test_what_is_not_supported_starts_to_turn_about_the_edge(name, ground):
    """A slab whose centre is d behind an edge: alpha = g d / (i + d^2 + h^2), without sliding."""
    surface, place, height = GROUNDS[ground]
    edge = {"over an edge": 0.0, "over its border": 2.0, "over a step": 0.1}[ground]
    d = 0.02
    outward = 1 if ground == "over its border" else -1
    run = simulate(
        treesim.World(body(name), ground=surface), on(name, (edge + outward * d, place[1]), height), duration=5e-3
    )
    alpha = G * d / (0.014 + d**2 + 0.05**2)
    assert outward * run.v[-1, 4] == pytest.approx(alpha * 5e-3, rel=1e-3)


@pytest.mark.parametrize("name", SHAPES)
def test_a_fall_onto_a_ridge_ends_at_its_height_without_energy_gain(name):
    surface, place, height = GROUNDS["across a ridge"]
    q0 = on(name, place, height + 0.05)
    run = simulate(treesim.World(body(name), ground=surface), q0, duration=0.3)
    assert run.q[-1, 2] == pytest.approx(q0[2] - 0.05, abs=1e-6)
    assert np.diff(run.energy).max() < 1e-9 and run.solver_info[:, 0].max() < 1e-6


@pytest.mark.parametrize("name", ["slab", "hull", "disc"])
@pytest.mark.parametrize("mesh", [False, True], ids=["field", "mesh"])
def test_nothing_stops_what_slides_along_a_ridge_over_its_nodes(name, mesh):
    """Where the ends of the ridge's edges lie under the body, normals are those of its lower face."""
    ground = HeightField(RIDGE, friction=0)
    ground = StaticMesh(*of_field(ground), friction=0) if mesh else ground
    run = simulate(treesim.World(body(name), ground=ground), on(name, (0, 0.03), 0.1), [0, 1, 0, 0, 0, 0], duration=0.3)
    np.testing.assert_allclose(run.q[-1, :3], on(name, (0, 0.33), 0.1)[:3], rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", ["slab", "hull", "disc", "ball"])
def test_a_flat_field_is_a_plane_for_what_slides_over_it(name):
    """Inner edges and nodes of the triangles do not catch: mu g of deceleration, as on a plane."""
    grounds = (HeightField(FLAT, friction=0.3), treesim.Ground(friction=0.3))
    q0, v0 = on(name, (-0.5, 0.033), 0), [1.0, 0.4, 0, 0, 0, 0.5]
    runs = [simulate(treesim.World(body(name), ground=ground), q0, v0, duration=0.3) for ground in grounds]
    np.testing.assert_allclose(runs[0].q, runs[1].q, rtol=0, atol=1e-8)


@pytest.mark.parametrize("angle", [0.3, 0.9])
@pytest.mark.parametrize("name", ["slab", "hull", "disc", "drum along y", "ball"])
def test_a_slope_of_heights_is_a_tilted_plane(name, angle):
    R = turned((0, 1, 0), angle)
    x = (np.arange(41) - 20) * 0.1
    heights = np.repeat(-np.tan(angle) * x[:, None], 15, axis=1)
    grounds = (HeightField(heights, friction=0.2), treesim.Ground(normal=R[:, 2], friction=0.2))
    start = np.array([-0.5, 0.03, 0.5 * np.tan(angle)]) + (SHAPES[name][2] + 0.01) * R[:, 2]
    q0 = at(start, R @ SHAPES[name][3])
    runs = [simulate(treesim.World(body(name), ground=ground), q0, duration=0.3) for ground in grounds]
    np.testing.assert_allclose(runs[0].q, runs[1].q, rtol=0, atol=1e-7)


@pytest.mark.parametrize("field", [False, True], ids=["boxes", "heights"])
def test_a_wheel_in_a_groove_carries_half_its_weight_on_each_side(field):
    """Sides of 45 degrees, without friction: each normal force is m g / sqrt(2), at r / sqrt(2) from the bottom."""
    x = (np.arange(21) - 10) * 0.1
    heights = np.repeat(np.abs(x)[:, None], 21, axis=1)
    sides = [
        StaticBox((2, 2, 0.2), Placement(R, R @ (0, 0, -0.1)), friction=0)
        for R in (turned((0, 1, 0), np.pi / 4), turned((0, 1, 0), -np.pi / 4))
    ]
    ground = HeightField(heights, friction=0) if field else sides
    robot = body("drum along y")
    q0 = at((0, 0, 0.05 * np.sqrt(2)), Y)
    run = simulate(treesim.World(robot, ground=ground), q0, duration=0.1)
    assert np.abs(run.q[-1] - q0).max() < 1e-9
    report = treesim.Stepper(treesim.World(robot, ground=ground))
    assert report.step(report.reset(q0))[1].contact.count >= 4


@pytest.mark.parametrize("name", ["slab", "hull", "disc", "drum along x", "capsule along y", "ball"])
@pytest.mark.parametrize("fixed", [True, False], ids=["furniture", "free body"])
def test_a_post_that_is_a_body_carries_what_is_wider(name, fixed):
    """The post is a shape of a fixed base, or a free box on the floor, narrower than what lies on it."""
    place = Placement(translation=(0, 0, 0.15))
    fixture = treesim.Tree("post", [], shapes=[shape("box", (0.1, 0.1, 0.3), place, body=0)])
    post = fixture if fixed else treesim.free_body("post", "box", (0.1, 0.1, 0.3), 5.0)
    q0 = on(name, (0.01, 0.02), 0.3)
    world = treesim.World(body(name), bodies=[post], ground=treesim.Ground())
    run = simulate(world, q0 if fixed else np.r_[q0, at((0, 0, 0.15))], duration=0.3)
    assert np.abs(run.q[-1, :7] - q0).max() < 1e-6 and run.solver_info[:, 0].max() < 1e-6


@pytest.mark.parametrize("name", ["hull", "disc"])
def test_two_bodies_act_on_each_other_with_opposite_forces(name):
    """A crate flies onto the edge of what floats: the momentum of both stays."""
    crate = treesim.free_body("crate", "box", (0.08, 0.08, 0.08), 0.5)
    world = treesim.World(body(name), bodies=[crate])
    q0 = np.r_[on(name, (0, 0), 0), at((0.05, 0.03, 0.1 + 0.04 + 1e-3))]
    v0 = np.r_[np.zeros(6), 0, 0, -1.0, 0, 0, 0]
    run = simulate(world, q0, v0, duration=0.01, gravity=(0, 0, 0))
    p = sum(m * world_velocity(run.q[-1, 7 * k :], run.v[-1, 6 * k :]) for k, m in enumerate((1.0, 0.5)))
    assert run.solver_info[:, 3].max() > 0 and run.v[-1, 2] < -0.1
    np.testing.assert_allclose(p, (0, 0, -0.5), atol=1e-9)


def points_on(heights, spacing):
    """Points of a field's nodes, and of all edges of its triangles, 1 cm apart, at the least."""
    n = (np.array(heights.shape) - 1) / 2
    x, y = ((np.arange(k) - m) * spacing for k, m in zip(heights.shape, n, strict=True))
    nodes = np.dstack([*np.meshgrid(x, y, indexing="ij"), heights])
    t = np.linspace(0, 1, 12)[:, None]
    ways = ((nodes[:-1], nodes[1:]), (nodes[:, :-1], nodes[:, 1:]), (nodes[:-1, :-1], nodes[1:, 1:]))
    return np.concatenate([(a[..., None, :] * (1 - t) + b[..., None, :] * t).reshape(-1, 3) for a, b in ways])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", ["slab", "hull", "disc", "drum along x", "capsule along x", "ball"])
def test_what_tumbles_over_rough_ground_stays_outside_and_gains_no_energy(name, seed):
    """Points of the field are measured against the shape by its closed form: none is more than 0.5 mm deep."""
    rng = np.random.default_rng(seed)
    heights = rng.choice([0.02, 0.06]) * rng.normal(size=(31, 31)) if seed < 3 else 0.05 * rng.integers(0, 4, (31, 31))
    field, robot = HeightField(heights), body(name)
    q = treesim.standing(robot, at((*rng.uniform(-0.3, 0.3, 2), 1.0), turned((0.6, 0, 0.8), rng.uniform(0, 3))), field)
    q[2] += 0.1
    run = simulate(treesim.World(robot, ground=field), q, rng.normal(size=6), duration=0.8)
    assert run.solver_info[:, 0].max() < 5e-4 and run.solver_info[:, 1].max() < 1e-8
    assert run.solver_info[:, 2].max() < 1e-12 and run.energy[-1] < run.energy[0]  # recovery may lift by some um
    points = points_on(np.asarray(heights, float), 0.1)
    kind, size, *_ = SHAPES[name]
    for x in run.q[::40]:
        near = points[np.linalg.norm(points - x[:3], axis=1) < 0.35] - x[:3]
        u, w = x[3:6], x[6]
        own = near - 2 * np.cross(u, w * near - np.cross(u, near))  # R' p
        radial = np.linalg.norm(own[:, :2], axis=1)
        if kind in ("box", "hull"):
            gap = (np.abs(own) - (0.2, 0.2, 0.05)).max(axis=1)
        elif kind == "cylinder":
            gap = np.maximum(radial - size[0], np.abs(own[:, 2]) - size[1] / 2)
        else:
            half = 0.0 if kind == "sphere" else size[1] / 2
            gap = np.hypot(radial, np.maximum(np.abs(own[:, 2]) - half, 0)) - size[0]
        assert gap.min(initial=1) > -5e-4
