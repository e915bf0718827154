"""Spatial algebra on small tuples: angular part first, all in one body's coordinates (RBDA ch. 2).

Functions use only `+ - * /` on named tuples. So the same source runs on floats, is compiled by the generic engine, and
runs on any other number type.
"""

from typing import NamedTuple

from .linear import (
    Matrix,
    Number,
    Symmetric,
    Vector,
    add,
    cross,
    cross_symmetric,
    dot,
    matrix_add,
    rotate,
    rotate_back,
    scale,
    sub,
    symmetric_add,
    symmetric_apply,
)
from .rotations import matrix_to_parent, symmetric_to_parent, to_child, to_parent

# the six unit screws, in the order of a spatial vector's components
WX, WY, WZ, VX, VY, VZ = 0, 1, 2, 3, 4, 5


class Motion(NamedTuple):
    """A motion vector: angular and linear part."""

    ang: Vector
    lin: Vector


class Force(NamedTuple):
    """A force vector: moment n about the frame's origin, and force f."""

    n: Vector
    f: Vector


class RigidInertia(NamedTuple):
    """A rigid-body inertia [I hx; -hx m]: I about the frame's origin, h = m c, mass m."""

    I: Symmetric  # noqa: E741 - the field's symbol
    h: Vector
    m: Number


class CentralInertia(NamedTuple):
    """A rigid-body inertia about the centre of mass: I about c, centre of mass c, mass m."""

    I: Symmetric  # noqa: E741 - the field's symbol
    c: Vector
    m: Number


class ArticulatedInertia(NamedTuple):
    """An articulated-body inertia [I H; H' M]."""

    I: Symmetric  # noqa: E741 - the field's symbol
    H: Matrix
    M: Symmetric


# ---- motions and forces


def motion_add(a, b):
    """Return a + b of motions."""
    return Motion(add(a.ang, b.ang), add(a.lin, b.lin))


def motion_sub(a, b):
    """Return a - b of motions."""
    return Motion(sub(a.ang, b.ang), sub(a.lin, b.lin))


def motion_scaled_add(a, b, s):
    """Return a + b s of motions."""
    return Motion(add(a.ang, scale(b.ang, s)), add(a.lin, scale(b.lin, s)))


def force_add(a, b):
    """Return a + b of forces."""
    return Force(add(a.n, b.n), add(a.f, b.f))


def force_sub(a, b):
    """Return a - b of forces."""
    return Force(sub(a.n, b.n), sub(a.f, b.f))


def force_scale(a, s):
    """Return a s of a force."""
    return Force(scale(a.n, s), scale(a.f, s))


def force_dot(a, m):
    """Return a . m: power of force a at motion m."""
    return dot(a.n, m.ang) + dot(a.f, m.lin)


def motion_to_child(X, m):
    """X m: transform a motion from the parent's to the child's coordinates (RBDA eq. 2.24)."""
    return Motion(to_child(X, m.ang), to_child(X, sub(m.lin, cross(X.p, m.ang))))


def motion_cross(v, m):
    """v x m of motions (RBDA section 2.9)."""
    return Motion(cross(v.ang, m.ang), add(cross(v.ang, m.lin), cross(v.lin, m.ang)))


def force_to_parent(X, f):
    """X' f: transform a force from the child's to the parent's coordinates (RBDA eq. 2.25)."""
    force = to_parent(X, f.f)
    return Force(add(to_parent(X, f.n), cross(X.p, force)), force)


# ---- unit screws: S = e_k, so that S q is one component and S'f is one component


def unit_scaled_add(m, k, s):
    """m + e_k s."""
    if k == WZ:
        return Motion(Vector(m.ang.x, m.ang.y, m.ang.z + s), m.lin)
    if k == WX:
        return Motion(Vector(m.ang.x + s, m.ang.y, m.ang.z), m.lin)
    if k == WY:
        return Motion(Vector(m.ang.x, m.ang.y + s, m.ang.z), m.lin)
    if k == VX:
        return Motion(m.ang, Vector(m.lin.x + s, m.lin.y, m.lin.z))
    if k == VY:
        return Motion(m.ang, Vector(m.lin.x, m.lin.y + s, m.lin.z))
    return Motion(m.ang, Vector(m.lin.x, m.lin.y, m.lin.z + s))


