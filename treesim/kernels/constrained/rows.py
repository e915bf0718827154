"""Constraint rows of a time step: their velocities, the response to impulses along them, and their gaps.

A row is a pair of forces A_first, A_second on two bodies, in the bodies' coordinates. The velocity of row r is sigma_r
= A_first v_first + A_second v_second = (J v)_r, and an impulse lambda_r acts on the bodies as A' lambda_r. An impulse
changes velocities by (M + D)^-1 J' lambda, and those of the rows by G lambda, G = J (M + D)^-1 J'. The articulated
inertias of M + D are computed once for G (Popov-Vereshchagin) and for every impulse (a backward and a forward sweep).
Rows of frames and loops are those of `constraints`. The second frame of a frame constraint is the target pose, on the
base. The gap of a row is the displacement of the first frame from the second along it.
"""

from typing import Any, NamedTuple

import numpy as np

from ..algebra.linear import Vector, add, cross, dot, rotate, scale, sub
from ..algebra.numbers import maximum, sqrt
from ..algebra.rotations import compose
from ..algebra.spatial import Motion, motion_to_child
from ..algebra.tables import body_transform_at, force_at, motion_at, put_force, put_motion, transform_at
from ..dynamics.aba import articulate_inward, release_screw, start_outward
from ..dynamics.rjk import zero_force
from ..entries.entry import entry
from ..entries.scratch import scratch_memory
from ..kinematics.bodies import body_velocity, place_bodies, zero_motion
from .constrained import propagate_forces
from .constrained_mimic import mimic_constraint_memory, no_mimic_constraint
from .constraints import (
    ROWS,
    add_row_forces,
    constraint_rows,
    constraint_tables,
    row_accelerations,
    row_dot,
    world_to_axes,
)
from .pv_solver import gather_inward

REGULAR = 1e-3  # part of its diagonal that is added to G: redundant rows then have a unique impulse
REFINEMENTS = 2  # of the impulses, which take the error of what was added away
WORLD = {"layout": "TableOfIntegers", "geometry": "TableOfReals", "closure": "TableOfReals"}  # tables of an entry
TINY = 1e-30  # avoids 0/0 for rows that nothing moves


class Held(NamedTuple):
    """Constant tables of the constrained frames and loops of a world."""

    task: Any  # see `constraints`; frame constraints have a second frame on the base
    closed: Any  # (m,) 1 for rows that constrain positions, 0 for those that constrain velocities only
    whole: Any  # (C,) 1/2 where all rotations are constrained, else 0
    axis: Any  # (C, 3) the free axis where two rotations are constrained, in the frame's axes, else 0
    mimic_constraint: Any  # functions and memory for mimic joints, see `constrained_mimic`


def world_tables(layout, geometry, closure, mimic_constraint):
    """Return the tables of a world from its three flat arrays.

    mimic_constraint: functions and memory for mimic joints.
    """
    task = constraint_tables(layout, geometry)
    m, C = task.R.shape[0], task.reference.size
    return Held(task, closure[:m], closure[m : m + C], closure[m + C :].reshape((C, 3)), mimic_constraint)


def plain_world_tables(layout, geometry, closure):
    """Return the tables of a world whose robot has no mimic joints."""
    return world_tables(layout, geometry, closure, no_mimic_constraint())


def mimic_world_tables(tree, mimic_ints, mimic_reals, layout, geometry, closure, q):
    """Return the tables of a world whose robot has mimic joints, with memory for these, with the dtype of q."""
    constraint = mimic_constraint_memory(tree, mimic_ints, mimic_reals, layout, q)
    return world_tables(layout, geometry, closure, constraint)


