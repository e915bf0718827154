"""Constraint-force method with side branches in the blocks of the main chain: one block-tridiagonal system per chain.

The joint of a main body and all joints of the branches that hang on that body form a group. A couples a group to its
neighbours only. Every subtree on the base has a main chain, its heavy path. Blocks are dense, so the cost is the cube
of the branches' size. Bodies without inertia of their own, and all beyond, are eliminated first as in
`constraint_force_branches_first`.
"""

from typing import Any, NamedTuple

import numpy as np

from ...algebra.blocks import (
    SIX,
    add_transposed_product,
    copy,
    factorize,
    invert,
    put_zero,
    solve,
    subtract_apply,
    subtract_product,
    subtract_transposed_apply,
    transform_rows,
)
from ...algebra.spatial import force_add, force_to_parent, motion_to_child
from ...algebra.tables import body_transform_at, force_at, motion_at, put_force
from .constraint_force import (
    NUMBERS,
    acceleration,
    equation_matrix,
    equation_vector,
    given_acceleration,
    inverse_inertia,
    joint_acceleration,
    put_where_held,
    work_in,
)
from .constraint_force_branches_first import main_chains, move_bodies, move_branch, yield_to_branch
from .constraint_force_stages import constraint_force_entry, soundness
from .path_elimination import EXTRA


class Groups(NamedTuple):
    """Groups of a tree's main chains, one for each place of the order that contains a main body."""

    yields: Any  # (N+1,) 1 for the bodies that are eliminated beforehand
    members: Any  # bodies of one group after another, leaves first, the main body last
    first: Any  # (N+1,) where the members of the group at a place begin
    corner: Any  # (N,) where the diagonal block of the group at a place begins in D
    slot: Any  # (N+1,) a body's rank in its group
    D: Any  # diagonal blocks, then their factors
    C: Any  # (6, n) rows by which the next main joint of the chain is coupled to a group
    Y: Any  # (6, n) what these rows become: S C
    y: Any  # right-hand sides, at last the solution
    t: Any  # as long as the longest of them
    S: Any  # (6, 6) of D^-1


def mark_yielding(tree, sound, yields):
    """Mark bodies without inertia of their own, and those beyond."""
    for i in range(1, tree.n_bodies + 1):
        yields[i] = 1 if sound[i] == 0 or yields[tree.parent[i]] == 1 else 0


def gather(tree, paths, yields, members, first, corner, slot):
    """Write the members of every group, and where its memory begins; return the total size of all diagonal blocks."""
    owner, at = np.zeros(tree.n_bodies + 1, np.int64), 0
    for i in range(1, tree.n_bodies + 1):
        p = tree.parent[i]
        owner[i] = i if p == 0 or paths.heavy[p] == i else owner[p]
        if owner[i] != i and yields[i] == 0:
            paths.previous[i] = p
    numbers = 0
    for place in range(tree.n_bodies):
        main = paths.order[place]
        first[place], corner[place] = at, numbers
        if owner[main] == main:
            for i in range(tree.n_bodies, main - 1, -1):
                if owner[i] == main and yields[i] == 0:
                    members[at], slot[i] = i, at - first[place]
                    at += 1
        numbers += (SIX * (at - first[place])) ** 2
    first[tree.n_bodies] = at
    return numbers


def groups_of(tree, paths, q):
    """Return the groups of a tree, with memory for their blocks."""
    N = tree.n_bodies
    yields, slot = np.zeros(N + 1, np.int64), np.zeros(N + 1, np.int64)
    members, first, corner = np.zeros(N, np.int64), np.zeros(N + 1, np.int64), np.zeros(N, np.int64)
    mark_yielding(tree, paths.sound, yields)
    numbers = gather(tree, paths, yields, members, first, corner, slot)
    n = SIX * N
    D, C, Y = np.zeros(numbers, q.dtype), np.zeros(SIX * n, q.dtype), np.zeros(SIX * n, q.dtype)
    y, t, S = np.zeros(n, q.dtype), np.zeros(n, q.dtype), np.zeros((SIX, SIX), q.dtype)
    return Groups(yields, members, first, corner, slot, D, C, Y, y, t, S)


def size_of(g, place):
    """Return the number of rows of the group at a place."""
    return SIX * (g.first[place + 1] - g.first[place])