def unit_cross(v, k, s):
    """v x e_k s."""
    w, u = v.ang, v.lin
    o = s * 0
    if k == WZ:
        return Motion(Vector(w.y * s, -w.x * s, o), Vector(u.y * s, -u.x * s, o))
    if k == WX:
        return Motion(Vector(o, w.z * s, -w.y * s), Vector(o, u.z * s, -u.y * s))
    if k == WY:
        return Motion(Vector(-w.z * s, o, w.x * s), Vector(-u.z * s, o, u.x * s))
    zero = Vector(o, o, o)
    if k == VX:
        return Motion(zero, Vector(o, w.z * s, -w.y * s))
    if k == VY:
        return Motion(zero, Vector(-w.z * s, o, w.x * s))
    return Motion(zero, Vector(w.y * s, -w.x * s, o))


def with_component(force, k, x):
    """Return a force with its component k replaced by x."""
    n, f = force.n, force.f
    if k == WZ:
        return Force(Vector(n.x, n.y, x), f)
    if k == WX:
        return Force(Vector(x, n.y, n.z), f)
    if k == WY:
        return Force(Vector(n.x, x, n.z), f)
    if k == VX:
        return Force(n, Vector(x, f.y, f.z))
    if k == VY:
        return Force(n, Vector(f.x, x, f.z))
    return Force(n, Vector(f.x, f.y, x))


def force_component(f, k):
    """e_k' f."""
    if k == WZ:
        return f.n.z
    if k == WX:
        return f.n.x
    if k == WY:
        return f.n.y
    if k == VX:
        return f.f.x
    if k == VY:
        return f.f.y
    return f.f.z


def motion_component(m, k):
    """e_k' m."""
    return force_component(Force(m.ang, m.lin), k)


def motion_with_component(m, k, x):
    """Return a motion with its component k replaced by x."""
    changed = with_component(Force(m.ang, m.lin), k, x)
    return Motion(changed.n, changed.f)


# ---- rigid-body inertias


def rigid(body):
    """Convert a central inertia to one about the frame's origin: I - m cx cx, h = m c."""
    I, c, m = body.I, body.c, body.m  # noqa: E741
    h = scale(c, m)
    xx, yy, zz = h.x * c.x, h.y * c.y, h.z * c.z
    about_origin = Symmetric(
        I.xx + (yy + zz), I.yy + (xx + zz), I.zz + (xx + yy), I.xy - h.x * c.y, I.xz - h.x * c.z, I.yz - h.y * c.z
    )
    return RigidInertia(about_origin, h, m)


def rigid_apply(inertia, v):
    """I v (RBDA eq. 2.63)."""
    return Force(
        add(symmetric_apply(inertia.I, v.ang), cross(inertia.h, v.lin)),
        sub(scale(v.lin, inertia.m), cross(inertia.h, v.ang)),
    )


def velocity_force(body, v):
    """v x* I v: force on a body that moves at constant velocity v, m w x (v + w x c), and its moment."""
    w, c = v.ang, body.c
    f = scale(cross(w, add(v.lin, cross(w, c))), body.m)
    return Force(add(cross(w, symmetric_apply(body.I, w)), cross(c, f)), f)


def net_force(body, v, a):
    """I a + v x* I v (RBDA eq. 5.9): mass times acceleration of the centre of mass, Euler's moment, and c x f."""
    w, c = v.ang, body.c
    speed = add(v.lin, cross(w, c))
    f = scale(add(add(a.lin, cross(a.ang, c)), cross(w, speed)), body.m)
    euler = add(symmetric_apply(body.I, a.ang), cross(w, symmetric_apply(body.I, w)))
    return Force(add(euler, cross(c, f)), f)


