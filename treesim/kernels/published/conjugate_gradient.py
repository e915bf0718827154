"""Forward dynamics by conjugate gradients: H qdd = tau - C without H, as H p is inverse dynamics at rest (J91, s. 4).

The preconditioner Phi is 1 or the block diagonal of H, S' R S with the composite inertias R (J91's H R H*), a block of
n_i x n_i for each joint. J91 eq. 30 has z'z over the previous r'r as coefficient of the next direction, which is
correct for Phi = 1 only. Otherwise it has a unit: it converges slowly in small units, and diverges in large ones. Here
it is r'z over the previous r'z. In exact arithmetic nv steps suffice; in floating point they do not. The iteration ends
when
|r| < tolerance |tau - C|, and stops after 20 nv steps: humanoids take 1 to 8 nv, chains of 100 bodies 4 to 18 nv, long
straight ones more.
"""

from typing import Any, NamedTuple

import numpy as np

from ..algebra.blocks import sum_of_products
from ..algebra.numbers import sqrt
from ..algebra.spatial import force_component, rigid_column
from ..algebra.tables import body_inertia, put_rigid, put_transform, rigid_at
from ..dynamics.crba import add_to_parent
from ..dynamics.ltdl import factorize
from ..dynamics.ltdl import solve as substitute
from ..dynamics.via_bias import bias_memory, right_hand_side, via_bias_entry
from ..entries.entry import DRIVEN, entry
from ..entries.scratch import scratch_memory
from ..entries.status import FINE, NOT_CONVERGED, status_of
from ..kinematics.bodies import body_transform
from .at_rest import apply_mass_matrix

TOLERANCE, STEPS_PER_DOF = 1e-13, 20
SINGULAR = 1e-14  # a pivot of a joint's block below this part of its diagonal is round-off of 0


class Blocks(NamedTuple):
    """Block-diagonal symmetric matrix with one block per joint, packed like a tree with all joints on the base."""

    parent: Any
    depth: Any
    start: Any
    values: Any
    diagonal: Any


def blocks_for(tree, q):
    """Blocks of S' R S for a tree, with the dtype of q."""
    nv = tree.nv
    parent, depth, start = np.empty(nv, np.int64), np.empty(nv, np.int64), np.empty(nv, np.int64)
    size = 0
    for i in range(1, tree.n_bodies + 1):
        first = tree.v_start[i]
        for k in range(first, tree.v_start[i + 1]):
            parent[k], depth[k], start[k] = k - 1 if k > first else -1, k - first, size
            size += k - first + 1
    return Blocks(parent, depth, start, np.empty(size, q.dtype), np.empty(nv, q.dtype))


# transforms, composite inertias, accelerations, forces; residual r, z = Phi^-1 r, p, H p
vectors_for = scratch_memory("X 12, R 10, A 6, F 6", r="nv", z="nv", p="nv", Hp="nv")


def scratch_for(tree, q):
    """Blocks of Phi, and scratch memory for a tree, with the dtype of q."""
    return blocks_for(tree, q), vectors_for(tree, q)


def put_block_row(tree, i, k, inertia, Phi):
    """Write row k of the block S' R S of joint i, k one of its degrees of freedom."""
    column = rigid_column(inertia, tree.screw[k])
    for j in range(tree.v_start[i], k):
        Phi.values[Phi.start[k] + Phi.depth[j]] = force_component(column, tree.screw[j])
    Phi.diagonal[k] = force_component(column, tree.screw[k]) + tree.armature[k]
    Phi.values[Phi.start[k] + Phi.depth[k]] = Phi.diagonal[k]


def factor_blocks(tree, q, X, R, Phi):
    """Compute X, R, and the factors L' D L of S' R S; return whether every joint moves some inertia."""
    for i in range(1, tree.n_bodies + 1):
        put_transform(X, i, body_transform(tree, i, q))
        put_rigid(R, i, body_inertia(tree, i))
    for i in range(tree.n_bodies, 0, -1):
        inertia = rigid_at(R, i)
        add_to_parent(tree, i, inertia, X, R)
        for k in range(tree.v_start[i], tree.v_start[i + 1]):
            put_block_row(tree, i, k, inertia, Phi)
    factorize(Phi.parent, Phi.depth, Phi.start, Phi.values)
    regular = True
    for k in range(tree.nv):
        regular = regular and Phi.values[Phi.start[k] + Phi.depth[k]] > SINGULAR * Phi.diagonal[k]
    return regular


