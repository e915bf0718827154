"""Mimic joints: conversion between independent coordinates y and the spanning tree, and constraints of its motion.

q = G y + o, v = G yd. Motions are expanded by G, forces are contracted by G'. A force on y is applied to the spanning
tree at the independent joints, which is one of the forces that G' contracts to it. Accelerations of the spanning tree,
from any method, are corrected by the rows A = [.. 1 at b .. -k at a ..] of the mimic joints b, A G = 0:
qdd = qdd_free - H^-1 A' (A H^-1 A')^-1 A qdd_free.
A row is a unit force across joint b, and -k of one across joint a, which a backward sweep propagates to the base as in
`pv_osim`. A body processes only the rows that reach it: O(N + m d + m^3) in all.
"""

from typing import Any, NamedTuple

from ..algebra.cholesky import factor_definite, solve
from ..algebra.spatial import force_add, force_component, force_scale, force_sub, force_to_parent, motion_to_child
from ..algebra.tables import body_transform_at, force_at, motion_at, put_force, put_motion, with_armature
from ..dynamics.aba import release_screw
from ..dynamics.rjk import articulated_quantities, zero_force
from ..entries.entry import entry
from ..entries.scratch import scratch_memory
from ..kinematics.bodies import zero_motion

MIMIC_TABLES = {
    "mimic_ints": "TableOfIntegers",
    "mimic_reals": "TableOfReals",
}  # tables of an entry, after the robot's


class MimicJoints(NamedTuple):
    """Constant tables of the mimic joints b = 0 ... count - 1 of a tree, whose mimicked joints are called a."""

    count: int
    nq: int  # of independent coordinates
    nv: int
    q: Any  # (count,) of b in the spanning tree
    mimicked_q: Any
    body: Any
    mimicked_body: Any
    v: Any
    mimicked_v: Any
    onto: Any  # (count,) of a among independent velocities
    independent_q: Any  # (nq,) of independent coordinates in the spanning tree
    independent_v: Any  # (nv,)
    multiplier: Any  # (count,)
    offset: Any
    share: Any  # (count,) 1 / (1 + number of mimic joints of the same mimicked joint)
    regularization: Any  # (nv of the spanning tree,) rotor inertias that regularize, with zero effect on y


def mimic_joints_of(mimic_ints, mimic_reals):
    """Return the tables of mimic joints from their two flat arrays (see treesim.model.mimic)."""
    n, nq, nv = mimic_ints[0], mimic_ints[1], mimic_ints[2]
    k = 3 + 7 * n
    return MimicJoints(
        n, nq, nv, mimic_ints[3 : 3 + n], mimic_ints[3 + n : 3 + 2 * n], mimic_ints[3 + 2 * n : 3 + 3 * n],
        mimic_ints[3 + 3 * n : 3 + 4 * n], mimic_ints[3 + 4 * n : 3 + 5 * n], mimic_ints[3 + 5 * n : 3 + 6 * n],
        mimic_ints[3 + 6 * n : k], mimic_ints[k : k + nq], mimic_ints[k + nq : k + nq + nv],
        mimic_reals[:n], mimic_reals[n : 2 * n], mimic_reals[2 * n : 3 * n], mimic_reals[3 * n :],
    )  # fmt: skip


# ---- between y and the spanning tree


def expand_positions(mimic, y, q):
    """q = G y + o."""
    for j in range(mimic.nq):
        q[mimic.independent_q[j]] = y[j]
    for b in range(mimic.count):
        q[mimic.q[b]] = mimic.multiplier[b] * q[mimic.mimicked_q[b]] + mimic.offset[b]


def pick_positions(mimic, q, y):
    """y from q = G y + o."""
    for j in range(mimic.nq):
        y[j] = q[mimic.independent_q[j]]


def expand_motion(mimic, y, v):
    """v = G y."""
    for j in range(mimic.nv):
        v[mimic.independent_v[j]] = y[j]
    for b in range(mimic.count):
        v[mimic.v[b]] = mimic.multiplier[b] * v[mimic.mimicked_v[b]]


def expand_motions(mimic, y, v):
    """Expand the motions in the rows of a matrix."""
    for k in range(y.shape[0]):
        expand_motion(mimic, y[k], v[k])


def pick_motion(mimic, v, y):
    """y from v = G y."""
    for j in range(mimic.nv):
        y[j] = v[mimic.independent_v[j]]


def expand_force(mimic, y, tau):
    """Force tau on the spanning tree with G' tau = y, which acts on the independent joints only."""
    for j in range(mimic.nv):
        tau[mimic.independent_v[j]] = y[j]
    for b in range(mimic.count):
        tau[mimic.v[b]] = mimic.multiplier[b] * 0


def contract_force(mimic, tau, y):
    """y = G' tau."""
    for j in range(mimic.nv):
        y[j] = tau[mimic.independent_v[j]]
    for b in range(mimic.count):
        y[mimic.onto[b]] += mimic.multiplier[b] * tau[mimic.v[b]]


