"""Rows J of contacts, and derivatives in the configuration of velocities J w, forces J' lambda and inertial forces M y.

A row is the velocity of body a relative to body b along an axis at the contact point. While degree of freedom e moves,
what is behind its joint moves with its screw S, as seen from the joint's parent: the velocity V of a body changes by
S x (V - V_λ), with V_λ that of the parent. The contact point moves, too, and its axes turn (`Place`).

All vectors have the world's axes. Those of a subtree of the base have the origin of its first body.
"""

from typing import Any, NamedTuple

from ..algebra.linear import Matrix, Vector, add, cross, dot, rotate, rotate_back, scale, sub
from ..algebra.numbers import some
from ..algebra.rotations import GENERAL, Transform
from ..algebra.spatial import Motion, motion_cross, motion_scaled_add, motion_sub
from ..algebra.tables import motion_at, put_motion, transform_at, with_armature, with_gravity
from ..dynamics.crba import put_full
from ..dynamics.inverse_dynamics_derivatives import DQ, derivatives_and_mass_matrix
from ..dynamics.inverse_dynamics_derivatives import scratch_for as dynamics_memory
from ..entries.entry import entry
from ..entries.scratch import scratch_memory
from ..kinematics.bodies import place_bodies, zero_motion
from ..kinematics.screw_motion import parent_motion, screw_at
from .candidates import put_row
from .signed_distance import across, vector_of

# numbers of a contact: both bodies; position and normal; their derivatives (3, 6) along a twist of the first body
# relative to the second, about the contact point, linear part first; linear and angular impulses along the axes of SETS
# sets; gap; coefficients of friction
BODY, OTHER, POSITION, NORMAL, OF_POSITION, OF_NORMAL, IMPULSES, SETS = 0, 1, 2, 5, 8, 26, 44, 3
GAP = IMPULSES + 6 * SETS
FRICTION, ROLLING, TORSIONAL, CONTACT = GAP + 1, GAP + 2, GAP + 3, GAP + 4
LINEAR, BOTH = 3, 6  # rows of a contact: of velocities, then of angular velocities

scratch_for = scratch_memory(
    "W 12, V 18, origin 3", "S 6, linear 6, angular 6, shift 3, turn 3",
    F="N + 1, 6", w="6, nv", D="nv, 3, nv | zeros", H="nv, nv | zeros", still="nv | zeros", none="3 | zeros",
    on="nv | zeros", path="nv | integers", ends="2 | integers", set="3 | integers",
)  # fmt: skip


class Place(NamedTuple):
    """Point x of a contact, and its axes: tangents and normal, by columns."""

    x: Vector
    axes: Matrix


def place_of(contact, m):
    """Return the place of a contact; write its bodies to m.ends."""
    m.ends[0], m.ends[1] = int(contact[BODY]), int(contact[OTHER])
    x, n = Vector(contact[POSITION], contact[POSITION + 1], contact[POSITION + 2]), normal_of(contact)
    t = across(n)
    u = cross(n, t)
    axes = Matrix(t.x, u.x, n.x, t.y, u.y, n.y, t.z, u.z, n.z)
    return Place(x, axes)


def normal_of(contact):
    """Return the normal of a contact."""
    return Vector(contact[NORMAL], contact[NORMAL + 1], contact[NORMAL + 2])


def impulse_of(contact, axes, s, first):
    """Return the linear (first = 0) or angular impulse (3) of set s."""
    k = IMPULSES + 6 * s + first
    return rotate(axes, Vector(contact[k], contact[k + 1], contact[k + 2]))


def move_along(tree, i, s, m):
    """Write the velocity of body i under the motion of set s."""
    V = m.V[:, 6 * s : 6 * s + 6]
    velocity = parent_motion(tree, i, V)
    for k in range(tree.v_start[i], tree.v_start[i + 1]):
        velocity = motion_scaled_add(velocity, motion_at(m.S, k), m.w[s, k])
    put_motion(V, i, velocity)


