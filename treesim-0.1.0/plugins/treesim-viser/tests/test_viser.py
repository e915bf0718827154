"""Viser viewer: conformance with the viewer protocols, sliders, and contents of recordings."""

from __future__ import annotations

import base64
import json
import re
import subprocess
import sys
import threading
from typing import Any, NamedTuple

import numpy as np
import pytest

import treesim
from tests.waiting import PATIENCE, wait_until
from treesim import Body, Ground, Inertia, Joint, Placement, StaticBox, Tree, Visual, testing
from treesim.errors import ArgumentError
from treesim.simulation.trajectory import Trajectory
from treesim.viewing.solids import triangles_of

pytest.importorskip("viser", reason="needs viser (pip install viser)")

import treesim_viser.scene
from treesim_viser import ViserViewer
from treesim_viser.scene import hit
from viser.transforms import SO3

SIZES = {"box": (0.1, 0.2, 0.4), "sphere": (0.1,), "cylinder": (0.1, 0.4), "capsule": (0.1, 0.4)}


@pytest.fixture
def robot() -> Tree:
    """Return a floating box with a limb on a spherical joint."""
    ball = Joint("ball", "spherical", placement=Placement.from_xyz_rpy((0.1, 0.2, 0.3), (0.3, -0.2, 0.1)))
    bodies = [
        Body("trunk", 0, Joint("root_joint", "floating"), Inertia(2.0, np.zeros(3), np.eye(3))),
        Body("limb", 1, ball, Inertia(1.0, np.array([0, 0, -0.2]), np.eye(3))),
    ]
    visuals = [Visual(1 + k % 2, Placement(), kind, size, color=(1, 0, 0, 0.5)) for k, (kind, size) in
               enumerate(SIZES.items())]  # fmt: skip
    return Tree("limbs", bodies, visuals=visuals)


def test_the_viewer_keeps_its_promises():
    assert testing.check_viewer(ViserViewer()).failures == ()


def test_bodies_are_where_they_are_computed_to_be(robot):
    q = robot.random(np.random.default_rng(0))
    with treesim.viewer(robot, ViserViewer()) as view:
        view.update(q)
        poses = treesim.body_poses(robot, q)
        for frame, pose in zip(view.viewer._frames, poses, strict=True):
            np.testing.assert_allclose(frame.position, pose[:3, 3], atol=1e-12)
            np.testing.assert_allclose(SO3(frame.wxyz).as_matrix(), pose[:3, :3], atol=1e-12)


def test_a_slider_reaches_the_program(robot):
    with treesim.viewer(robot, ViserViewer()) as view:
        assert view.slider("gain", -2, 2, value=0.5, unit="N m") == 0.5
        moved = threading.Event()
        slider = view.viewer._sliders["gain"]
        assert slider.label == "gain [N m]"
        slider.on_update(lambda event: moved.set())
        slider.value = 1.25
        assert moved.wait(PATIENCE)
        wait_until(lambda: view.slider("gain", -2, 2) == 1.25, between=lambda: view.wait(0.01))


def test_a_ray_meets_a_box_where_it_enters_it():
    (solid,) = triangles_of(Visual(1, Placement(), "box", (0.2, 0.4, 0.6)))
    triangles, pose = solid.vertices[solid.faces], Placement.from_xyz_rpy((1, 2, 3), (0, 0, np.pi / 2)).matrix()
    for start, way, point in (
        ((1, 2, 9), (0, 0, -1), (1, 2, 3.3)),  # from above
        ((9, 2.05, 3), (-1, 0, 0), (1.2, 2.05, 3)),  # its y is along the world's -x
        ((1, 9, 3), (0, -1, 0), (1, 2.1, 3)),
        ((1, 9, 3), (0, 1, 0), None),  # away from it
        ((1, 9, 3.31), (0, -1, 0), None),  # over it
    ):
        found = hit(triangles, pose, np.array(start, float), np.array(way, float))
        assert (found is None) == (point is None)
        if point is not None:
            np.testing.assert_allclose(found, point, atol=1e-12)


class Ray(NamedTuple):
    """Event of a click in viser."""

    ray_origin: tuple[float, float, float]
    ray_direction: tuple[float, float, float]


def test_a_click_on_a_body_is_heard(robot):
    heard = []
    with treesim.viewer(robot, ViserViewer()) as view:
        view.on_click(heard.append)
        q = robot.neutral()
        q[0] = 3.0
        view.update(q)
        part = view.viewer._parts[0]
        assert part.body == 1
        view.viewer._click(part, Ray((3.0, 0.0, 5.0), (0.0, 0.0, -1.0)))
        view.viewer._click(part, Ray((0.0, 0.0, 5.0), (0.0, 0.0, -1.0)))  # where it was before
        view.wait(0)
    assert [(click.body, click.point.round(9).tolist()) for click in heard] == [("trunk", [3.0, 0.0, 0.2])]


def motion(robot: Tree, states: int) -> Trajectory:
    t = np.linspace(0, 1, states)
    q = np.array([robot.integrate(robot.neutral(), np.full(robot.nv, s)) for s in t])
    return Trajectory.of(robot, t, q, np.zeros((states, robot.nv)), np.zeros((states, robot.nv)), np.zeros(states))


