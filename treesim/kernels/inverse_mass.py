"""H^-1 times many vectors: H by CRBA, factored once a state without fill-in (F05)."""

from __future__ import annotations

from .annotations import Reals, TableOfIntegers, TableOfReals
from .crba import mass_matrix, put_packed
from .inertia_matrix_dynamics import scratch_for
from .ltdl import factorize, solve
from .status import FINE, WRONG_SIZE
from .tables import tree_tables


def inverse_mass_rows_states(ints: TableOfIntegers, reals: TableOfReals, q: Reals, rows: Reals, out: Reals) -> int:
    """out = rows H^-1 in each state: rows and out (count, m, nv), any m."""
    tree = tree_tables(ints, reals)
    nq, nv = tree.nq, tree.nv
    count = q.size // nq
    if count < 1 or q.size != count * nq or out.size != rows.size:
        return WRONG_SIZE
    m = rows.size // (count * nv)
    if rows.size != count * m * nv:
        return WRONG_SIZE
    X, Ic, H = scratch_for(tree, q)
    out[:] = rows
    for s in range(count):
        mass_matrix(tree, q[s * nq : (s + 1) * nq], X, Ic, H, put_packed)
        factorize(tree.dof_parent, tree.dof_depth, tree.row_start, H)
        for r in range(s * m, (s + 1) * m):
            solve(tree.dof_parent, tree.dof_depth, tree.row_start, H, out[r * nv : (r + 1) * nv])
    return FINE
