"""Hulls and cylinders of bodies, by coal: against boxes in compiled code, closed forms, and towers that stand."""

import sys
import warnings

import numpy as np
import pytest

import treesim
from tests.contact.scenes import NOTHING, G, at, simulate, turned
from treesim.contact.convex_pairs import manifold, posed, spanning
from treesim.contact.convex_shapes import convex_shape

pytest.importorskip("coal")
SIDE = 0.2
CORNERS = SIDE / 2 * np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
BOX = treesim.CollisionShape(1, NOTHING, "hull", size=(), vertices=CORNERS, link="hull")
TURN = turned((0.6, 0, 0.8), 0.7)


def body(name, kind, size=(), vertices=None, mass=1.0):
    """A body of one shape that moves freely."""
    shape = treesim.CollisionShape(1, NOTHING, kind, size=size, vertices=vertices, link=name)
    inertia = treesim.Inertia(mass, (0, 0, 0), mass * SIDE**2 / 6 * np.eye(3))
    return treesim.Tree(name, [treesim.Body(name, 0, treesim.Joint(f"{name}_joint", "floating"), inertia)],
                        shapes=[shape])  # fmt: skip


def pair(upper, lower, margin=0.01):
    """The contacts (k, 7) of two shapes with their poses (R, x)."""
    return np.array(manifold(*(posed(convex_shape(s), R, np.asarray(x, float)) for s, R, x in (upper, lower)), margin))


def shape(kind, size=(), vertices=None):
    return treesim.CollisionShape(1, NOTHING, kind, size=size, vertices=vertices, link=kind)


@pytest.mark.parametrize("gap", [1e-3, 0.0, -1e-3])
@pytest.mark.parametrize(
    "upper, standing, points",
    [
        (shape("hull", (), CORNERS), np.eye(3), 4),
        (shape("cylinder", (0.05, SIDE)), np.eye(3), 4),
        (shape("cylinder", (SIDE / 2, 0.15)), turned((1, 0, 0), np.pi / 2), 2),
        (shape("capsule", (SIDE / 2, 0.1)), turned((1, 0, 0), np.pi / 2), 2),
        (shape("sphere", (SIDE / 2,)), np.eye(3), 1),
    ],
)
def test_what_stands_or_lies_on_a_face_touches_it_all_over(upper, standing, points, gap):
    """On the hull of a box, turned in space: gap and normal to rounding, points on the face that faces it."""
    x = TURN @ [0.01, -0.02, SIDE + gap]
    found = pair((upper, TURN @ standing, x), (BOX, TURN, np.zeros(3)))
    assert len(found) == points
    np.testing.assert_allclose(found[:, 0], gap, atol=1e-8)
    np.testing.assert_allclose(found[:, 4:], np.tile(TURN[:, 2], (points, 1)), atol=1e-7)
    np.testing.assert_allclose(found[:, 1:4] @ TURN[:, 2], SIDE / 2 + gap / 2, atol=1e-7)


def test_a_tilted_hull_is_as_near_at_each_point_as_that_point_is():
    """Tilted by 2 mrad about an edge of its lower face: 0 there, 0.4 mm at the other."""
    tilt = turned((0, 1, 0), 2e-3)
    x = [SIDE / 2, 0, SIDE / 2] - tilt @ [SIDE / 2, 0, -SIDE / 2]
    found = pair((BOX, tilt, x), (BOX, np.eye(3), np.zeros(3)))
    assert len(found) == 4
    np.testing.assert_allclose(np.sort(found[:, 0]), [0, 0, 4e-4, 4e-4], atol=1e-8)


