"""G = J (M + D)^-1 J' and the answer to impulses, against dense algebra, for all kinds of rows on any tree."""

from typing import NamedTuple

import numpy as np
import pytest

import treesim
from tests import trees
from treesim.kernels.algebra.linear import Vector
from treesim.kernels.algebra.tables import tree_tables, with_armature
from treesim.kernels.contact.components import Component
from treesim.kernels.contact.delassus import (
    articulate,
    assemble_delassus,
    backward_sweep,
    move_bodies,
    place,
    put_joint,
    put_pair,
    responses,
    rows_memory,
    velocities_along,
)
from treesim.kernels.contact.layout import SUBTREE

pytestmark = pytest.mark.nojit
TREES = ["tree_1", "chain_mixed", "random_a", "random_b", "random_c", "free_random", "random_14"]


class Case(NamedTuple):
    robot: treesim.Tree
    moved: object  # the tree with M's additions
    rows: object
    n: int
    J: np.ndarray  # by frame Jacobians
    M: np.ndarray  # with the additions


def point_rows(robot, q, body, x):
    """The Jacobian (3, nv) of the velocity of a point of the world that moves with a body."""
    if body == 0:
        return np.zeros((3, robot.nv))
    name = robot.body_names[body - 1]
    J = treesim.frame_jacobian(robot, q, name)
    r = x - treesim.frame_pose(robot, q, name)[:3, 3]
    return J[:3] + np.cross(J[3:].T, r).T


def whole_tree(tree):
    """All of a tree as one component."""
    table, subtree_of = np.zeros((2, len(SUBTREE)), np.int64), np.zeros(tree.n_bodies + 1, np.int64)
    table[0, SUBTREE.body], table[1, SUBTREE.body], table[1, SUBTREE.dof] = 1, tree.n_bodies + 1, tree.nv
    subtree_of[0] = -1
    return Component(np.zeros(1, np.int64), table, subtree_of)


def case(name, seed=0, points=3, pairs=3, joints=3, body=None):
    """Random rows on a random state: points against the world, pairs of bodies, single degrees of freedom; body: the
    one that all points and pairs push."""
    robot, rng = trees.tree(name), np.random.default_rng(seed)
    q, added = robot.random(rng), rng.uniform(0, 0.5, robot.nv)
    tree = tree_tables(robot.ints, robot.reals)
    armature = tree.armature + added
    n = points + pairs + joints
    r, J = rows_memory(tree, n + 2, q, component=whole_tree(tree)), np.zeros((n, robot.nv))
    place(tree, q, r)
    for row in range(points + pairs):
        bodies = rng.permutation(robot.n_bodies + 1)[:2] if row >= points else (rng.integers(1, robot.n_bodies + 1), 0)
        bodies = bodies if body is None else (body, bodies[1] if bodies[1] != body else 0)
        x, direction = rng.normal(size=3), rng.normal(size=3)
        put_pair(r, row, *map(int, bodies), Vector(*x), Vector(*direction))
        J[row] = direction @ (point_rows(robot, q, bodies[0], x) - point_rows(robot, q, bodies[1], x))
    for row in range(points + pairs, n):
        k = int(rng.integers(robot.nv))
        put_joint(r, row, k)
        J[row, k] = 1
    moved = with_armature(tree, armature)
    articulate(moved, r)
    backward_sweep(moved, r, n)
    assemble_delassus(moved, r, n)
    return Case(robot, moved, r, n, J, treesim.mass_matrix(robot, q) + np.diag(added))


@pytest.mark.parametrize("name", TREES)
@pytest.mark.parametrize("kinds", [(3, 0, 0), (0, 3, 0), (0, 0, 3), (3, 3, 3)])
def test_g_is_that_of_dense_algebra(name, kinds):
    found = case(name, 1, *kinds)
    G = found.J @ np.linalg.solve(found.M, found.J.T)
    n = found.n
    np.testing.assert_allclose(found.rows.G[:n, :n], G, rtol=0, atol=1e-11 * np.abs(G).max())
    np.testing.assert_allclose(found.rows.G[:n, :n], found.rows.G[:n, :n].T, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("name", TREES)
def test_many_rows_of_one_body_are_those_of_six_unit_forces(name):
    found = case(name, 4, 9, 3, 2, body=trees.tree(name).n_bodies)
    G = found.J @ np.linalg.solve(found.M, found.J.T)
    np.testing.assert_allclose(found.rows.G[:14, :14], G, rtol=0, atol=1e-11 * np.abs(G).max())


@pytest.mark.parametrize("name", TREES)
def test_velocities_along_rows_are_the_jacobian_times_v(name):
    found = case(name, 2)
    v, out = np.random.default_rng(5).normal(size=found.robot.nv), np.empty(found.n + 2)
    move_bodies(found.moved, found.rows, v)
    velocities_along(found.rows, found.n, v, out)
    expected = found.J @ v
    np.testing.assert_allclose(out[: found.n], expected, rtol=0, atol=1e-12 * max(1, np.abs(expected).max()))


@pytest.mark.parametrize("name", TREES)
def test_impulses_change_velocities_by_the_inverse_mass_matrix(name):
    found = case(name, 3)
    impulses, changes = np.random.default_rng(6).normal(size=(2, found.n + 2)), np.empty((2, found.robot.nv))
    responses(found.moved, found.rows, 0, impulses[0], changes[0], impulses[1], changes[1])
    for impulse, change, V in zip(impulses, changes, (found.rows.mean_motion, found.rows.end_motion), strict=True):
        expected = np.linalg.solve(found.M, found.J.T @ impulse[: found.n])
        np.testing.assert_allclose(change, expected, rtol=0, atol=1e-11 * np.abs(expected).max())
        # and the bodies' velocities that it leaves are those under that change
        moved = found.rows._replace(V=np.empty_like(V))
        move_bodies(found.moved, moved, change)
        np.testing.assert_allclose(V, moved.V, rtol=0, atol=1e-10 * np.abs(V).max())


def test_rows_of_two_bodies_vanish_where_nothing_moves_them_apart():
    """Two bodies behind a common ancestor, the same point and direction: the ancestor's joints drop out."""
    robot = trees.tree("tree_1")
    q, x = robot.random(np.random.default_rng(0)), np.array([0.3, -0.2, 0.5])
    tree = tree_tables(robot.ints, robot.reals)
    r = rows_memory(tree, 1, q, component=whole_tree(tree))
    place(tree, q, r)
    put_pair(r, 0, 4, 7, Vector(*x), Vector(0.0, 0.0, 1.0))
    articulate(tree, r)
    backward_sweep(tree, r, 1)
    assemble_delassus(tree, r, 1)
    J = (point_rows(robot, q, 4, x) - point_rows(robot, q, 7, x))[2]
    assert r.G[0, 0] == pytest.approx(J @ np.linalg.solve(treesim.mass_matrix(robot, q), J), rel=1e-11)
    put_pair(r, 0, 4, 4, Vector(*x), Vector(0.0, 0.0, 1.0))
    backward_sweep(tree, r, 1)
    assemble_delassus(tree, r, 1)
    assert abs(r.G[0, 0]) < 1e-20