def recorded(text: str) -> dict[str, Any]:
    """Return the contents of a recording: a size, then compressed: a size, msgpack and arrays."""
    import msgspec
    import zstandard

    data = base64.b64decode(re.findall(r'window.__VISER_EMBED_DATA__="([^"]*)"', text)[0])
    inner = zstandard.ZstdDecompressor().decompress(data[8:], max_output_size=int.from_bytes(data[:8], "little"))
    return msgspec.msgpack.decode(inner[8 : 8 + int.from_bytes(inner[:8], "little")])


def test_a_recording_holds_the_motion(robot, tmp_path):
    viewer, trajectory = ViserViewer(), motion(robot, 201)
    details = recorded(viewer.record(robot, trajectory, tmp_path / "motion.html", 50).read_text())
    places = [(t, m["position"]) for t, m in details["messages"]
              if m["type"] == "SetPositionMessage" and m["name"] == "/robot/2"]  # fmt: skip
    assert details["durationSeconds"] == pytest.approx(1.0) and len(places) >= 50
    for t, position in places[1:]:
        pose = treesim.body_poses(robot, trajectory.q[round(200 * t)])[2]
        np.testing.assert_allclose(position, pose[:3, 3], atol=1e-6)
    with pytest.raises(ArgumentError, match="html"):
        viewer.record(robot, trajectory, tmp_path / "motion.mp4")


def test_the_ground_of_a_world_is_drawn(robot):
    viewer = ViserViewer()
    viewer.show(robot, robot.neutral())
    viewer.show_ground([Ground(normal=(0, 0.6, 0.8)), StaticBox((1, 1, 0.2))])
    paths = viewer._server.scene._handle_from_node_name
    assert {"/ground/0", "/ground/1"} <= set(paths)
    viewer.show(robot, robot.neutral())
    assert not {"/ground/0", "/ground/1"} & set(paths)
    viewer.close()


@pytest.mark.slow
def test_the_first_line_is_the_address_alone():
    """Callers of the command read that line; viser must not print its greeting."""
    command = ["view", "ur5", "--viewer", "viser", "--no-browser", "--json", "--duration", "0.05"]
    if "viser" not in treesim.available("viewers"):
        pytest.skip("treesim-viser is not installed")
    run = subprocess.run([sys.executable, "-m", "treesim", *command], capture_output=True, text=True, timeout=300)
    first, last = map(json.loads, run.stdout.splitlines())
    assert first["url"].startswith("http://127.0.0.1:") and last["simulated_s"] == pytest.approx(0.05, abs=2e-3)


def test_images_of_meshes_are_drawn(tmp_path, monkeypatch):
    """Meshes with images are drawn as one object together with parts that have a colour or nothing."""
    import io

    import trimesh
    from PIL import Image

    Image.new("RGB", (8, 8), (250, 10, 10)).save(tmp_path / "a.png")
    (tmp_path / "m.mtl").write_text("newmtl a\nmap_Kd a.png\nnewmtl c\nKd 0 0 1\n")
    square = "f 1/1 2/2 3/3\nf 1/1 3/3 4/4\n"
    (tmp_path / "m.obj").write_text(
        "mtllib m.mtl\nv 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nvt 0 0\nvt 1 0\nvt 1 1\nvt 0 1\n"
        f"usemtl a\n{square}usemtl c\n{square}"
    )
    drawn, scene = [], treesim_viser.scene.SceneApi
    monkeypatch.setattr(scene, "add_glb", lambda _, path, data, **more: drawn.append(data))
    visual = Visual(0, Placement(), "mesh", (1.0, -1.0, 2.0), file=str(tmp_path / "m.obj"))
    part = treesim_viser.scene._add_visual(object.__new__(scene), "/square", visual)
    assert part.triangles.shape == (4, 3, 3)
    (data,) = drawn
    shapes = list(trimesh.load(io.BytesIO(data), file_type="glb", process=False).geometry.values())
    looks = {getattr(shape.visual.material, "baseColorTexture", None) is not None: shape for shape in shapes}
    assert len(shapes) == len(looks) == 2
    np.testing.assert_allclose(looks[True].visual.uv, looks[True].vertices[:, :2] * (1, -1), atol=1e-6)
    assert np.asarray(looks[True].visual.material.baseColorTexture).reshape(-1, 3).tolist() == [[250, 10, 10]] * 64


@pytest.mark.parametrize("colored", [True, False])
@pytest.mark.parametrize("scale", [(1, 1, 1), (1, -1, 1), (-1, -1, 1), (-2, -1, -1)])
def test_mirrored_meshes_are_drawn_from_outside(tmp_path, scale, colored, monkeypatch):
    """Triangles of mirrored meshes are reversed: the enclosed volume is positive."""
    import trimesh

    box = trimesh.creation.box((0.2, 0.3, 0.4))
    if colored:
        box.visual.vertex_colors = np.tile([200, 30, 30, 255], (8, 1))
    box.export(tmp_path / "box.ply")
    drawn = []
    scene = treesim_viser.scene.SceneApi
    monkeypatch.setattr(scene, "add_mesh_trimesh", lambda _, path, mesh, **more: drawn.append(mesh.volume))
    monkeypatch.setattr(
        scene, "add_mesh_simple",
        lambda _, path, vertices, faces, **more: drawn.append(trimesh.Trimesh(vertices, faces, process=False).volume),
    )  # fmt: skip
    visual = Visual(0, Placement(), "mesh", tuple(map(float, scale)), file=str(tmp_path / "box.ply"))
    treesim_viser.scene._add_visual(object.__new__(scene), "/box", visual)
    assert drawn == [pytest.approx(0.024 * abs(np.prod(scale)))]
