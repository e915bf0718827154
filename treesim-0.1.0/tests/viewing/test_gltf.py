"""A motion as glTF: trimesh reads the robot where it is, and the animation is the motion."""

import io
import json
import struct

import numpy as np
import pytest

import treesim
from tests.meshes import textured
from treesim import Body, Ground, Inertia, Joint, Placement, Tree, Visual
from treesim.contact.description import described
from treesim.errors import ArgumentError
from treesim.simulation.trajectory import Trajectory
from treesim.viewing.gltf import gltf_bytes, linear, write_gltf
from treesim.viewing.meshes import MeshReading, TriangleMesh, read_meshes

Y_UP = np.array([[1.0, 0, 0, 0], [0, 0, 1, 0], [0, -1, 0, 0], [0, 0, 0, 1]])
COMPONENTS = {5126: "<f4", 5125: "<u4", 5123: "<u2"}
WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4}
SINGLE = 1e-6  # m, of bodies within a few metres: numbers are single


@pytest.fixture
def robot() -> Tree:
    """A floating box with a ball of the same material, and a limb on a spherical joint."""
    ball = Joint("ball", "spherical", placement=Placement.from_xyz_rpy((0.1, 0.2, 0.3), (0.3, -0.2, 0.1)))
    bodies = [
        Body("trunk", 0, Joint("root_joint", "floating"), Inertia(2.0, np.zeros(3), np.eye(3))),
        Body("limb", 1, ball, Inertia(1.0, np.array([0, 0, -0.2]), np.eye(3))),
    ]
    limb = Placement.from_xyz_rpy((0, 0, -0.2), (0.1, 0.2, 0.3))
    visuals = [
        Visual(1, Placement(), "box", (0.3, 0.2, 0.6), color=(1.0, 0.0, 0.0, 1.0)),
        Visual(1, limb, "box", (0.3, 0.2, 0.6), color=(1.0, 0.0, 0.0, 1.0)),
        Visual(2, limb, "capsule", (0.04, 0.4), color=(0.0, 0.5, 1.0, 0.5)),
    ]
    return Tree("limbs", bodies, visuals=visuals)


def motion(robot: Tree, states: int, **details: object) -> Trajectory:
    t = 3.0 + np.linspace(0, 1, states)
    velocity = np.random.default_rng(0).normal(size=robot.nv)
    q = np.array([robot.integrate(robot.neutral(), velocity * (s - 3.0)) for s in t])
    zero = np.zeros((states, robot.nv))
    return Trajectory.of(robot, t, q, zero, zero, np.zeros(states), details)


def chunks(data: bytes) -> tuple[dict, bytes]:
    magic, version, size = struct.unpack_from("<4sII", data)
    assert (magic, version, size) == (b"glTF", 2, len(data)) and size % 4 == 0
    length, kind = struct.unpack_from("<I4s", data, 12)
    assert kind == b"JSON"
    document, rest = json.loads(data[20 : 20 + length]), data[20 + length :]
    length, kind = struct.unpack_from("<I4s", rest)
    assert kind == b"BIN\0" and length == len(rest) - 8 == document["buffers"][0]["byteLength"]
    return document, rest[8:]


def numbers(document: dict, data: bytes, place: int) -> np.ndarray:
    accessor = document["accessors"][place]
    view, width = document["bufferViews"][accessor["bufferView"]], WIDTHS[accessor["type"]]
    kind = COMPONENTS[accessor["componentType"]]
    assert view["byteOffset"] % 4 == 0
    found = np.frombuffer(data, kind, accessor["count"] * width, view["byteOffset"]).reshape(-1, width)
    assert accessor["min"] == found.min(axis=0).tolist() and accessor["max"] == found.max(axis=0).tolist()
    return found


def matrix(place: np.ndarray, turn: np.ndarray) -> np.ndarray:
    x, y, z, w = turn
    pose = np.eye(4)
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    pose[:3, :3], pose[:3, 3] = np.eye(3) + 2 * w * cross + 2 * cross @ cross, place
    return pose