def diagonal_of(g, place):
    """Return the diagonal block of the group at a place."""
    n = size_of(g, place)
    return g.D[g.corner[place] : g.corner[place] + n * n].reshape((n, n))


def rows_of(g, rows, place):
    """Return the six rows over the group at a place."""
    return rows[SIX * SIX * g.first[place] : SIX * SIX * g.first[place + 1]].reshape((SIX, size_of(g, place)))


def vector_of(g, place):
    """Return the right-hand side of the group at a place."""
    return g.y[SIX * g.first[place] : SIX * g.first[place + 1]]


def sibling_coupling(tree, w, i, j, B):
    """B <- X_i J X_j', J of the common parent; zero in free directions."""
    copy(w.J[tree.parent[i]], SIX, SIX, B)
    transform_rows(body_transform_at(tree, w.X, i), B)
    transform_rows(body_transform_at(tree, w.X, j), B.T)
    for r in range(6):
        for c in range(6):
            if w.compliance[i, r] < 0 or w.compliance[j, c] < 0:
                B[r, c] = B[r, c] * 0


def fill_diagonal(tree, w, g, place):
    """Fill the lower triangle of a group's block: joints with themselves, their parents, and their siblings."""
    D = diagonal_of(g, place)
    put_zero(D, D.shape[0], D.shape[0])
    for m in range(g.first[place], g.first[place + 1]):
        i = g.members[m]
        a = SIX * g.slot[i]
        copy(w.T[i], SIX, SIX, D[a : a + SIX, a : a + SIX])
        if m < g.first[place + 1] - 1:
            b = SIX * g.slot[tree.parent[i]]
            copy(w.L[i].T, SIX, SIX, D[b : b + SIX, a : a + SIX])
        for n in range(m + 1, g.first[place + 1] - 1):
            j = g.members[n]
            if tree.parent[j] == tree.parent[i]:
                b = SIX * g.slot[j]
                sibling_coupling(tree, w, j, i, D[b : b + SIX, a : a + SIX])


def fill_coupling(tree, paths, w, g, place):
    """Fill the rows that couple the main joint at `place` to the group before it: to its parent and its siblings."""
    k, C = paths.order[place], rows_of(g, g.C, place - 1)
    put_zero(C, SIX, C.shape[1])
    for m in range(g.first[place - 1], g.first[place]):
        i = g.members[m]
        a = SIX * g.slot[i]
        if i == tree.parent[k]:
            copy(w.L[k], SIX, SIX, C[:, a : a + SIX])
        elif tree.parent[i] == tree.parent[k]:
            sibling_coupling(tree, w, k, i, C[:, a : a + SIX])


def fill_group(tree, paths, w, g, place):
    """Fill the equations of the group at a place: block, right-hand side, coupling to the group before it."""
    fill_diagonal(tree, w, g, place)
    for m in range(g.first[place], g.first[place + 1]):
        for c in range(6):
            g.y[SIX * m + c] = w.r[g.members[m], c]
    if place > paths.start[place]:
        fill_coupling(tree, paths, w, g, place)


def eliminate_group(g, place):
    """D_g-1 -= C' S C and y_g-1 -= C' (D_g^-1 y_g)_k, S the block of D_g^-1 that belongs to the main joint k."""
    D, y, n = diagonal_of(g, place), vector_of(g, place), size_of(g, place)
    C, Y, m = rows_of(g, g.C, place - 1), rows_of(g, g.Y, place - 1), size_of(g, place - 1)
    invert(D[n - SIX :, n - SIX :], SIX, g.S)
    put_zero(Y, SIX, m)
    subtract_product(g.S, C, SIX, SIX, m, Y)
    add_transposed_product(C, Y, m, SIX, m, diagonal_of(g, place - 1))
    subtract_transposed_apply(C, SIX, m, y[n - SIX :], vector_of(g, place - 1))


def solve_group(paths, g, place):
    """Factorize D_g, compute D_g^-1 y_g, and eliminate the group from the one before it."""
    factorize(diagonal_of(g, place), size_of(g, place))
    solve(diagonal_of(g, place), size_of(g, place), vector_of(g, place))
    if place > paths.start[place]:
        eliminate_group(g, place)


