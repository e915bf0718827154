"""Collision meshes whose hulls have more volume: which links are named, and by how much."""

import pytest

import treesim
from tests.contact.meshes import as_stl, of_angle, of_box
from tests.doctor.robots import joint, robot, solid


def mesh(file):
    return f'<collision><geometry><mesh filename="{file}" scale="0.1 -0.1 0.1"/></geometry></collision>'


def reported(*shapes, **options):
    links = {f"link_{k}": solid() + shape for k, shape in enumerate(shapes)}
    text = robot(*(joint(f"joint_{name}", "base", name) for name in links), base="", **links)
    return [found.message for found in treesim.check(text, **options).findings if found.code == "U612"]


def test_the_links_with_the_largest_cavities_are_named(tmp_path):
    vertices, triangles = of_angle()
    deep = vertices.copy()
    deep[[3, 9], :2] = 0.25
    files = [
        as_stl(tmp_path / "angle.stl", (vertices, triangles)),
        as_stl(tmp_path / "deep.stl", (deep, triangles[:, ::-1])),
        as_stl(tmp_path / "open.stl", (deep, triangles[1:])),
        as_stl(tmp_path / "box.stl", of_box((1, 1, 1))),
    ]
    (tmp_path / "bad.stl").write_text("solid")
    shapes = [mesh(file) for file in (*files, tmp_path / "bad.stl")]
    (message,) = reported(*shapes)
    assert message == "convex hulls have more volume than the collision meshes of links: 'link_1' 1.56 times"
    assert reported(*shapes, meshes=False) == reported(*shapes, tiers=["assets"]) == []
    (message,) = reported(*[shapes[1]] * 6)
    assert message.endswith("times, and 2 more links")


@pytest.mark.parametrize("inner, named", [(0.79, True), (0.81, False)])
def test_hulls_with_a_quarter_more_volume_are_reported(inner, named, tmp_path):
    """An L with the inner corner (x, x) has the area 2 + x, and its hull 3.5."""
    vertices, triangles = of_angle()
    vertices[[3, 9], :2] = inner
    assert bool(reported(mesh(as_stl(tmp_path / "angle.stl", (vertices, triangles))))) is named