def test_the_animation_is_the_motion(robot):
    trajectory = motion(robot, 31)
    document, data = chunks(gltf_bytes(robot, trajectory, 30))
    (animation,) = document["animations"]
    tracks: dict[tuple[str, str], np.ndarray] = {}
    for channel in animation["channels"]:
        sampler, target = animation["samplers"][channel["sampler"]], channel["target"]
        times = numbers(document, data, sampler["input"])[:, 0]
        np.testing.assert_allclose(times, trajectory.t - 3.0, atol=SINGLE)
        tracks[document["nodes"][target["node"]]["name"], target["path"]] = numbers(document, data, sampler["output"])
    assert {name for name, _ in tracks} == {"trunk", "limb"}, "the base stays"
    for k, q in enumerate(trajectory.q):
        poses = treesim.body_poses(robot, q)
        for i, name in enumerate(robot.body_names, start=1):
            found = matrix(tracks[name, "translation"][k], tracks[name, "rotation"][k])
            np.testing.assert_allclose(found, poses[i], atol=SINGLE)


def test_trimesh_reads_the_robot_where_it_is_at_first(robot):
    import trimesh

    trajectory = motion(robot, 3)
    scene = trimesh.load(io.BytesIO(gltf_bytes(robot, trajectory)), file_type="glb")
    poses = treesim.body_poses(robot, trajectory.q[0])
    expected = [Y_UP @ poses[visual.body] @ visual.placement.matrix() for visual in robot.visuals]
    found = [scene.graph[name][0] for name in scene.graph.nodes_geometry]
    assert len(found) == len(expected)
    for pose in expected:
        assert min(np.abs(pose - other).max() for other in found) < SINGLE
    volumes = sorted(part.volume for part in scene.dump())
    np.testing.assert_allclose(volumes[1:], 0.3 * 0.2 * 0.6, rtol=1e-5)


def test_what_is_equal_is_in_the_file_once(robot):
    document, _ = chunks(gltf_bytes(robot, motion(robot, 3)))
    meshes = [node["mesh"] for node in document["nodes"] if "mesh" in node]
    assert len(meshes) == 3 and len(set(meshes)) == len(document["meshes"]) == len(document["materials"]) == 2
    clear = [material.get("alphaMode") for material in document["materials"]]
    assert sorted(map(str, clear)) == ["BLEND", "None"]


def test_colours_at_vertices_are_linear(robot, monkeypatch):
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], np.float32)
    shades = np.array([[255, 0, 0], [0, 128, 0], [0, 0, 10]], np.uint8)
    mesh = TriangleMesh(corners, np.array([[0, 1, 2]], np.uint16), shades)
    for name in ("protocols.read_meshes", "solids.read_meshes"):
        monkeypatch.setattr(f"treesim.viewing.{name}", lambda file, texture=None: MeshReading((mesh,), "", ()))
    drawn = Visual(1, Placement(), "mesh", (2.0, 2.0, 2.0), file="a.stl")
    tree = Tree("one", robot.bodies, visuals=[drawn])
    document, data = chunks(gltf_bytes(tree, motion(tree, 3)))
    (primitive,) = document["meshes"][0]["primitives"]
    levels = numbers(document, data, primitive["attributes"]["COLOR_0"]) / 65535
    np.testing.assert_allclose(levels, np.column_stack([linear(shades / 255), np.ones(3)]), atol=1e-5)
    np.testing.assert_array_equal(numbers(document, data, primitive["attributes"]["POSITION"]), corners)
    (node,) = (node for node in document["nodes"] if "mesh" in node)
    np.testing.assert_allclose(np.reshape(node["matrix"], (4, 4)), np.diag([2.0, 2, 2, 1]))
    assert linear(np.array([0.0, 0.5, 1.0])) == pytest.approx([0.0, 0.21404, 1.0], abs=1e-5)


@pytest.fixture
def boards(robot, tmp_path):
    """A tree that draws one textured square twice, once mirrored, and another file with the same image."""
    (tmp_path / "board.png").write_bytes(textured.picture())
    (tmp_path / "board.jpg").write_bytes(textured.picture("JPEG"))
    files = [textured.obj(tmp_path), textured.obj(tmp_path), textured.collada(tmp_path)]
    files.append(textured.obj(tmp_path, "board.jpg", "Kd 0.5 0.5 0.5\n", "photo"))
    scales = [(1.0, 1.0, 1.0), (-1.0, 1.0, 1.0), (1.0, 1.0, 1.0), (1.0, 1.0, 1.0)]
    visuals = [
        Visual(1, Placement(translation=(0, 0, k)), "mesh", scale, file=str(file), color=(0.1, 0.2, 0.3, 0.5))
        for k, (file, scale) in enumerate(zip(files, scales, strict=True))
    ]
    return Tree("boards", robot.bodies, visuals=visuals)


