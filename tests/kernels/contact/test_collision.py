"""Where shapes touch: gaps and points against dense sampling, and which points of many are kept."""

from typing import NamedTuple

import numpy as np
import pytest

import treesim
from tests.contact.scenes import at, free_body, shape, turned
from treesim.kernels.algebra.linear import Vector
from treesim.kernels.algebra.tables import tree_tables
from treesim.kernels.contact.candidates import contacts_memory
from treesim.kernels.contact.collision import VARIANTS, find_contacts, meet
from treesim.kernels.contact.delassus import move_bodies, place, rows_memory
from treesim.kernels.contact.near_pairs import components
from treesim.kernels.contact.tables import touch_tables

pytestmark = pytest.mark.nojit
MARGIN = 2e-3
HULL = np.random.default_rng(0).normal(size=(9, 3)) * 0.1
AWAY = treesim.Placement(translation=(0.05, -0.02, 0.03), rotation=turned((0, 0.6, 0.8), 0.9))
SHAPES = {
    "sphere": shape("sphere", (0.1,), AWAY),
    "capsule": shape("capsule", (0.05, 0.2), AWAY),
    "box": shape("box", (0.2, 0.1, 0.06), AWAY),
    "cylinder": shape("cylinder", (0.08, 0.1), AWAY),
    "hull": shape("hull", (), AWAY, vertices=HULL),
}


class Found(NamedTuple):
    """Contacts: pair, slot, gap (n,), point and normal (n, 3); how many there were."""

    pair: np.ndarray
    slot: np.ndarray
    gap: np.ndarray
    point: np.ndarray
    normal: np.ndarray
    count: int


def contacts(robot, grounds, q, v=None, dt=1e-3, margin=MARGIN, candidates=False, solids=""):
    """What is found in one state: contacts, or all candidates of the first pair. solids: one of VARIANTS."""
    world = treesim.World(robot, ground=grounds)
    tree = tree_tables(robot.ints, robot.reals)
    touch = touch_tables(world.touching.layout, world.touching.geometry)
    r, m = rows_memory(tree, 1, q), contacts_memory(touch, q)
    place(tree, q, r)
    move_bodies(tree, r, np.zeros(robot.nv) if v is None else np.asarray(v, float))
    solids = VARIANTS[solids or world.touching.solids]
    if candidates:
        n = meet(touch, 0, r, dt, margin, m, solids)
        return Found(np.zeros(n), m.place[:n], m.distance[:n], m.where[:n], m.outward[:n], n)
    count = find_contacts(touch, r, dt, margin, np.empty((0, 9)), m, solids)
    n = min(count, touch.capacity)
    return Found(m.pair[:n].copy(), m.slot[:n].copy(), m.gap[:n].copy(), m.point[:n].copy(), m.normal[:n].copy(), count)


def directions(count=20_000):
    """Points on the unit sphere, evenly spread."""
    k = np.arange(count) + 0.5
    z, angle = 1 - 2 * k / count, np.pi * (1 + 5**0.5) * k
    s = np.sqrt(1 - z * z)
    return np.column_stack([s * np.cos(angle), s * np.sin(angle), z])


def surface_points(kind):
    """Dense points of a shape, at least one of them near its lowest one, in the shape's own axes."""
    d, turn = directions(), np.linspace(0, 2 * np.pi, 20_000)
    if kind == "sphere":
        return 0.1 * d
    if kind == "capsule":
        return np.vstack([0.05 * d + [0, 0, 0.1], 0.05 * d - [0, 0, 0.1]])
    if kind == "box":
        return np.array([[x, y, z] for x in (-0.1, 0.1) for y in (-0.05, 0.05) for z in (-0.03, 0.03)])
    if kind == "cylinder":
        rim = 0.08 * np.column_stack([np.cos(turn), np.sin(turn), 0 * turn])
        above = np.array([0, 0, 0.05])
        return np.vstack([rim + above, rim - above])
    return HULL


