"""The broad phase: contacts are those of all pairs, to the bit and in their order, and few pairs are considered."""

from itertools import combinations

import numpy as np
import pytest

import treesim
from tests.contact.scenes import at, turned
from treesim.contact.tables import touching
from treesim.kernels.algebra.tables import transform_at, tree_tables
from treesim.kernels.contact import near_pairs
from treesim.kernels.contact.candidates import contacts_memory
from treesim.kernels.contact.collision import MESHES, SOLIDS, VARIANTS, broad_phase, find_contacts
from treesim.kernels.contact.delassus import move_bodies, place, rows_memory
from treesim.kernels.contact.layout import COUNT
from treesim.kernels.contact.near_pairs import list_all, list_near, put_boxes, sort, sweep

pytestmark = pytest.mark.nojit
MARGIN, GROUND = 2e-3, treesim.Ground()
LENGTHS = {"sphere": 1, "capsule": 2, "box": 3}
AWAY = at((0, 90, 0))
NOTHING_HELD = np.zeros(1, np.int64), np.zeros(0)


IN_NO_CONTACT = pytest.mark.filterwarnings("ignore:shapes pass through each other:treesim.ShapeWarning")


class State:
    """Bodies of a robot in one state, and memory for the contacts of a world."""

    def __init__(self, robot, tables, q, v=None):
        tree, layout = tree_tables(robot.ints, robot.reals), tables.layout.copy()
        layout[COUNT.capacity] = 1000  # more than there are
        self.touch = VARIANTS[tables.solids].tables(layout, tables.geometry)
        self.bodies, self.memory = rows_memory(tree, 1, q), contacts_memory(self.touch, q)
        place(tree, q, self.bodies)
        move_bodies(tree, self.bodies, np.zeros(robot.nv) if v is None else np.asarray(v, float))

    def near(self, dt=1e-3, margin=MARGIN):
        """Pairs that the broad phase lists."""
        n = list_near(self.touch, self.bodies, dt, margin, self.memory.near)
        return self.memory.near.pair[:n].tolist()

    def contacts(self, list_pairs, dt, found):
        """Contacts: pairs, slots, and rows of gap, point and normal."""
        m = self.memory
        n = find_contacts(self.touch, self.bodies, dt, MARGIN, found, m, MESHES._replace(near=list_pairs))
        return m.pair[:n].tolist(), m.slot[:n].tolist(), np.column_stack([m.gap[:n], m.point[:n], m.normal[:n]])


def random_rotation(rng):
    axis = rng.normal(size=3)
    return turned(axis / np.linalg.norm(axis), rng.uniform(0, 3))


def free(name, kind, size):
    return treesim.free_body(name, kind, size, 1.0)


def robot_of(rng):
    """A fixed base with two arms of three links; a shape on each, also on the base."""
    inertia, bodies, shapes = treesim.Inertia(1.0, (0, 0, 0), 0.01 * np.eye(3)), [], []
    for k in range(6):
        pose = treesim.Placement(translation=rng.normal(size=3) * 0.2)
        joint = treesim.Joint(f"j{k}", "revolute", axis=(0, 1, 0), placement=pose)
        bodies.append(treesim.Body(f"l{k}", k if k % 3 else 0, joint, inertia))
    for k, kind in enumerate(("box", "capsule", "hull", "box", "sphere", "box", "capsule")):
        pose = treesim.Placement(translation=rng.normal(size=3) * 0.1, rotation=random_rotation(rng))
        hull = rng.normal(size=(6, 3)) * 0.1 if kind == "hull" else None
        size = () if kind == "hull" else rng.uniform(0.05, 0.25, LENGTHS[kind])
        link = f"l{k - 1}" if k else "base"
        shapes.append(treesim.CollisionShape(k, pose, kind, size=tuple(size), vertices=hull, link=link))
    return treesim.Tree("robot", bodies, shapes=shapes)


def uneven(rng, rotation=None):
    """Corners and triangles of a mesh of 5 x 5 vertices."""
    x, y = np.meshgrid(np.linspace(-1, 1, 5), np.linspace(-1, 1, 5), indexing="ij")
    corners = np.stack([x, y, rng.uniform(-0.2, 0.2, x.shape)], axis=-1).reshape(-1, 3)
    first = (5 * np.arange(4)[:, None] + np.arange(4)).ravel()[:, None]
    triangles = np.vstack([first + corner for corner in ((0, 5, 6), (0, 6, 1))])
    turn = np.eye(3) if rotation is None else rotation
    return treesim.StaticMesh(
        corners, triangles, treesim.Placement(rotation=turn, translation=rng.normal(size=3) * 0.3)
    )