def put_motions(tree, q, m):
    """Write poses, origins and screws, and the velocities under the motions of all sets."""
    place_bodies(tree, q, m.W)
    put_row(m.origin, 0, zero_motion(tree).lin)
    for i in range(1, tree.n_bodies + 1):
        W = transform_at(m.W, i)
        origin = W.p
        if tree.parent[i] > 0:
            origin = vector_of(m.origin, tree.parent[i])
        put_row(m.origin, i, origin)
        relative = Transform(GENERAL, W.R, sub(W.p, origin))
        for k in range(tree.v_start[i], tree.v_start[i + 1]):
            put_motion(m.S, k, screw_at(relative, tree.screw[k]))
        for s in range(SETS):
            move_along(tree, i, s, m)


def add_wrenches(contact, s, m):
    """Add the impulses of set s of a contact to the wrenches of its bodies, along their axes, in m.F."""
    at = place_of(contact, m)
    f, n = impulse_of(contact, at.axes, s, 0), impulse_of(contact, at.axes, s, LINEAR)
    for side in range(2):
        i = m.ends[side]
        if i > 0:
            W, sign, row = transform_at(m.W, i), 1 - 2 * side, m.F[i]
            force, moment = rotate_back(W.R, f), rotate_back(W.R, add(cross(sub(at.x, W.p), f), n))
            row[0] += sign * moment.x
            row[1] += sign * moment.y
            row[2] += sign * moment.z
            row[3] += sign * force.x
            row[4] += sign * force.y
            row[5] += sign * force.z


def put_inertial(tree, q, y, contacts, s, T, dynamics, m):
    """T[:, s] = d(J' lambda)/dq - d(M y)/dq for constant wrenches along the bodies' axes; T[:, SETS] = M."""
    m.F.reshape(m.F.size)[:] = 0
    for c in range(contacts.shape[0]):
        add_wrenches(contacts[c], s, m)
    derivatives_and_mass_matrix(tree, q, m.still, y, m.F[1:], m.D, m.H, put_full, dynamics)
    for f in range(tree.nv):
        for e in range(tree.nv):
            T[f, s, e], T[f, SETS, e] = -m.D[f, DQ, e], m.H[f, e]


def differs(contacts, s, m):
    """Return how set s > 0 differs from the first one: not, or 1; -1 if it has no motion and no impulses."""
    w, y, first, unlike, moves = m.w[s], m.w[SETS + s], m.w[SETS], False, False
    for k in range(y.size):
        unlike = unlike or some(w[k] != m.w[0, k]) or some(y[k] != first[k])
        moves = moves or some(w[k] != 0) or some(y[k] != 0)
    for c in range(contacts.shape[0]):
        for k in range(IMPULSES + 6 * s, IMPULSES + 6 * s + 6):
            unlike = unlike or some(contacts[c, k] != contacts[c, k - 6 * s])
            moves = moves or some(contacts[c, k] != 0)
    return int(unlike) if moves else -1


def about(S, arm):
    """Return the velocity at an arm from the origin."""
    return add(S.lin, cross(S.ang, arm))


def put_twists(tree, at, m):
    """Write the Jacobians of both bodies at a contact, zero off their paths; return the length of m.path.

    m.path: degrees of freedom on either path. m.linear, m.angular: of the first body, then of the second.
    """
    n = 0
    for side in range(2):
        i = m.ends[side]
        arm = sub(at.x, vector_of(m.origin, i))
        while i > 0:
            for k in range(tree.v_start[i], tree.v_start[i + 1]):
                S = motion_at(m.S, k)
                if m.on[k] == 0:
                    m.on[k], m.path[n] = 1.0, k
                    n += 1
                    for r in range(6):
                        m.linear[k, r], m.angular[k, r] = arm.x * 0, arm.x * 0
                put_row(m.linear[:, 3 * side : 3 * side + 3], k, about(S, arm))
                put_row(m.angular[:, 3 * side : 3 * side + 3], k, S.ang)
            i = tree.parent[i]
    for j in range(n):
        m.on[m.path[j]] = 0.0
    return n


