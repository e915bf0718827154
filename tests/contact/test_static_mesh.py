"""Static meshes: what they are made of, which are refused, and robots, rollouts and files with them."""

import pickle

import numpy as np
import pytest

import treesim
from tests.contact.meshes import of_box, of_field, of_profile, of_torus, together
from tests.contact.scenes import at, cube, turned
from treesim import ArgumentError, Placement, ShapeWarning, StaticMesh

CORNERS = np.array([[0, 0, 0], [2, 0, 0], [2, 1, 0], [0, 1, 0], [1, 1, 0], [0, 2, 0], [2, 2, 0]], float)
SQUARE = [[0, 1, 2], [0, 2, 3]]


@pytest.mark.parametrize(
    ("vertices", "triangles", "text"),
    [
        (CORNERS, [[0, 1, 2], [0, 1, 7]], r"triangle 1 has vertices \[0, 1, 7\], but they are 0 to 6"),
        (CORNERS, [[0, 1, -2]], "triangle 0 has vertices"),
        (CORNERS, [[0.0, 1.0, 2.0]], "whole numbers of shape"), (CORNERS, [[0, 1], [1]], "indices of vertices"),
        (CORNERS, np.zeros((0, 3), int), "one or more"), (CORNERS[:, :2], SQUARE, r"shape \(n, 3\), got \(7, 2\)"),
        (np.where(CORNERS == 2, np.nan, CORNERS), SQUARE, "finite, .*vertex 1 is"),
        (1e9 * CORNERS, SQUARE, "none beyond 1e.09 m, but vertex 1"),
        (CORNERS, [[0, 1, 1], [3, 4, 2]], "none of the triangles has an area"),
        (CORNERS, [[0, 1, 2], [1, 0, 3], [0, 1, 5]], r"0, 1, 2 share the edge from \(0, 0, 0\) to \(2, 0, 0\).*inner"),
        (CORNERS, [[0, 1, 2], [0, 3, 2]], "0 and 1 face opposite ways .*counterclockwise.*Reverse"),
    ],
)  # fmt: skip
def test_what_is_no_surface_is_refused_with_its_place(vertices, triangles, text):
    with pytest.raises(ArgumentError, match=text):
        StaticMesh(vertices, triangles)


def test_triangles_without_area_are_dropped_and_counted():
    with pytest.warns(ShapeWarning, match="2 of 4 triangles .*the first is triangle 1"):
        mesh = StaticMesh(CORNERS, [[0, 1, 2], [0, 1, 1], [3, 4, 2], [0, 2, 3]])
    assert np.array_equal(mesh.triangles, SQUARE)


def test_triangles_side_by_side_without_common_vertices_are_noticed_but_not_walls():
    assert StaticMesh(CORNERS, [*SQUARE, [3, 4, 5], [4, 2, 6], [4, 6, 5]]).edges.has_internal_edges
    assert StaticMesh(*together(of_box((1, 1, 1)), of_box((1, 1, 1), (3, 0, 0)))).edges.has_internal_edges
    wall = np.vstack([CORNERS[:4], [[0, 1, 1], [2, 1, 1], [1, 1, 0]]])
    assert not StaticMesh(wall, [*SQUARE, [3, 2, 5], [3, 5, 4]]).edges.has_internal_edges
    assert not StaticMesh(*of_box((1, 1, 1))).edges.has_internal_edges


def test_equal_vertices_are_one_so_that_a_file_of_single_triangles_is_a_surface(tmp_path):
    vertices, triangles = of_box((1, 1, 0.2))
    assert StaticMesh(vertices[triangles].reshape(-1, 3), np.arange(36).reshape(12, 3)).edges.closed
    facets = "".join(
        "facet normal 0 0 0\nouter loop\n" + "".join(f"vertex {x} {y} {z}\n" for x, y, z in vertices[t]) + "endloop\n"
        "endfacet\n" for t in triangles
    )  # fmt: skip
    (tmp_path / "box.stl").write_text(f"solid box\n{facets}endsolid box\n", encoding="utf-8")
    mesh = StaticMesh.from_file(tmp_path / "box.stl", scale=0.5, friction=0.3, name="box")
    assert mesh.edges.closed and (mesh.friction, mesh.name) == (0.3, "box") and len(mesh.triangles) == 12
    np.testing.assert_allclose(np.abs(mesh.vertices).max(axis=0), (0.25, 0.25, 0.05), atol=1e-7)
    with pytest.raises(ArgumentError, match="scale"):
        StaticMesh.from_file(tmp_path / "box.stl", scale=-1)
    with pytest.raises(ArgumentError, match="file"):
        StaticMesh.from_file(3)
    with pytest.raises(treesim.ModelError, match=r"no\.stl"):
        StaticMesh.from_file(tmp_path / "no.stl")


