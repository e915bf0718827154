"""Contact with the convex parts of one mesh: as with several shapes of one link."""

import numpy as np
import pytest

import treesim
from tests.contact.meshes import as_stl, of_angle

ANGLE = """<robot name="angle"><link name="angle"><inertial><origin xyz="0.0833 0 0.0833"/><mass value="6"/>
<inertia ixx="0.02" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.02"/></inertial>{shapes}</link></robot>"""
SHAPE = '<collision><origin xyz="{xyz}" rpy="{rpy}"/><geometry>{geometry}</geometry></collision>'
QUARTER = f"{np.pi / 2} 0 0"
BOXES = [
    SHAPE.format(xyz=xyz, rpy="0 0 0", geometry=f'<box size="{size}"/>')
    for xyz, size in (("0.05 -0.05 0.1", "0.1 0.1 0.2"), ("0.15 -0.05 0.05", "0.1 0.1 0.1"))
]
RADIUS = 0.03


def motion(shapes, q0, **options):
    """An angle falls on the ground, and a ball into its inner corner; gravity presses the ball against the wall."""
    angle = treesim.load(ANGLE.format(shapes=shapes), base="floating", **options)
    ball = treesim.free_body("ball", "sphere", (RADIUS,), 0.1)
    world = treesim.World(angle, bodies=[ball], ground=treesim.Ground(friction=0.8), collision="coal")
    run = treesim.Simulation(world, dt=2e-3, gravity=(-1.0, 0, -9.81)).run(0.5, q0=q0)
    assert len(angle.shapes) == 2
    return run.q


@pytest.mark.slow
def test_an_angle_of_parts_falls_as_one_of_boxes_and_a_ball_rests_in_its_corner(tmp_path, monkeypatch):
    pytest.importorskip("coacd")
    pytest.importorskip("coal")
    monkeypatch.setenv("TREESIM_CACHE_DIR", str(tmp_path / "cache"))
    file = as_stl(tmp_path / "angle.stl", of_angle())
    mesh = SHAPE.format(xyz="0 0 0", rpy=QUARTER, geometry=f'<mesh filename="{file}" scale="0.1 0.1 0.1"/>')
    q0 = [0, 0, 0.01, 0, 0, 0, 1, 0.135, -0.05, 0.15, 0, 0, 0, 1]
    parts, boxes = motion(mesh, q0, convex_parts=True), motion("".join(BOXES), q0)
    np.testing.assert_allclose(parts[-1, 1:7], [0, 0, 0, 0, 0, 1], atol=1e-4)
    np.testing.assert_allclose(parts[-1, 7:10] - parts[-1, :3], [0.1 + RADIUS, -0.05, 0.1 + RADIUS], atol=1e-4)
    np.testing.assert_allclose(parts[-1, :10], parts[-50, :10], atol=1e-6)  # both rest
    np.testing.assert_allclose(parts[:, :10], boxes[:, :10], atol=1e-4)