def jacobian_of(m, e, side):
    """Return the velocity at the contact and the angular velocity of one of its bodies, of degree of freedom e."""
    linear, angular = m.linear[:, 3 * side : 3 * side + 3], m.angular[:, 3 * side : 3 * side + 3]
    return Motion(vector_of(angular, e), vector_of(linear, e))


def of_twist(contact, first, twist):
    """Return the product of a matrix (3, 6) of a contact and a twist, linear part first."""
    v, w, A = twist.lin, twist.ang, contact[first : first + 18].reshape((3, 6))
    return Vector(
        A[0, 0] * v.x + A[0, 1] * v.y + A[0, 2] * v.z + A[0, 3] * w.x + A[0, 4] * w.y + A[0, 5] * w.z,
        A[1, 0] * v.x + A[1, 1] * v.y + A[1, 2] * v.z + A[1, 3] * w.x + A[1, 4] * w.y + A[1, 5] * w.z,
        A[2, 0] * v.x + A[2, 1] * v.y + A[2, 2] * v.z + A[2, 3] * w.x + A[2, 4] * w.y + A[2, 5] * w.z,
    )


def put_rows(contact, at, n, rows, J, m):
    """Write the rows J of a contact, and how its point shifts and its axes turn."""
    for j in range(n):
        e = m.path[j]
        second = jacobian_of(m, e, 1)
        twist = motion_sub(jacobian_of(m, e, 0), second)
        put_row(m.shift, e, add(second.lin, of_twist(contact, OF_POSITION, twist)))
        put_row(m.turn, e, add(second.ang, cross(normal_of(contact), of_twist(contact, OF_NORMAL, twist))))
        put_along(J, 0, e, at, twist.lin)
        if rows == BOTH:
            put_along(J, LINEAR, e, at, twist.ang)


def put_along(J, r, e, at, x):
    """Write the components of x along the axes of a contact to column e of the rows from r on."""
    along = rotate_back(at.axes, x)
    J[r, e], J[r + 1, e], J[r + 2, e] = along.x, along.y, along.z


def put_velocity_derivatives(tree, at, n, rows, s, dJ, m):
    """Write the derivatives of the velocities along the rows of a contact, under the motion of set s."""
    V, o = m.V[:, 6 * s : 6 * s + 6], at.x.x * 0
    for r in range(rows):
        for j in range(n):
            dJ[r, m.path[j]] = o
    for side in range(2):
        i, sign = m.ends[side], 1 - 2 * side
        arm, velocity = sub(at.x, vector_of(m.origin, i)), zero_motion(tree)
        if i > 0:
            velocity = motion_at(V, i)
        here = about(velocity, arm)
        for j in range(n):
            e = m.path[j]
            turn = vector_of(m.turn, e)
            linear = add(cross(velocity.ang, vector_of(m.shift, e)), cross(here, turn))
            add_along(dJ, 0, e, at, scale(linear, sign))
            if rows == BOTH:
                add_along(dJ, LINEAR, e, at, scale(cross(velocity.ang, turn), sign))
        while i > 0:
            relative = motion_sub(velocity, parent_motion(tree, i, V))
            for e in range(tree.v_start[i], tree.v_start[i + 1]):
                change = motion_cross(motion_at(m.S, e), relative)
                add_along(dJ, 0, e, at, scale(about(change, arm), sign))
                if rows == BOTH:
                    add_along(dJ, LINEAR, e, at, scale(change.ang, sign))
            i = tree.parent[i]


def add_along(J, r, e, at, x):
    """Add the components of x along the axes of a contact to column e of the rows from r on."""
    along = rotate_back(at.axes, x)
    J[r, e] += along.x
    J[r + 1, e] += along.y
    J[r + 2, e] += along.z