def rigid_add(a, b):
    """Return a + b of rigid-body inertias."""
    return RigidInertia(symmetric_add(a.I, b.I), add(a.h, b.h), a.m + b.m)


def rigid_to_parent(X, inertia):
    """X' I X of a rigid-body inertia (RBDA eq. 2.66)."""
    p = X.p
    h = to_parent(X, inertia.h)
    q = add(h, h)
    g = Vector(q.x + inertia.m * p.x, q.y + inertia.m * p.y, q.z + inertia.m * p.z)  # 2 h + m p
    # I' = R I R' - (px hx + hx px) - m px px, the last terms as the symmetric part of (p.g) 1 - p g'
    xx, yy, zz = p.x * g.x, p.y * g.y, p.z * g.z
    rotated = symmetric_to_parent(X, inertia.I)
    shift = Symmetric(
        yy + zz,
        xx + zz,
        xx + yy,
        -(p.x * h.y + p.y * h.x + inertia.m * p.x * p.y),
        -(p.x * h.z + p.z * h.x + inertia.m * p.x * p.z),
        -(p.y * h.z + p.z * h.y + inertia.m * p.y * p.z),
    )
    return RigidInertia(symmetric_add(rotated, shift), add(h, scale(p, inertia.m)), inertia.m)


def rigid_column(inertia, k):
    """I e_k: force on a rigid body at the unit acceleration e_k."""
    S, h, m = inertia.I, inertia.h, inertia.m
    o = m * 0
    if k == WZ:
        return Force(Vector(S.xz, S.yz, S.zz), Vector(-h.y, h.x, o))
    if k == WX:
        return Force(Vector(S.xx, S.xy, S.xz), Vector(o, -h.z, h.y))
    if k == WY:
        return Force(Vector(S.xy, S.yy, S.yz), Vector(h.z, o, -h.x))
    if k == VX:
        return Force(Vector(o, h.z, -h.y), Vector(m, o, o))
    if k == VY:
        return Force(Vector(-h.z, o, h.x), Vector(o, m, o))
    return Force(Vector(h.y, -h.x, o), Vector(o, o, m))


# ---- articulated-body inertias


def articulated(inertia):
    """Convert a rigid-body inertia to an articulated-body inertia: H = hx, M = m 1."""
    h, m = inertia.h, inertia.m
    o = m * 0
    return ArticulatedInertia(inertia.I, Matrix(o, -h.z, h.y, h.z, o, -h.x, -h.y, h.x, o), Symmetric(m, m, m, o, o, o))


def articulated_apply(inertia, a):
    """IA a."""
    H = inertia.H
    return Force(
        add(symmetric_apply(inertia.I, a.ang), rotate(H, a.lin)),
        add(rotate_back(H, a.ang), symmetric_apply(inertia.M, a.lin)),
    )


def articulated_add(a, b):
    """Return a + b of articulated-body inertias."""
    return ArticulatedInertia(symmetric_add(a.I, b.I), matrix_add(a.H, b.H), symmetric_add(a.M, b.M))


def articulated_column(inertia, k):
    """U = IA e_k."""
    S, H, M = inertia.I, inertia.H, inertia.M
    if k == WZ:
        return Force(Vector(S.xz, S.yz, S.zz), Vector(H.zx, H.zy, H.zz))
    if k == WX:
        return Force(Vector(S.xx, S.xy, S.xz), Vector(H.xx, H.xy, H.xz))
    if k == WY:
        return Force(Vector(S.xy, S.yy, S.yz), Vector(H.yx, H.yy, H.yz))
    if k == VX:
        return Force(Vector(H.xx, H.yx, H.zx), Vector(M.xx, M.xy, M.xz))
    if k == VY:
        return Force(Vector(H.xy, H.yy, H.zy), Vector(M.xy, M.yy, M.yz))
    return Force(Vector(H.xz, H.yz, H.zz), Vector(M.xz, M.yz, M.zz))


