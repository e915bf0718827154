"""Shapes on static meshes: as on planes, height fields and static boxes that have the same surface."""

import warnings
from itertools import product

import numpy as np
import pytest

import treesim
from tests.contact.meshes import of_box, of_field, of_profile, of_torus, together
from tests.contact.scenes import at, ball, cube, free_body, shape, simulate, turned
from tests.kernels.contact.test_collision import contacts, nearest_in
from treesim import Ground, HeightField, Placement, StaticBox, StaticMesh

HULL = np.array(list(product((-0.2, 0.2), (-0.2, 0.2), (-0.05, 0.05))))
BODIES = {
    "ball": ball(),
    "cube": cube(),
    "capsule": free_body(1.0, 0.01, shape("capsule", (0.05, 0.4))),
    "hull": free_body(1.0, 0.014, shape("hull", (), vertices=HULL)),
    "cylinder": free_body(1.0, 0.014, shape("cylinder", (0.2, 0.1))),
}
FLOOR = np.array([[-4, -4, 0], [4, -4, 0], [4, 4, 0], [-4, 4, 0]], float), np.array([[0, 1, 2], [0, 2, 3]])
FINE = of_field(HeightField(np.zeros((21, 21))))


@pytest.fixture(autouse=True)
def no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error", treesim.ShapeWarning)
        yield


def attitude(rng):
    axis = rng.normal(size=3)
    return turned(axis / np.linalg.norm(axis), rng.uniform(0, 3))


def above(robot, surface, rng, x=(-0.3, 0.3), height=0.02):
    """A random attitude over a surface."""
    q = treesim.standing(robot, at((rng.uniform(*x), 0.1, 2.0), attitude(rng)), surface)
    return q + np.r_[0, 0, height, np.zeros(4)]


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("size", [0.02, 0.06])
def test_triangles_of_a_height_field_move_a_body_as_the_field_does(name, size):
    rng = np.random.default_rng(3)
    field = HeightField(size * rng.normal(size=(31, 31)))
    mesh, robot = StaticMesh(*of_field(field)), BODIES[name]
    met = 0
    for seed in range(3):
        rng = np.random.default_rng(seed)
        q0, v0 = above(robot, field, rng), rng.normal(size=6)
        runs = [simulate(treesim.World(robot, ground=ground), q0, v0, duration=0.15) for ground in (field, mesh)]
        np.testing.assert_allclose(runs[1].q, runs[0].q, rtol=0, atol=1e-9)
        lifted, down = q0.copy(), np.array([0, 0, -0.02, 0, 0, 0, 0])
        lifted[2] += 1
        assert treesim.standing(robot, lifted, mesh) == pytest.approx(q0 + down)
        met += runs[1].solver_info[:, 3].max() > 0
    assert met >= 2


@pytest.mark.parametrize("name", BODIES)
def test_a_tilted_mesh_is_a_tilted_plane_over_all_its_inner_edges(name):
    R, robot = turned((0.6, 0.8, 0), 0.3), BODIES[name]
    start = np.array([-0.3, 0.02, {"ball": 0.1, "capsule": 0.25}.get(name, 0.05)])
    q0, v0 = at(R @ start, R if name != "ball" else None), np.array([1.5, 0.4, 0, 0, 0, 0.5])
    if name == "ball":  # it rolls
        v0 = np.r_[R @ (1.5, 0.4, 0), R @ (-4.0, 15.0, 0)]
    grounds = (
        Ground(friction=0.4, normal=R[:, 2]), StaticMesh(*FINE, Placement(R), friction=0.4),
        StaticMesh(FINE[0] @ R.T, FINE[1], friction=0.4),
    )  # fmt: skip
    worlds = [treesim.World(robot, ground=ground, contact_tolerance=1e-11) for ground in grounds]
    plane, placed, turned_vertices = (simulate(world, q0, v0, duration=0.25) for world in worlds)
    for run in (placed, turned_vertices):
        np.testing.assert_allclose(run.q, plane.q, rtol=0, atol=1e-12 if name == "ball" else 1e-8)
    assert np.linalg.norm(plane.q[-1, :3] - plane.q[0, :3]) > 0.2


