"""Robots whose feet are hulls of meshes stand with half a foot over the edge of a stair, a height field, a mesh."""

import numpy as np
import pytest

import treesim
from tests.contact.meshes import of_box
from treesim.states.support import POSES, candidates, gaps
from treesim.urdf import installed_robots

KNOWN = {entry.name for entry in installed_robots()}
GAINS = {"go2": 400.0, "talos_reduced": 4000.0, "icub_reduced": 4000.0, "solo12": 400.0}


def soles(robot, q):
    """The points (k, 3) of a robot that are within 2 mm of its lowest one, in the world."""
    near = gaps(robot, q, np.array([0, 0, 1.0]), 0.0)
    low = np.flatnonzero(near < near.min() + 2e-3)
    touching, poses = candidates(robot), POSES(robot, robot.ints, robot.reals, robot.body_rotations.reshape(-1), q)
    return np.array([(poses[touching.bodies[k]] @ [*touching.points[k], 1.0])[:3] for k in low])


@pytest.mark.slow
@pytest.mark.parametrize("name", GAINS)
@pytest.mark.parametrize("kind", ["stair", "field", "mesh"])
def test_half_a_foot_over_an_edge_bears_as_a_whole_one(name, kind):
    if name not in KNOWN:
        pytest.skip("needs example-robot-data and robot_descriptions")
    robot = treesim.load(name, base="floating")
    q = robot.standing(robot.clamp(robot.neutral()))
    x = soles(robot, q)[:, 0]
    edge = x[x > x.mean()].mean()  # of front feet, or of the front half of all feet
    if kind == "stair":
        ground = treesim.StaticBox((4, 4, 1), treesim.Placement(translation=(edge - 2, 0, -0.5)))
    elif kind == "mesh":
        box, place = of_box((4, 4, 1)), treesim.Placement(translation=(edge - 2, 0, -0.5))
        ground = treesim.StaticMesh(*box, place)
    else:
        ground = treesim.HeightField(np.zeros((41, 41)), center=(edge - 2, 0))
    q = robot.standing(q, ground)
    hold = treesim.PD(robot, q, kp=GAINS[name], kd=GAINS[name] / 20)
    run = treesim.Simulation(treesim.World(robot, ground=ground), controller=hold).run(1.0, q)
    whole = treesim.Simulation(treesim.World(robot, ground=treesim.Ground()), controller=hold).run(1.0, q)
    drift, usual = (np.abs(each.q[-1] - each.q[500]).max() for each in (run, whole))
    assert abs(run.q[-1, 2] - whole.q[-1, 2]) < 1e-3 and drift < 2 * usual + 1e-4
    assert run.penetration.max() < 2e-5 and run.residual.max() < 1e-8
    carried = run.contact.wrench[-200:-1, :, 2].sum(axis=1).mean() / (9.81 * robot.mass)
    assert carried == pytest.approx(1, abs=1e-2)
