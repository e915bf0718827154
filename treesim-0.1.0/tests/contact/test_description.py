"""The ground in plain values: what files keep of it is all of it."""

from __future__ import annotations

import json

import numpy as np
import pytest

import treesim
from treesim import Placement
from treesim.contact.description import described, surface_of
from treesim.errors import ArgumentError, UnknownNameError
from treesim.simulation.trajectory import Trajectory

GROUNDS = (
    treesim.Ground(normal=(0.6, 0.0, 0.8), height=0.3, friction=0.4),
    treesim.StaticBox((1, 2, 0.1 / 3), Placement.from_xyz_rpy((1, 2, 3), (0.1, 0.2, 0.3)), stiffness=1e4),
    treesim.HeightField(np.random.default_rng(0).normal(size=(3, 4)), (0.1, 0.2), (1, 2), restitution=0.5),
    treesim.StaticMesh(np.eye(3) / 3, [[0, 1, 2]], Placement.from_xyz_rpy((1, 2, 3), (0.1, 0.2, 0.3)), friction=0.1),
)


@pytest.mark.parametrize("ground", GROUNDS, ids=lambda ground: type(ground).__name__)
def test_a_surface_comes_back_out_of_json(ground):
    assert surface_of(json.loads(json.dumps(described(ground)))) == ground


def test_the_normal_of_a_plane_comes_back_to_rounding():
    plane = treesim.Ground(normal=(0.1, -0.2, 1.0))
    np.testing.assert_allclose(surface_of(described(plane)).normal, plane.normal, rtol=1e-15)


def test_what_describes_no_surface_is_refused():
    with pytest.raises(UnknownNameError, match="'Grund'"):
        surface_of({"kind": "Grund"})
    with pytest.raises(ArgumentError, match="heigth"):
        surface_of({"kind": "Ground", "heigth": 0.0})


@pytest.mark.parametrize("suffix", [".npz", ".csv"])
def test_trajectories_keep_their_ground_in_files(suffix, tmp_path):
    ball = treesim.free_body("ball", "sphere", (0.1,), 1.0)
    q = ball.neutral()
    q[2] = 1.0
    run = treesim.Simulation(treesim.World(ball, ground=GROUNDS)).run(0.001, q)
    assert run.ground == GROUNDS
    assert Trajectory.load(run.save(tmp_path / f"run{suffix}")).ground == GROUNDS


def test_without_a_ground_there_is_none():
    assert treesim.Simulation(treesim.free_body("ball", "sphere", (0.1,), 1.0)).run(0.001).ground == ()
