"""Limits of contact: just below, and just above."""

from types import SimpleNamespace

import numpy as np
import pytest

import treesim
from tests.contact.scenes import at, ball, shape
from treesim import ArgumentError, Ground, HeightField, StaticBox, StaticMesh, World
from treesim.contact import convex_pairs, standing
from treesim.contact.convex_pairs import ConvexPairs, along_face, unmet
from treesim.contact.convex_shapes import ConvexShape
from treesim.contact.hull_faces import face_planes
from treesim.contact.mesh_heights import height_table, upper_heights
from treesim.contact.mesh_tables import has_area
from treesim.contact.overlaps import overlapping

SHEET = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]])


@pytest.mark.parametrize(
    "make",
    [
        lambda length: Ground(height=-length),
        lambda length: HeightField([[0.0, 0.0], [0.0, length]]),
        lambda length: HeightField(np.zeros((2, 2)), center=(length, 0)),
        lambda length: StaticBox((length, 1, 1)),
        lambda length: StaticMesh(SHEET + np.array([length, 0, 0]), [[0, 1, 2]]),
    ],
    ids=["Ground", "heights", "centre", "StaticBox", "StaticMesh"],
)
def test_surfaces_are_within_a_million_kilometres(make):
    make(0.96e9)
    with pytest.raises(ArgumentError, match=r"1e\+?09"):
        make(1.04e9)


@pytest.mark.parametrize(
    "make",
    [
        lambda length: StaticBox((length, 1, 1)),
        lambda length: HeightField(np.zeros((2, 2)), spacing=(length, 0.1)),
        lambda length: HeightField.from_mesh((SHEET, [[0, 1, 2]]), spacing=(1, length)),
    ],
    ids=["StaticBox", "HeightField", "HeightField of a mesh"],
)
def test_lengths_are_a_nanometre_at_least(make, monkeypatch):
    monkeypatch.setattr("treesim.contact.height_field.field_of_mesh", lambda *_: (np.zeros((2, 2)), (1, 1), (0, 0)))
    make(1.04e-9)
    with pytest.raises(ArgumentError, match="positive lengths"):
        make(0.96e-9)


@pytest.mark.parametrize(("height", "kept"), [(0.96e-9, False), (1.04e-9, True)])
def test_triangles_without_height_have_no_area(height, kept):
    assert has_area(np.array([[[0, 0, 0], [1, 0, 0], [0.5, height, 0]]])).tolist() == [kept]


@pytest.mark.parametrize(("angle", "bend"), [(0.96e-5, 0), (1.04e-5, 1), (-0.96e-5, 0), (-1.04e-5, -1)])
def test_edges_that_hardly_bend_are_flat(angle, bend):
    roof = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, -1, -np.tan(angle)]]
    edges = StaticMesh(roof, [[0, 1, 2], [1, 0, 3]]).edges
    assert edges.bends[edges.others >= 0].tolist() == [bend]


@pytest.mark.parametrize(("gap", "loose"), [(0.96e-6, 1), (1.04e-6, 0)])
def test_vertices_so_near_an_edge_lie_on_it(gap, loose):
    """Of two triangles that begin at the edge of another one, but not at its ends."""
    vertices = [*SHEET, [0.4, -gap, 0], [0.4, -1, 0], [0.6, -1, 0]]
    assert len(StaticMesh(vertices, [[0, 1, 2], [3, 4, 5]]).edges.loose_vertices()) == loose


@pytest.mark.parametrize(("beside", "found"), [(0.96e-9, True), (1.04e-9, False)])
def test_a_mesh_has_heights_up_to_its_border(beside, found):
    table = height_table(SHEET[None])
    x, y = np.array([-beside, 0.3, 0.5 + beside / 2]), np.array([0.3, -beside, 0.5 + beside / 2])
    assert (np.isfinite(upper_heights(table, x, y)) == found).all()