def pick_matrix(mimic, M, y):
    """y = the rows and columns of M of independent coordinates."""
    for i in range(mimic.nv):
        for j in range(mimic.nv):
            y[i, j] = M[mimic.independent_v[i], mimic.independent_v[j]]


def contract_columns(mimic, J, y):
    """y = J G, row by row."""
    for r in range(J.shape[0]):
        contract_force(mimic, J[r], y[r])


def contract_matrix(mimic, M, y):
    """y = G' M G."""
    for i in range(mimic.nv):
        contract_force(mimic, M[mimic.independent_v[i]], y[i])
    for b in range(mimic.count):
        row, onto = M[mimic.v[b]], mimic.onto[b]
        for j in range(mimic.nv):
            y[onto, j] += mimic.multiplier[b] * row[mimic.independent_v[j]]
        for c in range(mimic.count):
            y[onto, mimic.onto[c]] += mimic.multiplier[b] * mimic.multiplier[c] * row[mimic.v[c]]


def contract_matrices(mimic, M, y):
    """y[:, r] = G' M[:, r] G, for several matrices."""
    for r in range(M.shape[1]):
        contract_matrix(mimic, M[:, r], y[:, r])


# ---- the spanning tree's rows


# Of the m rows of mimic joints. By body: transforms, articulated inertias, changes of acceleration; by degree of
# freedom: U, D^-1. K: forces of the rows during the sweep through a body; active: whether they reach it. Z: component
# of each row's force at each degree of freedom. G: A H^-1 A', and its factor. force: across the rows. rotors: rotor
# inertias, see `with_shared_rotors`.
mimic_row_memory = scratch_memory(
    "X 12, P 21, A 6", "U 6, D_inv", given="mimic",
    K="N + 1, mimic.count, 6", active="N + 1, mimic.count | integers", Z="nv, mimic.count",
    G="mimic.count, mimic.count", force="mimic.count", rotors="nv",
)  # fmt: skip


def with_shared_rotors(tree, mimic, r):
    """Return the tree with rotor inertias distributed evenly over each mimicked joint and its mimic joints.

    The reflected inertia rho_a + sum k^2 rho_b does not change. So joints without inertia get a part of the rotor
    inertia of their mimicked joint, or of what a step adds to it. The regularization `regularization` is added; its
    reflected sum is zero.
    """
    for k in range(tree.nv):
        r.rotors[k] = tree.armature[k]
    for b in range(mimic.count):
        r.rotors[mimic.mimicked_v[b]] += mimic.multiplier[b] * mimic.multiplier[b] * tree.armature[mimic.v[b]]
    for b in range(mimic.count):
        whole = mimic.share[b] * r.rotors[mimic.mimicked_v[b]]
        r.rotors[mimic.v[b]] = whole / (mimic.multiplier[b] * mimic.multiplier[b])
    for b in range(mimic.count):
        r.rotors[mimic.mimicked_v[b]] -= mimic.multiplier[b] * mimic.multiplier[b] * r.rotors[mimic.v[b]]
    for k in range(tree.nv):
        r.rotors[k] += mimic.regularization[k]
    return with_armature(tree, r.rotors)


def start_rows(tree, mimic, r):
    """Initialize the rows: each is active at the bodies of its two joints only."""
    for i in range(tree.n_bodies + 1):
        for b in range(mimic.count):
            r.active[i, b] = 0
    for b in range(mimic.count):
        first, second = mimic.body[b], mimic.mimicked_body[b]
        r.active[first, b], r.active[second, b] = 1, 1
        put_force(r.K[first], b, zero_force(tree))
        put_force(r.K[second], b, zero_force(tree))
        for c in range(b + 1):
            r.G[b, c] = tree.gravity[0] * 0


def feel(tree, mimic, r, i):
    """Compute Z of joint i's degrees of freedom for the rows there, add to G, and eliminate the joint from the rows."""
    for k in range(tree.v_start[i + 1] - 1, tree.v_start[i] - 1, -1):
        for b in range(mimic.count):
            if r.active[i, b] > 0:
                K = force_at(r.K[i], b)
                z = force_component(K, tree.screw[k])
                if mimic.v[b] == k:
                    z = z + 1
                if mimic.mimicked_v[b] == k:
                    z = z - mimic.multiplier[b]
                r.Z[k, b] = z
                put_force(r.K[i], b, force_sub(K, force_scale(force_at(r.U, k), r.D_inv[k] * z)))
                for c in range(b + 1):
                    if r.active[i, c] > 0:
                        r.G[b, c] += r.D_inv[k] * z * r.Z[k, c]