def add_force_derivatives(tree, contact, at, n, s, T, m):
    """T[:, s] += the derivative of J' lambda of a contact, less that of wrenches constant along the bodies' axes."""
    f, moment = impulse_of(contact, at.axes, s, 0), impulse_of(contact, at.axes, s, LINEAR)
    for side in range(2):
        arm, sign = sub(at.x, vector_of(m.origin, m.ends[side])), 1 - 2 * side
        for j in range(n):
            e = m.path[j]
            body = jacobian_of(m, e, side)
            turn, shift = sub(vector_of(m.turn, e), body.ang), sub(vector_of(m.shift, e), body.lin)
            df = scale(cross(turn, f), sign)
            dn = add(cross(arm, df), scale(add(cross(shift, f), cross(turn, moment)), sign))
            i = m.ends[side]
            while i > 0:
                for k in range(tree.v_start[i], tree.v_start[i + 1]):
                    S = motion_at(m.S, k)
                    T[k, s, e] += dot(S.lin, df) + dot(S.ang, dn)
                i = tree.parent[i]


def repeat(tree, s, rows, dJ, T):
    """Copy the derivatives of the first set to set s."""
    for e in range(tree.nv):
        for r in range(rows):
            dJ[s * rows + r, e] = dJ[r, e]
        for k in range(tree.nv):
            T[k, s, e] = T[k, 0, e]


def contact_row_derivatives(tree, counts, q, w0, w1, w2, y0, y1, y2, contacts, J, dJ, T, dynamics: Any, m: Any):
    """J, the derivatives dJ[s] of J w_s, and T[:, s] = d(J' lambda_s - M y_s)/dq of SETS sets, and T[:, SETS] = M.

    M is without rotor inertias. counts: numbers of contacts, and of rows of each (LINEAR or BOTH).
    """
    count, rows, tree = counts[0], counts[1], with_armature(with_gravity(tree, m.none), m.still)
    J.reshape(J.size)[:] = 0
    dJ.reshape(dJ.size)[:] = 0
    T.reshape(T.size)[:] = 0
    for k in range(tree.nv):
        m.w[0, k], m.w[1, k], m.w[2, k] = w0[k], w1[k], w2[k]
        m.w[3, k], m.w[4, k], m.w[5, k] = y0[k], y1[k], y2[k]
    put_motions(tree, q, m)
    for s in range(SETS):
        m.set[s] = 1 if s == 0 else differs(contacts, s, m)
        if m.set[s] > 0:
            put_inertial(tree, q, m.w[SETS + s], contacts, s, T, dynamics, m)
    for c in range(count):
        contact, first, end = contacts[c], rows * c, rows * (c + 1)
        at = place_of(contact, m)
        n = put_twists(tree, at, m)
        put_rows(contact, at, n, rows, J[first:end], m)
        for s in range(SETS):
            own = s * rows * count
            if m.set[s] > 0:
                put_velocity_derivatives(tree, at, n, rows, s, dJ[own + first : own + end], m)
                add_force_derivatives(tree, contact, at, n, s, T, m)
    for s in range(1, SETS):
        if m.set[s] == 0:
            repeat(tree, s, rows * count, dJ, T)


contact_row_derivatives_states = entry(
    contact_row_derivatives,
    {"dynamics": dynamics_memory, "m": scratch_for},
    {"counts": "TableOfIntegers"},
    {"C": "counts[0]", "R": "counts[0] * counts[1]"},
    q="nq",
    **{f"{label}{s}": "nv" for label in "wy" for s in range(SETS)},
    contacts=f"C, {CONTACT} | unchecked",
    J="-> R, nv'",
    dJ=f"-> {SETS} * R, nv'",
    T=f"-> nv', {SETS + 1}, nv'",
    expands=True,
)  # fmt: skip