@pytest.mark.parametrize(("slope", "triangles"), [(0.96e-12, 0), (1.04e-12, 1)])
def test_upright_triangles_have_no_height(slope, triangles):
    assert len(height_table(np.array([[[0, 0, 0], [1, 0, 0], [0, slope, 1]]])).triangles) == triangles


@pytest.mark.parametrize(("gap", "touches"), [(0.96e-9, True), (1.04e-9, False)])
def test_shapes_so_near_each_other_touch(gap, touches):
    """A ball on a box, in compiled code; and hulls, whose gaps another library computes."""
    world = World(ball(), ground=StaticBox((1, 1, 1), treesim.Placement(translation=(0, 0, -0.5))))
    depths = overlapping(world.robot, world.touching, at((0, 0, 0.1 + gap)))
    assert depths == ({0: pytest.approx(-gap, rel=1e-6)} if touches else {})
    hulls = object.__new__(ConvexPairs)
    hulls.robot, hulls.pairs, hulls.first = world.robot, [(None, None)], 7
    hulls._contacts = lambda now, then: [[7, 0, gap, *np.zeros(6)]]
    assert hulls.depths(at((0, 0, 0))) == ({0: -gap} if touches else {})


@pytest.mark.parametrize(("part", "turned"), [(4.8e-7, True), (5.2e-7, False)])
def test_normals_near_a_face_are_its_own(part, turned):
    up, angle = np.array([0, 0, 1.0]), np.arccos(1 - part)
    face = SimpleNamespace(shape=SimpleNamespace(normals=up[None]), R=np.eye(3))
    n = np.array([np.sin(angle), 0, np.cos(angle)])
    assert np.array_equal(along_face(n, face, face), up if turned else n)


@pytest.mark.parametrize(("pairs", "more"), [(3, ""), (4, ", and 1 more pairs")])
def test_pairs_that_do_not_meet_are_named(pairs, more):
    text = unmet([(shape("hull", vertices=np.eye(3)), shape("cylinder", (0.1, 0.2)))] * pairs)
    assert text.count("hull of 'hull' and cylinder of 'cylinder'") == 3 and f"'cylinder'{more}. Hulls" in text


@pytest.mark.parametrize(("points", "kept"), [(4, 4), (5, 2)])
def test_four_contacts_of_hulls_are_kept(points, kept):
    """Of more, those that span their area: of points in a line, its ends."""
    line = np.outer(np.arange(points), [1.0, 0, 0])
    assert len(convex_pairs.spanning(line, np.zeros(points), np.array([0, 0, 1.0]))) == kept


@pytest.mark.parametrize(("pairs", "room"), [(1023, 4092), (1025, 4096)])
def test_contacts_of_hulls_have_room(pairs, room, monkeypatch):
    monkeypatch.setattr(convex_pairs, "require_coal", lambda: None)
    one = SimpleNamespace(rotation=np.eye(3), translation=np.zeros(3), center=np.zeros(3), radius=0.1)
    monkeypatch.setattr(convex_pairs, "convex_shape", lambda shape: one)
    robot, q = ball(), at((0, 0, 0))
    hulls = ConvexPairs(robot, [(robot.shapes[0], shape("sphere", (0.1,)))] * pairs, 0)
    monkeypatch.setattr(hulls, "_contacts", lambda now, then: [])
    assert hulls.found(q, q).shape == (room, 9)


def stepped(z, v):
    """Rise [m] and speed [m/s] of a ball of 0.1 m at height z without gravity, after a step of 1 ms."""
    world = World(ball(), ground=Ground(restitution=0.5))
    stepper = treesim.Stepper(world, 1e-3, substeps=1, gravity=(0, 0, 0))
    state, _ = stepper.step(stepper.reset(at((0, 0, z)), [0, 0, v, 0, 0, 0]))
    return float(state.q[2] - z), float(state.v[2])


def test_impacts_faster_than_five_centimetres_a_second_bounce():
    assert stepped(0.1, -0.048)[1] == pytest.approx(0, abs=1e-12)
    assert stepped(0.1, -0.052)[1] == pytest.approx(0.026)


