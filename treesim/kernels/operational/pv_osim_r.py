"""PV-OSIMr: Λ^-1 over the compressed tree, O(N + m^2) (reduced PV-OSIM; Sathya, Decre, Swevers 2023).

The nodes of the compressed tree are the bodies where task forces start or paths merge, fewer than two per task. The
joints between a node x and the next one towards the base are eliminated once for all tasks beyond. E_x propagates unit
forces on x to the next node; L_x is the compliance of the joints in between. Outward,
Omega_x = L_x + E_x' Omega_above E_x. For two tasks with nearest common node a, Λ^-1_kl = chi_k' Omega_aa chi_l.
Forces are rows of 6x6 blocks. Joints are treated one unit screw at a time, as in `aba`.
"""

import numpy as np

from ..algebra.spatial import force_to_parent
from ..algebra.tables import body_transform_at, force_at, put_force
from ..dynamics.rjk import articulated_quantities
from ..entries.scratch import scratch_memory
from ..kinematics.bodies import place_bodies
from ..kinematics.frames import frames_of
from ..kinematics.jacobians import task_rows
from .inverse_inertia import inverse_inertia_entry


def number_nodes(parent, bodies, node, where):
    """Assign numbers 1, 2, ... to the compressed nodes, from base to tip; return their count.

    node[i]: number of body i's node (0: none, and the base). where[x]: body of node x.
    """
    branches = np.zeros(parent.size, np.int64)  # children from which task forces come
    node[:] = 0
    for body in bodies:
        node[body] = 1
    for i in range(parent.size - 1, 0, -1):
        if node[i] == 1 or branches[i] > 0:
            branches[parent[i]] += 1
    count = 0
    node[0] = 0
    for i in range(1, parent.size):
        if node[i] == 1 or branches[i] > 1:
            count += 1
            node[i] = count
            where[count] = i
    return count


def yield_screw(U, D_inv, screw, E, L):
    """Eliminate one degree of freedom: L += Z' D^-1 Z with Z = S' E, and E <- E - U D^-1 Z."""
    for r in range(6):
        for s in range(r):
            L[r, s] += E[r, screw] * D_inv * E[s, screw]
        L[r, r] += E[r, screw] * D_inv * E[r, screw]
    for r in range(6):
        share = E[r, screw] * D_inv
        for c in range(6):
            E[r, c] -= U[c] * share


def carry_to_next_node(tree, i, node, X, U, D_inv, E, L):
    """Compute E and L of the node on body i, inward; return the number of the next node, 0 if it is the base."""
    for r in range(6):
        for c in range(6):
            E[r, c] = 1 if r == c else 0
            L[r, c] = 0
    while i > 0:
        for k in range(tree.v_start[i + 1] - 1, tree.v_start[i] - 1, -1):
            yield_screw(U[k], D_inv[k], tree.screw[k], E, L)
        if tree.parent[i] > 0:
            for r in range(6):
                put_force(E, r, force_to_parent(body_transform_at(tree, X, i), force_at(E, r)))
        i = tree.parent[i]
        if node[i] > 0:
            break
    return node[i]


def multiply(A, B, out):
    """out = A B, for 6x6 blocks."""
    for r in range(6):
        for c in range(6):
            total = A[r, 0] * B[0, c]
            for k in range(1, 6):
                total += A[r, k] * B[k, c]
            out[r, c] = total


def node_inertias(tree, node, where, scratch):
    """Compute `above`, E and Omega of every node, base to tip; Omega contains L first."""
    _, X, _, U, D_inv, above, _, E, Omega, _, response = scratch
    for x in range(1, where.size):
        above[x] = carry_to_next_node(tree, where[x], node, X, U, D_inv, E[x], Omega[x])
        for r in range(6):
            for s in range(r):
                Omega[x, s, r] = Omega[x, r, s]
        if above[x] > 0:
            multiply(E[x], Omega[above[x]], response[0])
            multiply(response[0], E[x].T, response[x])
            for r in range(6):
                for c in range(6):
                    Omega[x, r, c] += response[x, r, c]


def carry_task(x, above, E, Omega, chi, response):
    """Propagate the task's forces chi from node x to the base, and compute response = chi Omega at each node."""
    multiply(chi[x], Omega[x], response[x])
    while above[x] > 0:
        multiply(chi[x], E[x], chi[above[x]])
        x = above[x]
        multiply(chi[x], Omega[x], response[x])


def meeting_nodes(x, above, meets):
    """meets[y] = nearest common node of x and y, for every node y; 0 if it is the base."""
    meets[:] = 0
    while x > 0:
        meets[x] = x
        x = above[x]
    for y in range(1, above.size):
        if meets[y] == 0:
            meets[y] = meets[above[y]]


# poses, transforms, articulated inertias, U and D^-1; by node of the compressed tree: next node, common node, E, Omega,
# the tasks' forces, and the motions that they cause
node_memory = scratch_memory(
    "W 12, X 12, P 21", "U 6, D_inv", given="codes, n", above="n | integers", meets="n | integers",
    E="n, 6, 6", Omega="n, 6, 6", chi="codes.size - 1, n, 6, 6", response="n, 6, 6",
)  # fmt: skip


def scratch_for(tree, codes, q):
    """Return the number of each body's node, the body of each node, and scratch memory with the dtype of q."""
    node, where = np.empty(tree.n_bodies + 1, np.int64), np.zeros(tree.n_bodies + 1, np.int64)
    n = number_nodes(tree.parent, codes[1:], node, where) + 1
    return node, where[:n], node_memory(tree, codes, n, q)


def inverse_inertia_pv_osim_r(tree, q, out, frames, nodes):
    """Λ^-1_kl = chi_k' Omega_aa chi_l for every pair of tasks, over the compressed tree."""
    bodies, placement, reference = frames
    node, where, memory = nodes
    W, X, P, U, D_inv, above, meets, E, Omega, chi, response = memory
    place_bodies(tree, q, W)
    articulated_quantities(tree, q, X, P, U, D_inv)
    node_inertias(tree, node, where, memory)
    out[:] = 0
    for f in range(bodies.size):
        x = node[bodies[f]]
        meeting_nodes(x, above, meets)
        if x > 0:
            task_rows(tree, bodies[f], placement, W, reference, f, chi[f, x])
            carry_task(x, above, E, Omega, chi[f], response)
        for g in range(f + 1):
            a = meets[node[bodies[g]]]
            if a > 0:
                multiply(response[a], chi[g, a].T, out[6 * f : 6 * f + 6, 6 * g : 6 * g + 6])
                for r in range(6):
                    for s in range(6):
                        out[6 * g + s, 6 * f + r] = out[6 * f + r, 6 * g + s]


inverse_inertia_pv_osim_r_states = inverse_inertia_entry(inverse_inertia_pv_osim_r, (frames_of, scratch_for))
