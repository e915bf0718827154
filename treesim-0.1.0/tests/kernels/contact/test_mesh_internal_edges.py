"""Edges between a mesh and another surface that lies flush with it stop nothing, and steps do."""

import numpy as np
import pytest

import treesim
from tests.contact.meshes import of_box, of_profile, together
from tests.contact.scenes import at, ball, cube, simulate, turned
from treesim import Ground, Placement, StaticBox, StaticMesh

MU = 0.3
RIGHT = Placement(turned((0, 0, 1), np.pi), (1.0, 0.0, -0.1))  # turned, so that triangles' diagonals cross


def mesh(place, size=(2, 1, 0.2), **surface):
    return StaticMesh(*of_box(size), place, friction=MU, **surface)


def sheet(first, last, z=0.0):
    return StaticMesh(*of_profile([(first, z), (last, z)], (-1, 1)), friction=MU)


LEFT = Placement(translation=(-1, 0, -0.1))
STRIPES = [(-2.0, 0.0), (-1.0, 0.0), (0.0, 0.0)]
PAIRS = {
    "two meshes": (mesh(LEFT), mesh(RIGHT)),
    "a mesh and a box": (mesh(LEFT), StaticBox((2, 1, 0.2), RIGHT, friction=MU)),
    "a box and a mesh": (StaticBox((2, 1, 0.2), LEFT, friction=MU), mesh(RIGHT)),
    "two open meshes": (sheet(-2, 0), sheet(0, 2)),
    "a mesh in a plane": (Ground(friction=MU), mesh(RIGHT)),
    "a mesh of two boxes": StaticMesh(
        *together(of_box((2, 1, 0.2), LEFT.translation), of_box((2, 2, 0.4), (1, 0.1, -0.2))), friction=MU
    ),
    "triangles without common vertices": StaticMesh(
        *together(of_profile(STRIPES, np.linspace(-1, 1, 8)), of_profile([(0, 0), (2, 0)], (-1, 0, 1))), friction=MU
    ),
    "two meshes of other heights": (mesh(LEFT), mesh(Placement(translation=(1, 0, -0.05)), (2, 0.5, 0.1))),
}


@pytest.mark.parametrize("name", PAIRS)
def test_what_slides_over_a_seam_does_so_as_over_a_plane(name):
    for robot, z, spin in ((cube(), 0.05, 0.0), (ball(), 0.1, 20.0)):
        for turn in (0.0, 0.4) if robot.name == "cube" else (0.0,):
            R = turned((0, 0, 1), turn)
            q0 = at((-0.2, 0.02, z), R) if turn else at((-0.2, 0.02, z))
            v0 = np.r_[R.T @ (2.0, 0.1, 0), 0, spin, 0]
            grounds = (PAIRS[name], Ground(friction=MU))
            runs = [simulate(treesim.World(robot, ground=g), q0, v0, duration=0.25) for g in grounds]
            np.testing.assert_allclose(runs[0].q, runs[1].q, rtol=0, atol=1e-8)
            assert runs[0].q[-1, 0] > 0.15


@pytest.mark.parametrize("low", ["mesh", "sheet", "plane"])
@pytest.mark.parametrize("step", [0.002, 0.05])
def test_a_step_up_to_a_mesh_stops_a_cube(low, step):
    floor = {"mesh": mesh(LEFT), "sheet": sheet(-2, 0.5), "plane": Ground(friction=MU)}[low]
    block = mesh(Placement(translation=(1, 0, step - 0.1)))
    run = simulate(treesim.World(cube(), ground=[floor, block]), at((-0.08, 0.02, 0.05)), [0.5, 0, 0, 0, 0, 0],
                   duration=0.15)  # fmt: skip
    turn = 2 * np.arctan2(run.q[:, 4], run.q[:, 6])
    assert (run.q[:, 0] + 0.05 * (np.cos(turn) - np.sin(turn))).max() < 1e-4 and run.solver_info[:, 0].max() < 1e-4