def articulated_downdate(inertia, U, G):
    """IA - U G', for parallel forces U and G."""
    S, H, M = inertia.I, inertia.H, inertia.M
    n, f, g, e = U.n, U.f, G.n, G.f
    return ArticulatedInertia(
        Symmetric(S.xx - g.x * n.x, S.yy - g.y * n.y, S.zz - g.z * n.z,
                  S.xy - g.x * n.y, S.xz - g.x * n.z, S.yz - g.y * n.z),
        Matrix(H.xx - g.x * f.x, H.xy - g.x * f.y, H.xz - g.x * f.z,
               H.yx - g.y * f.x, H.yy - g.y * f.y, H.yz - g.y * f.z,
               H.zx - g.z * f.x, H.zy - g.z * f.y, H.zz - g.z * f.z),
        Symmetric(M.xx - e.x * f.x, M.yy - e.y * f.y, M.zz - e.z * f.z,
                  M.xy - e.x * f.y, M.xz - e.x * f.z, M.yz - e.y * f.z),
    )  # fmt: skip


def articulated_with_column(inertia, k, U):
    """IA with its column and row k replaced by U."""
    S, H, M, n, f = inertia.I, inertia.H, inertia.M, U.n, U.f
    if k == WZ:
        S = Symmetric(S.xx, S.yy, n.z, S.xy, n.x, n.y)
        H = Matrix(H.xx, H.xy, H.xz, H.yx, H.yy, H.yz, f.x, f.y, f.z)
    elif k == WX:
        S = Symmetric(n.x, S.yy, S.zz, n.y, n.z, S.yz)
        H = Matrix(f.x, f.y, f.z, H.yx, H.yy, H.yz, H.zx, H.zy, H.zz)
    elif k == WY:
        S = Symmetric(S.xx, n.y, S.zz, n.x, S.xz, n.z)
        H = Matrix(H.xx, H.xy, H.xz, f.x, f.y, f.z, H.zx, H.zy, H.zz)
    elif k == VX:
        H = Matrix(n.x, H.xy, H.xz, n.y, H.yy, H.yz, n.z, H.zy, H.zz)
        M = Symmetric(f.x, M.yy, M.zz, f.y, f.z, M.yz)
    elif k == VY:
        H = Matrix(H.xx, n.x, H.xz, H.yx, n.y, H.yz, H.zx, n.z, H.zz)
        M = Symmetric(M.xx, f.y, M.zz, f.x, M.xz, f.z)
    else:
        H = Matrix(H.xx, H.xy, n.x, H.yx, H.yy, n.y, H.zx, H.zy, n.z)
        M = Symmetric(M.xx, M.yy, f.z, M.xy, f.x, f.y)
    return ArticulatedInertia(S, H, M)


def articulated_to_parent(X, inertia):
    """X' IA X: rotate each block, then shift the origin by p (RBDA Table 2.2's congruence, for a general IA)."""
    p = X.p
    I = symmetric_to_parent(X, inertia.I)  # noqa: E741
    H = matrix_to_parent(X, inertia.H)
    M = symmetric_to_parent(X, inertia.M)
    G = matrix_add(H, cross_symmetric(p, M))  # H + px M
    # I + px H' - (H + px M) px, whose six distinct entries are written out
    return ArticulatedInertia(
        Symmetric(
            I.xx + p.y * H.xz - p.z * H.xy - (G.xy * p.z - G.xz * p.y),
            I.yy + p.z * H.yx - p.x * H.yz - (G.yz * p.x - G.yx * p.z),
            I.zz + p.x * H.zy - p.y * H.zx - (G.zx * p.y - G.zy * p.x),
            I.xy + p.y * H.yz - p.z * H.yy - (G.xz * p.x - G.xx * p.z),
            I.xz + p.y * H.zz - p.z * H.zy - (G.xx * p.y - G.xy * p.x),
            I.yz + p.z * H.zx - p.x * H.zz - (G.yx * p.y - G.yy * p.x),
        ),
        G,
        M,
    )
