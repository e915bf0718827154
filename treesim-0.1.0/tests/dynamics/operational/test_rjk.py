"""RJK by the list of needed blocks: every block that is read has been computed, whatever the tree's numbering."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import treesim
from tests import sensitivity, trees
from tests.trees import random_state
from treesim import plugins
from treesim.dynamics.operational.methods import Rjk
from treesim.dynamics.operational.omega_blocks import required_table
from treesim.kernels.algebra.tables import tree_tables
from treesim.kernels.dynamics import rjk
from treesim.model import generators as make


def blocks(robot, q, bodies):
    """The needed blocks of Omega, computed in memory that holds NaN."""
    tree = tree_tables(robot.ints, robot.reals)
    needed = rjk.required_in(len(bodies), required_table(robot.parent.tolist(), bodies))
    X, P, _, _, U, D_inv = rjk.scratch_for(tree, q)
    rjk.articulated_quantities(tree, q, X, P, U, D_inv)
    Omega = np.full((needed.i.size + 1, 6, 6), np.nan)
    rjk.inverse_inertia_blocks(tree, needed, X, U, D_inv, Omega)
    return needed, Omega


@pytest.mark.paper("F10 Figure 14")
@given(trees.random_trees(armature=0.5), st.integers(0, 1000), st.data())
def test_no_block_is_read_before_it_is_computed(robot, seed, data):
    bodies = data.draw(st.lists(st.integers(1, robot.n_bodies), min_size=1, max_size=4))
    _, Omega = blocks(robot, random_state(robot, seed).q, bodies)
    assert np.isfinite(Omega).all() and not Omega[0].any()


def test_a_block_depends_on_its_bodies_not_on_the_tasks_it_was_found_for():
    robot = make.asimo()
    q = random_state(robot).q
    few, of_few = blocks(robot, q, [20, 35])
    all_of_them, of_all = blocks(robot, q, [35, 4, 11, 20])
    number = {pair: b for b, pair in enumerate(zip(all_of_them.i, all_of_them.j, strict=True), start=1)}
    for b, pair in enumerate(zip(few.i, few.j, strict=True), start=1):
        np.testing.assert_array_equal(of_few[b], of_all[number[pair]])


def test_a_long_chain_agrees_with_the_extended_force_propagator():
    """Both come from the same articulated inertias: their difference is what carrying blocks 300 times may lose."""
    robot = make.chain(300)
    q, names = random_state(robot).q, robot.body_names
    frames = [names[299], names[99], names[199]]
    found, other = (treesim.inverse_operational_inertia(robot, q, frames, method=name) for name in ("rjk", "efpa"))
    assert np.abs(found - other).max() < 300 * 36 * np.finfo(float).eps * np.abs(other).max()


def test_needed_blocks_are_found_once_for_each_set_of_tasks():
    robot, method = trees.tree("asimo"), Rjk()
    names = robot.body_names
    one, again = (method.kept_tables(robot, (names[3], names[5]), "world")[2] for _ in range(2))
    assert one is again and one is not method.kept_tables(robot, (names[3],), "world")[2]


def test_bound_functions_have_code_of_their_own_for_the_needed_blocks():
    robot = trees.tree("tree_1")
    q, frames = random_state(robot).q, ["body_7", "body_4"]
    found = treesim.Dynamics(robot, engine="specialized").inverse_operational_inertia(q, frames, method="rjk")
    plain = plugins.get("operational", "rjk").inverse_inertia(robot, q, tuple(frames), "world")
    J = np.concatenate([treesim.frame_jacobian(robot, q, frame) for frame in frames])
    assert sensitivity.farthest(found, plain) < 2 * sensitivity.of_inverse_inertia(treesim.mass_matrix(robot, q), J)
