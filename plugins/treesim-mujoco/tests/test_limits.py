"""Limits of the adapter: just below, and just above."""

from __future__ import annotations

from types import SimpleNamespace

import mujoco
import numpy as np
import pytest
from treesim_mujoco import reading
from treesim_mujoco.contact import add_ground

import treesim
from treesim.errors import UnsupportedError
from treesim.model.generators import chain
from treesim.urdf import to_urdf


@pytest.mark.parametrize(("version", "accepted"), [("3.9.9", False), ("4.0.0", True)])
def test_mujoco_is_of_version_4_at_least(version, accepted, monkeypatch):
    monkeypatch.setattr(mujoco, "__version__", version)
    robot = chain(1)
    if accepted:
        assert reading.model_of(robot, to_urdf(robot)).nv == 1
    else:
        with pytest.raises(UnsupportedError, match=r"3\.9\.9 is older than 4\.0"):
            reading.model_of(robot, to_urdf(robot))


@pytest.mark.parametrize(("rise", "height"), [(0.0, 1e-3), (0.96e-3, 1e-3), (1.04e-3, 1.04e-3)])
def test_height_fields_have_a_height_of_a_millimetre(rise, height):
    given = {}
    spec = SimpleNamespace(
        add_hfield=lambda **size: given.update(size), worldbody=SimpleNamespace(add_geom=lambda **geom: None)
    )
    add_ground(spec, treesim.HeightField([[0.0, 0.0], [0.0, rise]], (1.0, 1.0)), "ground")
    assert given["size"] == pytest.approx([0.5, 0.5, height, 1e-3], rel=1e-9)


@pytest.mark.parametrize(("height", "flat"), [(0.96e-3, True), (1.04e-3, False)])
def test_meshes_below_a_millimetre_are_flat(height, flat):
    spec, vertices = mujoco.MjSpec(), np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, height]])
    mesh = treesim.StaticMesh(vertices, [[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]])
    if flat:
        with pytest.raises(UnsupportedError, match="MuJoCo has no flat meshes"):
            add_ground(spec, mesh, "ground")
    else:
        add_ground(spec, mesh, "ground")
        assert len(spec.meshes) == 1