def placed(kind, R, x=(0, 0, 0)):
    """Dense points of a shape of a body at x, turned by R, in the world."""
    own = surface_points(kind) @ np.asarray(AWAY.rotation).T + AWAY.translation
    return own @ R.T + x


def random_rotation(rng):
    axis = rng.normal(size=3)
    return turned(axis / np.linalg.norm(axis), rng.uniform(0, 3))


@pytest.mark.parametrize("kind", SHAPES)
def test_the_deepest_point_over_a_plane_is_that_of_dense_sampling(kind):
    rng, robot = np.random.default_rng(1), free_body(1.0, 1.0, SHAPES[kind])
    for _ in range(12):
        R, n = random_rotation(rng), rng.normal(size=3)
        n /= np.linalg.norm(n)
        height = (placed(kind, R) @ n).min() - rng.uniform(-MARGIN, MARGIN)  # of overlap or gap
        found = contacts(robot, treesim.Ground(normal=n, height=height), at((0, 0, 0), R))
        sampled = (placed(kind, R) @ n).min() - height
        assert found.gap.min() == pytest.approx(sampled, abs=1e-5)
        for gap, x, normal in zip(found.gap, found.point, found.normal, strict=True):
            np.testing.assert_allclose(normal, n, rtol=0, atol=1e-14)
            assert x @ n - height == pytest.approx(gap, abs=1e-14)


BOX, FIELD = treesim.StaticBox((1, 1, 1)), treesim.HeightField(np.zeros((3, 3)), (1, 1))


@pytest.mark.parametrize(
    ("kind", "grounds", "solids"),
    [
        ("hull", [treesim.Ground()], "planes"), ("box", [BOX], "primitives"), ("capsule", [BOX], "primitives"),
        ("hull", [BOX], "solids"), ("box", [BOX, treesim.Ground()], "solids"), ("sphere", [FIELD], "solids"),
    ],
)  # fmt: skip
def test_a_world_needs_collision_detection_for_its_solids_only(kind, grounds, solids):
    world = treesim.World(free_body(1.0, 1.0, SHAPES[kind]), ground=grounds)
    assert world.touching.solids == solids


@pytest.mark.parametrize("kind", ["sphere", "capsule", "box"])
def test_collision_detection_of_primitives_finds_what_that_of_all_solids_does(kind):
    rng, robot = np.random.default_rng(5), free_body(1.0, 1.0, SHAPES[kind])
    most = 0
    for _ in range(30):
        q = at(rng.uniform(-0.6, 0.6, 3), random_rotation(rng))
        one, other = (contacts(robot, BOX, q, margin=0.1, solids=name) for name in ("primitives", "solids"))
        assert all(np.array_equal(x, y) for x, y in zip(one, other, strict=True))
        most = max(most, one.count)
    assert most > 0


def from_box(points, half):
    """Signed distance of points from a box about the origin."""
    d = np.abs(points) - half
    return np.linalg.norm(np.maximum(d, 0), axis=-1) + np.minimum(d.max(axis=-1), 0)


def test_a_ball_meets_faces_edges_and_corners_of_a_box():
    rng, half = np.random.default_rng(2), np.array([0.3, 0.2, 0.1])
    robot = free_body(1.0, 1.0, shape("sphere", (0.1,)))
    turn = turned((0.8, 0, 0.6), 0.4)
    box = treesim.StaticBox(2 * half, treesim.Placement(translation=(1, 2, 3), rotation=turn))
    for _ in range(60):
        surface = np.clip(rng.normal(size=3) * half * 1.5, -half, half)
        k = rng.integers(3)
        surface[k] = np.copysign(half[k], surface[k])
        nearest = np.where(np.abs(surface) == half, np.sign(surface), 0.0) * rng.uniform(0.2, 1, 3)
        nearest /= np.linalg.norm(nearest)
        gap = rng.uniform(-MARGIN, MARGIN)
        center = surface + (0.1 + gap) * nearest
        found = contacts(robot, box, at(turn @ center + [1, 2, 3]))
        assert found.gap == pytest.approx(from_box(center, half) - 0.1, abs=1e-12)
        np.testing.assert_allclose(found.normal[0] @ turn, nearest, rtol=0, atol=1e-9)
        np.testing.assert_allclose((found.point[0] - [1, 2, 3]) @ turn, center - 0.1 * nearest, rtol=0, atol=1e-9)