def precondition(preconditioned, Phi, r, z):
    """z = Phi^-1 r, joint by joint with the blocks S' R S, or z = r."""
    for k in range(r.size):
        z[k] = r[k]
    if preconditioned:
        substitute(Phi.parent, Phi.depth, Phi.start, Phi.values, z)


def iterate(tree, scratch, x, tolerance, most, preconditioned):
    """x <- H^-1 x, in place (J91 eq. 30, corrected); return the number of steps and |r| / |x|."""
    Phi, (X, _, A, F, r, z, p, Hp) = scratch
    for k in range(tree.nv):
        r[k] = x[k]
        x[k] = 0
    precondition(preconditioned, Phi, r, z)
    for k in range(tree.nv):
        p[k] = z[k]
    gain, whole, steps = sum_of_products(r, z), sqrt(sum_of_products(r, r)), 0
    left = whole / whole
    while steps < most and not left < tolerance:
        apply_mass_matrix(tree, X, p, Hp, A, F)
        s = gain / sum_of_products(p, Hp)
        for k in range(tree.nv):
            x[k] += s * p[k]
            r[k] -= s * Hp[k]
        precondition(preconditioned, Phi, r, z)
        before, gain = gain, sum_of_products(r, z)
        for k in range(tree.nv):
            p[k] = z[k] + gain / before * p[k]
        left = sqrt(sum_of_products(r, r)) / whole
        steps += 1
    return steps, left


def solve(tree, q, scratch, x, tolerance, most, preconditioned):
    """x <- H^-1 x, in place, in at most `most` steps; return the number of steps and |r| / |x|.

    For a singular H it returns 0 steps and 1. Non-finite numbers stay non-finite.
    """
    regular = factor_blocks(tree, q, scratch[1].X, scratch[1].R, scratch[0])
    zero = tree.gravity[0] * 0
    if not regular:
        return 0, zero + 1
    if status_of(x) != FINE or sum_of_products(x, x) == 0:
        return 0, zero
    return iterate(tree, scratch, x, tolerance, most, preconditioned)


def forward_dynamics_within(tree, limits, preconditioned, q, v, tau, f_ext, qdd, report, bias, memory):
    """Forward dynamics within `limits`, tolerance and number of steps; report: number of steps, and |r| / |tau - C|."""
    right_hand_side(tree, q, v, tau, f_ext, qdd, bias)
    steps, left = solve(tree, q, memory, qdd, limits[0], limits[1], preconditioned)
    report[0], report[1] = steps, left
    return FINE if left < limits[0] else NOT_CONVERGED


def solve_to_tolerance(tree, q, memory, x, preconditioned):
    """x <- H^-1 x to TOLERANCE, in at most STEPS_PER_DOF nv steps; returns a status."""
    _, left = solve(tree, q, memory, x, TOLERANCE, STEPS_PER_DOF * tree.nv, preconditioned)
    residual = np.empty(1, q.dtype)  # only `status_of` may count on NaN
    residual[0] = left
    return max(FINE if left < TOLERANCE else NOT_CONVERGED, status_of(residual))


def solve_plain(tree, q, memory, x):
    """x <- H^-1 x by conjugate gradients with Phi = 1."""
    return solve_to_tolerance(tree, q, memory, x, 0)


def solve_preconditioned(tree, q, memory, x):
    """x <- H^-1 x by conjugate gradients with Phi = S' R S."""
    return solve_to_tolerance(tree, q, memory, x, 1)


forward_dynamics_within_states = entry(
    forward_dynamics_within,
    (bias_memory, scratch_for),
    {"limits": "TableOfReals", "preconditioned": "Integer"},
    returns_status=True,
    **DRIVEN,
    qdd="-> nv",
    report="-> 2",
    follows="qdd",
)
forward_dynamics_plain_states = via_bias_entry(solve_plain, scratch_for, "plain", returns_status=True)
forward_dynamics_preconditioned_states = via_bias_entry(
    solve_preconditioned, scratch_for, "preconditioned", returns_status=True
)
