"""H^-1, and H^-1 times vectors: H by CRBA, factored without fill-in (F05)."""

from __future__ import annotations

from ..entries.entry import entry
from .crba import mass_matrix, put_packed
from .inertia_matrix_dynamics import scratch_for, solve_ltdl
from .ltdl import factorize, invert, solve_matrix


def solve_mass_matrix(tree, q, x, out, scratch):
    """out = H^-1 x."""
    out[:] = x
    solve_ltdl(tree, q, scratch, out)


solve_mass_matrix_states = entry(solve_mass_matrix, scratch_for, q="nq", x="nv'", out="-> nv", follows="out")


def inverse_mass_matrix(tree, q, inverse, scratch):
    """inverse = H^-1, symmetric to the bit."""
    X, Ic, H = scratch
    mass_matrix(tree, q, X, Ic, H, put_packed)
    factorize(tree.dof_parent, tree.dof_depth, tree.row_start, H)
    invert(tree.dof_parent, tree.dof_depth, tree.row_start, H, inverse)


inverse_mass_matrix_states = entry(inverse_mass_matrix, scratch_for, q="nq", inverse="-> nv, nv")


def solve_columns(tree, q, x, out, scratch):
    """out = H^-1 x, for the columns of x together."""
    X, Ic, H = scratch
    mass_matrix(tree, q, X, Ic, H, put_packed)
    factorize(tree.dof_parent, tree.dof_depth, tree.row_start, H)
    out[:] = x
    solve_matrix(tree.dof_parent, tree.dof_depth, tree.row_start, H, out)


solve_columns_states = entry(
    solve_columns, scratch_for, {"columns": "TableOfIntegers"}, {"k": "columns[0]"}, q="nq", x="nv, k", out="-> nv, k"
)