def world_of(rng, count):
    """A robot, `count` free bodies, perhaps one of them kinematic, and all kinds of static surfaces."""
    kinds = ["box", *rng.choice(list(LENGTHS), count - 1)]
    bodies = [free(f"b{k}", kind, rng.uniform(0.1, 0.4, LENGTHS[kind])) for k, kind in enumerate(kinds)]
    boxes = [
        treesim.StaticBox(rng.uniform(0.2, 2, 3), treesim.Placement(translation=rng.normal(size=3) * 0.5, rotation=R))
        for R in (np.eye(3), random_rotation(rng))
    ]
    heights = treesim.HeightField(rng.uniform(-0.2, 0.2, (5, 6)), (0.4, 0.3), center=rng.normal(size=2) * 0.3)
    quarter = turned((0, 0, 1), np.pi / 2)
    ground = [treesim.Ground(height=-0.3), *boxes, heights, uneven(rng, quarter), uneven(rng, random_rotation(rng))]
    kinematic = {"b0": treesim.Conveyor((1.0, 0, 0))} if rng.random() < 0.5 else None
    return treesim.World(robot_of(rng), bodies=bodies, ground=ground, self_collision=True, kinematic=kinematic)


def state_of(rng, robot, spread):
    """Joint angles, and free bodies about the origin."""
    q = robot.neutral() if robot.nq == 0 else rng.normal(size=robot.nq)
    for where in robot.q_index.values():
        if where.stop - where.start == 7:
            q[where] = at(rng.normal(size=3) * spread, random_rotation(rng))
    return q


@IN_NO_CONTACT
@pytest.mark.parametrize("bodies", [4, 12])
def test_contacts_are_those_of_all_pairs(bodies):
    """At rest, in motion, so fast that boxes are of no use; an external contact. Boxes of twelve bodies are sorted."""
    rng = np.random.default_rng(bodies)
    world, count = world_of(rng, bodies), 0
    assert world.touching.counts.boxes > 15 and world.touching.is_swept == (bodies == 12)
    for spread, speed, dt in ((0.4, 0.0, 1e-3), (1.0, 3.0, 1e-2), (0.6, 30.0, 2e-3), (0.6, 1000.0, 1e-2)):
        q, v = state_of(rng, world.robot, spread), rng.normal(size=world.robot.nv) * speed
        state, found = State(world.robot, world.touching, q, v), rng.normal(size=(2, 9))
        found[:, :2] = [[world.touching.counts.pairs - 1, 0], [-1, 0]]
        near, every = state.contacts(list_near, dt, found), state.contacts(list_all, dt, found)
        assert near[:2] == every[:2]
        np.testing.assert_array_equal(near[2], every[2])
        count += len(every[0])
    assert count > 30