@pytest.mark.parametrize("face", range(6))
def test_a_box_stands_on_any_face_of_a_larger_one(face):
    axis, side = face % 3, 1 if face < 3 else -1
    robot = free_body(1.0, 1.0, shape("box", (0.2, 0.2, 0.2)))
    x = np.zeros(3)
    x[axis] = side * (0.5 + 0.1 - 1e-3)
    found = contacts(robot, treesim.StaticBox((1, 1, 1)), at(x))
    normal = np.zeros(3)
    normal[axis] = side
    assert found.count == 4 and np.allclose(found.gap, -1e-3, atol=1e-12)
    assert np.allclose(found.normal, normal, atol=1e-12)


def test_vertices_beside_a_face_do_not_stand_on_it_but_edges_that_pass_its_border_do():
    robot = free_body(1.0, 1.0, shape("box", (0.2, 0.2, 0.2)))
    found = contacts(robot, treesim.StaticBox((1, 1, 1)), at((0.45, 0, 0.6 - 1e-3)))
    assert found.count == 4 and np.allclose(np.sort(found.point[:, 0]), (0.35, 0.35, 0.5, 0.5))
    assert np.allclose(found.gap, -1e-3, atol=1e-12) and np.allclose(found.normal, (0, 0, 1), atol=1e-12)


@pytest.mark.parametrize("sides", [8, 24], ids=["few faces", "many faces"])
def test_an_edge_below_a_prism_is_near_it_where_it_enters_and_leaves_its_polygon(sides):
    """To the gap of 1 mm."""
    turn = np.pi * (2 * np.arange(sides) + 1) / sides  # the edge, along y, passes the middle of two sides
    rim = 0.1 * np.column_stack([np.cos(turn), np.sin(turn)])
    prism = shape("hull", (), vertices=[(*p, z) for p in rim for z in (-0.05, 0.05)])
    found = contacts(
        free_body(1.0, 1.0, prism), treesim.StaticBox((1, 1, 1)), at((0.5, 0, 0.55 + 1e-3)), candidates=True
    )
    ends, radius = np.sort(found.point[np.isclose(found.point[:, 0], 0.5), 1]), 0.1 * np.cos(np.pi / sides)
    assert len(ends) == 2 and np.allclose(ends, (-radius, radius), rtol=0, atol=1.01e-3)
    assert np.allclose(found.gap, 1e-3, atol=1e-12) and np.allclose(found.normal, (0, 0, 1), atol=1e-12)


def triangles_of(field):
    """The triangles (k, 3, 3) of a height field; a cell's diagonal runs from its corner of least x and y."""
    heights, spacing, center = np.asarray(field.heights), np.asarray(field.spacing), np.asarray(field.center)
    nx, ny = heights.shape

    def node(i, j):
        return np.array([*(np.array([i - (nx - 1) / 2, j - (ny - 1) / 2]) * spacing + center), heights[i, j]])

    return np.array([
        [node(i, j), node(*one), node(*other)] for i in range(nx - 1) for j in range(ny - 1)
        for one, other in (((i + 1, j), (i + 1, j + 1)), ((i + 1, j + 1), (i, j + 1)))
    ])  # fmt: skip


