"""Derivatives of forward dynamics, qdd = FD(q, v, tau), in q, v and tau: from those of inverse dynamics at qdd.

ID(q, v, FD(q, v, tau)) = tau; so dFD/dq = -H^-1 dID/dq, dFD/dv = -H^-1 dID/dv, and dFD/dtau = H^-1. H = L' D L (F05) is
factored once; the columns of both matrices are solved together.
"""

from typing import Any

from ..algebra.numbers import in_vectors, one_block, vectorized
from ..entries.entry import DRIVEN, entry
from ..entries.scratch import scratch_memory
from .aba import forward_dynamics
from .aba import scratch_for as forward_memory
from .crba import put_packed
from .inverse_dynamics_derivatives import DQ, DV, MASS, derivatives_and_mass_matrix
from .inverse_dynamics_derivatives import scratch_for as inverse_memory
from .ltdl import ends_line, factorize, invert, solve_lower_matrix, solve_lower_transposed_matrix

X_SHAPE = "nv, 2, (nv + 3) // 4 * 4"  # rows of two derivatives, in whole SIMD vectors
scratch_for = scratch_memory(qdd="nv", H="nnz", pivot="nv", X=X_SHAPE)
MEMORY = {"forward": forward_memory, "inverse": inverse_memory, "m": scratch_for}


# ---- of one state: two kernels, of which the first is faster in straight-line code, the second in loops along rows


def derivatives_at_forward_dynamics(tree, q, v, tau, f_ext, X, H, forward: Any, inverse: Any, m: Any):
    """X = [dtau/dq, dtau/dv] at (q, v, FD(q, v, tau)), with zeros behind each row; H is packed."""
    X.reshape(X.size)[:] = 0
    forward_dynamics(tree, q, v, tau, f_ext, m.qdd, *forward)
    derivatives_and_mass_matrix(tree, q, v, m.qdd, f_ext, X, H, put_packed, inverse)


def solved_derivatives(tree, X, H, D):
    """D = [dqdd/dq, dqdd/dv, H^-1]; overwrites X and H, the results of `derivatives_at_forward_dynamics`."""
    factorize(tree.dof_parent, tree.dof_depth, tree.row_start, H)
    rows = X.reshape((tree.nv, X.size // tree.nv))
    solve_lower_transposed_matrix(tree.dof_parent, tree.dof_depth, tree.row_start, H, rows)
    for k in range(tree.nv):
        row, pivot = rows[k], -1 / H[tree.row_start[k] + tree.dof_depth[k]]
        for c in vectorized(range(row.size)):
            row[c] *= pivot
    solve_lower_matrix(tree.dof_parent, tree.dof_depth, tree.row_start, H, rows)
    for k in range(tree.nv):
        for part in range(2):
            source, target = X[k, part], D[k, part]
            for c in vectorized(range(tree.nv)):
                target[c] = source[c]
    invert(tree.dof_parent, tree.dof_depth, tree.row_start, H, D[:, MASS])


derivatives_at_forward_dynamics_states = entry(
    derivatives_at_forward_dynamics,
    MEMORY,
    **DRIVEN,
    X=f"-> {X_SHAPE} | unchecked",
    H="-> nnz | unchecked",
    angles=True,
)
solved_derivatives_states = entry(solved_derivatives, X=f"{X_SHAPE} | unchecked", H="nnz | unchecked", D="-> nv, 3, nv")


# ---- of any number of states


def is_ancestor(tree, j, i):
    """Return whether degree of freedom j is on the path of i > j to the base."""
    while i > j:
        i = tree.dof_parent[i]
    return i == j


def put_pivots(tree, m):
    """Write -1 / D_k, for the factors in H."""
    for k in range(tree.nv):
        m.pivot[k] = -1 / m.H[tree.row_start[k] + tree.dof_depth[k]]


# Sums begin with the farthest numbers, whose own sums are complete first, so that operations need not wait.


@one_block
def solve_lower_transposed_pair(tree, D, k, m):
    """Multiply columns k of both derivatives by L'^-1."""
    for j in range(tree.nv - 1, -1, -1):
        a, b = D[j, DQ, k], D[j, DV, k]
        for i in range(tree.nv - 1, j, -1):
            if is_ancestor(tree, j, i):
                factor = m.H[tree.row_start[i] + tree.dof_depth[j]]
                a -= factor * D[i, DQ, k]
                b -= factor * D[i, DV, k]
        D[j, DQ, k], D[j, DV, k] = a, b


@one_block
def solve_lower_pair(tree, D, k, m):
    """Multiply columns k of both derivatives by -L^-1 D^-1, four rows of a line at a time."""
    i = 0
    while i < tree.nv:
        rows = 4 if i + 3 < tree.nv and ends_line(tree.dof_parent, i + 3) else 1
        for r in range(i, i + rows):
            D[r, DQ, k], D[r, DV, k] = D[r, DQ, k] * m.pivot[r], D[r, DV, k] * m.pivot[r]
        for j in range(i + rows - 1):
            if is_ancestor(tree, j, i + rows - 1):
                for r in range(max(i, j + 1), i + rows):
                    factor = m.H[tree.row_start[r] + tree.dof_depth[j]]
                    D[r, DQ, k] -= factor * D[j, DQ, k]
                    D[r, DV, k] -= factor * D[j, DV, k]
        i += rows


def forward_dynamics_derivatives(tree, q, v, tau, f_ext, D, forward: Any, inverse: Any, m: Any):
    """D = [dqdd/dq, dqdd/dv, H^-1] at (q, v, tau), each row of the three matrices side by side."""
    if in_vectors():
        derivatives_at_forward_dynamics(tree, q, v, tau, f_ext, m.X, m.H, forward, inverse, m)
        solved_derivatives(tree, m.X, m.H, D)
    else:
        D.reshape(D.size)[:] = 0
        forward_dynamics(tree, q, v, tau, f_ext, m.qdd, *forward)
        derivatives_and_mass_matrix(tree, q, v, m.qdd, f_ext, D, m.H, put_packed, inverse)
        factorize(tree.dof_parent, tree.dof_depth, tree.row_start, m.H)
        put_pivots(tree, m)
        for k in range(tree.nv):
            solve_lower_transposed_pair(tree, D, k, m)
        for k in range(tree.nv):
            solve_lower_pair(tree, D, k, m)
        invert(tree.dof_parent, tree.dof_depth, tree.row_start, m.H, D[:, MASS])


forward_dynamics_derivatives_states = entry(
    forward_dynamics_derivatives, MEMORY, **DRIVEN, D="-> nv, 3, nv", angles=True
)
# straight-line code of robots with more joints does not fit into the caches of instructions
forward_dynamics_derivatives_states.faster_looped = True  # type: ignore[attr-defined]
