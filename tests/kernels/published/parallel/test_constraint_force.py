"""Constraint forces first: the equations against dense linear algebra, their elimination against articulated bodies."""

import mpmath
import numpy as np
import pytest

import treesim
from tests import trees
from tests.trees import random_state, relative_error
from treesim.dynamics.heavy_paths import block_sizes
from treesim.engine.interpreter import Tally, run
from treesim.kernels.algebra.blocks import articulated_of_block, put_articulated_block, transform_rows
from treesim.kernels.algebra.spatial import articulated, articulated_to_parent
from treesim.kernels.algebra.tables import (
    articulated_at,
    body_inertia,
    body_transform_at,
    force_at,
    transform_at,
    tree_tables,
)
from treesim.kernels.dynamics.aba import eliminate_screw, forward_dynamics_states
from treesim.kernels.dynamics.rjk import articulated_quantities
from treesim.kernels.published.parallel import constraint_force as kernel
from treesim.kernels.published.parallel import constraint_force_branches_first as branches_first
from treesim.kernels.published.parallel import constraint_force_grouped as grouped
from treesim.kernels.published.parallel import (
    constraint_force_paths,
    constraint_force_stages,
    cyclic_reduction,
    parallel_cyclic_reduction,
    path_elimination,
    path_velocities,
)
from treesim.kernels.published.parallel.constraint_force_branches_first import main_chains
from treesim.kernels.published.parallel.heavy_paths import (
    DOWN_SWEEP,
    ELIMINATION,
    EQUATIONS,
    HEADS,
    UP_SWEEP,
    paths_in,
    table_size,
)
from treesim.model import generators as make

pytestmark = pytest.mark.nojit
SOLVERS = {"serial": path_elimination, "cr": cyclic_reduction, "pcr": parallel_cyclic_reduction}
every_solver = pytest.mark.parametrize("solver", SOLVERS.values(), ids=SOLVERS)
CHAIN = make.chain(7, trees.MIXED)
TREES = {"chain": CHAIN, **{name: trees.tree(name) for name in ("tree_1", "random_a", "random_b", "free_random")}}
every_tree = pytest.mark.parametrize("robot", TREES.values(), ids=TREES)


def worked(robot, state, solver=path_elimination, until=None, shares=1):
    """Paths and work memory after all stages, or those before the first of the kind `until`; and qdd."""
    tree, table = tree_tables(robot.ints, robot.reals), np.zeros(table_size(robot.n_bodies), np.int64)
    constraint_force_stages.prepare(robot.ints, robot.reals, table, solver)
    paths = paths_in(robot.n_bodies, table)
    w = kernel.work_in(robot.n_bodies + 1, np.zeros((robot.n_bodies + 1) * (kernel.NUMBERS + solver.EXTRA)))
    qdd = np.zeros(robot.nv)
    for s in range(paths.sizes[1]):
        if paths.stages[s, 0] == until:
            break
        for share in reversed(range(shares)):
            constraint_force_stages.stage(
                tree, paths, w, s, share, shares, *state[:2], state.tau, np.empty((0, 6)), qdd,
                solver,
            )  # fmt: skip
    return tree, paths, w, qdd


def motion_matrix(X):
    """The 6x6 matrix of a motion transform."""
    matrix = np.eye(6)
    transform_rows(X, matrix)
    return matrix


def operators(robot, state):
    """P, the blocks of I^-1, and the indices of free directions (S) and of constraints (W), of all joints at once."""
    tree, _, w, _ = worked(robot, state, until=ELIMINATION)
    N = robot.n_bodies
    P, inverse = np.eye(6 * N), np.zeros((6 * N, 6 * N))
    for i in range(1, N + 1):
        here, block = slice(6 * i - 6, 6 * i), np.empty((6, 6))
        p = tree.parent[i]
        if p > 0:
            P[6 * p - 6 : 6 * p, here] = -motion_matrix(body_transform_at(tree, w.X, i)).T
        put_articulated_block(block, articulated(body_inertia(tree, i)))
        inverse[here, here] = np.linalg.inv(block)
    free = [6 * (i - 1) + tree.screw[k] for i in range(1, N + 1) for k in range(tree.v_start[i], tree.v_start[i + 1])]
    return P, inverse, free, np.setdiff1d(np.arange(6 * N), free)


