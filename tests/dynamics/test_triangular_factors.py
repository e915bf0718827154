"""Arguments of products and solves with factors: vectors and columns, whose leading axes are broadcast."""

import numpy as np
import pytest

import treesim
from tests import sensitivity, trees
from treesim.errors import ArgumentError

ROBOTS = {"plain": trees.tree("random_a"), "mimic": treesim.load("panda")}


def factors_of(name, states):
    """Mass matrices of random states, and their factors by both functions."""
    robot = ROBOTS[name]
    rng = np.random.default_rng(1)
    q = np.array([robot.random(rng) for _ in range(states[0])]) if states else robot.random(rng)
    M = treesim.mass_matrix(robot, q)
    dense = np.arange(robot.nv) if name == "mimic" else robot.dof_parent  # mimic joints couple branches
    return M, (treesim.articulated(robot, q), treesim.ltdl(dense, M))


def dense_solution(M, x, columns):
    """The solution by dense linear algebra, which broadcasts matrices."""
    found = np.linalg.solve(M, x if columns else x[..., None])
    return found if columns else found[..., 0]


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize(("states", "leading"), [((), (4,)), ((), (2, 3)), ((3,), ()), ((3,), (1,)), ((3,), (2, 3))])
@pytest.mark.parametrize("columns", [(), (1,), (2,)])
def test_leading_axes_are_broadcast(name, states, leading, columns):
    M, factors = factors_of(name, states)
    n = M.shape[-1]
    x = np.random.default_rng(2).normal(size=(*leading, n, *columns))
    expected = dense_solution(M, x, columns)
    for found in factors:
        solved, white = found.solve(x), found.whiten_velocities(x)
        back = found.color_forces(found.whiten_forces(x))
        assert solved.shape == white.shape == back.shape == expected.shape
        L, tau = found.L, np.broadcast_to(x, expected.shape)
        growth = np.abs(np.swapaxes(L, -1, -2)) @ np.abs(np.linalg.inv(np.swapaxes(L, -1, -2)))
        allowed = sensitivity.ROUNDINGS * np.finfo(float).eps * product(growth, np.abs(tau), columns)
        assert (np.abs(back - tau) <= allowed).all()
        one, *others = (vectors(a, n, columns) for a in (solved, expected, tau))
        matrices = np.broadcast_to(M, (*expected.shape[: expected.ndim - 1 - len(columns)], n, n))
        for k, matrix in enumerate(np.repeat(matrices.reshape(-1, n, n), *columns or (1,), axis=0)):
            solution, force = (a[k] for a in others)
            bound = 2 * sensitivity.of_solution(matrix, np.abs(force), solution)  # both err
            assert sensitivity.farthest(one[k], solution) < bound


def product(A, x, columns):
    """A x for vectors or columns x."""
    return A @ x if columns else (A @ x[..., None])[..., 0]


def vectors(x, n, columns):
    """All vectors of an array as rows."""
    return (np.swapaxes(x, -1, -2) if columns else x).reshape(-1, n)


def test_axes_that_cannot_be_broadcast_are_refused():
    _, factors = factors_of("plain", (3,))
    n = factors[0].shape[-1]
    for found in factors:
        for shape in ((), (n - 1,), (2, n), (2, n, 4), (3, n - 1, 2)):
            with pytest.raises(ArgumentError, match=r"x has shape .*broadcast to \(3,\)"):
                found.solve(np.ones(shape))
