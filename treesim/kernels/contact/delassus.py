"""Constraint rows of contacts, limits, friction and frames, their Delassus matrix, and the tree's response to impulses.

A row is a pair of forces on two bodies, in the bodies' coordinates, or a unit force of one degree of freedom;
sigma = J v is the velocity along it. A backward sweep of every row's force, with the articulated inertias of M + D,
computes Z = L^-1 J' at the degrees of freedom (the innovations factors of M + D). Then G = Z' D^-1 Z, and impulses
change the velocities by (M + D)^-1 J' lambda, from D^-1 Z lambda by a forward sweep. The forces on two bodies add up
where their paths merge, since the sweep is linear. Cost O(N + m d), and m^2 d for G, d the bodies on a path.
"""

from typing import Any, NamedTuple

import numpy as np

from ..algebra.linear import Vector, cross, rotate_back, scale, sub
from ..algebra.numbers import some, vectorized
from ..algebra.rotations import compose
from ..algebra.spatial import (
    Force,
    force_component,
    force_dot,
    force_scale,
    force_sub,
    force_to_parent,
    motion_to_child,
)
from ..algebra.tables import body_transform_at, force_at, motion_at, put_force, put_motion, put_transform, transform_at
from ..dynamics.aba import release_screw
from ..dynamics.rjk import articulate_placed
from ..kinematics.bodies import body_transform, body_velocity, zero_motion
from .components import first_and_end
from .layout import SUBTREE

VECTOR = 8  # numbers of the longest SIMD vectors
UNITS = VECTOR  # columns for six unit forces


class Rows(NamedTuple):
    """Memory of at most M rows of one state."""

    # by body: transforms, placements, velocities, those at the end and at the start of the step, articulated inertias
    X: Any
    W: Any
    V: Any
    V_end: Any
    V_start: Any
    IA: Any
    mean_motion: Any  # and velocities under impulses, and at the corrected midpoint
    end_motion: Any
    V_mid: Any
    # by degree of freedom: U, D^-1, and zeros
    U: Any
    D_inv: Any
    still: Any
    # by row: forces (2, M, 6) on two bodies (2, M), of which the second may be 0, without a force; or the degree of
    # freedom (M,), -1 for pairs of bodies
    A: Any
    body: Any
    dof: Any
    Z: Any  # (nv, M)
    first: Any  # (nv,) of each degree of freedom the first row that reaches it, and the one behind the last
    last: Any
    G: Any  # (M, M)
    unit: Any  # (nv, UNITS) Z of six unit forces on one body, and (6, UNITS) these forces during the sweep
    on_way: Any
    turned: Any  # (6, M) forces on the first bodies
    vector: Any  # loops over rows are extended to whole vectors of so many, with zeros; 1 where rows are SIMD lanes
    component: Any  # `components.Component` whose rows these are


def padded(n, vector=VECTOR):
    """Return the number of rows in whole vectors for n rows."""
    return (n + vector - 1) // vector * vector


def rows_memory(tree, most, q, vector=VECTOR, component=0):
    """Scratch memory for at most `most` rows, with the dtype of q; vector, component: see `Rows`."""
    body, dof = np.empty((tree.n_bodies + 1, 81), q.dtype), np.empty((tree.nv, 7), q.dtype)
    places, spans = np.empty((3, most), np.int64), np.empty((2, tree.nv), np.int64)
    return Rows(
        body[:, 0:12], body[:, 12:24], body[:, 24:30], body[:, 30:36], body[:, 36:42], body[:, 42:63],
        body[:, 63:69], body[:, 69:75], body[:, 75:81],
        dof[:, 0:6], dof[:, 6], np.zeros(tree.nv, q.dtype), np.empty((2, most, 6), q.dtype), places[0:2],
        places[2], np.empty((tree.nv, most), q.dtype), spans[0], spans[1], np.empty((most, most), q.dtype),
        np.empty((tree.nv, UNITS), q.dtype), np.empty((6, UNITS), q.dtype),
        np.empty((6, most), q.dtype), vector, component,
    )  # fmt: skip


def move_bodies(tree, r, v):
    """r.V = the bodies' velocities under v, for the transforms r.X."""
    put_motion(r.V, 0, zero_motion(tree))
    for i in range(1, tree.n_bodies + 1):
        X = body_transform_at(tree, r.X, i)
        put_motion(r.V, i, body_velocity(tree, i, X, motion_at(r.V, tree.parent[i]), v))