def pass_on(tree, mimic, r, i):
    """Transform the rows' forces at body i to its parent, and add them where both ends of a row meet."""
    p = tree.parent[i]
    for b in range(mimic.count):
        if p > 0 and r.active[i, b] > 0:
            K = force_to_parent(body_transform_at(tree, r.X, i), force_at(r.K[i], b))
            if r.active[p, b] > 0:
                K = force_add(K, force_at(r.K[p], b))
            put_force(r.K[p], b, K)
            r.active[p, b] = 1


def respond_to_rows(tree, mimic, q, r):
    """Z and the factor of A H^-1 A' at q, by articulated inertias and a backward sweep of the rows' forces."""
    articulated_quantities(tree, q, r.X, r.P, r.U, r.D_inv)
    sweep_mimic_rows(tree, mimic, r)


def sweep_mimic_rows(tree, mimic, r):
    """Z and the factor of A H^-1 A', for articulated quantities X, U and D^-1 in r, by a backward sweep of the rows."""
    start_rows(tree, mimic, r)
    for i in range(tree.n_bodies, 0, -1):
        feel(tree, mimic, r, i)
        pass_on(tree, mimic, r, i)
    factor_definite(r.G)  # rows are independent


def add_response(tree, mimic, qdd, r):
    """qdd += H^-1 A' r.force, after `sweep_mimic_rows`; r.A: the bodies' accelerations under these forces."""
    put_motion(r.A, 0, zero_motion(tree))
    for i in range(1, tree.n_bodies + 1):
        a = motion_to_child(body_transform_at(tree, r.X, i), motion_at(r.A, tree.parent[i]))
        for k in range(tree.v_start[i], tree.v_start[i + 1]):
            nu = tree.gravity[0] * 0
            for b in range(mimic.count):
                if r.active[i, b] > 0:
                    nu = nu + r.D_inv[k] * r.Z[k, b] * r.force[b]
            change, a = release_screw(a, force_at(r.U, k), r.D_inv[k], nu, tree.screw[k], tree.armature[k])
            qdd[k] += change
        put_motion(r.A, i, a)


def unit_response(tree, mimic, b, qdd, r):
    """r.A = the bodies' accelerations under a unit force across row b; qdd is scratch memory."""
    for c in range(mimic.count):
        r.force[c] = tree.gravity[0] * 0
    r.force[b] += 1
    for k in range(tree.nv):
        qdd[k] = tree.gravity[0] * 0
    add_response(tree, mimic, qdd, r)


def solve_row(mimic, B, j, r):
    """r.force = S^-1 B[j], the response to a unit force along row j of J, with B = J H^-1 A' and S = A H^-1 A'."""
    for b in range(mimic.count):
        r.force[b] = B[j, b]
    solve(r.G, r.force)


def subtract_row_response(mimic, B, G, r):
    """G <- G - B S^-1 B' in the lower triangle: J H^-1 J' with the constraints of mimic joints."""
    for j in range(G.shape[0]):
        solve_row(mimic, B, j, r)
        for i in range(j, G.shape[0]):
            for b in range(mimic.count):
                G[i, j] -= B[i, b] * r.force[b]


def constrain_accelerations(tree, mimic, qdd, r):
    """qdd <- qdd - H^-1 A' (A H^-1 A')^-1 A qdd, after `sweep_mimic_rows`; r.A: change of the bodies' accelerations."""
    for b in range(mimic.count):
        r.force[b] = mimic.multiplier[b] * qdd[mimic.mimicked_v[b]] - qdd[mimic.v[b]]
    solve(r.G, r.force)
    add_response(tree, mimic, qdd, r)
    for b in range(mimic.count):
        qdd[mimic.v[b]] = mimic.multiplier[b] * qdd[mimic.mimicked_v[b]]


def follow(tree, mimic, q, qdd, r):
    """Correct accelerations qdd of the spanning tree, from any method, by the constraints of mimic joints, in place."""
    articulated_quantities(tree, q, r.X, r.P, r.U, r.D_inv)
    follow_articulated(tree, mimic, qdd, r)


def follow_articulated(tree, mimic, qdd, r):
    """Correct accelerations qdd of the spanning tree likewise, for articulated quantities X, U and D^-1 in r."""
    sweep_mimic_rows(tree, mimic, r)
    constrain_accelerations(tree, mimic, qdd, r)


def follow_free(tree, mimic_ints, mimic_reals, q, free, qdd, rows):
    """qdd = the accelerations `free` of the spanning tree, corrected by the constraints of mimic joints."""
    for k in range(tree.nv):
        qdd[k] = free[k]
    follow(tree, mimic_joints_of(mimic_ints, mimic_reals), q, qdd, rows)


def rows_for(tree, mimic_ints, mimic_reals, number):
    """Scratch memory for the rows of mimic joints."""
    return mimic_row_memory(tree, mimic_joints_of(mimic_ints, mimic_reals), number)


follow_states = entry(follow_free, (rows_for,), MIMIC_TABLES, q="nq", free="nv", qdd="-> nv")
