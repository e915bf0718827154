"""Forward dynamics from triangular factors made of articulated quantities (J91, sections 4 and 6): O(n d).

Innovations: M = [1 + H phi K] D [1 + H phi K]' (J91 Lemma 6.2), solved by substitution; explicit: the inverse factor
1 - H psi K is written out (J91 Lemma 6.3, 6.4) and only multiplied with. Column k of either factor is the force G_k
carried to the base, as it is or through the joints that yield to it; degree of freedom by degree of freedom, so
(1 + H phi K)' is the L of LTDL, and rows are packed as its rows are.
"""

from __future__ import annotations

import numpy as np

from .annotations import Reals, TableOfIntegers, TableOfReals
from .ltdl import multiply, multiply_transposed, solve_diagonal
from .ltdl import solve as solve_by_factor
from .rjk import articulated_quantities
from .rnea import inverse_dynamics
from .spatial import force_component, force_scale, force_sub, force_to_parent
from .status import WRONG_SIZE, status_of
from .tables import body_transform_at, dynamics_misfit, force_at, tree_tables


def pass_by(f, U, D_inv, screw):
    """phi: the force f passes a joint as it is; S' f is the factor's entry."""
    return force_component(f, screw), f


def pass_through(f, U, D_inv, screw):
    """psi: the joint yields, tau-bar f = f - G S' f; -S' f is the inverse factor's entry."""
    share = force_component(f, screw)
    return -share, force_sub(f, force_scale(U, D_inv * share))


def factor_row(tree, i, k, X, U, D_inv, L, passage):
    """Row k of the packed factor, k a degree of freedom of joint i: G_k carried along the path; D_k stands last."""
    row = tree.row_start[k]
    f = force_scale(force_at(U, k), D_inv[k])
    L[row + tree.dof_depth[k]] = 1 / D_inv[k]
    last = k
    while i > 0:
        for j in range(last - 1, tree.v_start[i] - 1, -1):
            L[row + tree.dof_depth[j]], f = passage(f, force_at(U, j), D_inv[j], tree.screw[j])
        f = force_to_parent(body_transform_at(tree, X, i), f)
        i = tree.parent[i]
        last = tree.v_start[i + 1]


def multiply_by_inverse_factors(dof_parent, dof_depth, row_start, W, x):
    """x <- W' D^-1 W x, with W' packed, in place."""
    multiply_transposed(dof_parent, dof_depth, row_start, W, x)
    solve_diagonal(dof_depth, row_start, W, x)
    multiply(dof_parent, dof_depth, row_start, W, x)


def factored_states(ints, reals, q, v, tau, f_ext, qdd, passage, apply):
    """Forward dynamics of each state with the factor that `passage` makes and `apply` uses."""
    tree = tree_tables(ints, reals)
    nq, nv, B = tree.nq, tree.nv, tree.n_bodies + 1
    count = q.size // nq
    if dynamics_misfit(tree, count, q, v, tau, f_ext, qdd):
        return WRONG_SIZE
    body, U = np.empty((B, 51), q.dtype), np.empty((nv, 6), q.dtype)
    X, P, V, A, F = body[:, 0:12], body[:, 12:33], body[:, 33:39], body[:, 39:45], body[:, 45:51]
    D_inv, C, at_rest = np.empty(nv, q.dtype), np.empty(nv, q.dtype), np.zeros(nv, q.dtype)
    L = np.empty(tree.nnz, q.dtype)
    forces = f_ext.reshape((f_ext.size // 6, 6))
    rows = forces.shape[0] // count
    for s in range(count):
        y, w = slice(s * nq, (s + 1) * nq), slice(s * nv, (s + 1) * nv)
        inverse_dynamics(tree, q[y], v[w], at_rest, forces[s * rows : (s + 1) * rows], C, X, V, A, F)
        articulated_quantities(tree, q[y], X, P, U, D_inv)
        for i in range(1, B):
            for k in range(tree.v_start[i], tree.v_start[i + 1]):
                factor_row(tree, i, k, X, U, D_inv, L, passage)
                qdd[s * nv + k] = tau[s * nv + k] - C[k]
        apply(tree.dof_parent, tree.dof_depth, tree.row_start, L, qdd[w])
    return status_of(qdd)


def forward_dynamics_innovations_states(
    ints: TableOfIntegers, reals: TableOfReals, q: Reals, v: Reals, tau: Reals, f_ext: Reals, qdd: Reals
) -> int:
    """Forward dynamics of each state by substitution with 1 + H phi K."""
    return factored_states(ints, reals, q, v, tau, f_ext, qdd, pass_by, solve_by_factor)


def forward_dynamics_explicit_states(
    ints: TableOfIntegers, reals: TableOfReals, q: Reals, v: Reals, tau: Reals, f_ext: Reals, qdd: Reals
) -> int:
    """Forward dynamics of each state by multiplication with 1 - H psi K."""
    return factored_states(ints, reals, q, v, tau, f_ext, qdd, pass_through, multiply_by_inverse_factors)