@pytest.mark.filterwarnings("ignore::treesim.ContactWarning")
def test_a_step_opens_a_fifth_of_an_overlap_at_one_metre_a_second_at_most():
    """A step of 1 ms opens 1 mm at most: that of an overlap of 5 mm."""
    shallow, deep, deepest = (stepped(0.1 - depth, 0.0)[0] for depth in (4.8e-3, 5.2e-3, 15e-3))
    assert 0 < shallow < 0.99 * deep and deep == pytest.approx(deepest, rel=1e-9)
    left, opened = (stepped(0.1 - depth, 0.0)[0] for depth in (0.96e-5, 1.04e-5))
    assert abs(left) < 1e-12 and opened == pytest.approx(0.2 * 0.04e-5, rel=0.01)


@pytest.mark.parametrize(("cosine", "distance"), [(0.96e-9, np.inf), (1.04e-9, 1.0 / 1.04e-9)])
def test_a_ray_along_a_face_does_not_leave_through_it(cosine, distance):
    face = np.array([[cosine, 0.0, 1.0]])
    shape = ConvexShape(None, np.zeros(3), 1.0, np.eye(3), np.zeros(3), face, np.ones(1))
    assert shape.exits(np.zeros((1, 3)), np.array([1.0, 0, 0])) == pytest.approx(distance)


@pytest.mark.parametrize(("square", "leaves"), [(0.96e-9, False), (1.04e-9, True)])
def test_a_ray_along_a_cylinder_does_not_leave_through_its_side(square, leaves):
    shape = ConvexShape(
        None, np.zeros(3), 1.0, np.eye(3), np.zeros(3), np.zeros((0, 3)), np.zeros(0), half_length=1.0, roundness=0.5
    )
    d = np.array([np.sqrt(square), 0, 1.0])
    assert np.isfinite(shape.exits(np.zeros((1, 3)), d)).all() == leaves


@pytest.mark.parametrize(("apart", "faces"), [(0.48e-9, 1), (0.52e-9, 2)])
def test_triangles_of_one_face_have_one_plane(apart, faces, monkeypatch):
    planes = np.array([[0, 0, 1.0, 0.0], [0, 0, 1.0, apart]])
    monkeypatch.setattr("scipy.spatial.ConvexHull", lambda vertices: SimpleNamespace(equations=planes))
    assert len(face_planes(SHEET)) == faces


@pytest.mark.parametrize(("beside", "found"), [(0.96e-9, True), (1.04e-9, False)])
def test_the_grid_of_a_mesh_has_a_margin(beside, found):
    table = StaticMesh(SHEET, [[0, 1, 2]]).table
    assert (len(table.triangles_at(np.array([-beside, 0.5, 0.0]))) > 0) == found


@pytest.mark.parametrize(
    ("rooms", "steps"),
    [([0.96e-12], []), ([1.04e-12, 0.0], [1.04e-12]), ([0.048, 0.0], [0.048]), ([0.052, 0.002, 0.0], [0.05, 0.002])],
)
def test_a_robot_is_set_down_by_five_centimetres_at_a_time_until_it_touches(rooms, steps, monkeypatch):
    left, moves, margins = iter(rooms), [], set()

    def gaps(robot, tables, q, up, margin):
        margins.add(margin)
        return SimpleNamespace(room=np.array([next(left)]))

    monkeypatch.setattr(standing, "standing", lambda robot, q, ground: q)
    monkeypatch.setattr(standing, "pair_gaps", gaps)
    monkeypatch.setattr(standing, "moved", lambda robot, q, up, way: moves.append(-way) or q)
    StaticBox((1, 1, 1)).set_down(ball(), at((0, 0, 1)))
    assert moves == pytest.approx(steps, abs=0) and margins == {0.05}


def test_shapes_on_terrain_have_96_candidates_of_which_32_count():
    """As the table for kernels tells: slots of all contacts, and most candidates of one pair."""
    touching = World(ball(), ground=HeightField(np.zeros((3, 3)))).touching
    assert touching.layout[5:7].tolist() == [32, 96]
