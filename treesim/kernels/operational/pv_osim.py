"""PV-OSIM: Λ^-1 by propagating the tasks' forces through articulated bodies (Sathya, Decre, Swevers 2023).

O(N + m^2 d). Every task row is a unit force that is propagated from its body to the base. Each degree of freedom on the
way eliminates its component Z = S' K. Two tasks have D^-1 in common where their paths coincide: Λ^-1 = Z' D^-1 Z, so
that Z' is Y_d = J L^-1 of F10, found without H. Joints are treated one unit screw at a time, as in `aba`.
"""

from ..algebra.spatial import force_component, force_scale, force_sub, force_to_parent
from ..algebra.tables import body_transform_at, force_at, put_force
from ..dynamics.articulated import QUANTITIES, quantities_of
from ..dynamics.rjk import articulated_quantities
from ..entries.entry import entry
from ..entries.scratch import scratch_memory
from ..kinematics.frames import COUNT, FRAMES, frames_of
from ..kinematics.jacobians import put_task_axes, task_rows
from .inverse_inertia import inverse_inertia_entry
from .sparse_rows import common_depth


def pass_joint(tree, i, X, U, D_inv, K, Z, DZ):
    """Eliminate joint i from the six forces in the rows of K: Z = S' K, DZ = D^-1 Z, K <- X' (K - U D^-1 Z)."""
    for r in range(6):
        force = force_at(K, r)
        for k in range(tree.v_start[i + 1] - 1, tree.v_start[i] - 1, -1):
            depth = tree.dof_depth[k]
            Z[depth, r] = force_component(force, tree.screw[k])
            DZ[depth, r] = D_inv[k] * Z[depth, r]
            force = force_sub(force, force_scale(force_at(U, k), DZ[depth, r]))
        if tree.parent[i] > 0:
            put_force(K, r, force_to_parent(body_transform_at(tree, X, i), force))


def multiply_shares(zero, depth, Z, DZ, block):
    """block = DZ' Z (6, 6), summed over the first `depth` degrees of freedom; zero: a zero of the number type."""
    for r in range(6):
        a = b = c = d = e = f = zero
        for k in range(depth):
            z = DZ[k, r]
            a, b, c = a + z * Z[k, 0], b + z * Z[k, 1], c + z * Z[k, 2]
            d, e, f = d + z * Z[k, 3], e + z * Z[k, 4], f + z * Z[k, 5]
        block[r, 0], block[r, 1], block[r, 2], block[r, 3], block[r, 4], block[r, 5] = a, b, c, d, e, f


def inverse_inertia(tree, bodies, X, U, D_inv, K, Z, DZ, out):
    """Λ^-1 for the forces K (six rows per frame, in the coordinates of its body)."""
    for f in range(bodies.size):
        i = bodies[f]
        while i > 0:
            pass_joint(tree, i, X, U, D_inv, K[f], Z[f], DZ[f])
            i = tree.parent[i]
        for g in range(f + 1):
            p, q = tree.last_dof[bodies[f]], tree.last_dof[bodies[g]]
            depth = common_depth(tree.dof_parent, tree.dof_depth, p, q)
            block = out[6 * f : 6 * f + 6, 6 * g : 6 * g + 6]
            multiply_shares(tree.gravity[0] * 0, depth, Z[g], DZ[f], block)
            for r in range(6):
                for c in range(6):
                    out[6 * g + c, 6 * f + r] = block[r, c]


# of tasks: poses of bodies; the tasks' forces K, their components Z, and D^-1 Z
task_memory = scratch_memory(
    "W 12", given="codes", K="codes.size - 1, 6, 6", Z="codes.size - 1, nv, 6", DZ="codes.size - 1, nv, 6"
)
scratch_for = scratch_memory("X 12, P 21", "U 6, D_inv")  # transforms, articulated inertias, U and D^-1


def inverse_inertia_of_tasks(tree, frames, X, U, D_inv, memory, out):
    """Λ^-1 of frames from articulated quantities, by a sweep over the tasks' paths."""
    bodies, placement, reference = frames
    W, K, Z, DZ = memory
    put_task_axes(tree, X, bodies, reference, W)
    for f in range(bodies.size):
        task_rows(tree, bodies[f], placement, W, reference, f, K[f])
    inverse_inertia(tree, bodies, X, U, D_inv, K, Z, DZ, out)


def inverse_inertia_pv_osim(tree, q, out, frames, tasks, memory):
    """Λ^-1 in one backward sweep: over all bodies for articulated quantities, then over the tasks' paths."""
    X, P, U, D_inv = memory
    articulated_quantities(tree, q, X, P, U, D_inv)
    inverse_inertia_of_tasks(tree, frames, X, U, D_inv, tasks, out)


inverse_inertia_pv_osim_states = inverse_inertia_entry(inverse_inertia_pv_osim, (frames_of, task_memory, scratch_for))


def articulated_inverse_inertia(tree, quantities, out, frames, memory):
    """Λ^-1 (m, m) of k frames, m = 6 k, from articulated quantities."""
    X, _, U, D_inv = quantities_of(tree, quantities)
    inverse_inertia_of_tasks(tree, frames, X, U, D_inv, memory, out)


articulated_inverse_inertia_states = entry(
    articulated_inverse_inertia, (frames_of, task_memory), FRAMES, COUNT, quantities=QUANTITIES, out="-> 6 * k, 6 * k"
)