def dense(robot, state):
    """K = P' I^-1 P, and the indices of free directions and of constraints."""
    P, inverse, free, held = operators(robot, state)
    return P.T @ inverse @ P, free, held


def stripped(robot):
    """The same robot without armature, whose constraint forces alone are unknown."""
    bodies = [
        treesim.Body(
            body.name,
            body.parent,
            treesim.Joint(body.joint.name, body.joint.type, placement=body.joint.placement, axis=body.joint.axis),
            body.inertia,
        )
        for body in robot.bodies
    ]
    return treesim.Tree(robot.name, bodies)


@pytest.mark.paper("FF13 abstract, M⁻¹", "FF13 nomenclature, W_i, W_a")
@every_tree
def test_mass_matrix_is_the_schur_complement_of_the_constraint_forces(robot):
    robot = stripped(robot)
    state = random_state(robot)
    K, free, held = dense(robot, state)
    A = K[np.ix_(held, held)]
    inverse = K[np.ix_(free, free)] - K[np.ix_(free, held)] @ np.linalg.solve(A, K[np.ix_(held, free)])
    assert relative_error(inverse, np.linalg.inv(treesim.mass_matrix(robot, state.q))) < 1e-10


@pytest.mark.paper("FF13 abstract, Λ⁻¹")
@every_tree
def test_inverse_operational_inertia_is_that_of_free_bodies_less_what_constraint_forces_hold_back(robot):
    """Λ^-1 = B' [I^-1 - I^-1 (P W) A^-1 (P W)' I^-1] B, B picking two bodies."""
    robot = stripped(robot)
    state = random_state(robot)
    P, inverse, _, held = operators(robot, state)
    Q = inverse @ P[:, held]
    Omega = inverse - Q @ np.linalg.solve(P[:, held].T @ Q, Q.T)
    chosen = [robot.n_bodies, (robot.n_bodies + 1) // 2]
    rows = np.concatenate([own_rows(robot, state.q, i) for i in chosen])
    expected = rows @ np.linalg.solve(treesim.mass_matrix(robot, state.q), rows.T)
    picked = np.concatenate([np.arange(6 * i - 6, 6 * i) for i in chosen])
    assert relative_error(Omega[np.ix_(picked, picked)], expected) < 1e-10


def own_rows(robot, q, i):
    """The Jacobian of body i in the kernel's coordinates of that body, angular first."""
    J = treesim.frame_jacobian(robot, q, robot.body_names[i - 1], reference="local")
    R = robot.body_rotations[i]
    return np.concatenate([R.T @ J[3:], R.T @ J[:3]])


@pytest.mark.paper("FF13 abstract, M⁻¹", "FF13 nomenclature, 𝒫", "FF13 nomenclature, W_i, W_a")
def test_equations_of_a_chain_are_those_of_dense_algebra_and_block_tridiagonal():
    state = random_state(CHAIN)
    K, free, _ = dense(CHAIN, state)
    _, _, w, _ = worked(CHAIN, state, until=ELIMINATION)
    K[free, :] = K[:, free] = 0
    K[free, free] = 1
    for i in range(CHAIN.n_bodies):
        for j in range(i + 1):
            block = K[6 * i : 6 * i + 6, 6 * j : 6 * j + 6]
            expected = w.T[i + 1] if i == j else w.L[i + 1] if i == j + 1 else np.zeros((6, 6))
            assert np.abs(block - expected).max() <= 1e-13 * np.abs(K).max() * (i - j < 2)


@pytest.mark.paper("FF13 abstract, Λ⁻¹")
def test_last_block_of_the_inverse_gives_the_inverse_inertia_of_the_tip():
    """Λ^-1 = I^-1 - I^-1 W (A^-1)_NN W' I^-1."""
    state = random_state(CHAIN)
    K, _, held = dense(CHAIN, state)
    tip = [k for k, row in enumerate(held) if row >= 6 * (CHAIN.n_bodies - 1)]
    corner = np.linalg.inv(K[np.ix_(held, held)])[np.ix_(tip, tip)]
    _, _, w, _ = worked(CHAIN, state, until=EQUATIONS)
    J = w.J[CHAIN.n_bodies]
    W = np.eye(6)[:, held[tip] - 6 * (CHAIN.n_bodies - 1)]
    inverse = J - J @ W @ corner @ W.T @ J
    body = CHAIN.body_names[-1]
    turn = CHAIN.body_rotations[CHAIN.n_bodies]
    rotate = np.block([[np.zeros((3, 3)), turn], [turn, np.zeros((3, 3))]])  # the frame's axes, linear first
    expected = treesim.inverse_operational_inertia(CHAIN, state.q, body, reference="local")
    assert relative_error(rotate @ inverse @ rotate.T, expected) < 1e-11


@pytest.mark.paper("FF13 abstract, trees, beyond")
@every_solver
@every_tree
def test_what_a_path_hangs_on_its_parent_is_the_articulated_inertia(robot, solver):
    """W T_1^-1 W' is what articulated bodies call P less what the joint lets through, armature included."""
    state = random_state(robot, 1)
    tree, paths, w, _ = worked(robot, state, solver)
    X, P, U, D_inv = (
        np.zeros(shape) for shape in ((tree.n_bodies + 1, 12), (tree.n_bodies + 1, 21), (tree.nv, 6), tree.nv)
    )
    articulated_quantities(tree, state.q, X, P, U, D_inv)
    heads = [int(paths.order[k]) for k in range(tree.n_bodies) if paths.start[k] == k]
    for i in heads:
        inertia = beyond_joint(tree, articulated_at(P, i), i)
        expected, found = np.zeros((6, 6)), np.zeros((6, 6))
        put_articulated_block(expected, articulated_to_parent(body_transform_at(tree, w.X, i), inertia))
        put_articulated_block(found, articulated_at(w.hanging_inertia, i))
        assert relative_error(found, expected) < 1e-12


def articulated_inertias(tree, q):
    B = tree.n_bodies + 1
    X, P, U, D_inv = np.zeros((B, 12)), np.zeros((B, 21)), np.zeros((tree.nv, 6)), np.zeros(tree.nv)
    articulated_quantities(tree, q, X, P, U, D_inv)
    return P


def beyond_joint(tree, inertia, i):
    """What joint i lets its parent feel of an articulated inertia."""
    nothing = force_at(np.zeros((1, 6)), 0)
    for k in range(tree.v_start[i + 1] - 1, tree.v_start[i] - 1, -1):
        _, _, _, inertia, _ = eliminate_screw(inertia, nothing, tree.screw[k], tree.armature[k], 0.0)
    return inertia


def test_pivots_along_a_chain_are_dual_to_articulated_inertias():
    """P_i+ = W (T_i - W' X J_prev X' W)^-1 W' for every body, not only the first."""
    state = random_state(CHAIN, 2)
    tree, _, w, _ = worked(CHAIN, state, until=HEADS)
    P = articulated_inertias(tree, state.q)
    for i in range(1, tree.n_bodies + 1):
        screws = [tree.screw[k] for k in range(tree.v_start[i], tree.v_start[i + 1])]
        held = np.ix_(*2 * [[c for c in range(6) if c not in screws]])
        L = np.tril(w.T[i], -1) + np.eye(6)
        T = w.T[i] if i == 1 else L @ np.diag(1 / np.diag(w.T[i])) @ L.T
        Xi = motion_matrix(body_transform_at(tree, w.X, i))
        found, expected = np.zeros((6, 6)), np.zeros((6, 6))
        found[held] = np.linalg.inv((T - Xi @ w.J[i - 1] @ Xi.T)[held])
        put_articulated_block(expected, beyond_joint(tree, articulated_at(P, i), i))
        assert relative_error(found, expected) < 1e-11


@pytest.mark.paper("FF13 abstract, trees")
@every_tree
def test_groups_couple_to_their_neighbours_only(robot):
    """A in the order of groups: the kernel's blocks are those of dense algebra, and all others are exactly zero."""
    robot = stripped(robot)
    state = random_state(robot, 3)
    K, free, _ = dense(robot, state)
    K[free, :] = K[:, free] = 0
    K[free, free] = 1
    tree = tree_tables(robot.ints, robot.reals)
    paths = main_chains(tree, robot.reals)
    g = grouped.groups_of(tree, paths, robot.reals)
    w = equations_of_groups(robot, tree, paths, g, state)
    places = [k for k in range(tree.n_bodies) if grouped.size_of(g, k) > 0]
    assert sum(grouped.size_of(g, k) for k in places) == 6 * robot.n_bodies
    rows = {k: [6 * (i - 1) + c for i in g.members[g.first[k] : g.first[k + 1]] for c in range(6)] for k in places}
    for a in places:
        for b in places:
            block = K[np.ix_(rows[a], rows[b])]
            if a == b:
                grouped.fill_diagonal(tree, w, g, a)
                assert relative_error(np.tril(grouped.diagonal_of(g, a)), np.tril(block)) < 1e-13
            elif a == b + 1 and paths.start[a] == paths.start[b]:
                grouped.fill_coupling(tree, paths, w, g, a)
                assert relative_error(grouped.rows_of(g, g.C, b), block[-6:]) < 1e-13
                assert not block[:-6].any()
            elif abs(a - b) > 1 or paths.start[a] != paths.start[b]:
                assert not block.any()


def equations_of_groups(robot, tree, paths, g, state):
    w = kernel.work_in(robot.n_bodies + 1, np.zeros((robot.n_bodies + 1) * kernel.NUMBERS))
    branches_first.move_bodies(tree, w, state.q, state.v, state.tau, np.empty((0, 6)))
    grouped.equations(tree, paths, w, g)
    return w


@every_solver
@pytest.mark.parametrize("name", ["grid_3", "chain_mixed"])
@pytest.mark.parametrize("shares", [2, 5])
def test_shares_of_stages_give_the_same_bits(name, solver, shares):
    robot = trees.tree(name)
    state = random_state(robot, 4)
    assert (worked(robot, state, solver, shares=shares)[3] == worked(robot, state, solver)[3]).all()


@pytest.mark.paper("FF13 abstract, M⁻¹", "FF13 abstract, parallel", "FF13 nomenclature, 𝒫")
@every_solver
@pytest.mark.parametrize("length", range(1, 10))
def test_every_length_of_path(length, solver):
    robot = make.chain(length, ("revolute", "spherical", "prismatic"))
    state = random_state(robot, length)
    expected = treesim.forward_dynamics(robot, state.q, state.v, state.tau, backend="reference")
    assert relative_error(worked(robot, state, solver)[3], expected) < 1e-11


def test_inertia_of_a_block_and_back():
    robot = trees.tree("random_a")
    tree, block, again = tree_tables(robot.ints, robot.reals), np.empty((6, 6)), np.empty((6, 6))
    inertia = articulated_to_parent(transform_at(tree.placement, 3), articulated(body_inertia(tree, 3)))
    put_articulated_block(block, inertia)
    put_articulated_block(again, articulated_of_block(block))
    assert (block == block.T).all() and (again == block).all()


@pytest.mark.paper("FF13 abstract, parallel")
def test_stages_of_a_chain_halve_it():
    """Cyclic reduction of 100 bodies takes 7 halvings, elimination one stage; both sweep each level once."""
    robot = make.chain(100)
    counts = {}
    for name, solver in SOLVERS.items():
        table = np.zeros(table_size(100), np.int64)
        constraint_force_stages.prepare(robot.ints, robot.reals, table, solver)
        paths = paths_in(100, table)
        whats = paths.stages[: paths.sizes[1], 0].tolist()
        counts[name] = whats.count(ELIMINATION)
        assert paths.sizes[0] == whats.count(HEADS) == 1
    assert counts == {"serial": 1, "cr": 14, "pcr": 15}


ENTRIES = {
    "serial": constraint_force_paths.ELIMINATION.states,
    "cr": constraint_force_paths.CYCLIC_REDUCTION.states,
    "pcr": constraint_force_paths.PARALLEL_CYCLIC_REDUCTION.states,
    "grouped": grouped.forward_dynamics_constraint_force_grouped_states,
    "branches_first": branches_first.forward_dynamics_constraint_force_branches_first_states,
}


@pytest.mark.paper("FF13 abstract, forces first")
@pytest.mark.parametrize("entry", ENTRIES.values(), ids=ENTRIES)
@pytest.mark.parametrize("name", ["tree_1", "side_branches_2", "chain_9"])
def test_exact_in_forty_digits(name, entry):
    """Against articulated bodies; angles rather than quaternions, so that both see one model."""
    own = {"side_branches_2": make.chain_with_side_branches(2), "chain_9": make.chain(9, ("revolute", "prismatic"))}
    robot = own.get(name) or trees.tree(name)
    state = random_state(robot)
    arguments = (state.q, state.v, state.tau, np.empty(0))
    with mpmath.workdps(40):
        constants, shape = (robot.ints, trees.with_exact_rotations(robot)), [(robot.nv,)]
        qdd = run(entry, constants, arguments, shape, mpmath.mpf)[0]
        truth = run(forward_dynamics_states, constants, arguments, shape, mpmath.mpf)[0]
        error = max(abs(a - b) for a, b in zip(qdd, truth, strict=True)) / max(map(abs, truth))
    assert error < mpmath.mpf(10) ** -33


def operations(entry, n):
    """Operations and the longest chain of them, on a chain of n bodies that moves."""
    robot, tally = make.chain(n), Tally()
    state = random_state(robot, 6)
    arguments = (tally.variables(state.q), tally.variables(state.v), tally.variables(state.tau), np.empty(0))
    run(entry, (robot.ints, robot.reals), arguments, [(n,)], tally.number)
    return sum(tally.operations.values()), tally.depth


@pytest.mark.paper("FF13 abstract, serial")
@pytest.mark.parametrize("name", ["serial", "cr"])
def test_work_grows_in_proportion_and_the_critical_path_by_the_logarithm_where_blocks_are_halved(name):
    work, depth = np.array([operations(ENTRIES[name], n) for n in (8, 16, 32, 64)]).T
    assert np.diff(work)[2] / np.diff(work)[1] == pytest.approx(2, abs=0.15)
    longer = np.diff(depth)
    if name == "serial":
        assert longer[2] / longer[1] == pytest.approx(2, abs=0.1)
    else:
        assert np.ptp(longer) <= 2 and longer[2] < depth[0]


@pytest.mark.parametrize("length", [1, 2, 3, 5, 8, 13])
def test_blocks_of_the_sweeps_are_what_they_touch(length):
    """Each place of a sweep, alone, changes the map of its own body, and only where a block is listed."""
    robot = make.chain(length)
    _, paths, w, _ = worked(robot, random_state(robot), until=UP_SWEEP)
    for s, (what, turn) in enumerate(paths.stages[: paths.sizes[1], :2].tolist()):
        if what in (UP_SWEEP, DOWN_SWEEP):
            sweep = path_velocities.up_sweep if what == UP_SWEEP else path_velocities.down_sweep
            listed = {place for place, _ in block_sizes(paths, s, None, None)}
            for place in range(length):
                before = w.P.copy()
                sweep(paths, w, turn, place, place + 1, path_velocities.append_map)
                changed = set(np.flatnonzero((before != w.P).any(axis=1)).tolist())
                assert changed == ({int(paths.order[place])} if place in listed else set())