def test_a_vertex_meets_a_face_and_edges_cross():
    corner = np.array([1, 1, 1]) / np.sqrt(3)
    axis = np.cross(corner, [0, 0, -1.0])
    on_end = turned(axis / np.linalg.norm(axis), np.arccos(corner @ [0, 0, -1.0]))
    high = SIDE / 2 * (1 + np.sqrt(3)) + 1e-3
    ((gap, *point, nx, ny, nz),) = pair((BOX, on_end, [0.02, 0.03, high]), (BOX, np.eye(3), np.zeros(3)))
    assert gap == pytest.approx(1e-3, abs=1e-6)
    np.testing.assert_allclose([*point, nx, ny, nz], [0.02, 0.03, SIDE / 2 + 5e-4, 0, 0, 1], atol=1e-5)
    edges = turned((1, 0, 0), np.pi / 4), turned((0, 1, 0), np.pi / 4)
    ((gap, *_, nx, ny, nz),) = pair((BOX, edges[0], [0, 0, np.sqrt(2) * SIDE - 1e-3]), (BOX, edges[1], np.zeros(3)))
    assert gap == pytest.approx(-1e-3, abs=1e-6) and nz == pytest.approx(1, abs=1e-6)


def test_four_of_many_points_keep_the_deepest_and_the_area():
    angle = np.linspace(0, 2 * np.pi, 12, endpoint=False)
    disc = np.column_stack([np.cos(angle), np.sin(angle), 0 * angle])
    gaps = np.where(np.arange(12) == 7, -1.0, 0.0)
    kept = spanning(disc, gaps, np.array([0, 0, 1.0]))
    x, y = disc[kept, :2].T
    assert 7 in kept and len(kept) == 4
    assert abs(np.sum(x * np.roll(y, -1) - y * np.roll(x, -1))) / 2 > 1.8  # a square inscribed has 2


def tower(kinds, **options):
    """Bodies on one another, each turned a little against the one below."""
    bodies = [body(f"b{k}", *kind) for k, kind in enumerate(kinds)]
    world = treesim.World(
        bodies[0], bodies=bodies[1:], ground=treesim.Ground(), surface=treesim.Surface(friction=0.5),
        collision="coal", **options,
    )  # fmt: skip
    places = {
        f"b{k}_joint": (0.01 * k, 0.005 * k, (k + 0.5) * SIDE, 0, 0, np.sin(0.1 * k), np.cos(0.1 * k))
        for k in range(len(bodies))
    }
    return world, world.robot.configuration(places)


HULL, BARREL, CRATE = ("hull", (), CORNERS), ("cylinder", (0.1, SIDE)), ("box", (SIDE,) * 3)