def substitute_group(g, place):
    """x_g = D_g^-1 (y_g - C x_g-1), for y that contains D_g^-1 y_g. Overwrites y by x."""
    n, t, y = size_of(g, place), g.t[: size_of(g, place)], vector_of(g, place)
    for r in range(n):
        t[r] = y[r] * 0
    subtract_apply(rows_of(g, g.C, place - 1), SIX, size_of(g, place - 1), vector_of(g, place - 1), t[n - SIX :])
    solve(diagonal_of(g, place), n, t)
    for r in range(n):
        y[r] += t[r]


def solve_chain(tree, paths, w, g, head):
    """Solve the main chain that begins at place `head`: its groups from the tip to the base and back.

    Overwrites the right-hand sides r of the members by x.
    """
    for place in range(paths.stop[head] - 1, head - 1, -1):
        fill_group(tree, paths, w, g, place)
    for place in range(paths.stop[head] - 1, head - 1, -1):
        solve_group(paths, g, place)
    for place in range(head + 1, paths.stop[head]):
        substitute_group(g, place)
    for m in range(g.first[head], g.first[paths.stop[head]]):
        for c in range(6):
            w.r[g.members[m], c] = g.y[SIX * m + c]


def bring_force_inward(tree, paths, w, g, place):
    """Eliminate a body that yields, or apply the given force of a branch's joint to the body that it hangs on."""
    i = paths.order[place]
    if g.yields[i] == 1:
        yield_to_branch(tree, paths, w, i)
    elif tree.parent[i] > 0 and paths.start[place] == place:
        put_force(w.hanging_force, i, force_to_parent(body_transform_at(tree, w.X, i), force_at(w.F, i)))


def equation(tree, paths, w, i):
    """Compute the equations of joint i; on the base, add its acceleration to the right-hand side."""
    equation_matrix(tree, paths, w, i)
    equation_vector(tree, paths, w, i)
    if tree.parent[i] == 0:
        put_where_held(w, i, w.r[i], motion_to_child(body_transform_at(tree, w.X, i), motion_at(w.a, 0)))


def equations(tree, paths, w, g):
    """Compute all equations of all groups."""
    for i in range(1, tree.n_bodies + 1):
        if g.yields[i] == 0:
            inverse_inertia(tree, paths, w, i)
            given_acceleration(tree, paths, w, i)
    for i in range(1, tree.n_bodies + 1):
        if g.yields[i] == 0:
            equation(tree, paths, w, i)


def react(tree, w, i):
    """Apply the reaction of a branch's joint to the body that it hangs on."""
    p, reaction = tree.parent[i], force_to_parent(body_transform_at(tree, w.X, i), force_at(w.r, i))
    put_force(w.b, p, force_add(force_at(w.b, p), reaction))


def accelerate(tree, paths, w, g, qdd):
    """Apply the reactions of the branches' joints to their parents; then compute accelerations."""
    for i in range(1, tree.n_bodies + 1):
        if tree.parent[i] > 0 and g.yields[i] == 0 and paths.heavy[tree.parent[i]] != i:
            react(tree, w, i)
    for i in range(1, tree.n_bodies + 1):
        if g.yields[i] == 0:
            acceleration(tree, paths, w, i)
            joint_acceleration(tree, w, i, qdd)
        else:
            move_branch(tree, w, i, qdd)


def forward_dynamics_constraint_force_grouped(tree, q, v, tau, f_ext, qdd, paths, w, g):
    """qdd = FD(q, v, tau): equations of all joints, chain by chain, then accelerations."""
    move_bodies(tree, w, q, v, tau, f_ext)
    for place in range(tree.n_bodies):
        bring_force_inward(tree, paths, w, g, place)
    equations(tree, paths, w, g)
    for place in range(tree.n_bodies):
        if paths.start[place] == place and tree.parent[paths.order[place]] == 0:
            solve_chain(tree, paths, w, g, place)
    accelerate(tree, paths, w, g, qdd)
    return soundness(w)


def scratch_for(tree, q):
    """Chains of a tree, and scratch memory, with the dtype of q."""
    paths = main_chains(tree, q)
    memory = np.zeros((tree.n_bodies + 1) * (NUMBERS + EXTRA), q.dtype)
    return paths, work_in(tree.n_bodies + 1, memory), groups_of(tree, paths, q)


forward_dynamics_constraint_force_grouped_states = constraint_force_entry(
    forward_dynamics_constraint_force_grouped, scratch_for
)
