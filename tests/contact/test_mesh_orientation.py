"""Orientation of meshes: what faces inwards is turned or reported, and solids of one mesh may share edges and faces."""

import warnings

import numpy as np
import pytest

import treesim
from tests.contact.meshes import of_box, of_field, of_torus, together
from treesim import ArgumentError, Placement, ShapeWarning, StaticMesh

BOX = of_box((2, 2, 1), (0, 0, -0.5))
CAVITY = of_box((1, 1, 0.5), (0, 0, -0.5))
SHEET = of_field(treesim.HeightField(np.zeros((3, 3)), (1.0, 1.0)))


def inside_out(mesh):
    vertices, triangles = mesh
    return vertices, triangles[:, ::-1]


def mirrored(mesh):
    vertices, triangles = mesh
    return vertices * [-1, 1, 1], triangles


def normals_of(mesh):
    return mesh.edges.normals


@pytest.mark.parametrize("made", [inside_out, mirrored])
@pytest.mark.parametrize("solid", [BOX, of_torus(2, 0.5, 7, 5)], ids=["box", "torus"])
def test_a_closed_mesh_that_faces_inwards_is_turned(made, solid):
    with pytest.warns(ShapeWarning, match=rf"closed part face inwards.* -\d.* {len(solid[1])} triangles are turned"):
        mesh = StaticMesh(*made(solid))
    volume = (
        np.einsum("ij,ij->", mesh.edges.points[:, 0], np.cross(mesh.edges.points[:, 1], mesh.edges.points[:, 2])) / 6
    )
    assert volume > 0 and mesh.edges.closed


def silent(vertices, triangles, **how):
    with warnings.catch_warnings(action="error"):
        return StaticMesh(vertices, triangles, **how)


def test_walls_of_cavities_face_inwards_and_are_turned_with_their_solid():
    right = together(BOX, inside_out(CAVITY))
    assert np.array_equal(silent(*right).triangles, right[1])
    with pytest.warns(ShapeWarning, match=r"2 closed parts face inwards.*24 triangles are turned"):
        turned = StaticMesh(*together(inside_out(BOX), CAVITY))
    assert np.array_equal(normals_of(turned), normals_of(silent(*right)))
    # beside the box it is no cavity
    beside = inside_out((CAVITY[0] + [3, 0, 0], CAVITY[1]))
    with pytest.warns(ShapeWarning, match=r"the first is triangle 12. 12 triangles are turned"):
        StaticMesh(*together(BOX, beside))


def test_a_file_that_faces_inwards_is_named(tmp_path):
    vertices, triangles = inside_out(BOX)
    records = np.zeros(len(triangles), [("numbers", "<f4", 12), ("attributes", "<u2")])
    records["numbers"][:, 3:] = vertices[triangles].reshape(-1, 9)
    (tmp_path / "block.stl").write_bytes(bytes(80) + np.uint32(len(triangles)).tobytes() + records.tobytes())
    with pytest.warns(ShapeWarning, match=r"block\.stl'.*face inwards") as caught:
        StaticMesh.from_file(tmp_path / "block.stl")
    assert [one.filename for one in caught] == [__file__]


def test_open_meshes_that_look_down_everywhere_are_reported():
    silent(*SHEET)
    silent(BOX[0], BOX[1][2:])  # of which a side is missing
    with pytest.warns(ShapeWarning, match="open part, to which triangle 0 belongs, looks down"):
        StaticMesh(*inside_out(SHEET))
    over = Placement(rotation=np.diag([1.0, -1.0, -1.0]))
    silent(*inside_out(SHEET), placement=over)
    with pytest.warns(ShapeWarning, match="looks down"):
        StaticMesh(*SHEET, placement=over)


def row_of_boxes(*heights):
    return together(*(of_box((1, 1, h), (k, 0, h / 2 - 1)) for k, h in enumerate(heights)))


@pytest.mark.parametrize("heights", [(1, 1), (1, 2, 3), (2, 1, 2)])
def test_solids_side_by_side_may_share_edges_and_faces(heights):
    mesh = silent(*row_of_boxes(*heights))
    assert mesh.edges.closed and mesh.edges.has_internal_edges
    ends = mesh.edges.vertices[mesh.edges.ends]
    seams = ((ends[:, :, 0] == 0.5) & (ends[:, :, 2] == -1)).all(axis=1)
    assert sorted(mesh.edges.bends[seams]) == [-1, 0], "the bottoms are one plane, and the walls touch each other"


def test_solids_that_touch_at_an_edge_leave_a_corner_between_them():
    mesh = silent(*together(of_box((1, 1, 1)), of_box((1, 1, 1), (1, 1, 0))))
    shared = (mesh.edges.vertices[mesh.edges.ends][:, :, :2] == 0.5).all(axis=(1, 2))
    assert mesh.edges.bends[shared].tolist() == [-1, -1] and mesh.edges.closed


def test_a_solid_twice_is_refused():
    with pytest.raises(ArgumentError, match=r"share the edge.*two of each of the solids"):
        silent(*together(BOX, BOX))


def test_a_slab_that_slides_over_the_seam_of_two_solids_meets_a_plane():
    slab = treesim.free_body("slab", "box", (0.2, 0.2, 0.1), 0.5)
    seam = StaticMesh(*row_of_boxes(1, 1), friction=0.5)
    start = [0.35, 0.1, 0.05, 0, 0, 0, 1], [1.5, 0, 0, 0, 0, 0]
    runs = [
        treesim.Simulation(treesim.World(slab, ground=ground)).run(0.3, *start)
        for ground in (seam, treesim.Ground(friction=0.5))
    ]
    assert runs[0].q[-1, 0] > 0.51 and np.abs(runs[0].q - runs[1].q).max() < 1e-9