@pytest.mark.parametrize("duration", [0.05, pytest.param(3.0, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kinds", [(HULL,) * 3, (CRATE, HULL, BARREL), (BARREL,) * 3])
def test_a_tower_of_hulls_stands(kinds, duration):
    world, q = tower(kinds)
    run = treesim.Simulation(world, substeps=1).run(duration, q0=q)
    assert np.abs(run.q[-1] - q).max() < 1e-6
    assert run.penetration.max() < 1e-7 and run.energy_certificate.max() < 1e-8
    assert run.contact_wrench("b1", "b2")[-2, 2] == pytest.approx(-G, rel=1e-5)
    assert run.contact_wrench("b0", "ground")[-2, 2] == pytest.approx(3 * G, rel=1e-5)


def test_a_cube_shaped_hull_slides_and_falls_as_a_box_does():
    """The same scene with boxes in compiled code, without friction, whose shares at four points are not unique."""
    slab = treesim.free_body("slab", "box", (2, 2, 0.1), 1e6)
    runs = []
    for kind in (HULL, CRATE):
        world = treesim.World(
            slab, bodies=[body("crate", *kind)], ground=treesim.Ground(friction=1.0),
            surface=treesim.Surface(friction=0.0), collision="coal",
        )  # fmt: skip
        q = np.r_[at((0, 0, 0.05)), at((0.1, 0.05, 0.1 + SIDE / 2), turned((0, 0, 1), 0.3))]
        runs.append(simulate(world, q, [0] * 6 + [1.0, 0.3, 0, 0, 0, 0.5], duration=0.15))
    np.testing.assert_allclose(runs[0].q, runs[1].q, rtol=0, atol=1e-7)
    assert runs[0].solver_info[:, 3].max() >= 8 and runs[0].q[-1, 7] > 0.15


def test_rollouts_and_batches_take_the_same_steps():
    world, q = tower((HULL, HULL))
    start = np.stack([q, q])
    start[1, 9] += 1e-3
    run = treesim.rollout(world, start, np.zeros((2, 12)), dt=1e-3, steps=5, substeps=1)
    stepper = treesim.Stepper(world, substeps=1)
    state = stepper.reset(start)
    for _ in range(5):
        state, _ = stepper.step(state)
    np.testing.assert_allclose(run.q[:, -1], state.q, rtol=0, atol=1e-12)
    one = stepper.reset(start[0])
    for _ in range(5):
        one, _ = stepper.step(one)
    np.testing.assert_allclose(one.q, state.q[0], rtol=0, atol=1e-12)


def test_a_start_inside_another_body_is_refused():
    world, q = tower((HULL, HULL))
    q[9] -= 0.05
    with pytest.raises(treesim.ArgumentError, match=r"'b0' 0.05 m inside 'b1'"):
        treesim.Stepper(world).reset(q)


def test_links_that_touch_in_the_neutral_pose_never_meet():
    """Two hulls a joint apart overlap at q = 0: they are left out; the third, farther out, meets the first."""
    inertia, shapes, bodies = treesim.Inertia(1.0, (0, 0, 0), np.eye(3)), [], []
    for k in range(4):
        at_end = treesim.Placement(translation=(0.0 if not k else 0.15, 0, 0))
        bodies.append(
            treesim.Body(f"l{k}", k, treesim.Joint(f"j{k}", "revolute", placement=at_end, axis=(0, 1, 0)), inertia)
        )
        shapes.append(
            treesim.CollisionShape(k + 1, NOTHING, "hull", size=(), vertices=0.8 * CORNERS * [2, 1, 1], link=f"l{k}")
        )
    chain = treesim.Tree("chain", bodies, shapes=shapes)
    world = treesim.World(chain, self_collision=True, collision="coal")
    assert {(a.link, b.link) for a, b in world.convex.pairs} == {("l0", "l3")}


def test_without_coal_worlds_tell_what_passes_through_what(monkeypatch):
    monkeypatch.setitem(sys.modules, "coal", None)
    first, second = body("first", *HULL), body("second", *BARREL)
    with pytest.raises(treesim.ArgumentError, match="python -m pip install coal"):
        treesim.World(first, bodies=[second], collision="coal")
    with pytest.warns(treesim.ShapeWarning, match=r"hull of 'first' and cylinder of 'second'.*pip install"):
        treesim.World(first, bodies=[second])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        treesim.World(body("third", *CRATE), bodies=[body("fourth", "capsule", (0.1, 0.2))])


def test_a_flat_hull_is_refused_with_its_link():
    flat = body("leaf", "hull", (), CORNERS[:4] * [0, 1, 1])
    with pytest.raises(treesim.ArgumentError, match="'leaf': its hull is flat"):
        treesim.World(flat, bodies=[body("other", *HULL)], collision="coal")


def test_collision_is_coal_or_none():
    with pytest.raises(treesim.ArgumentError, match='collision must be None or "coal"'):
        treesim.World(body("b", *HULL), collision="fcl")


@pytest.mark.parametrize("stiffness", [1e3, 1e4])
def test_springs_between_hulls_are_in_the_balance(stiffness):
    """Of two cubes that meet without gravity; gaps at the end of a step are those along its rows."""
    one, two = (body(name, "hull", vertices=CORNERS) for name in ("one", "two"))
    world = treesim.World(
        one, bodies=[two], surface=treesim.Surface(stiffness=stiffness, friction=0.0), collision="coal"
    )
    q, v = np.r_[at((0, 0, 0)), at((0.01, 0.02, SIDE + 0.01))], np.r_[np.zeros(8), -1.0, np.zeros(3)]
    run = treesim.Simulation(world, substeps=1, gravity=(0, 0, 0)).run(0.4, q, v)
    assert run.v[-1, 2] < -0.5, "they have met"
    assert abs(run.energy_error).max() < 1e-4 * run.energy[0], "half of it is in the springs on the way"
