"""Λ, J̄ and N of full rank: the kernel beside numpy, on rows of any number, and what it turns down."""

import numpy as np
import pytest

import treesim
from tests import trees
from tests.trees import random_state
from treesim.dynamics.operational.frames import frame_codes
from treesim.dynamics.operational.space import FLOOR, RTOL
from treesim.dynamics.operational.task_rows import CENTERS
from treesim.kernels.entries.status import FINE, NOT_CONVERGED
from treesim.kernels.operational.consistent_inverse import consistent_inverse_states


def called(robot, frames, center, J, H):
    """Status, Λ, J̄ and N of the kernel's own text on rows J."""
    m, n = J.shape
    factors = treesim.ltdl(robot.dof_parent, H)
    L, D = factors.L, factors.D
    Y = np.linalg.solve(L.T, J.T).T / D
    bodies = [robot.frame(frame).body for frame in frames]
    for r, body in enumerate(np.repeat(bodies, 6)):  # packed along the path of its frame
        row, k = Y[r].copy(), robot.last_dof(int(body)) - 1
        Y[r] = 0
        while k >= 0:
            Y[r, robot.dof_topology.dof_depth[k] - 1] = row[k]
            k = robot.dof_parent[k] - 1
    results = [np.full(size, np.nan) for size in (m * m, n * m, n * n)]
    tables = (robot.ints, robot.reals, *frame_codes(robot, tuple(frames), "world"), CENTERS[center])
    arrays = [np.ascontiguousarray(x).ravel() for x in (J @ np.linalg.solve(H, J.T), J, Y, factors.packed()[1])]
    status = consistent_inverse_states(*tables, np.array([RTOL, FLOOR]), *arrays, *results)
    return status, *(x.reshape(shape) for x, shape in zip(results, ((m, m), (n, m), (n, n)), strict=True))


@pytest.mark.paper("F10 eq. 9")
@pytest.mark.parametrize("center", [False, True])
def test_the_definitions(center):
    robot = trees.tree("asimo")
    q, frames = random_state(robot).q, [robot.body_names[-1], robot.body_names[5]]
    rows = [treesim.frame_jacobian(robot, q, frame) for frame in frames]
    J = np.concatenate([*rows, *[treesim.center_of_mass_jacobian(robot, q)] * center])
    H = treesim.mass_matrix(robot, q)
    status, inertia, jbar, N = called(robot, frames, center, J, H)
    X = np.linalg.solve(H, J.T)
    size = np.linalg.cond(J @ X)
    assert status == FINE
    for found, expected in ((inertia, np.linalg.inv(J @ X)), (jbar, X @ inertia), (N, np.eye(robot.nv) - jbar @ J)):
        assert np.abs(found - expected).max() < 1e-14 * size * np.abs(expected).max()


def test_rows_that_may_depend_on_each_other_are_turned_down():
    robot = trees.tree("tree_1")
    q, frames = random_state(robot).q, ["body_7"]  # six rows, moved by three joints
    J, H = treesim.frame_jacobian(robot, q, frames[0]), treesim.mass_matrix(robot, q)
    assert called(robot, frames, False, J, H)[0] == NOT_CONVERGED
