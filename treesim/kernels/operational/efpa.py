"""Extended force propagator: Λ^-1 from the diagonal blocks of Omega (after Wensing et al. 2012), O(N + m d + m^2).

The forces of each task are propagated to the base once. For two tasks with nearest common ancestor a,
Λ^-1_kl = chi_k' Omega_aa chi_l. Joints are treated one unit screw at a time, as in `aba`.
"""

from ..algebra.spatial import force_to_parent
from ..algebra.tables import body_transform_at, force_at, put_force
from ..dynamics.rjk import articulated_quantities, diagonal_block, nearest_common_ancestor
from ..entries.scratch import scratch_memory
from ..kinematics.frames import frames_of
from ..kinematics.jacobians import put_task_axes, task_rows
from .inverse_inertia import inverse_inertia_entry


def let_through(tree, i, X, U, D_inv, chi):
    """chi <- X' (1 - G S') chi: propagate the forces in the rows of chi through joint i."""
    for k in range(tree.v_start[i + 1] - 1, tree.v_start[i] - 1, -1):
        for r in range(6):
            share = chi[r, tree.screw[k]] * D_inv[k]
            for c in range(6):
                chi[r, c] -= U[k, c] * share
    for r in range(6):
        put_force(chi, r, force_to_parent(body_transform_at(tree, X, i), force_at(chi, r)))


def carry_to_base(tree, body, X, U, D_inv, chi):
    """chi[i] = the task's forces in body i's coordinates for all i on the path of `body`, from chi[body] inward."""
    i = body
    while tree.parent[i] > 0:
        p = tree.parent[i]
        for r in range(6):
            for c in range(6):
                chi[p, r, c] = chi[i, r, c]
        let_through(tree, i, X, U, D_inv, chi[p])
        i = p


def diagonal_blocks(tree, X, U, D_inv, Omega):
    """Omega_ii of every body, outward (F10 Figure 14, i = j); Omega[0] = 0."""
    Omega[0, :, :] = 0
    for i in range(1, tree.n_bodies + 1):
        for r in range(6):
            for c in range(6):
                Omega[i, r, c] = Omega[tree.parent[i], r, c]
        diagonal_block(tree, i, X, U, D_inv, Omega[i])


def quadratic_block(chi_k, Omega, chi_l, out):
    """out = chi_k' Omega chi_l, with the tasks' forces in the rows of chi."""
    for r in range(6):
        for s in range(6):
            total = Omega[0, 0] * 0
            for a in range(6):
                for b in range(6):
                    total += chi_k[r, a] * Omega[a, b] * chi_l[s, b]
            out[r, s] = total


# poses, transforms, articulated inertias, U and D^-1, the tasks' forces by body, Omega_ii, and one block
scratch_for = scratch_memory(
    "W 12, X 12, P 21", "U 6, D_inv", given="codes",
    chi="codes.size - 1, N + 1, 6, 6 | zeros", Omega="N + 1, 6, 6", block="6, 6",
)  # fmt: skip


def inverse_inertia_efpa(tree, q, out, frames, memory):
    """Λ^-1_kl = chi_k' Omega_aa chi_l for every pair of tasks."""
    bodies, placement, reference = frames
    W, X, P, U, D_inv, chi, Omega, block = memory
    articulated_quantities(tree, q, X, P, U, D_inv)
    put_task_axes(tree, X, bodies, reference, W)
    diagonal_blocks(tree, X, U, D_inv, Omega)
    for f in range(bodies.size):
        task_rows(tree, bodies[f], placement, W, reference, f, chi[f, bodies[f]])
        carry_to_base(tree, bodies[f], X, U, D_inv, chi[f])
        for g in range(f + 1):
            a = nearest_common_ancestor(tree.parent, bodies[f], bodies[g])
            quadratic_block(chi[f, a], Omega[a], chi[g, a], block)
            for r in range(6):
                for c in range(6):
                    out[6 * f + r, 6 * g + c] = out[6 * g + c, 6 * f + r] = block[r, c]


inverse_inertia_efpa_states = inverse_inertia_entry(inverse_inertia_efpa, (frames_of, scratch_for))
