"""H^-1, and H^-1 times vectors: H by CRBA, factored without fill-in (F05)."""

from ..algebra.cholesky import factor_definite, solve
from ..entries.entry import entry
from .inertia_matrix_dynamics import factors, scratch_for, solve_ltdl
from .ltdl import factorize, invert, solve_matrix


def solve_mass_matrix(tree, q, x, out, scratch):
    """out = H^-1 x."""
    out[:] = x
    solve_ltdl(tree, q, scratch, out)


solve_mass_matrix_states = entry(
    solve_mass_matrix, scratch_for, q="nq", x="nv'", out="-> nv", follows="out", angles=True
)


def inverse_mass_matrix(tree, q, inverse, scratch):
    """inverse = H^-1, symmetric to the bit."""
    X, Ic, H = scratch
    factors(tree, q, factorize, X, Ic, H)
    invert(tree.dof_parent, tree.dof_depth, tree.row_start, H, inverse)


def constrain_inverse(mimic, inverse, rows):
    """inverse -= Z S^-1 Z' with Z = inverse A' and S = A Z, for the rows A of mimic joints (`kernels.mimic.mimic`)."""
    Z, S = rows.Z, rows.G
    for b in range(mimic.count):
        own, mimicked, multiplier = mimic.v[b], mimic.mimicked_v[b], mimic.multiplier[b]
        for k in range(inverse.shape[0]):
            Z[k, b] = inverse[k, own] - multiplier * inverse[k, mimicked]
        for c in range(b + 1):
            S[b, c] = Z[own, c] - multiplier * Z[mimicked, c]
    factor_definite(S)
    for k in range(inverse.shape[0]):
        for b in range(mimic.count):
            rows.force[b] = Z[k, b]
        solve(S, rows.force)
        for j in range(k + 1):
            for b in range(mimic.count):
                inverse[k, j] -= rows.force[b] * Z[j, b]
            inverse[j, k] = inverse[k, j]


inverse_mass_matrix_states = entry(
    inverse_mass_matrix, scratch_for, q="nq", inverse="-> nv, nv", reduce=constrain_inverse, angles=True
)


def solve_columns(tree, q, x, out, scratch):
    """out = H^-1 x, for the columns of x together."""
    X, Ic, H = scratch
    factors(tree, q, factorize, X, Ic, H)
    out[:] = x
    solve_matrix(tree.dof_parent, tree.dof_depth, tree.row_start, H, out)


solve_columns_states = entry(
    solve_columns,
    scratch_for,
    {"columns": "TableOfIntegers"},
    {"k": "columns[0]"},
    q="nq",
    x="nv, k",
    out="-> nv, k",
    angles=True,
)
