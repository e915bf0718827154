"""Rodriguez, Jain and Kreutz-Delgado: articulated quantities, forward dynamics from them, and Omega = S H^-1 S'.

Source: F10, appendix B (Figure 14) and J91, eq. 45, 46, 55: the articulated-body algorithm with precomputed C. (`aba`
includes the velocity terms in both sweeps; J91, Lemma 6.5.) `dynamics/operational/omega_blocks.py` determines the
required blocks of Omega (Figure 15). Joints with several degrees of freedom are treated one unit screw at a time, as in
`aba`.
"""

from typing import Any, NamedTuple

from ..algebra.blocks import SIX, put_zero, transform, transform_rows
from ..algebra.linear import Vector
from ..algebra.spatial import (
    Force,
    articulated,
    articulated_add,
    articulated_to_parent,
    force_add,
    force_component,
    force_scale,
    force_to_parent,
    motion_to_child,
)
from ..algebra.tables import (
    articulated_at,
    body_inertia,
    body_transform_at,
    force_at,
    motion_at,
    put_articulated,
    put_force,
    put_motion,
    put_transform,
)
from ..entries.scratch import scratch_memory
from ..kinematics.bodies import body_transform, zero_motion
from .aba import eliminate_screw, release_screw
from .via_bias import via_bias_entry


def zero_force(tree):
    """Zero force."""
    zero = tree.gravity[0] * 0
    return Force(Vector(zero, zero, zero), Vector(zero, zero, zero))


def articulated_quantities(tree, q, X, P, U, D_inv):
    """Compute transforms X at q, and the articulated quantities P, U and D^-1."""
    for i in range(1, tree.n_bodies + 1):
        put_transform(X, i, body_transform(tree, i, q))
    articulate_placed(tree, X, P, U, D_inv)


def articulate_placed(tree, X, P, U, D_inv):
    """P, U = P S and D^-1 of every degree of freedom, by a backward sweep (F10 Figure 14), for given transforms X.

    G = U D^-1, tau-bar = 1 - G S'.
    """
    nothing = tree.gravity[0] * 0
    for i in range(1, tree.n_bodies + 1):
        put_articulated(P, i, articulated(body_inertia(tree, i)))
    for i in range(tree.n_bodies, 0, -1):
        inertia = articulated_at(P, i)
        for k in range(tree.v_start[i + 1] - 1, tree.v_start[i] - 1, -1):
            Uk, D_inv[k], _, inertia, _ = eliminate_screw(
                inertia, zero_force(tree), tree.screw[k], tree.armature[k], nothing
            )
            put_force(U, k, Uk)
        p = tree.parent[i]
        if p > 0:
            through = articulated_to_parent(body_transform_at(tree, X, i), inertia)
            put_articulated(P, p, articulated_add(articulated_at(P, p), through))


def gather_forces(tree, X, U, D_inv, x, Z):
    """x <- nu = D^-1 eps in place, backward: eps = [1 - H psi K] x (J91 eq. 45)."""
    for i in range(tree.n_bodies + 1):
        put_force(Z, i, zero_force(tree))
    for i in range(tree.n_bodies, 0, -1):
        z = force_at(Z, i)
        for k in range(tree.v_start[i + 1] - 1, tree.v_start[i] - 1, -1):
            x[k] = (x[k] - force_component(z, tree.screw[k])) * D_inv[k]  # nu = D^-1 eps
            z = force_add(z, force_scale(force_at(U, k), x[k]))  # z + G eps
        p = tree.parent[i]
        if p > 0:
            put_force(Z, p, force_add(force_at(Z, p), force_to_parent(body_transform_at(tree, X, i), z)))


def release_accelerations(tree, X, U, D_inv, x, A):
    """x <- [1 - H psi K]' x in place, forward: accelerations of joints from nu (J91 eq. 46)."""
    put_motion(A, 0, zero_motion(tree))
    for i in range(1, tree.n_bodies + 1):
        a = motion_to_child(body_transform_at(tree, X, i), motion_at(A, tree.parent[i]))
        for k in range(tree.v_start[i], tree.v_start[i + 1]):
            x[k], a = release_screw(a, force_at(U, k), D_inv[k], x[k], tree.screw[k], tree.armature[k])  # nu - G' a+
        put_motion(A, i, a)


def articulated_solve(tree, X, U, D_inv, x, Z, A):
    """x <- H^-1 x in place, by articulated quantities: forces backward, accelerations forward."""
    gather_forces(tree, X, U, D_inv, x, Z)
    release_accelerations(tree, X, U, D_inv, x, A)


