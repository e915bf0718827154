"""Armstrong's recursion of 1979: forward dynamics of bodies on spherical joints (J91 eq. 47, 48), on trees.

All quantities are in each link's own axes, about its joint: inertia J, first moment m c, moment N = tau - C at the
joint. A link's angular acceleration and the force at its joint are functions of the acceleration vd of the joint: wd =
lam (L vd + n), F = Omega vd + beta. The children's contributions, with their levers l, are stored as in J91 eq. 49: P =
[lam^-1, -L; -L', Omega_children + m 1], with P+ = [0, 0; 0, Omega] transformed to the parent, and z = (N + l x beta,
beta) summed over the children. J91 eq. 48 has two different forms of beta; the second, used here, follows from eq. 47.
"""

from typing import NamedTuple

from ..algebra.linear import Matrix, Symmetric, Vector, add, full, matmul, rotate, rotate_back, sub, symmetric_apply
from ..algebra.spatial import (
    ArticulatedInertia,
    Force,
    Motion,
    articulated,
    articulated_add,
    articulated_to_parent,
    force_add,
    force_to_parent,
    motion_to_child,
)
from ..algebra.tables import (
    articulated_at,
    body_inertia,
    body_transform_at,
    force_at,
    motion_at,
    put_articulated,
    put_force,
    put_motion,
    put_transform,
)
from ..dynamics.rjk import zero_force
from ..dynamics.via_bias import via_bias_entry
from ..entries.scratch import scratch_memory
from ..kinematics.bodies import body_transform
from ..kinematics.configuration import vector_at


class Link(NamedTuple):
    """Coefficients of a link: lam, H = -L and n of wd = lam (L vd + n); Omega and beta of F = Omega vd + beta."""

    lam: Symmetric
    H: Matrix
    n: Vector
    Omega: Symmetric
    beta: Vector


def inverse(S):
    """Return S^-1 of a symmetric matrix, by its cofactors."""
    x, y, z = S.yy * S.zz - S.yz * S.yz, S.xz * S.yz - S.xy * S.zz, S.xy * S.yz - S.xz * S.yy
    d = 1 / (S.xx * x + S.xy * y + S.xz * z)
    yy, zz, yz = S.xx * S.zz - S.xz * S.xz, S.xx * S.yy - S.xy * S.xy, S.xy * S.xz - S.xx * S.yz
    return Symmetric(x * d, yy * d, zz * d, y * d, z * d, yz * d)


def downdate(M, A, B):
    """M - A' B for a symmetric result."""
    return Symmetric(
        M.xx - (A.xx * B.xx + A.yx * B.yx + A.zx * B.zx),
        M.yy - (A.xy * B.xy + A.yy * B.yy + A.zy * B.zy),
        M.zz - (A.xz * B.xz + A.yz * B.yz + A.zz * B.zz),
        M.xy - (A.xx * B.xy + A.yx * B.yy + A.zx * B.zy),
        M.xz - (A.xx * B.xz + A.yx * B.yz + A.zx * B.zz),
        M.yz - (A.xy * B.xz + A.yy * B.yz + A.zy * B.zz),
    )


def eliminate(P, z, N):
    """Return the link's coefficients from P and z of eq. 49 and the moment N at its joint (J91 eq. 48)."""
    lam = inverse(P.I)  # lam = (J - lx Omega lx)^-1
    n = sub(N, z.n)  # N - N_child - l x beta_child
    Omega = downdate(P.M, P.H, matmul(full(lam), P.H))  # Omega_child + m 1 - L' lam L
    beta = add(z.f, rotate_back(P.H, symmetric_apply(lam, n)))  # beta_child - L' lam n
    return Link(lam, P.H, n, Omega, beta)


def let_through(Omega):
    """P+ = [0, 0; 0, Omega] (J91 eq. 49): a spherical joint transmits no moment for an acceleration."""
    o = Omega.xx * 0
    return ArticulatedInertia(Symmetric(o, o, o, o, o, o), Matrix(o, o, o, o, o, o, o, o, o), Omega)


def inward(tree, q, x, X, P, Z):
    """Backward sweep: coefficients of every link, for moments x at the joints (J91 eq. 48).

    They are stored in P and z: lam and n replace lam^-1 and the children's moment, once all children have contributed.
    """
    for i in range(1, tree.n_bodies + 1):
        put_transform(X, i, body_transform(tree, i, q))
        put_articulated(P, i, articulated(body_inertia(tree, i)))
        put_force(Z, i, zero_force(tree))
    for i in range(tree.n_bodies, 0, -1):
        p, N = tree.parent[i], vector_at(x, tree.v_start[i])
        link = eliminate(articulated_at(P, i), force_at(Z, i), N)
        put_articulated(P, i, ArticulatedInertia(link.lam, link.H, link.Omega))
        put_force(Z, i, Force(link.n, link.beta))
        if p > 0:
            Xi = body_transform_at(tree, X, i)
            through = articulated_to_parent(Xi, let_through(link.Omega))
            put_articulated(P, p, articulated_add(articulated_at(P, p), through))
            put_force(Z, p, force_add(force_at(Z, p), force_to_parent(Xi, Force(N, link.beta))))


def outward(tree, x, X, P, Z, A):
    """Forward sweep: x <- accelerations of the joints, wd = lam (L vd + n), for bodies at rest on a fixed base."""
    zero = zero_force(tree)
    put_motion(A, 0, Motion(zero.n, zero.f))
    for i in range(1, tree.n_bodies + 1):
        carried = motion_to_child(body_transform_at(tree, X, i), motion_at(A, tree.parent[i]))
        link, n = articulated_at(P, i), force_at(Z, i).n
        wd = symmetric_apply(link.I, sub(n, rotate(link.H, carried.lin)))
        put_motion(A, i, Motion(wd, carried.lin))
        qdd, k = sub(wd, carried.ang), tree.v_start[i]
        x[k], x[k + 1], x[k + 2] = qdd.x, qdd.y, qdd.z


# transforms, P and z with the links' coefficients, and accelerations
scratch_for = scratch_memory("X 12, P 21, Z 6, A 6")


def solve_armstrong(tree, q, memory, x):
    """x <- M^-1 x for moments x at spherical joints, in place: backward and forward sweep."""
    inward(tree, q, x, memory.X, memory.P, memory.Z)
    outward(tree, x, memory.X, memory.P, memory.Z, memory.A)


forward_dynamics_armstrong_states = via_bias_entry(solve_armstrong, scratch_for, "armstrong")