def articulate(tree, r):
    """Articulated inertias of M + D at the transforms r.X, for a tree whose rotor inertias include D."""
    articulate_placed(tree, r.X, r.IA, r.U, r.D_inv)


def point_force(W, point, direction):
    """Return a unit force along `direction` at a point, both in world axes, in coordinates of the body with pose W."""
    f = rotate_back(W.R, direction)
    return Force(cross(rotate_back(W.R, sub(point, W.p)), f), f)


def put_pair(r, row, a, b, point, direction):
    """Write a row: the velocity, along `direction`, of body a relative to body b at a world point."""
    r.body[0, row], r.body[1, row], r.dof[row] = a, b, -1
    put_force(r.A[0], row, point_force(transform_at(r.W, a), point, direction))
    if b > 0:
        put_force(r.A[1], row, force_scale(point_force(transform_at(r.W, b), point, direction), -1))


def put_turn(r, row, a, b, direction):
    """Write a row: the angular velocity, along `direction`, of body a relative to body b."""
    r.body[0, row], r.body[1, row], r.dof[row] = a, b, -1
    none = scale(direction, 0)
    put_force(r.A[0], row, Force(rotate_back(transform_at(r.W, a).R, direction), none))
    if b > 0:
        put_force(r.A[1], row, Force(rotate_back(transform_at(r.W, b).R, scale(direction, -1)), none))


def put_joint(r, row, k):
    """Write a row: the velocity of degree of freedom k."""
    r.body[0, row], r.body[1, row], r.dof[row] = 0, 0, k


def pass_screws(tree, r, row, i, last, f):
    """Propagate a force on body i through its joint's screws from `last` down: add to Z, and return the rest."""
    for k in range(last, tree.v_start[i] - 1, -1):
        z = force_component(f, tree.screw[k])
        r.Z[k, row] += z
        f = force_sub(f, force_scale(force_at(r.U, k), z * r.D_inv[k]))
    return f


def reach(r, k, row, end):
    """Extend the range of rows that reach degree of freedom k by `row` .. `end`."""
    if r.last[k] == 0:
        r.first[k] = row
    if r.last[k] < end:
        r.last[k] = end


def reach_joint(tree, r, row, i):
    """Extend the ranges of rows that reach the degrees of freedom of body i by `row`."""
    for k in range(tree.v_start[i], tree.v_start[i + 1]):
        reach(r, k, row, row + 1)


def spread_force(tree, r, row, body, f):
    """Backward sweep of a force on a body: adds to Z[:, row]."""
    i = body
    while i > 0:
        reach_joint(tree, r, row, i)
        f = pass_screws(tree, r, row, i, tree.v_start[i + 1] - 1, f)
        f = force_to_parent(body_transform_at(tree, r.X, i), f)
        i = tree.parent[i]


def spread_joint(tree, r, row, i, k):
    """Backward sweep of a unit force of degree of freedom k, of joint i: adds to Z[:, row]."""
    reach_joint(tree, r, row, i)
    r.Z[k, row] += 1
    f = pass_screws(tree, r, row, i, k - 1, force_scale(force_at(r.U, k), -r.D_inv[k]))
    spread_force(tree, r, row, tree.parent[i], force_to_parent(body_transform_at(tree, r.X, i), f))


def body_of(tree, k):
    """Return the body that degree of freedom k moves, by bisection."""
    i, end = 1, tree.n_bodies + 1
    while end - i > 1:
        middle = (i + end) // 2
        if tree.v_start[middle] <= k:
            i = middle
        else:
            end = middle
    return i


def spread_units(tree, r, body):
    """Backward sweep of six unit forces on a body, the columns of r.on_way: r.unit = their Z."""
    F = r.on_way
    for c in range(6):
        for j in range(UNITS):
            F[c, j] = 0.0
        F[c, c] = 1.0
    i = body
    while i > 0:
        for k in range(tree.v_start[i + 1] - 1, tree.v_start[i] - 1, -1):
            pass_unit_screws(F, r.unit, k, tree.screw[k], force_scale(force_at(r.U, k), r.D_inv[k]))
        X = body_transform_at(tree, r.X, i)
        for j in vectorized(range(UNITS)):
            f = Force(Vector(F[0, j], F[1, j], F[2, j]), Vector(F[3, j], F[4, j], F[5, j]))
            f = force_to_parent(X, f)
            F[0, j], F[1, j], F[2, j], F[3, j], F[4, j], F[5, j] = f.n.x, f.n.y, f.n.z, f.f.x, f.f.y, f.f.z
        i = tree.parent[i]


