"""Rows J of contacts, mass matrix M, and gradients in q of velocities J w and of forces J' lambda - M y.

A row is the velocity of body a relative to body b along an axis at the contact point. While degree of freedom e moves,
what is behind its joint moves with its screw S. In axes that move along, velocities V of bodies under a motion change
as if that of the joint's parent p changed by -S x V_p. So the gradient of the power of wrenches F that move with the
bodies is -(S x V_p) . F^c, with F^c the sum of those behind the joint. Inertial forces are such wrenches, too:
z' M y is the power of I V(y) at the velocities V(z). The point of a contact and its axes (`Place`) also move relative
to the bodies, in proportion to the twist of body a relative to body b. Gradients in this twist are wrenches, too.

All vectors have the world's axes. Those of a subtree of the base have the origin of its first body.
"""

from typing import Any, NamedTuple

from ..algebra.linear import Matrix, Vector, add, cross, rotate, rotate_back, scale, sub
from ..algebra.numbers import some
from ..algebra.rotations import GENERAL, Transform
from ..algebra.spatial import (
    Force,
    force_add,
    force_dot,
    force_scale,
    force_sub,
    motion_scaled_add,
    rigid_add,
    rigid_apply,
    rigid_to_parent,
)
from ..algebra.tables import (
    body_inertia,
    force_at,
    motion_at,
    put_force,
    put_motion,
    put_rigid,
    rigid_at,
    transform_at,
)
from ..dynamics.inverse_dynamics_derivatives import force_cross
from ..entries.entry import entry
from ..entries.scratch import scratch_memory
from ..kinematics.bodies import place_bodies, zero_motion
from ..kinematics.screw_motion import parent_motion, screw_at
from .candidates import put_row
from .signed_distance import across, vector_of

# numbers of a contact: both bodies; position and normal; their derivatives (3, 6) along a twist of the first body
# relative to the second, about the contact point, linear part first; linear and angular impulses along the axes of SETS
# sets, and of the impacts of a step that is solved twice; gap; coefficients of friction
BODY, OTHER, POSITION, NORMAL, OF_POSITION, OF_NORMAL, IMPULSES, SETS = 0, 1, 2, 5, 8, 26, 44, 3
IMPACTS = SETS
GAP = IMPULSES + 6 * (SETS + 1)
FRICTION, ROLLING, TORSIONAL, CONTACT = GAP + 1, GAP + 2, GAP + 3, GAP + 4
LINEAR, BOTH = 3, 6  # rows of a contact: of velocities, then of angular velocities

scratch_for = scratch_memory("W 12, Ic 10, Vw 6, Vy 6, Vz 6, Fw 6, Fy 6, Fz 6, G 6, origin 3", "S 6")


class Place(NamedTuple):
    """Point x of a contact, and its axes: tangents and normal, by columns."""

    x: Vector
    axes: Matrix


def place_of(contact):
    """Return the place of a contact."""
    n = vector_at(contact, NORMAL)
    t = across(n)
    u = cross(n, t)
    return Place(vector_at(contact, POSITION), Matrix(t.x, u.x, n.x, t.y, u.y, n.y, t.z, u.z, n.z))


def vector_at(numbers, k):
    """Return the three numbers from k on as a vector."""
    return Vector(numbers[k], numbers[k + 1], numbers[k + 2])


def put_places(tree, q, m):
    """Write poses, origins, screws and inertias."""
    place_bodies(tree, q, m.W)
    put_row(m.origin, 0, zero_motion(tree).lin)
    for i in range(1, tree.n_bodies + 1):
        W = transform_at(m.W, i)
        origin = W.p
        if tree.parent[i] > 0:
            origin = vector_of(m.origin, tree.parent[i])
        put_row(m.origin, i, origin)
        relative = Transform(GENERAL, W.R, sub(W.p, origin))
        put_rigid(m.Ic, i, rigid_to_parent(relative, body_inertia(tree, i)))
        for k in range(tree.v_start[i], tree.v_start[i + 1]):
            put_motion(m.S, k, screw_at(relative, tree.screw[k]))


# ---- rows and mass matrix


def put_mass_matrix(tree, M, m):
    """Write M without rotor inertias, zero off the paths; replaces inertias by composite ones."""
    for i in range(tree.n_bodies, 0, -1):
        inertia, p = rigid_at(m.Ic, i), tree.parent[i]
        if p > 0:
            put_rigid(m.Ic, p, rigid_add(rigid_at(m.Ic, p), inertia))
        for k in range(tree.v_start[i], tree.v_start[i + 1]):
            force, j = rigid_apply(inertia, motion_at(m.S, k)), i
            while j > 0:
                for e in range(tree.v_start[j], min(tree.v_start[j + 1], k + 1)):
                    M[k, e] = M[e, k] = force_dot(force, motion_at(m.S, e))
                j = tree.parent[j]