def apart(count, gap=0.5, ground=GROUND):
    """A world of bodies on a grid, and their configuration."""
    bodies = [free(f"b{k}", "box", (0.2, 0.2, 0.2)) for k in range(count)]
    world, side = treesim.World(bodies[0], bodies=bodies[1:], ground=ground), round(count**0.5)
    return world, np.concatenate([at((gap * (k % side), gap * (k // side), 0.1)) for k in range(count)])


@pytest.mark.parametrize("count", [4, 25])
def test_bodies_apart_are_tested_against_the_ground_only(count):
    """Both if each pair of boxes is tested and if they are sorted; all pairs where they are close."""
    world, q = apart(count)
    assert world.touching.is_swept == (count == 25)
    assert State(world.robot, world.touching, q).near() == list(range(count))
    world, q = apart(count, gap=0.0)
    pairs = [count + 2 * (count * i + j) + way for i, j in combinations(range(count), 2) for way in range(2)]
    if not world.touching.counts.shapes:
        pairs = range(count, count * count)
    assert State(world.robot, world.touching, q).near() == [*range(count), *pairs]


def two_balls(*ground):
    """A world of two balls; pair 0 is the first one and the first ground."""
    return treesim.World(free("one", "sphere", (0.1,)), bodies=[free("other", "sphere", (0.1,))], ground=ground)


@pytest.mark.parametrize("direction", [(1, 0, 0), (0.6, 0, -0.8), (0.48, 0.64, 0.6)])
def test_balls_are_near_within_the_sum_of_radii_and_reaches(direction):
    """Of 2 margins each, since rounding errors must not count; in motion farther by its length."""
    balls = [free(f"b{k}", "sphere", (0.1,)) for k in range(3)]
    world = treesim.World(balls[0], bodies=balls[1:])
    for motion in (0.0, 5.0):
        for beyond, pairs in ((-1e-8, [0]), (1e-8, [])):
            x = (0.2 + 4 * MARGIN + 1e-3 * motion + beyond) * np.array(direction)
            q, v = np.r_[at((0, 0, 0)), at(x), at((0, 9, 0))], np.zeros(18)
            v[6] = -motion
            assert State(world.robot, world.touching, q, v).near() == pairs


def test_pairs_that_pass_the_test_of_balls_by_the_spin_of_a_solid_are_listed():
    """The test of `collision.broad_phase` takes the velocity of the solid's body at the ball, also beyond the solid."""
    world, rng, count = two_balls(treesim.StaticBox((1, 1, 1))), np.random.default_rng(5), 0
    for _ in range(100):
        direction, v = rng.normal(size=3), np.r_[np.zeros(9), rng.uniform(-50, 50, 3)]
        x = rng.uniform(0.2, 0.3) / np.linalg.norm(direction) * direction
        state = State(world.robot, world.touching, np.r_[at(x), at((0, 0, 0))], v)
        reach = broad_phase(state.touch, 2, state.bodies, transform_at(state.bodies.W, 2), 1e-3, MARGIN, SOLIDS)
        assert reach <= 0 or 2 in state.near()
        count += reach > 0
    assert 20 < count < 80


@pytest.mark.parametrize("way", [(1, 0, 0), (0, -1, 0), (0, 0, 1)])
def test_a_ball_is_near_a_static_box_within_its_reach(way):
    """The box is turned by a quarter, and 1e-5 m larger in the broad phase."""
    half, turn = np.array([0.3, 0.2, 0.1]), turned((0, 0, 1), np.pi / 2)
    box = treesim.StaticBox(2 * half, treesim.Placement(translation=(1, 2, 3), rotation=turn))
    world = two_balls(box)
    for beyond, pairs in ((-1e-8, [0]), (1e-8, [])):
        size = abs(np.array(way)) @ [0.2, 0.3, 0.1] + 0.1 + 4 * MARGIN + 1e-5 + beyond
        q = at(np.array([1, 2, 3]) + size * np.array(way))
        assert State(world.robot, world.touching, np.r_[q, AWAY]).near() == pairs


def test_a_body_below_a_height_field_is_near_and_one_beside_it_not():
    field = treesim.HeightField(np.zeros((3, 3)), (1.0, 1.0))
    world = two_balls(field)
    for x, pairs in (((0.9, 0, -1e6), [0]), ((1.2, 0, 0), []), ((0, 0, 0.2), []), ((0, 0, 0.1), [0])):
        assert State(world.robot, world.touching, np.r_[at(x), AWAY]).near() == pairs


def test_sorting_finds_the_pairs_of_testing_each():
    """Boxes in a heap, and static ones."""
    rng = np.random.default_rng(3)
    poses = [treesim.Placement(translation=rng.uniform(-1, 1, 3)) for _ in range(20)]
    world, _ = apart(12, ground=[treesim.StaticBox((0.3, 0.1, 0.2), pose) for pose in poses])
    for _ in range(5):
        q = np.concatenate([at(rng.uniform(-0.4, 0.4, 3) * (1, 1, 3)) for _ in range(12)])
        state = State(world.robot, world.touching, q, rng.normal(size=72))
        near = state.memory.near
        put_boxes(state.touch, state.bodies, 1e-3, MARGIN, near)
        each = near.pair[: near_pairs.test_all(state.touch, near, 0)].tolist()
        swept = near.pair[: sweep(state.touch, near, 0)].tolist()
        static = [k for k in each if 0 in (state.touch.pair[k, 0], state.touch.pair[k, 1])]
        assert 0 < len(static) < len(each) < 300 and sorted(swept) == sorted(each)


@pytest.mark.parametrize("count", [0, 1, 2, 7, 64, 100])
def test_sort_is_that_of_numpy(count):
    x, spare = np.random.default_rng(count).integers(0, 50, count), np.empty(count, np.int64)
    expected = np.sort(x)
    sort(x, spare, 0, count, near_pairs.is_less, 0)
    np.testing.assert_array_equal(x, expected)


@IN_NO_CONTACT
def test_pairs_with_external_contacts_are_not_listed():
    one, other = (free(name, "cylinder", (0.1, 0.2)) for name in ("one", "other"))
    world = treesim.World(one, bodies=[other])
    a, b = world.robot.shapes
    tables = touching(world.robot, (), False, False, NOTHING_HELD, convex=[(a, b)])
    assert tables.counts.pairs == 1
    assert State(world.robot, tables, np.r_[at((0, 0, 0)), at((0, 0, 0.1))]).near() == []