def pass_unit_screws(F, Z, k, screw, G):
    """Propagate the columns of F through the screw of degree of freedom k: Z[k] = S' F, F -= G Z[k], G = U D^-1."""
    for j in vectorized(range(UNITS)):
        z = F[screw, j]
        Z[k, j] = z
        F[0, j] -= G.n.x * z
        F[1, j] -= G.n.y * z
        F[2, j] -= G.n.z * z
        F[3, j] -= G.f.x * z
        F[4, j] -= G.f.y * z
        F[5, j] -= G.f.z * z


def combine_units(tree, r, row, end, body, A):
    """Z[:, s] += A[s] times Z of unit forces on the body, for the rows s from `row` up to `end`."""
    first, last = in_vectors_of(r, row, end)
    for s in range(first, last):
        inside = row <= s and s < end
        for c in range(6):
            r.turned[c, s] = A[s, c] if inside else r.still[0]
    i = body
    while i > 0:
        for k in range(tree.v_start[i], tree.v_start[i + 1]):
            reach(r, k, row, end)
            f, A = force_at(r.unit, k), r.turned
            for s in vectorized(range(first, last)):
                r.Z[k, s] += (
                    A[0, s] * f.n.x + A[1, s] * f.n.y + A[2, s] * f.n.z
                    + A[3, s] * f.f.x + A[4, s] * f.f.y + A[5, s] * f.f.z
                )  # fmt: skip
        i = tree.parent[i]


def run_of(r, row, n):
    """Return the end of the sequence of rows from `row` on that have the same first body."""
    end = row + 1
    while end < n and r.dof[end] < 0 and r.body[0, end] == r.body[0, row]:
        end += 1
    return end


def moved_body(r, i):
    """Return body i, or 0 if it is kinematic, which no force moves."""
    return i if r.component.subtree_of[i] >= 0 else 0


def spread_pairs(tree, r, row, end):
    """Backward sweep of the rows up to `end`, which have the same first body: combined from six unit forces."""
    a = moved_body(r, r.body[0, row])
    spread_units(tree, r, a)
    combine_units(tree, r, row, end, a, r.A[0])
    for s in range(row, end):
        spread_force(tree, r, s, moved_body(r, r.body[1, s]), force_at(r.A[1], s))


def put_zeros(A):
    """Set a contiguous matrix to zero."""
    x = A.reshape(A.size)
    for k in vectorized(range(x.size)):
        x[k] = 0.0


def backward_sweep(tree, r, n):
    """Compute Z of the first n rows."""
    for t in range(r.component.subtrees.size):
        first, end = first_and_end(r.component, t, SUBTREE.dof)
        for k in range(first, end):
            r.first[k], r.last[k] = n, 0
        put_zeros(r.Z[first:end])
    row = 0
    while row < n:
        end = row + 1
        if r.dof[row] < 0:
            end = run_of(r, row, n)
            spread_pairs(tree, r, row, end)
        else:
            spread_joint(tree, r, row, body_of(tree, r.dof[row]), r.dof[row])
        row = end


def compact(tree, r, n):
    """Return the same memory for n rows, with contiguous Z and G, whose columns are whole vectors."""
    Z, G, columns = r.Z.reshape(r.Z.size), r.G.reshape(r.G.size), padded(n, r.vector)
    return r._replace(Z=Z[: tree.nv * columns].reshape((tree.nv, columns)), G=G[: n * columns].reshape((n, columns)))


def four_in_chain(tree, i, k):
    """Return whether four degrees of freedom, from k of body i on, are consecutive on a path to the base.

    Rows that reach one of them reach those before it. The result depends on the tree only, so G does not depend, to the
    bit, on which rows there are.
    """
    j = i
    found = k + 4 <= tree.nv
    for s in range(k + 1, k + 4 if found else k):
        if s == tree.v_start[j + 1]:
            found = found and tree.parent[j + 1] == j
            j += 1
    return found


def in_vectors_of(r, first, end):
    """Return the range of rows extended to whole vectors."""
    return first - first % r.vector, min(padded(end, r.vector), r.Z.shape[1])


def add_one(r, k):
    """Add the contribution of degree of freedom k to G."""
    _, end = in_vectors_of(r, r.first[k], r.last[k])
    for i in range(r.first[k], r.last[k]):
        a = r.D_inv[k] * r.Z[k, i]
        if some(a != 0):
            for j in vectorized(range(i - i % r.vector, end)):
                r.G[i, j] += a * r.Z[k, j]