# By body: transforms, placements, velocities, velocity products and bias forces (0), articulated inertias, impulses. By
# degree of freedom: U, D^-1, nu; change by an impulse, sum of changes, and zeros. By row: bias; missing velocity, and a
# copy of it; an impulse, and the sum of them; velocity; A; the same on the way to the base. Lower triangles of G, and
# of the factor of G + REGULAR diag G. at, index, side: of the sweep to the base, see `pv_solver`.
M = "held.task.R.shape[0]"
row_memory = scratch_memory(
    "X 12, W 12, V 6, C 6, IA 21, pA 6, F 6", "U 6, D_inv, nu, change, total_change", given="held", still="nv | zeros",
    bias=M, lacking=M, wanted=M, step=M, impulse=M, rate=M, A=f"2, {M}, 6", K=f"2, {M}, 6", G=f"{M}, {M}",
    L=f"{M}, {M}", at="held.task.reference.size, 2 | integers", index=f"{M} | integers", side=f"{M} | integers",
)  # fmt: skip


def factor_regular(G, L):
    """L L' = G + REGULAR diag G, in lower triangles, for a positive semidefinite G."""
    m = G.shape[0]
    for j in range(m):
        extra = REGULAR * G[j, j] + TINY
        for i in range(j, m):
            L[i, j] = G[i, j]
            for k in range(j):
                L[i, j] -= L[i, k] * L[j, k]
        root = sqrt(maximum(L[j, j] + extra, extra))
        L[j, j] = root
        for i in range(j + 1, m):
            L[i, j] = L[i, j] / root


def respond(tree, held, q, r):
    """Compute A at q, and G and its factor, for a tree whose rotor inertias include D."""
    start_outward(tree, q, r.still, np.empty((0, 6), q.dtype), r.X, r.V, r.C, r.IA, r.pA)
    articulate_inward(tree, r.still, r.X, r.C, r.IA, r.pA, r.U, r.D_inv, r.nu)
    place_bodies(tree, q, r.W)
    constraint_rows(held.task, r.W, r.V, r.A, r.bias)
    for k in range(r.bias.size):
        put_force(r.K[0], k, force_at(r.A[0], k))
        put_force(r.K[1], k, force_at(r.A[1], k))
    held.mimic_constraint.respond(tree, held.mimic_constraint, r.X, r.U, r.D_inv)
    gather_inward(
        tree, held.task, r.X, r.C, r.U, r.D_inv, r.nu, r.K, r.at, r.index, r.side, r.G, r.bias, held.mimic_constraint
    )  # fmt: skip
    held.mimic_constraint.reduce(held.mimic_constraint, r.G)
    factor_regular(r.G, r.L)


def row_velocities(tree, held, v, r, out):
    """out = J v."""
    put_motion(r.V, 0, zero_motion(tree))
    for i in range(1, tree.n_bodies + 1):
        X = body_transform_at(tree, r.X, i)
        put_motion(r.V, i, body_velocity(tree, i, X, motion_at(r.V, tree.parent[i]), v))
    row_accelerations(held.task, r.A, r.V, out)


def add_solution(r, b, x):
    """x += G^-1 b, by the factor of G + REGULAR diag G and iterative refinement. Overwrites b."""
    m = b.size
    for n in range(REFINEMENTS + 1):
        y = r.bias
        for i in range(m):
            y[i] = b[i]
            for k in range(i):
                y[i] -= r.L[i, k] * y[k]
            y[i] = y[i] / r.L[i, i]
        for i in range(m - 1, -1, -1):
            for k in range(i + 1, m):
                y[i] -= r.L[k, i] * y[k]
            y[i] = y[i] / r.L[i, i]
            x[i] += y[i]
        if n < REFINEMENTS:
            for i in range(m):
                for k in range(m):
                    b[i] -= (r.G[i, k] if k <= i else r.G[k, i]) * y[k]


def apply_impulses(tree, held, r, impulse, change):
    """change = (M + D)^-1 J' impulse: forces backward, changes of velocity forward."""
    for i in range(tree.n_bodies + 1):
        put_force(r.F, i, zero_force(tree))
    for k in range(tree.nv):
        r.nu[k] = r.still[k]
    add_row_forces(held.task, r.A, impulse, r.F)
    propagate_forces(tree, r.X, r.U, r.D_inv, r.F, r.nu)
    put_motion(r.V, 0, zero_motion(tree))
    for i in range(1, tree.n_bodies + 1):
        a = motion_to_child(body_transform_at(tree, r.X, i), motion_at(r.V, tree.parent[i]))
        for k in range(tree.v_start[i], tree.v_start[i + 1]):
            change[k], a = release_screw(a, force_at(r.U, k), r.D_inv[k], r.nu[k], tree.screw[k], tree.armature[k])
        put_motion(r.V, i, a)
    held.mimic_constraint.hold(tree, held.mimic_constraint, change)