def add_row(tree, i, sign, at, rows, J, m):
    """Add the velocities of body i to the rows J of a contact."""
    arm = sub(at.x, vector_of(m.origin, i))
    while i > 0:
        for e in range(tree.v_start[i], tree.v_start[i + 1]):
            S = motion_at(m.S, e)
            add_along(J, 0, e, at, about(S, arm), sign)
            if rows == BOTH:
                add_along(J, LINEAR, e, at, S.ang, sign)
        i = tree.parent[i]


def about(S, arm):
    """Return the velocity, under a unit screw S, of the point at `arm` from the origin."""
    return add(S.lin, cross(S.ang, arm))


def add_along(J, r, e, at, x, sign):
    """Add the components of sign x along the axes of a contact to column e of the rows from r on."""
    along = rotate_back(at.axes, x)
    J[r, e] += sign * along.x
    J[r + 1, e] += sign * along.y
    J[r + 2, e] += sign * along.z


def contact_rows(tree, counts, q, contacts, J, M, m: Any):
    """Rows J, and M without rotor inertias. counts: numbers of contacts, and of rows of each (LINEAR or BOTH)."""
    count, rows = counts[0], counts[1]
    J.reshape(J.size)[:] = 0
    M.reshape(M.size)[:] = 0
    put_places(tree, q, m)
    put_mass_matrix(tree, M, m)
    for c in range(count):
        at = place_of(contacts[c])
        for side in range(2):
            add_row(tree, int(contacts[c, BODY + side]), 1 - 2 * side, at, rows, J[rows * c : rows * (c + 1)], m)


contact_rows_states = entry(
    contact_rows,
    (scratch_for,),
    {"counts": "TableOfIntegers"},
    {"C": "counts[0]", "R": "counts[0] * counts[1]"},
    q="nq",
    contacts=f"C, {CONTACT} | unchecked",
    J="-> R, nv'",
    M="-> nv', nv'",
    expands=True,
    angles=True,
)


# ---- gradients


def put_velocities(tree, motion, V, m):
    """Write the velocities V of all bodies under a motion."""
    put_motion(V, 0, zero_motion(tree))
    for i in range(1, tree.n_bodies + 1):
        velocity = parent_motion(tree, i, V)
        for k in range(tree.v_start[i], tree.v_start[i + 1]):
            velocity = motion_scaled_add(velocity, motion_at(m.S, k), motion[k])
        put_motion(V, i, velocity)


def put_inertial(tree, V, F, m):
    """F = -I V of each body."""
    for i in range(1, tree.n_bodies + 1):
        put_force(F, i, force_scale(rigid_apply(rigid_at(m.Ic, i), motion_at(V, i)), -1))


def add_force(F, i, f):
    """Add a force to row i."""
    put_force(F, i, force_add(force_at(F, i), f))


def add_to_parents(tree, F):
    """Add to the wrenches on each body those on all bodies behind it."""
    for i in range(tree.n_bodies, 0, -1):
        if tree.parent[i] > 0:
            add_force(F, tree.parent[i], force_at(F, i))


class Impulse(NamedTuple):
    """Linear and angular impulse of a contact."""

    f: Vector
    n: Vector


def impulse_of(numbers, first, rows, at):
    """Return the impulse whose components along the axes of a contact are the numbers from `first` on."""
    f = rotate(at.axes, vector_at(numbers, first))
    n = scale(f, 0)
    if rows == BOTH:
        n = rotate(at.axes, vector_at(numbers, first + LINEAR))
    return Impulse(f, n)


def add_wrenches(contact, impulse, at, F, m):
    """Add an impulse of a contact to the wrenches on its bodies."""
    for side in range(2):
        i = int(contact[BODY + side])
        if i > 0:
            add_force(F, i, force_scale(wrench_of(impulse, sub(at.x, vector_of(m.origin, i))), 1 - 2 * side))


def wrench_of(impulse, arm):
    """Return the wrench of an impulse at an arm from the origin."""
    return Force(add(cross(arm, impulse.f), impulse.n), impulse.f)


def transposed(contact, first, x):
    """Return the product of the transpose of a matrix (3, 6) of a contact and x: its linear part, then its moment."""
    A = contact[first : first + 18].reshape((3, 6))
    return Force(
        Vector(
            A[0, 3] * x.x + A[1, 3] * x.y + A[2, 3] * x.z,
            A[0, 4] * x.x + A[1, 4] * x.y + A[2, 4] * x.z,
            A[0, 5] * x.x + A[1, 5] * x.y + A[2, 5] * x.z,
        ),
        Vector(
            A[0, 0] * x.x + A[1, 0] * x.y + A[2, 0] * x.z,
            A[0, 1] * x.x + A[1, 1] * x.y + A[2, 1] * x.z,
            A[0, 2] * x.x + A[1, 2] * x.y + A[2, 2] * x.z,
        ),
    )


