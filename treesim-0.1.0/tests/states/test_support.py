"""The lowest point of collision shapes over a plane: against their surfaces, sampled, and in any attitude."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

import treesim
from treesim import Body, CollisionShape, Inertia, Joint, Placement, Tree
from treesim.errors import ArgumentError, ShapeWarning
from treesim.states.support import candidates, deep_gaps, gaps, lowest_point

VERTICES = np.random.default_rng(1).normal(size=(12, 3))
SIZES = {"sphere": (0.3,), "capsule": (0.2, 0.7), "cylinder": (0.25, 0.6), "box": (0.2, 0.5, 0.9), "hull": ()}
SAMPLES = 121  # along each of the two parameters of a surface
ROUND_OFF = 1e-13  # [m], some hundred units in the last place of coordinates of a few metres


def free_body(*shapes):
    return Tree("stone", [Body("stone", 0, Joint("free", "floating"), Inertia(1.0))], shapes=shapes)


def shape_of(kind, placement, body=1, link="stone"):
    return CollisionShape(
        body, placement, kind, size=SIZES[kind], vertices=VERTICES if kind == "hull" else None, link=link
    )


def surface(kind):
    """Points (n, 3) of a shape's surface in its own axes, and how far apart neighbours are at most."""
    u, turn = np.meshgrid(np.linspace(-1, 1, SAMPLES), np.linspace(0, 2 * np.pi, SAMPLES))
    size, circle, step = SIZES[kind], (np.cos(turn), np.sin(turn)), 2 * np.pi / (SAMPLES - 1)
    if kind == "hull":
        return VERTICES, 0.0
    if kind == "box":
        square = [axis.ravel() for axis in np.meshgrid(u[0], u[0])]
        faces = [np.insert(np.stack(square, -1), axis, end, axis=1) for axis in range(3) for end in (-1, 1)]
        return np.concatenate(faces) * np.array(size) / 2, max(size) / (SAMPLES - 1) * np.sqrt(2)
    half = size[1] / 2 if len(size) > 1 else 0.0
    if kind == "cylinder":
        parts = [(circle[0], circle[1], half * u / size[0])]
        parts += [(u * circle[0], u * circle[1], np.full_like(u, end * half / size[0])) for end in (-1, 1)]
        return _stacked(parts, size[0]), step * size[0] * np.sqrt(2)
    across, along = np.cos(np.pi / 2 * u), np.sin(np.pi / 2 * u)
    parts = [(across * circle[0], across * circle[1], along + end * half / size[0]) for end in (-1, 1)]
    return _stacked(parts, size[0]), step * size[0] * np.sqrt(2)


def _stacked(parts, scale):
    return scale * np.concatenate([np.stack(part, -1).reshape(-1, 3) for part in parts])


def outside(kind, p):
    """The signed distance of a point from the surface, in closed form; of a hull, from its nearest vertex."""
    size = np.array(SIZES[kind])
    if kind == "hull":
        return np.linalg.norm(VERTICES - p, axis=1).min()
    if kind in ("sphere", "capsule"):
        half = size[1] / 2 if kind == "capsule" else 0.0
        return np.linalg.norm(p - [0, 0, np.clip(p[2], -half, half)]) - size[0]
    over = (
        np.abs(p) - size / 2 if kind == "box" else np.array([np.hypot(p[0], p[1]), abs(p[2])]) - [size[0], size[1] / 2]
    )
    return np.linalg.norm(np.maximum(over, 0)) + min(over.max(), 0.0)


SURFACES = {kind: surface(kind) for kind in SIZES}
angles = st.tuples(*[st.one_of(st.sampled_from([0.0, np.pi / 2, np.pi]), st.floats(-3.2, 3.2))] * 3)
places = st.tuples(*[st.floats(-2, 2)] * 3)


@pytest.mark.parametrize("kind", SIZES)
@settings(max_examples=40, deadline=None)
@given(xyz=places, rpy=angles, place=places, turn=angles, slope=angles, height=st.floats(-1, 1))
def test_no_point_of_the_surface_is_lower(kind, xyz, rpy, place, turn, slope, height):
    """And the point that is found lies on the surface, at the gap that is told."""
    shape, normal = (
        shape_of(kind, Placement.from_xyz_rpy(place, turn)),
        Rotation.from_euler("xyz", slope).as_matrix()[2],
    )
    gap, link, point = lowest_point(
        free_body(shape), [*xyz, *Rotation.from_euler("xyz", rpy).as_quat()], normal=3 * normal, height=height
    )
    whole = Placement.from_xyz_rpy(xyz, rpy) @ shape.placement
    points, spacing = SURFACES[kind]
    heights = (points @ whole.rotation.T + whole.translation) @ normal - height
    assert gap - ROUND_OFF <= heights.min() <= gap + spacing + ROUND_OFF
    assert abs(point @ normal - height - gap) < ROUND_OFF and link == "stone"
    assert abs(outside(kind, whole.rotation.T @ (point - whole.translation))) < ROUND_OFF


