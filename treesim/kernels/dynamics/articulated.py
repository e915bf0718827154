"""One pass of articulated quantities, and from it forward dynamics, and products and solves with the factors of H.

Source: J91, sections 4 and 6. H = [1 + H phi K] D [1 + H phi K]' (Lemma 6.2) is L' D L with the unit lower triangular
L = (1 + H phi K)', whose inverse is L^-1 = (1 - H psi K)' (Lemma 6.3). No factor is formed: a product or a solve is one
sweep of forces to the base, or of motions from it, in O(N). Degrees of freedom are treated one unit screw at a time, as
in `aba`, so L and D are those of LTDL. `published.innovations` forms the factor from the same quantities, and
`operational.pv_osim` Λ^-1.
"""

from typing import Any, NamedTuple

from ..algebra.spatial import (
    force_add,
    force_component,
    force_dot,
    force_scale,
    force_to_parent,
    motion_to_child,
    unit_scaled_add,
)
from ..algebra.tables import body_transform_at, force_at, motion_at, put_force, put_motion
from ..entries.entry import entry
from ..entries.scratch import scratch_memory
from ..kinematics.bodies import zero_motion
from .rjk import articulated_quantities, gather_forces, release_accelerations, zero_force
from .via_bias import bias_memory, right_hand_side

BODY, DOF = 33, 7  # numbers by body: X (12), P (21); by degree of freedom: U (6), D^-1
QUANTITIES = f"{BODY} * (N + 1) + {DOF} * nv"  # shape of the array that passes them between kernels


class Quantities(NamedTuple):
    """Articulated quantities of one state: transforms X, inertias P, U = P S, and D^-1."""

    X: Any
    P: Any
    U: Any
    D_inv: Any


def quantities_of(tree, quantities):
    """Return the views of one state's array of articulated quantities."""
    bodies = BODY * (tree.n_bodies + 1)
    body = quantities[:bodies].reshape((tree.n_bodies + 1, BODY))
    dof = quantities[bodies:].reshape((tree.nv, DOF))
    return Quantities(body[:, 0:12], body[:, 12:33], dof[:, 0:6], dof[:, 6])


def articulate(tree, q, quantities):
    """Compute the articulated quantities at q: the one pass that all answers share."""
    quantities[:] = 0  # rows of the base, and elements of X that its kind of rotation does not use
    X, P, U, D_inv = quantities_of(tree, quantities)
    articulated_quantities(tree, q, X, P, U, D_inv)


articulate_states = entry(articulate, q="nq", quantities=f"-> {QUANTITIES}")


# ---- products and solves with L and L'


sweep_memory = scratch_memory("Z 6")  # a force or an acceleration by body


def multiply(tree, quantities, x, out, A):
    """out = L x = [1 + H phi K]' x, forward: G' a is added to each degree of freedom."""
    X, _, U, D_inv = quantities_of(tree, quantities)
    put_motion(A, 0, zero_motion(tree))
    for i in range(1, tree.n_bodies + 1):
        a = motion_to_child(body_transform_at(tree, X, i), motion_at(A, tree.parent[i]))
        for k in range(tree.v_start[i], tree.v_start[i + 1]):
            out[k] = x[k] + D_inv[k] * force_dot(force_at(U, k), a)
            a = unit_scaled_add(a, tree.screw[k], x[k])
        put_motion(A, i, a)


def multiply_transposed(tree, quantities, x, out, Z):
    """out = L' x = [1 + H phi K] x, in a backward pass over the bodies. z: force on a body, the sum of terms G x."""
    X, _, U, D_inv = quantities_of(tree, quantities)
    for i in range(tree.n_bodies + 1):
        put_force(Z, i, zero_force(tree))
    for i in range(tree.n_bodies, 0, -1):
        z = force_at(Z, i)
        for k in range(tree.v_start[i + 1] - 1, tree.v_start[i] - 1, -1):
            out[k] = x[k] + force_component(z, tree.screw[k])
            z = force_add(z, force_scale(force_at(U, k), D_inv[k] * x[k]))
        p = tree.parent[i]
        if p > 0:
            put_force(Z, p, force_add(force_at(Z, p), force_to_parent(body_transform_at(tree, X, i), z)))


def solve_lower(tree, quantities, x, out, A):
    """out = L^-1 x = [1 - H psi K]' x, forward."""
    X, _, U, D_inv = quantities_of(tree, quantities)
    out[:] = x
    release_accelerations(tree, X, U, D_inv, out, A)


def solve_lower_transposed(tree, quantities, x, out, Z):
    """out = L'^-1 x = [1 - H psi K] x, backward."""
    X, _, U, D_inv = quantities_of(tree, quantities)
    out[:] = x
    gather_forces(tree, X, U, D_inv, out, Z)
    for k in range(tree.nv):
        out[k] = out[k] / D_inv[k]


def solve(tree, quantities, x, out, Z, A):
    """out = H^-1 x = L^-1 D^-1 L'^-1 x (J91 eq. 45, 46)."""
    X, _, U, D_inv = quantities_of(tree, quantities)
    out[:] = x
    gather_forces(tree, X, U, D_inv, out, Z)
    release_accelerations(tree, X, U, D_inv, out, A)


def _factor_entry(kernel, scratch):
    """Return the entry of a product or solve with a vector x."""
    return entry(kernel, scratch, name=f"articulated_{kernel.__name__}", quantities=QUANTITIES, x="nv", out="-> nv")


solve_memory = scratch_memory("Z 6, A 6")  # of both sweeps


multiply_states = _factor_entry(multiply, sweep_memory)
multiply_transposed_states = _factor_entry(multiply_transposed, sweep_memory)
solve_lower_states = _factor_entry(solve_lower, sweep_memory)
solve_lower_transposed_states = _factor_entry(solve_lower_transposed, sweep_memory)
solve_states = _factor_entry(solve, solve_memory)


# ---- forward dynamics


def forward_dynamics(tree, q, v, tau, f_ext, quantities, qdd, bias, memory):
    """qdd = H^-1 (tau - C), with C by RNEA (J91 eq. 55)."""
    X, _, U, D_inv = quantities_of(tree, quantities)
    right_hand_side(tree, q, v, tau, f_ext, qdd, bias)
    gather_forces(tree, X, U, D_inv, qdd, memory.Z)
    release_accelerations(tree, X, U, D_inv, qdd, memory.A)


forward_dynamics_states = entry(
    forward_dynamics,
    (bias_memory, solve_memory),
    name="articulated_forward_dynamics",
    q="nq",
    v="nv",
    tau="nv",
    f_ext="N, 6 | none",
    quantities=QUANTITIES,
    qdd="-> nv",
)