def test_images_are_in_the_file_once(boards):
    document, data = chunks(gltf_bytes(boards, motion(boards, 3)))
    assert sorted(image["mimeType"] for image in document["images"]) == ["image/jpeg", "image/png"]
    assert len(document["textures"]) == 2 and len(document["meshes"]) == 3
    for material in document["materials"]:
        look = material["pbrMetallicRoughness"]
        assert look["baseColorFactor"] == [1, 1, 1, 1] and "alphaMode" not in material, "the file's look wins"
        view = document["bufferViews"][
            document["images"][document["textures"][look["baseColorTexture"]["index"]]["source"]]["bufferView"]
        ]
        image = textured.pixels(data[view["byteOffset"] : view["byteOffset"] + view["byteLength"]])
        assert image.shape == (64, 64, 3)
    for mesh in document["meshes"]:
        (primitive,) = mesh["primitives"]
        place = numbers(document, data, primitive["attributes"]["POSITION"])[:, :2]
        uv = numbers(document, data, primitive["attributes"]["TEXCOORD_0"])
        np.testing.assert_allclose(uv, np.column_stack([place[:, 0], 1 - place[:, 1]]), atol=SINGLE)


def test_trimesh_reads_images_the_right_way_up(boards):
    import trimesh

    scene = trimesh.load(io.BytesIO(gltf_bytes(boards, motion(boards, 1))), file_type="glb", process=False)
    parts = [scene.geometry[scene.graph[node][1]] for node in scene.graph.nodes_geometry]
    assert len(parts) == 4
    for part in parts:
        image = np.asarray(part.visual.material.baseColorTexture)
        x, y, _ = np.mean(part.vertices[part.faces[0]], axis=0)  # within the lower right half: yellow there
        u, v = np.mean(part.visual.uv[part.faces[0]], axis=0)
        np.testing.assert_allclose([u, v], [x, y], atol=1e-6)
        column, row = int(u * 64), int((1 - v) * 64)
        expected = textured.QUARTERS[1 - int(y > 0.5), int(x > 0.5)]
        np.testing.assert_allclose(image[row, column], expected, atol=12)


def test_what_is_written_is_read_again(boards, tmp_path):
    """By treesim: the images, and colours, which glTF has linear."""
    path = write_gltf(boards, motion(boards, 1), tmp_path / "boards.glb")
    meshes = read_meshes(str(path)).meshes
    shades = {mesh.image.kind: 255 if mesh.colors is None else mesh.colors.mean() for mesh in meshes}
    assert shades == {"image/png": 255, "image/jpeg": pytest.approx(128, abs=0.6)}


def test_one_warning_names_the_images_that_are_lost(boards, tmp_path):
    read_meshes.cache_clear()
    (tmp_path / "board.png").unlink()
    (tmp_path / "board.jpg").write_bytes(b"GIF89a")
    with pytest.warns(UserWarning) as caught:
        document, _ = chunks(gltf_bytes(boards, motion(boards, 3)))
    assert len(caught) == 1 and "images" not in document and len(document["meshes"]) == 3
    text = str(caught[0].message)
    assert "m.dae" in text and "image 'board.png' is not drawn: it is not found; put it next to" in text
    assert "2 more images are lost" in text


def test_the_ground_is_beside_the_robot(robot):
    document, _ = chunks(gltf_bytes(robot, motion(robot, 3, ground=[described(Ground(name="floor"))])))
    (floor,) = (node for node in document["nodes"] if node["name"] == "floor")
    assert document["nodes"].index(floor) in document["nodes"][0]["children"] and "mesh" in floor


def test_one_state_has_no_animation(robot):
    document, _ = chunks(gltf_bytes(robot, motion(robot, 1)))
    assert "animations" not in document


def test_what_cannot_be_written_is_told(robot, tmp_path):
    trajectory = motion(robot, 3)
    assert write_gltf(robot, trajectory, tmp_path / "motion.glb").read_bytes() == gltf_bytes(robot, trajectory)
    with pytest.raises(ArgumentError, match="glb"):
        write_gltf(robot, trajectory, tmp_path / "motion.gltf")
    with pytest.raises(ArgumentError, match="fps"):
        write_gltf(robot, trajectory, tmp_path / "motion.glb", fps=0)
