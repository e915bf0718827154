"""H^-1 times vectors: H by CRBA, factored without fill-in (F05)."""

from __future__ import annotations

from ..entries.entry import entry
from .inertia_matrix_dynamics import scratch_for, solve_ltdl


def solve_mass_matrix(tree, q, x, out, scratch):
    """out = H^-1 x."""
    out[:] = x
    solve_ltdl(tree, q, scratch, out)


solve_mass_matrix_states = entry(solve_mass_matrix, scratch_for, q="nq", x="nv'", out="-> nv", follows="out")