# transforms, articulated inertias, forces, accelerations; U and D^-1
scratch_for = scratch_memory("X 12, P 21, Z 6, A 6", "U 6, D_inv")


def solve_rjk(tree, q, scratch, x):
    """x <- H^-1 x, in place (J91 eq. 55)."""
    X, P, Z, A, U, D_inv = scratch
    articulated_quantities(tree, q, X, P, U, D_inv)
    articulated_solve(tree, X, U, D_inv, x, Z, A)


forward_dynamics_rjk_states = via_bias_entry(solve_rjk, scratch_for, "rjk")


def nearest_common_ancestor(parent, p, q):
    """Return the last body that the paths to p and q have in common (0: the base)."""
    while p != q:
        if p > q:
            p = parent[p]
        else:
            q = parent[q]
    return p


class RequiredBlocks(NamedTuple):
    """Required Omega blocks of k tasks, numbered 1, 2, ... outward: each after its source.

    At index b - 1 for block b: bodies i <= j; number of the source, 0 if that is zero; whether the source is stored as
    its transpose; whether body i stays and only j comes from its parent. of_pair (k, k): number of the block of each
    pair of tasks, 0 if no joint moves both.
    """

    i: Any
    j: Any
    source: Any
    mirrored: Any
    stays: Any
    of_pair: Any


COLUMNS = len(RequiredBlocks._fields) - 1


def required_in(k, table):
    """Return the required blocks of k tasks from their table: of_pair by rows, then a row for each block."""
    blocks = table[k * k :].reshape(((table.size - k * k) // COLUMNS, COLUMNS))
    of_pair = table[: k * k].reshape((k, k))
    return RequiredBlocks(blocks[:, 0], blocks[:, 1], blocks[:, 2], blocks[:, 3], blocks[:, 4], of_pair)


def free_rows(tree, i, U, D_inv, B):
    """B <- tau-bar' B for joint i: for each unit screw, first to last, subtract G' B from row S of the 6x6 block B."""
    for k in range(tree.v_start[i], tree.v_start[i + 1]):
        for c in range(6):
            through = B[0, c] * 0
            for r in range(6):
                through += U[k, r] * B[r, c]
            B[tree.screw[k], c] -= D_inv[k] * through


def propagate_rows(tree, i, X, U, D_inv, B):
    """B <- tau-bar_i' X_i B."""
    transform_rows(body_transform_at(tree, X, i), B)
    free_rows(tree, i, U, D_inv, B)


def diagonal_block(tree, i, X, U, D_inv, B):
    """B <- Omega_ii = tau-bar' X Omega_λλ X' tau-bar + S D^-1 S', for B = Omega_λλ (F10 Figure 14)."""
    transform(body_transform_at(tree, X, i), B)
    for k in range(tree.v_start[i], tree.v_start[i + 1]):
        screw = tree.screw[k]
        for c in range(6):
            through = B[0, c] * 0
            for r in range(6):
                through += U[k, r] * B[r, c]
            B[screw, c] -= D_inv[k] * through
        for r in range(6):
            through = B[0, 0] * 0
            for c in range(6):
                through += U[k, c] * B[r, c]
            B[r, screw] -= D_inv[k] * through
        B[screw, screw] += D_inv[k]


def load_block(block, mirrored, B):
    """B <- a block, or its transpose if `mirrored`."""
    for r in range(6):
        for c in range(6):
            B[r, c] = block[c, r] if mirrored else block[r, c]


def inverse_inertia_blocks(tree, needed, X, U, D_inv, Omega):
    """Omega[b] <- required block b, outward (F10 Figure 14, its last two loops); Omega[0] <- 0."""
    put_zero(Omega[0], SIX, SIX)
    for b in range(1, needed.i.size + 1):
        i, j, B = needed.i[b - 1], needed.j[b - 1], Omega[b]
        load_block(Omega[needed.source[b - 1]], needed.mirrored[b - 1] == 1, B)
        if i == j:
            diagonal_block(tree, i, X, U, D_inv, B)  # H_i' D_i^-1 H_i + tau-bar_i' phi_i' Omega_λλ phi_i tau-bar_i
        else:
            propagate_rows(tree, j, X, U, D_inv, B.T)  # ancest(i, j) = i: Omega_ij = Omega_iλ(j) phi_j tau-bar_j
            if needed.stays[b - 1] == 0:
                propagate_rows(tree, i, X, U, D_inv, B)  # else tau-bar_i' phi_i' Omega_λ(i)λ(j) phi_j tau-bar_j