def add_four(r, k):
    """Add the contributions of four degrees of freedom from k on to G, in one pass."""
    _, end = in_vectors_of(r, r.first[k], r.last[k])
    for i in range(r.first[k], r.last[k]):
        a, b = r.D_inv[k] * r.Z[k, i], r.D_inv[k + 1] * r.Z[k + 1, i]
        c, d = r.D_inv[k + 2] * r.Z[k + 2, i], r.D_inv[k + 3] * r.Z[k + 3, i]
        if some(a != 0 or b != 0 or c != 0 or d != 0):
            for j in vectorized(range(i - i % r.vector, end)):
                r.G[i, j] += a * r.Z[k, j] + b * r.Z[k + 1, j] + c * r.Z[k + 2, j] + d * r.Z[k + 3, j]


def assemble_delassus(tree, r, n):
    """Assemble the Delassus matrix G = Z' D^-1 Z of the first n rows: its upper half, which is copied."""
    put_zeros(r.G)
    for t in range(r.component.subtrees.size):
        i, _ = first_and_end(r.component, t, SUBTREE.body)
        k, end = first_and_end(r.component, t, SUBTREE.dof)
        while k < end:
            while tree.v_start[i + 1] <= k:
                i += 1
            if four_in_chain(tree, i, k):
                add_four(r, k)
                k += 4
            else:
                add_one(r, k)
                k += 1
    for i in range(n):
        for j in range(i):
            r.G[i, j] = r.G[j, i]


def velocities_along(r, n, v, out):
    """out = J v of the first n rows; r.V: the bodies' velocities under v."""
    for row in range(n):
        if r.dof[row] < 0:
            out[row] = force_dot(force_at(r.A[0], row), motion_at(r.V, r.body[0, row]))
            if r.body[1, row] > 0:
                out[row] += force_dot(force_at(r.A[1], row), motion_at(r.V, r.body[1, row]))
        else:
            out[row] = v[r.dof[row]]


def combined(r, nc, k, push, impulse):
    """Return D^-1 Z of degree of freedom k times both sets of impulses: sums for each of the three rows of contacts.

    On SIMD lanes, they do not depend on contacts of other lanes.
    """
    zero = r.still[k]
    a, b, c, d, e, f = zero, zero, zero, zero, zero, zero
    row = r.first[k]
    while row < 3 * nc and row < r.last[k]:
        x, y, z = r.Z[k, row], r.Z[k, row + 1], r.Z[k, row + 2]
        a += x * push[row]
        b += y * push[row + 1]
        c += z * push[row + 2]
        d += x * impulse[row]
        e += y * impulse[row + 1]
        f += z * impulse[row + 2]
        row += 3
    while row < r.last[k]:
        a += r.Z[k, row] * push[row]
        d += r.Z[k, row] * impulse[row]
        row += 1
    return r.D_inv[k] * (a + b + c), r.D_inv[k] * (d + e + f)


def responses(tree, r, nc, push, mean_change, impulse, end_change):
    """Compute (M + D)^-1 J' of two sets of impulses.

    nc: number of contacts, whose rows come first. r.mean_motion, r.end_motion become the bodies' velocities under them.
    """
    A, B = r.mean_motion, r.end_motion
    put_motion(A, 0, zero_motion(tree))
    put_motion(B, 0, zero_motion(tree))
    for t in range(r.component.subtrees.size):
        first, end = first_and_end(r.component, t, SUBTREE.body)
        for i in range(first, end):
            X, p = body_transform_at(tree, r.X, i), tree.parent[i]
            a, b = motion_to_child(X, motion_at(A, p)), motion_to_child(X, motion_at(B, p))
            for k in range(tree.v_start[i], tree.v_start[i + 1]):
                U, D_inv, rotor = force_at(r.U, k), r.D_inv[k], tree.armature[k]
                x, y = combined(r, nc, k, push, impulse)
                mean_change[k], a = release_screw(a, U, D_inv, x, tree.screw[k], rotor)
                end_change[k], b = release_screw(b, U, D_inv, y, tree.screw[k], rotor)
            put_motion(A, i, a)
            put_motion(B, i, b)


def place(tree, q, r):
    """Compute transforms and world poses of the bodies at q."""
    put_transform(r.W, 0, transform_at(tree.placement, 0))
    for i in range(1, tree.n_bodies + 1):
        X = body_transform(tree, i, q)
        put_transform(r.X, i, X)
        put_transform(r.W, i, compose(transform_at(r.W, tree.parent[i]), X))