def test_a_mesh_is_compared_by_its_numbers_and_pickled():
    made = [StaticMesh(*of_box((1, 1, 0.2)), friction=mu) for mu in (0.3, 0.3, 0.4)]
    assert made[0] == made[1] != made[2] and hash(made[0]) == hash(made[1])
    again = pickle.loads(pickle.dumps(made[0]))
    assert again == made[0] and np.array_equal(again.table.numbers, made[0].table.numbers)
    assert repr(made[0]) == "<StaticMesh: 12 triangles at (0, 0, 0), friction 0.3, restitution 0, rigid>"
    with pytest.raises(ValueError, match="read-only"):
        made[0].vertices[0] = 0


FLAT = of_field(treesim.HeightField(np.zeros((41, 41))))


@pytest.mark.parametrize("mesh", [FLAT, of_box((4, 4, 4), (0, 0, -2))], ids=["open", "closed"])
@pytest.mark.parametrize("z", [0.02, 0.0, -0.04, -0.06, -0.2, -1.5])
def test_a_start_inside_a_mesh_is_refused_however_deep(mesh, z):
    place = Placement(turned((0.6, 0.8, 0), 0.3), (1.0, 2.0, 3.0))
    world = treesim.World(cube(), ground=StaticMesh(*mesh, place, name="rock"))
    q0 = at(place.rotation @ (0.03, 0.02, z) + place.translation, place.rotation)
    with pytest.raises(ArgumentError, match=r"'box' .* m inside 'rock'"):
        treesim.Simulation(world).run(0.001, q0)


def test_a_start_between_two_sheets_or_under_a_roof_is_none_inside():
    roof = of_box((2, 2, 0.1), (0, 0, 1.0))
    for mesh in (roof, together(FLAT, roof), together(FLAT, (FLAT[0] + (0, 0, 1), FLAT[1]))):
        treesim.Simulation(treesim.World(cube(), ground=StaticMesh(*mesh))).run(0.001, at((0.03, 0.02, 0.5)))


def test_points_inside_a_torus_are_told_from_those_outside():
    mesh, rng = StaticMesh(*of_torus(0.5, 0.2, 60, 60)), np.random.default_rng(0)
    points = rng.uniform((-0.8, -0.8, -0.25), (0.8, 0.8, 0.25), size=(300, 3))
    distance = np.hypot(np.hypot(points[:, 0], points[:, 1]) - 0.5, points[:, 2])
    clear = np.abs(distance - 0.2) > 1e-2
    inside = np.array([mesh._depth_of(p) > 0 for p in points])
    assert (inside == (distance < 0.2))[clear].all() and 30 < inside.sum() < 270


@pytest.mark.slow
def test_every_way_to_step_agrees_and_rollouts_of_several_states_too():
    """A cube tumbles down stairs, by Simulation, Stepper, rollout and BatchStepper."""
    stairs = [(-1.0, 0.3), (0, 0.3), (0, 0.15), (0.3, 0.15), (0.3, 0), (2, 0)]
    mesh = StaticMesh(*of_profile(stairs, (-1, 0, 1)), Placement(translation=(0, 0, -0.1)), friction=0.5)
    world, steps = treesim.World(cube(), ground=mesh), 150
    q0 = np.array([treesim.standing(cube(), at((x, 0.02, 1.0)), mesh) for x in (-0.02, -0.1)])
    v0 = np.array([[1.5, 0, 0, 0, 3.0, 0.2], [2.0, 0.1, 0, 0, 0, 0]])
    runs = [treesim.Simulation(world, dt=1e-3).run(0.001 * steps, q, v) for q, v in zip(q0, v0, strict=True)]
    ends = np.array([run.q[-1] for run in runs])
    assert all(run.contact.solver_info[:, 3].any() for run in runs) and ends[0, 2] < q0[0, 2] - 0.05
    rolled = treesim.rollout(world, q0, v0, steps=steps, dt=1e-3)
    np.testing.assert_allclose(rolled.q[:, -1], ends, rtol=0, atol=1e-9)
    batch = treesim.BatchStepper(world, 2, 1e-3, steps=steps)
    batch.put(slice(None), q0, v0)
    batch.step()
    assert np.array_equal(batch.q, rolled.q[:, -1])
    stepper = treesim.Stepper(world, 1e-3)
    state = stepper.reset(q0[0], v0[0])
    for _ in range(steps):
        state, _ = stepper.step(state)
    np.testing.assert_allclose(state.q, ends[0], rtol=0, atol=1e-9)