def column(R, k):
    """Return column k of a rotation matrix."""
    axis = Vector(R.xx, R.yx, R.zx)
    if k == 1:
        axis = Vector(R.xy, R.yy, R.zy)
    if k == 2:
        axis = Vector(R.xz, R.yz, R.zz)
    return axis


def gaps(tree, held, q, W, out):
    """out = displacement of first frames from their targets (m,) along rows that constrain positions [m, rad]; 0 else.

    For rotations it is the sine of the angle; if one axis is free, that of the angle between the two frames' axes.
    """
    task = held.task
    place_bodies(tree, q, W)
    for c in range(task.reference.size):
        found = compose(transform_at(W, task.body[c, 0]), transform_at(task.offset, 2 * c))
        belongs = compose(transform_at(W, task.body[c, 1]), transform_at(task.offset, 2 * c + 1))
        free = Vector(held.axis[c, 0], held.axis[c, 1], held.axis[c, 2])
        turn = cross(rotate(belongs.R, free), rotate(found.R, free))
        for k in range(3):
            turn = add(turn, scale(cross(column(belongs.R, k), column(found.R, k)), held.whole[c]))
        axes = world_to_axes(task, c, W)
        gap = Motion(rotate(axes, turn), rotate(axes, sub(found.p, belongs.p)))
        for r in range(task.start[c], task.start[c + 1]):
            out[r] = held.closed[r] * row_dot(task.R, r, gap)


def cosines(held, W, out):
    """out = cosine of the angle between each constraint's frame and target (C,); 1 without fixed rotations."""
    task = held.task
    for c in range(task.reference.size):
        found = compose(transform_at(W, task.body[c, 0]), transform_at(task.offset, 2 * c)).R
        belongs = compose(transform_at(W, task.body[c, 1]), transform_at(task.offset, 2 * c + 1)).R
        free = Vector(held.axis[c, 0], held.axis[c, 1], held.axis[c, 2])
        out[c] = 1 + dot(rotate(belongs, free), rotate(found, free)) - dot(free, free)
        for k in range(3):
            out[c] += held.whole[c] * (dot(column(belongs, k), column(found, k)) - 1)


def row_gaps(tree, q, gap, jacobian, cosine, held, r):
    """Gaps of all rows at q, their Jacobian J, and the cosines, which distinguish a half turn from none."""
    place_bodies(tree, q, r.W)
    start_outward(tree, q, r.still, np.empty((0, 6), q.dtype), r.X, r.V, r.C, r.IA, r.pA)
    constraint_rows(held.task, r.W, r.V, r.A, r.bias)
    for k in range(tree.nv):
        r.change[k] = r.still[k] + 1
        row_velocities(tree, held, r.change, r, r.lacking)
        r.change[k] = r.still[k]
        for i in range(gap.size):
            jacobian[i, k] = r.lacking[i]
    gaps(tree, held, q, r.W, gap)
    cosines(held, r.W, cosine)


def gaps_memory(tree, layout, geometry, closure, q):
    """Constant tables of the rows, and scratch memory, with the dtype of q."""
    held = plain_world_tables(layout, geometry, closure)
    r = row_memory(tree, held, q)
    for k in range(tree.nv):
        r.change[k] = q[0] * 0
    return held, r


row_gaps_states = entry(
    row_gaps, gaps_memory, WORLD, {**ROWS, "C": "layout[0]"}, expands=True, q="nq", gap="-> m", jacobian="-> m, nv'",
    cosine="-> C",
)  # fmt: skip
