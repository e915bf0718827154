"""Bodies come to rest on uneven ground: on meshes, height fields and static boxes, on points that carry the weight."""

import subprocess
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import treesim
from tests.contact.scenes import RULES, G, free_body, quaternion, shape, turned
from treesim.states.support import usable_shapes

pytestmark = pytest.mark.filterwarnings("ignore::treesim.EnergyWarning", "ignore::treesim.UrdfWarning")
HEXAGON = [(np.cos(k), np.sin(k)) for k in np.arange(6) * np.pi / 3]
UNEVEN = (0, 4e-8, 1e-6, 1e-5, 1e-4, 1e-3, 3e-3, 1e-2)  # m; 4e-8 is that of a plane in single precision
NODES, SPACING, TILES = 21, 0.15, 7
GROUNDS = ("mesh", "height field", "static boxes")
FEET = {"foot of g1": ("g1_29dof_rev_1_0", "left_ankle_roll_link"), "foot of icub": ("icub", "l_foot"),
        "foot of romeo": ("romeo", "l_ankle")}  # fmt: skip
STANDING = ("box", "hull", *FEET)
# with round surfaces: on uneven ground, a standing cylinder rolls on its rim as a coin does
ROLLING = ("cylinder", "ball", "capsule", "drum")


def ground_of(kind, uneven, rng, **surface):
    """The surfaces of a ground whose nodes or tiles are at random heights (-uneven, uneven)."""
    heights = uneven * rng.uniform(-1, 1, (NODES, NODES))
    if kind == "height field":
        return [treesim.HeightField(heights, (SPACING, SPACING), **surface)]
    if kind == "mesh":
        x = (np.arange(NODES) - (NODES - 1) / 2) * SPACING
        vertices = [(x[i], x[j], heights[i, j]) for i in range(NODES) for j in range(NODES)]
        corners = [NODES * i + j for i in range(NODES - 1) for j in range(NODES - 1)]
        triangles = [t for a in corners for t in ((a, a + NODES, a + NODES + 1), (a, a + NODES + 1, a + 1))]
        return [treesim.StaticMesh(vertices, triangles, **surface)]
    places = [(i, j) for i in range(TILES) for j in range(TILES)]
    middle = TILES // 2
    return [
        treesim.StaticBox(
            (SPACING, SPACING, 0.2),
            treesim.Placement(np.eye(3), ((i - middle) * SPACING, (j - middle) * SPACING, heights[i, j] - 0.1)),
            name=f"tile {i} {j}",
            **surface,
        )
        for i, j in places
    ]


@cache
def foot(robot, link):
    """The shapes of a link as a free body of 1 kg that stands as in the robot's neutral configuration."""
    tree = treesim.load(robot, base="floating")
    turn = treesim.Placement(treesim.frame_pose(tree, tree.neutral(), link)[:3, :3])
    found = [(s, turn @ s.placement) for s in usable_shapes(tree) if s.link == link]
    points = np.concatenate([corners_of(s) @ place.rotation.T + place.translation for s, place in found])
    middle = treesim.Placement(np.eye(3), -(points.min(axis=0) + points.max(axis=0)) / 2)
    return free_body(
        1.0,
        2e-3,
        *(
            shape(s.kind, s.size, middle @ place, vertices=s.vertices if s.kind == "hull" else None)
            for s, place in found
        ),
    )


def corners_of(collision_shape):
    """Points (n, 3) of a hull, or the centre of a sphere."""
    return collision_shape.vertices if collision_shape.kind == "hull" else np.zeros((1, 3))


@cache
def body_of(name):
    """A body of 1 kg in the attitude in which it stands or lies."""
    if name in FEET:
        return foot(*FEET[name])
    lying = treesim.Placement(np.array([[1.0, 0, 0], [0, 0, -1], [0, 1, 0]]))
    frustum = [(w * x, w * y, z) for w, z in ((0.15, -0.04), (0.1, 0.05)) for x, y in HEXAGON]
    shapes = {
        "box": shape("box", (0.3, 0.2, 0.1)),
        "cylinder": shape("cylinder", (0.1, 0.15)),
        "hull": shape("hull", (), vertices=frustum),
        "ball": shape("sphere", (0.1,)),
        "capsule": shape("capsule", (0.08, 0.2), lying),
        "drum": shape("cylinder", (0.1, 0.2), lying),
    }
    return free_body(1.0, 5e-3, shapes[name])