@pytest.mark.parametrize(
    "kind, turn, lowest",
    [
        ("sphere", 0.0, 0.3), ("capsule", 0.0, 0.55), ("capsule", np.pi / 2, 0.2), ("cylinder", 0.0, 0.3),
        ("cylinder", np.pi / 2, 0.25), ("cylinder", np.arctan2(0.25, 0.3), np.hypot(0.25, 0.3)),
        ("box", 0.0, 0.45), ("box", np.pi / 2, 0.25), ("box", np.pi / 4, (0.25 + 0.45) / np.sqrt(2)),
    ],
)  # fmt: skip
def test_depths_of_turned_shapes(kind, turn, lowest):
    robot = free_body(shape_of(kind, Placement.from_xyz_rpy((0, 0, 0), (turn, 0, 0))))
    assert lowest_point(robot, robot.neutral()).gap == pytest.approx(-lowest, abs=1e-15)


def test_the_lowest_of_several_links_is_named_and_the_fixed_base_is_not_looked_at():
    high, low, base = (
        shape_of("sphere", Placement(translation=(0, 0, z)), body, link)
        for z, body, link in ((0.5, 1, "head"), (-0.5, 1, "foot"), (-9.0, 0, "floor"))
    )
    robot = free_body(base, high, low)
    assert lowest_point(robot, robot.neutral())[:2] == (-0.8, "foot")
    assert lowest_point(robot, robot.neutral(), normal=(0, 0, -1))[:2] == (-0.8, "head")


def test_gaps_of_batches():
    robot = free_body(*(shape_of(kind, Placement()) for kind in SIZES))
    q = np.array([[robot.random(k) for k in range(4)] for _ in range(3)])
    gap = gaps(robot, q, np.array([0, 0, 1.0]), 0.5)
    assert gap.shape == (3, 4, 1 + 2 + 2 + 8 + 12)
    for state in np.ndindex(3, 4):
        found = lowest_point(robot, q[state], height=0.5)
        assert found.gap == pytest.approx(gap[state].min(), abs=ROUND_OFF)
        assert found.point[2] - 0.5 == pytest.approx(found.gap, abs=ROUND_OFF)


def test_candidates_are_kept_and_belong_to_the_robot():
    robot = free_body(shape_of("hull", Placement()))
    assert candidates(robot) is candidates(robot) is not candidates(robot.with_name("other"))


@pytest.mark.parametrize(
    "normal, height",
    [((0, 0, 0), 0), ((0, 1), 0), ((0, 0, np.nan), 0), ("up", 0), ((0, 0, 1), np.inf), ((0, 0, 1), None)],
)
def test_what_is_no_plane_is_refused(normal, height):
    robot = free_body(shape_of("sphere", Placement()))
    with pytest.raises(ArgumentError, match="a plane has a normal of three finite numbers"):
        lowest_point(robot, robot.neutral(), normal=normal, height=height)


def test_what_is_no_configuration_is_refused():
    robot = free_body(shape_of("sphere", Placement()))
    with pytest.raises(ArgumentError, match="q has shape"):
        lowest_point(robot, [0, 0, 0])
    with pytest.raises(ArgumentError, match="q must be one configuration"):
        lowest_point(robot, np.tile(robot.neutral(), (2, 1)))
    with pytest.raises(ArgumentError, match="robot must be a Tree"):
        lowest_point("g1", robot.neutral())


def test_a_mesh_that_cannot_be_read_is_left_out_with_a_warning(tmp_path):
    (tmp_path / "broken.stl").write_text("no mesh")
    broken = CollisionShape(1, Placement(), "hull", link="shell", file=str(tmp_path / "broken.stl"))
    robot = free_body(shape_of("sphere", Placement()), broken)
    with pytest.warns(
        ShapeWarning, match=r"link 'shell' of 'stone': mesh '.*broken.stl' cannot be read: it has no triangles"
    ):
        assert lowest_point(robot, robot.neutral()).gap == pytest.approx(-0.3)
    with pytest.warns(ShapeWarning), pytest.raises(ArgumentError, match=r"none of its meshes can be read; .*1 hull"):
        treesim.lowest_point(free_body(broken), robot.neutral())


@pytest.mark.parametrize("depth", [0.0, 0.02, -0.3])
def test_deep_gaps_are_all_that_are_deeper(depth):
    robot, random = treesim.load("g1_29dof_rev_1_0", base="floating"), np.random.default_rng(0)
    q = robot.neutral() + np.pad(0.01 * random.normal(size=(5, robot.nq - 7)), ((0, 0), (7, 0)))
    normal = np.array([0.6, 0.0, 0.8])
    height = float(np.median(gaps(robot, q, normal, 0.0).min(axis=-1))) + 0.1  # some are deep
    every, (which, found) = gaps(robot, q, normal, height), deep_gaps(robot, q, normal, height, depth)
    np.testing.assert_array_equal(found, every[:, which])
    others = np.delete(every, which, axis=1)
    assert others.size
    assert (every < -depth).any()
    assert others.min() >= -depth