def add_motion_of_place(contact, impulse, V, at, m):
    """Add the gradient of the power of an impulse, in the motion of the contact's place relative to its bodies, to m.G.

    V: velocities of the bodies. Relative to the first body, the point moves by P t - t_lin, and the axes turn by
    n x N t - t_ang, for the twist t; relative to the second one by P t and n x N t.
    """
    zero = scale(impulse.f, 0)
    shift, turn, own = zero, zero, Force(zero, zero)  # gradients in P t and n x N t, and in t
    for side in range(2):
        i = int(contact[BODY + side])
        if i > 0:
            velocity = motion_at(V, i)
            here = about(velocity, sub(at.x, vector_of(m.origin, i)))
            on_shift = cross(impulse.f, velocity.ang)
            on_turn = add(cross(impulse.f, here), cross(impulse.n, velocity.ang))
            shift, turn = add(shift, scale(on_shift, 1 - 2 * side)), add(turn, scale(on_turn, 1 - 2 * side))
            if side == 0:
                own = Force(on_turn, on_shift)
    normal = cross(turn, vector_at(contact, NORMAL))
    gradient = force_sub(
        force_add(transposed(contact, OF_POSITION, shift), transposed(contact, OF_NORMAL, normal)), own
    )
    add_wrenches(contact, Impulse(gradient.f, gradient.n), at, m.G, m)


def add_to_gradient(tree, gradient, m):
    """Add the gradient of the power of all wrenches in the configuration.

    m.Fw, m.Fy, m.Fz: wrenches, of which those at the velocities Vw, Vy and Vz do work. m.G: gradients in the motion of
    places. All are sums of those behind each body.
    """
    for i in range(1, tree.n_bodies + 1):
        found = force_at(m.G, i)
        if tree.parent[i] > 0:
            p = tree.parent[i]
            found = force_sub(found, force_cross(motion_at(m.Vw, p), force_at(m.Fw, i)))
            found = force_sub(found, force_cross(motion_at(m.Vy, p), force_at(m.Fy, i)))
            found = force_sub(found, force_cross(motion_at(m.Vz, p), force_at(m.Fz, i)))
        for k in range(tree.v_start[i], tree.v_start[i + 1]):
            gradient[k] += force_dot(found, motion_at(m.S, k))


def add_set(tree, rows, s, contacts, rho, z, gradient, m):
    """Add the gradient of rho' J w + z' (J' lambda - M y) of set s.

    m.Vw, m.Vy: velocities. m.Fz: wrenches of lambda and M y, summed up.
    """
    put_velocities(tree, z, m.Vz, m)
    put_inertial(tree, m.Vz, m.Fy, m)
    m.Fw[:] = 0
    m.G[:] = 0
    for c in range(contacts.shape[0]):
        contact = contacts[c]
        at = place_of(contact)
        push, weight = impulse_of(contact, IMPULSES + 6 * s, rows, at), impulse_of(rho, rows * c, rows, at)
        add_wrenches(contact, weight, at, m.Fw, m)
        add_motion_of_place(contact, push, m.Vz, at, m)
        add_motion_of_place(contact, weight, m.Vw, at, m)
    add_to_parents(tree, m.Fy)
    add_to_parents(tree, m.Fw)
    add_to_parents(tree, m.G)
    add_to_gradient(tree, gradient, m)


def put_set(tree, rows, s, contacts, w, y, m):
    """Write what all gradients of a set have in common."""
    put_velocities(tree, w, m.Vw, m)
    put_velocities(tree, y, m.Vy, m)
    put_inertial(tree, m.Vy, m.Fz, m)
    for c in range(contacts.shape[0]):
        at = place_of(contacts[c])
        add_wrenches(contacts[c], impulse_of(contacts[c], IMPULSES + 6 * s, rows, at), at, m.Fz, m)
    add_to_parents(tree, m.Fz)


def acts(x):
    """Return whether any number is not zero."""
    found = False
    for k in range(x.size):
        found = found or some(x[k] != 0)
    return found


def configuration_gradient(tree, counts, q, contacts, w, y, rho, z, gradient, m: Any):
    """Gradients in q of the sums of rho' J w + z' (J' lambda - M y) over S sets, at constant rho, w, z, lambda, y.

    counts: as of `contact_rows`, then K, S, and the columns of rho, of which the first R are used. w, y (S, nv). rho (K
    S, columns), z (K S, nv).
    """
    rows, K, sets = counts[1], counts[2], counts[3]
    gradient.reshape(gradient.size)[:] = 0
    put_places(tree, q, m)
    for s in range(sets):
        used = False
        for k in range(K):
            row = sets * k + s
            if acts(z[row]) or acts(rho[row]):
                if not used:
                    put_set(tree, rows, s, contacts, w[s], y[s], m)
                used = True
                add_set(tree, rows, s, contacts, rho[row], z[row], gradient[k], m)


configuration_gradient_states = entry(
    configuration_gradient,
    (scratch_for,),
    {"counts": "TableOfIntegers"},
    {"C": "counts[0]", "K": "counts[2]", "S": "counts[3]", "columns": "counts[4]"},
    q="nq",
    contacts=f"C, {CONTACT} | unchecked",
    w="S, nv",
    y="S, nv",
    rho="S * K, columns",
    z="S * K, nv",
    gradient="-> K, nv'",
    expands=True,
    angles=True,
)
