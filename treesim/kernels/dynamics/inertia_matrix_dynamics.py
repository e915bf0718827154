"""Forward dynamics by the mass matrix: qdd = H^-1 (tau - C), H by CRBA, factored sparsely (F05)."""

from ..entries.scratch import scratch_memory
from .crba import mass_matrix, put_packed
from .ltdl import factorize as factorize_ltdl
from .ltdl import solve as substitute_ltdl
from .ltl import factorize as factorize_ltl
from .ltl import solve as substitute_ltl
from .via_bias import via_bias_entry

# transforms, composite inertias, and H packed by ancestor depth
scratch_for = scratch_memory("X 12, Ic 10", H="nnz")


def factors(tree, q, factorize, X, Ic, H):
    """H = the packed factors of the mass matrix."""
    mass_matrix(tree, q, X, Ic, H, put_packed)
    factorize(tree.dof_parent, tree.dof_depth, tree.row_start, H)


def solve_ltdl(tree, q, scratch, x):
    """x <- H^-1 x by H = L' D L, in place."""
    X, Ic, H = scratch
    factors(tree, q, factorize_ltdl, X, Ic, H)
    substitute_ltdl(tree.dof_parent, tree.dof_depth, tree.row_start, H, x)


def solve_ltl(tree, q, scratch, x):
    """x <- H^-1 x by H = L' L, in place."""
    X, Ic, H = scratch
    factors(tree, q, factorize_ltl, X, Ic, H)
    substitute_ltl(tree.dof_parent, tree.dof_depth, tree.row_start, H, x)


forward_dynamics_ltdl_states = via_bias_entry(solve_ltdl, scratch_for, "ltdl")
forward_dynamics_ltl_states = via_bias_entry(solve_ltl, scratch_for, "ltl")