STAIRS = [(-2.0, 0.0)] + [(0.3 * (k // 2), 0.12 * ((k + 1) // 2)) for k in range(6)] + [(2.0, 0.36)]
STEPS = [StaticBox((2 - x, 4, 1), Placement(translation=(1 + x / 2, 0, z - 0.5))) for x, z in STAIRS[2:-1:2]]
STEPS.append(StaticBox((2, 4, 1), Placement(translation=(-1, 0, -0.5))))


@pytest.mark.parametrize("name", BODIES)
def test_stairs_of_triangles_are_stairs_of_boxes(name):
    """A cube's edge over an edge of a StaticBox has a contact of its own, at another point while there is a gap."""
    mesh, robot, met = StaticMesh(*of_profile(STAIRS, (-2, -0.5, 0.2, 2))), BODIES[name], 0
    for seed in (0, 1, 2):
        rng = np.random.default_rng(seed)
        q0, v0 = above(robot, mesh, rng, (-0.1, 0.9)), 0.5 * rng.normal(size=6)
        runs = [simulate(treesim.World(robot, ground=ground), q0, v0, duration=0.15) for ground in (STEPS, mesh)]
        np.testing.assert_allclose(runs[1].q, runs[0].q, rtol=0, atol=2e-3 if name == "cube" else 1e-5)
        met += runs[1].solver_info[:, 3].max() > 0
    assert met >= 2


@pytest.mark.parametrize("name", BODIES)
def test_a_closed_box_of_triangles_is_met_from_all_sides(name):
    """Bodies fly at it: the energy falls, and overlaps are as small as on a StaticBox."""
    place = Placement(turned((0, 0.6, 0.8), 0.3), (0.1, 0, 0.5))
    mesh, robot = StaticMesh(*of_box((1, 1, 0.2)), place), BODIES[name]
    for side in (*np.eye(3), *-np.eye(3)):
        q0 = at(place.translation + 1.0 * place.rotation @ side)
        v0 = np.r_[-4 * place.rotation @ side, 1.0, 2.0, -1.0]
        runs = [
            simulate(treesim.World(robot, ground=ground), q0, v0, duration=0.25, gravity=(0, 0, 0))
            for ground in (StaticBox((1, 1, 0.2), place), mesh)
        ]
        deepest = [run.solver_info[:, 0].max() for run in runs]
        assert deepest[1] <= max(2 * deepest[0], 5e-4) and runs[1].solver_info[:, 3].max() > 0
        assert np.diff(runs[1].energy).max() < 1e-9
        assert (runs[1].q[-1, :3] - place.translation) @ (place.rotation @ side) > 0.1


@pytest.mark.parametrize("name", ["ball", "cube"])
def test_a_thin_roof_is_met_from_below_and_passed_under(name):
    roof, robot = together(FLOOR, of_box((2, 2, 0.02), (0, 0, 0.3))), BODIES[name]
    low = 0.1 if name == "ball" else 0.05
    mesh, floor = StaticMesh(*roof, friction=0.5, restitution=0.7), Ground(friction=0.5, restitution=0.7)
    q0, v0 = at((-1.3, 0.02, low)), [3.0, 0.1, 0, -1.0, 30.0, 0] if name == "ball" else [3.0, 0.1, 0, 0, 0, 0]
    runs = [simulate(treesim.World(robot, ground=ground), q0, v0, duration=0.5) for ground in (mesh, floor)]
    np.testing.assert_allclose(runs[0].q, runs[1].q, rtol=0, atol=1e-9)
    assert runs[0].q[-1, 0] > -0.9
    ceiling = Ground(friction=0.5, restitution=0.7, normal=(0, 0, -1), height=-0.29)
    q0, v0 = at((-0.5, 0.02, 0.15)), [0.3, 0, 3.0, 0, 0, 0]
    runs = [simulate(treesim.World(robot, ground=g), q0, v0, duration=0.3) for g in (mesh, [floor, ceiling])]
    np.testing.assert_allclose(runs[0].q, runs[1].q, rtol=0, atol=1e-9)
    assert runs[0].q[:, 2].max() == pytest.approx(0.29 - low, abs=0.01) and runs[0].v[:, 2].min() < -1
    assert treesim.standing(robot, at((-0.5, 0.02, 1.0)), mesh)[2] == pytest.approx(0.31 + low, abs=1e-9)


@pytest.mark.parametrize("name", ["ball", "cube", "cylinder"])
def test_a_wall_stops_what_slides_against_it(name):
    """Without friction, which has no unique solution for a cylinder on four points."""
    wall = [(-3.0, 0.0), (0.5, 0.0), (0.5, 1.0)]
    robot, half = BODIES[name], {"ball": 0.1, "cube": 0.05, "cylinder": 0.2}[name]
    mesh, floor = StaticMesh(*of_profile(wall, (-1, 0.02, 1)), friction=0.0), Ground(friction=0.0)
    q0, v0 = at((-0.1, 0.02, 0.1 if name == "ball" else 0.05)), [3.0, 0.1, 0, 0, 0, 0]
    upright = Ground(friction=0.0, normal=(-1, 0, 0), height=-0.5)
    runs = [simulate(treesim.World(robot, ground=g), q0, v0, duration=0.3) for g in (mesh, [floor, upright])]
    np.testing.assert_allclose(runs[0].q, runs[1].q, rtol=0, atol=1e-8)
    assert runs[0].q[:, 0].max() == pytest.approx(0.5 - half, abs=1e-3)


def test_points_deep_behind_the_surface_come_out_and_those_behind_a_thin_wall_do_not_touch():
    """A soft mesh bears a cube that sinks in by m g / k; 1 cm beside a plate of 2 cm there is no contact."""
    soft = {"stiffness": 300.0, "dissipation_time": 0.1}
    runs = [
        simulate(treesim.World(cube(), ground=ground), at((0.3, 0.2, 0.05)), duration=1.0)
        for ground in (StaticMesh(*FINE, **soft), Ground(**soft))
    ]
    np.testing.assert_allclose(runs[0].q, runs[1].q, rtol=0, atol=1e-9)
    assert runs[0].q[-1, 2] == pytest.approx(0.05 - 9.81 / 300, abs=1e-3)
    plate = StaticMesh(*of_box((0.02, 1, 1)))
    stepper = treesim.Stepper(treesim.World(cube(), ground=plate), gravity=(0, 0, 0))
    for side in (1, -1):
        assert stepper.step(stepper.reset(at((side * 0.07, 0.1, 0.1))))[1].contact.count == 0


@pytest.mark.nojit
def test_the_gap_of_a_ball_is_its_distance_from_the_nearest_triangle_of_a_torus():
    """Its centre lies up to 15 cm in front of the surface, or up to 9 cm behind it, at faces, edges and vertices."""
    mesh, rng, behind = StaticMesh(*of_torus(0.5, 0.2, 24, 12)), np.random.default_rng(0), 0
    corners, normals = mesh.edges.points, mesh.edges.normals
    for _ in range(60):
        k = rng.integers(len(corners))
        p = rng.dirichlet([1, 1, 1]) @ corners[k] + rng.uniform(-0.09, 0.15) * normals[k]
        near = np.argsort(np.linalg.norm(corners.mean(axis=1) - p, axis=1))[:40]
        distances = np.array([np.linalg.norm(p - nearest_in(corners[[i]], p)) for i in near])
        touched = near[distances < distances.min() + 1e-9]
        heights = ((p - corners[touched, 0]) * normals[touched]).sum(axis=1)
        side = np.sign(heights[np.abs(heights).argmax()])
        behind += side < 0
        found = contacts(ball(0.1), mesh, at(p), margin=0.06)
        assert found.gap.min() == pytest.approx(side * distances.min() - 0.1, abs=1e-12)
    assert 10 < behind < 50


@pytest.mark.slow
@pytest.mark.parametrize("name", BODIES)
def test_what_tumbles_over_a_rough_mesh_gains_no_energy(name):
    rng = np.random.default_rng(1)
    vertices, triangles = of_field(HeightField(0.05 * rng.normal(size=(21, 21))))
    vertices[:, :2] += rng.uniform(-0.03, 0.03, size=(len(vertices), 2))
    mesh, robot = StaticMesh(vertices, triangles), BODIES[name]
    for seed in range(3):
        rng = np.random.default_rng(seed)
        run = simulate(treesim.World(robot, ground=mesh), above(robot, mesh, rng, height=0.1), rng.normal(size=6))
        assert run.solver_info[:, 0].max() < 1e-3 and run.solver_info[:, 1].max() < 1e-8
        assert run.energy[-1] < run.energy[0] and run.solver_info[:, 2].max() < 1e-12