def nearest_in(triangles, p):
    """The point of triangles (k, 3, 3) nearest to p: over the inside of one, or on a side."""
    sides = np.roll(triangles, -1, axis=1) - triangles
    n = np.cross(sides[:, 0], sides[:, 1])
    to_p = p - triangles
    inside = (np.einsum("kc,ksc->ks", n, np.cross(sides, to_p)) >= 0).all(axis=1)
    over = p - n * (np.einsum("kc,kc->k", n, to_p[:, 0]) / np.einsum("kc,kc->k", n, n))[:, None]
    along = np.clip(np.einsum("ksc,ksc->ks", to_p, sides) / np.einsum("ksc,ksc->ks", sides, sides), 0, 1)
    points = np.vstack([over[inside], (triangles + along[..., None] * sides).reshape(-1, 3)])
    return points[np.linalg.norm(p - points, axis=1).argmin()]


def test_a_ball_over_heights_meets_the_nearest_point_of_all_triangles():
    rng = np.random.default_rng(3)
    field = treesim.HeightField(0.1 * rng.normal(size=(7, 5)), spacing=(0.2, 0.3))
    triangles, robot = triangles_of(field), free_body(1.0, 1.0, shape("sphere", (0.1,)))
    kinds = set()
    for _ in range(100):
        p = np.array([*rng.uniform(-0.55, 0.55, 2), 0.5])
        for _ in range(60):  # down, by what is free, to a small gap
            nearest = nearest_in(triangles, p)
            gap = np.linalg.norm(p - nearest) - 0.1
            p[2] -= gap - 1e-3
        found = contacts(robot, field, at(p))
        first = int(np.argmin(found.gap))
        assert found.gap[first] == pytest.approx(gap, abs=1e-12)
        np.testing.assert_allclose(found.normal[first], (p - nearest) / np.linalg.norm(p - nearest), rtol=0, atol=1e-9)
        kinds.add(bool(np.isclose(nearest, triangles, atol=1e-9).all(axis=2).any()))
    assert kinds == {True, False}  # nodes, and others


def test_there_is_nothing_beside_a_grid_and_its_border_is_an_edge():
    robot = free_body(1.0, 1.0, shape("sphere", (0.05,)))
    field = treesim.HeightField(np.zeros((3, 3)), spacing=(0.1, 0.1), center=(1.0, 0.0))
    assert contacts(robot, field, at((1.09, 0.09, 0.05))).count == 1
    beside = contacts(robot, field, at((1.13, 0.0, 0.041)))
    assert beside.count == 1 and beside.gap[0] == pytest.approx(np.hypot(0.03, 0.041) - 0.05, abs=1e-12)
    np.testing.assert_allclose(beside.normal[0], np.array([0.03, 0, 0.041]) / np.hypot(0.03, 0.041), atol=1e-9)
    assert contacts(robot, field, at((1.16, 0.0, 0.05))).count == 0
    assert contacts(robot, field, at((0.0, 0.0, 0.05))).count == 0


def test_four_of_many_points_span_the_widest_foot():
    """A disc of sixteen vertices that stands: the four kept are the deepest, and spread as a square nearly is."""
    angle = np.linspace(0, 2 * np.pi, 16, endpoint=False)
    disc = np.column_stack([np.cos(angle), np.sin(angle), np.zeros(16)])
    robot = free_body(1.0, 1.0, shape("hull", (), vertices=disc))
    found = contacts(robot, treesim.Ground(), at((0, 0, 0), turned((1, 0, 0), 1e-4)))
    assert len(found.gap) == 4 and found.gap.min() == pytest.approx(
        (disc @ turned((1, 0, 0), 1e-4).T)[:, 2].min(), abs=1e-12
    )
    x, y = found.point[:, :2].T
    order = np.argsort(np.arctan2(y, x))
    x, y = x[order], y[order]
    area = abs(np.sum(x * np.roll(y, -1) - y * np.roll(x, -1))) / 2
    assert area > 1.8  # a square inscribed in the circle has 2
    assert len(set(found.slot)) == 4