def run_on(name, kind, uneven, seed, rule, duration=3.0, **surface):
    """A run from a place and heading at random, at the height at which the body would stand on a plane."""
    rng = np.random.default_rng(seed)
    body, ground = body_of(name), ground_of(kind, uneven, rng, friction=0.8, **surface)
    angle = rng.uniform(0, np.pi)
    q = np.r_[rng.uniform(-0.1, 0.1, 2), 1, 0, 0, np.sin(angle), np.cos(angle)]
    q = treesim.standing(body, q)
    q[2] += uneven + 1e-5
    return treesim.Simulation(treesim.World(body, ground=ground), 1e-3, integrator=rule).run(duration, q)


def at_rest(run):
    """The largest speed in the last 500 steps, and the largest error of the vertical force, as a part of the weight."""
    force = run.contact_wrench("body")[-501:-1, 2]
    return np.abs(run.v[-500:]).max(), np.abs(force / G - 1).max()


def seeds_of_commit(count=3):
    """Seeds from the hash of the commit that is checked out, 0, 1, ... without one."""
    asked = ["git", "-C", Path(__file__).parent, "rev-parse", "HEAD"]
    digest = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()
    return [int(digest[8 * k : 8 * k + 8], 16) if digest else k for k in range(count)]


def settled(name, kind, uneven, seed, rule):
    """The numbers of `at_rest`; round bodies come to rest by friction against rolling and spinning.

    Feet, whose soles are almost round, rock for longer than others, with four times shorter steps as long.
    """
    surface = {"rolling_friction": 0.01, "torsional_friction": 0.01} if name in ROLLING else {}
    return at_rest(run_on(name, kind, uneven, seed, rule, 6.0 if name in FEET else 3.0, **surface))


def check(name, kind, uneven, seeds, rule):
    for seed in seeds:
        speed, error = settled(name, kind, uneven, seed, rule)
        assert speed < 1e-6 and error < 1e-6, f"seed {seed}: {speed:g} m/s or rad/s, {error:g} of the weight"


def test_a_box_on_a_plane_in_single_precision_stands_still():
    """Neighbouring triangles of a slope differ by rounding: points between them touch one of them."""
    turn = turned((2**-0.5, -(2**-0.5), 0), 0.1) @ turned((0, 0, 1), 0.5)
    (plane,) = ground_of("mesh", 0, np.random.default_rng(0))
    vertices = (np.asarray(plane.vertices) @ turn.T + (0.1, 0.2, 0.3)).astype(np.float32)
    floor = treesim.StaticMesh(vertices, plane.triangles, friction=0.8)
    start = np.r_[turn @ (-0.05, 0.03, 0.05 + 2e-7) + (0.1, 0.2, 0.3), quaternion(turn)]
    run = treesim.Simulation(treesim.World(body_of("box"), ground=floor), 1e-3).run(0.3, start)
    assert np.abs(run.v[-100:]).max() < 1e-6 and np.abs(run.q[-1] - start).max() < 1e-6


@pytest.mark.parametrize("kind", GROUNDS)
def test_a_box_comes_to_rest(kind):
    check("box", kind, 1e-4, [0], "semi_implicit_euler")


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("uneven", [4e-8, 1e-4, 1e-2])
@pytest.mark.parametrize("kind", GROUNDS)
@pytest.mark.parametrize("name", ["box", "hull", "foot of g1", "capsule"])
def test_bodies_come_to_rest(name, kind, uneven, rule):
    check(name, kind, uneven, [1], rule)


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("uneven", UNEVEN)
@pytest.mark.parametrize("kind", GROUNDS)
@pytest.mark.parametrize("name", (*STANDING, *ROLLING))
def test_bodies_come_to_rest_with_the_seeds_of_the_commit(name, kind, uneven, rule):
    check(name, kind, uneven, seeds_of_commit(), rule)


@pytest.mark.slow
@pytest.mark.parametrize("rolling_friction", [0.0, 0.01])
def test_a_cylinder_on_uneven_ground_rolls_on_its_rim_until_rolling_friction_stops_it(rolling_friction):
    run = run_on("cylinder", "mesh", 1e-3, 103, "implicit_midpoint", rolling_friction=rolling_friction)
    assert (np.abs(run.v[-500:]).max() > 0.2) == (rolling_friction == 0)
    assert np.abs(run.energy_error).max() < 1e-11


@pytest.mark.parametrize("kind", GROUNDS[:2])
def test_a_ball_without_rolling_friction_rolls_on_and_its_energy_balance_closes(kind):
    run = run_on("ball", kind, 1e-2, 0, "implicit_midpoint")
    assert np.abs(run.v[-500:]).max() > 1e-3 and np.abs(run.energy_error).max() < 1e-4
