"""Forward dynamics from triangular factors of articulated quantities (J91, sections 4 and 6): O(n d).

Innovations: M = [1 + H phi K] D [1 + H phi K]' (J91 Lemma 6.2), solved by substitution. Explicit: the inverse factor
1 - H psi K is computed (J91 Lemma 6.3, 6.4), and only multiplied with. Column k of either factor is the force G_k
propagated to the base, either unchanged or through articulated joints. It is built degree of freedom by degree of
freedom, so (1 + H phi K)' is the L of LTDL, and rows are packed like its rows.
"""

from ..algebra.spatial import force_component, force_scale, force_sub, force_to_parent
from ..algebra.tables import body_transform_at, force_at
from ..dynamics.articulated import QUANTITIES, quantities_of
from ..dynamics.ltdl import multiply, multiply_transposed, solve_diagonal
from ..dynamics.ltdl import solve as substitute
from ..dynamics.rjk import articulated_quantities
from ..dynamics.via_bias import via_bias_entry
from ..entries.entry import entry
from ..entries.scratch import scratch_memory


def pass_by(f, U, D_inv, screw):
    """phi: force f passes a rigid joint; return the factor's entry S' f, and f."""
    return force_component(f, screw), f


def pass_through(f, U, D_inv, screw):
    """psi: force f passes an articulated joint; return the inverse factor's entry -S' f, and tau-bar f = f - G S' f."""
    share = force_component(f, screw)
    return -share, force_sub(f, force_scale(U, D_inv * share))


def factor_row(tree, i, k, X, U, D_inv, L, passage):
    """Row k of the packed factor, k a degree of freedom of joint i: G_k propagated along the path; D_k is last."""
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


def put_factor(tree, X, U, D_inv, L, passage):
    """Write the packed factor, row by row."""
    for i in range(1, tree.n_bodies + 1):
        for k in range(tree.v_start[i], tree.v_start[i + 1]):
            factor_row(tree, i, k, X, U, D_inv, L, passage)


# transforms, articulated inertias, U and D^-1, and the packed factor
scratch_for = scratch_memory("X 12, P 21", "U 6, D_inv", L="nnz")


def make_factor(tree, q, scratch, passage):
    """Compute the packed factor at configuration q, with `passage` as propagation through a joint."""
    X, P, U, D_inv, L = scratch
    articulated_quantities(tree, q, X, P, U, D_inv)
    put_factor(tree, X, U, D_inv, L, passage)


def solve_innovations(tree, q, scratch, x):
    """x <- M^-1 x by substitution with 1 + H phi K, in place."""
    make_factor(tree, q, scratch, pass_by)
    substitute(tree.dof_parent, tree.dof_depth, tree.row_start, scratch.L, x)


def solve_explicit(tree, q, scratch, x):
    """x <- M^-1 x = W' D^-1 W x with W = 1 - H psi K, in place."""
    make_factor(tree, q, scratch, pass_through)
    multiply_transposed(tree.dof_parent, tree.dof_depth, tree.row_start, scratch.L, x)
    solve_diagonal(tree.dof_depth, tree.row_start, scratch.L, x)
    multiply(tree.dof_parent, tree.dof_depth, tree.row_start, scratch.L, x)


forward_dynamics_innovations_states = via_bias_entry(solve_innovations, scratch_for, "innovations")
forward_dynamics_explicit_states = via_bias_entry(solve_explicit, scratch_for, "explicit")


def articulated_factor(tree, quantities, L):
    """Packed factors L = (1 + H phi K)' and D of H = L' D L, from articulated quantities."""
    X, _, U, D_inv = quantities_of(tree, quantities)
    put_factor(tree, X, U, D_inv, L, pass_by)


articulated_factor_states = entry(articulated_factor, quantities=QUANTITIES, L="-> nnz")