@pytest.mark.parametrize("turn", [0.0, 0.3, np.pi / 2, 2.0])
def test_a_cylinder_stands_on_four_points_and_lies_on_two(turn):
    robot = free_body(1.0, 1.0, shape("cylinder", (0.1, 0.3)))
    ground = treesim.Ground()
    standing = contacts(robot, ground, at((0, 0, 0.15), turned((0, 0, 1), turn)))
    assert standing.count == 4 and np.allclose(standing.gap, 0, atol=1e-15)
    assert np.abs(standing.point[:, :2].mean(axis=0)).max() < 1e-12
    lying = contacts(robot, ground, at((0, 0, 0.1), turned((0, 0, 1), turn) @ turned((1, 0, 0), np.pi / 2)))
    assert lying.count == 2 and np.allclose(lying.gap, 0, atol=1e-12)
    assert np.linalg.norm(lying.point[0] - lying.point[1]) == pytest.approx(0.3)
    assert sorted(s % 4 for s in lying.slot) == [0, 0]  # its lowest points, which stay the same while it rolls


def test_what_approaches_fast_is_seen_from_farther_off():
    """Rows are made of gaps that close within the step, whatever the speed, and of no others."""
    robot = free_body(1.0, 1.0, SHAPES["box"])
    lowest = placed("box", np.eye(3))[:, 2].min()
    for speed in (0.0, 10.0, 100.0):
        for gap, seen in ((1e-3 * speed + 0.9 * MARGIN, True), (1e-3 * speed + 1.5 * MARGIN, False)):
            found = contacts(robot, treesim.Ground(), at((0, 0, gap - lowest)), [0, 0, -speed, 0, 0, 0])
            assert (found.count > 0) == seen
        assert contacts(robot, treesim.Ground(), at((0, 0, 0.01 - lowest)), [0, 0, speed, 0, 0, 0]).count == 0


def test_spinning_points_are_seen_too():
    robot = free_body(1.0, 1.0, shape("box", (1.0, 0.02, 0.02)))
    found = contacts(robot, treesim.Ground(), at((0, 0, 0.05)), [0, 0, 0, 0, 100.0, 0])
    assert found.count == 2 and np.allclose(found.point[:, 0], 0.5)  # the end that comes down


def test_the_bound_of_a_length_is_exact_along_an_axis_and_never_too_small():
    assert components(Vector(0.0, -0.3, 0.0)) == 0.3
    for a in np.random.default_rng(1).normal(size=(20, 3)).tolist():
        assert components(Vector(*a)) >= np.linalg.norm(a)


def test_shapes_of_every_body_and_several_surfaces():
    """Two links with shapes against two planes: four pairs, each with slots of its own."""
    inertia = treesim.Inertia(1.0, (0, 0, 0), np.eye(3))
    first = treesim.Body("first", 0, treesim.Joint("free", "floating"), inertia)
    second = treesim.Body("second", 1, treesim.Joint("hinge", "revolute", placement=AWAY, axis=(0, 1, 0)), inertia)
    shapes = [shape("sphere", (0.1,)), shape("sphere", (0.2,), AWAY, body=2)]
    robot = treesim.Tree("two", [first, second], shapes=shapes)
    grounds = [treesim.Ground(), treesim.Ground(normal=(1, 0, 0), height=-0.1)]
    q = np.r_[at((0, 0, 0.1)), 0.4]
    found = contacts(robot, grounds, q, margin=10.0)
    assert sorted(found.pair) == [0, 1, 2, 3] and len(set(found.slot)) == 4
    center = (treesim.frame_pose(robot, q, "second") @ [*AWAY.translation, 1])[:3]
    by_hand = [0.1 - 0.1, 0.0 + 0.1 - 0.1, center[2] - 0.2, center[0] + 0.1 - 0.2]
    np.testing.assert_allclose(found.gap[np.argsort(found.pair)], by_hand, rtol=0, atol=1e-12)
