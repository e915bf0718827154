"""Constraint-force method: block-tridiagonal systems for the forces across the joints, path by path (FF13).

Source: Fijany and Featherstone 2013; the nomenclature is theirs, the equations are derived from it, and trees are cut
into paths as in `heavy_paths`. For joint i between body i and its parent in the path, in coordinates of body i:
    F = f + x                        the force on body i: the given joint force f = S tau, and the joint's reaction
    I a = F - X' F_next - b          of every body; I, b include what hangs on it
    e_k' (a - X a_prev - c) = 0      for every constrained direction k of the joint
    x_k = -armature qdd_k            where a rotor turns with the joint; x_k = 0 for other free directions
With a eliminated, A x = r: A_ii = I^-1 + X I_prev^-1 X' + compliance, A_i,prev = -X I_prev^-1, r = c + X u_prev - u,
u = I^-1 (f - X' f_next - b). A joint's compliance is 0 in constrained directions, 1 / armature where a rotor turns, and
infinite in free directions. Such rows and columns are those of the identity, with right-hand side 0. A is symmetric and
positive definite. Every joint of a tree is a sequence of unit screws, so unit vectors W are a basis of its constraint
forces. If a body has no neighbour on its path, row 0 of the tables is used instead.
The first block of a path is eliminated last. Its Schur complement T_1 determines the reaction on the path's parent, an
inertia P = W T_1^-1 W' and a force, as in the articulated-body algorithm.
"""

from ...algebra.blocks import (
    SIX,
    add,
    apply,
    articulated_of_block,
    copy,
    copy_vector,
    factor_inertia,
    invert,
    put_articulated_block,
    solve,
    transform_rows,
)
from ...algebra.spatial import (
    articulated,
    articulated_add,
    articulated_apply,
    articulated_to_parent,
    force_add,
    force_sub,
    force_to_parent,
    motion_add,
    motion_sub,
    motion_to_child,
    velocity_force,
)
from ...algebra.tables import (
    articulated_at,
    body_inertia,
    body_transform_at,
    central_at,
    force_at,
    motion_at,
    put_articulated,
    put_force,
    put_motion,
    put_transform,
    transform_at,
)
from ...dynamics.aba import eliminate_screw, pass_force, release_screw, velocity_product
from ...dynamics.rjk import zero_force
from ...entries.scratch import views_of
from ...kinematics.bodies import base_acceleration, zero_motion

MOST_LEFT = 1e-3  # of an acceleration, in a constrained direction of a joint
BARE, LOST = 1, 2  # what may be unsound of a body: its inertia, or the constraint of its joint
FREE = -1  # compliance of a free direction; no other is negative
NUMBERS = 72 + 4 * 36 + 28  # per body


# Work memory of B bodies, base included, in a flat array that is initialized with zeros. Row 0 replaces missing
# neighbours: no force, no compliance, so that formulas need no cases. P: with V, until that is final, the map from the
# velocity of the path's parent to the body's. F: the given joint force f = S tau. compliance: of the joint, for each
# direction. u: acceleration caused by the given forces only. r: right-hand side, at last the solution x. a:
# acceleration. J: inverse of the inertia with what hangs on it. T: diagonal block of A, then of its Schur complement,
# then the factor of that. L: coupling of A to the path's previous block. Z: T^-1 L. hanging_inertia, hanging_force:
# reaction of a path's first body on its parent, in the parent's coordinates. unsound: 0, BARE or LOST. extra: of the
# method that solves along paths.
work_in = views_of(
    "B", X="B, 12", P="B, 12", V="B, 6", c="B, 6", b="B, 6", F="B, 6", compliance="B, 6", u="B, 6", r="B, 6", a="B, 6",
    J="B, 6, 6", T="B, 6, 6", L="B, 6, 6", Z="B, 6, 6", hanging_inertia="B, 21", hanging_force="B, 6", unsound="B",
    extra="-1",
)  # fmt: skip


def put_nothing(tree, w):
    """Write row 0, which is otherwise zero: an arbitrary transform, and the acceleration of the base."""
    put_transform(w.X, 0, transform_at(tree.placement, 0))
    put_transform(w.P, 0, transform_at(tree.placement, 0))
    put_motion(w.V, 0, zero_motion(tree))
    put_motion(w.a, 0, base_acceleration(tree))


def joint_compliance(tree, i, compliance):
    """Write joint i's compliance: 0 in constrained directions, 1 / armature where a rotor turns, FREE in free ones."""
    for c in range(6):
        compliance[c] = tree.gravity[0] * 0
    for k in range(tree.v_start[i], tree.v_start[i + 1]):
        rotor = tree.armature[k]
        compliance[tree.screw[k]] = FREE if rotor == 0 else 1 / rotor


def body_bias(tree, w, i, v, tau):
    """c = v x S qd, b = v x* I v, f = S tau, and the joint's compliance."""
    velocity = motion_at(w.V, i)
    put_motion(w.c, i, velocity_product(tree, i, velocity, v))
    put_force(w.b, i, velocity_force(central_at(tree.inertia, i), velocity))
    put_force(w.F, i, zero_force(tree))
    for k in range(tree.v_start[i], tree.v_start[i + 1]):
        w.F[i, tree.screw[k]] = tau[k]
    joint_compliance(tree, i, w.compliance[i])


def inertia_with_hanging(tree, paths, w, i):
    """Return the inertia of body i, including what hangs on it."""
    inertia = articulated(body_inertia(tree, i))
    child = paths.hanging[i]
    while child > 0:
        inertia = articulated_add(inertia, articulated_at(w.hanging_inertia, child))
        child = paths.next_hanging[child]
    return inertia


def bias_with_hanging(paths, w, i):
    """Return b of body i, including the forces of what hangs on it."""
    bias = force_at(w.b, i)
    child = paths.hanging[i]
    while child > 0:
        bias = force_add(bias, force_at(w.hanging_force, child))
        child = paths.next_hanging[child]
    return bias


def inverse_inertia(tree, paths, w, i):
    """J = I^-1 of body i, for I including what hangs on it."""
    w.unsound[i] = 0 if factor_inertia(inertia_with_hanging(tree, paths, w, i), w.Z[i], w.T[i]) else BARE
    invert(w.T[i], SIX, w.J[i])


def given_acceleration(tree, paths, w, i):
    """Add the forces of what hangs on body i to b; u = J (f - X' f_next - b)."""
    bias = bias_with_hanging(paths, w, i)
    put_force(w.b, i, bias)
    following = paths.heavy[i]
    passed_on = force_to_parent(body_transform_at(tree, w.X, following), force_at(w.F, following))
    put_force(w.r, i, force_sub(force_sub(force_at(w.F, i), bias), passed_on))
    apply(w.J[i], SIX, SIX, w.r[i], w.u[i])


def equation_matrix(tree, paths, w, i):
    """A_ii = J + X J_prev X' + compliance, A_i,prev = -X J_prev; rows and columns of free directions are trivial."""
    p, X = paths.previous[i], body_transform_at(tree, w.X, i)
    T, L, Z = w.T[i], w.L[i], w.Z[i]
    copy(w.J[i], SIX, SIX, T)
    copy(w.J[p], SIX, SIX, Z)
    transform_rows(X, Z)
    for r in range(6):
        for c in range(6):
            trivial = w.compliance[i, r] < 0 or w.compliance[p, c] < 0
            L[r, c] = Z[r, c] * 0 if trivial else -Z[r, c]
    transform_rows(X, Z.T)
    add(Z, SIX, SIX, T)
    for r in range(6):
        if w.compliance[i, r] < 0:
            for c in range(6):
                T[r, c] = T[c, r] = T[r, c] * 0
            T[r, r] = 1
        else:
            T[r, r] += w.compliance[i, r]


def put_where_held(w, i, x, m):
    """x += m in directions that are not free at joint i; x = 0 in free directions."""
    put_motion(w.a, i, m)
    for c in range(6):
        x[c] = x[c] * 0 if w.compliance[i, c] < 0 else x[c] + w.a[i, c]


def equation_vector(tree, paths, w, i):
    """r = c + X u_prev - u."""
    carried = motion_to_child(body_transform_at(tree, w.X, i), motion_at(w.u, paths.previous[i]))
    put_force(w.r, i, zero_force(tree))
    put_where_held(w, i, w.r[i], motion_sub(motion_add(motion_at(w.c, i), carried), motion_at(w.u, i)))


# ---- a body without inertia of its own, which is eliminated as in articulated bodies; U of its screws is stored in the
# rows of L, D^-1, nu and qdd in the first three rows of Z, and the inertia reduced by the joint in T


def articulate(tree, paths, w, i):
    """U and D^-1 of joint i, and the inertia of body i reduced by it, in its parent's coordinates."""
    inertia = inertia_with_hanging(tree, paths, w, i)
    for k in range(tree.v_start[i + 1] - 1, tree.v_start[i] - 1, -1):
        s = tree.screw[k]
        U, w.Z[i, 0, s], _, inertia, _ = eliminate_screw(inertia, force_at(w.F, 0), s, tree.armature[k], w.F[0, s])
        put_force(w.L[i], s, U)
    w.unsound[i] = 0
    put_articulated(w.hanging_inertia, i, articulated_to_parent(body_transform_at(tree, w.X, i), inertia))
    put_articulated_block(w.T[i], inertia)


def pass_bias(tree, paths, w, i):
    """nu = D^-1 u of joint i, and the bias force of body i reduced by it, in its parent's coordinates."""
    bias = bias_with_hanging(paths, w, i)
    for k in range(tree.v_start[i + 1] - 1, tree.v_start[i] - 1, -1):
        s = tree.screw[k]
        U, D_inv = force_at(w.L[i], s), w.Z[i, 0, s]
        w.Z[i, 1, s], bias = pass_force(bias, U, D_inv, s, tree.armature[k], w.F[i, s])
    beyond = force_add(bias, articulated_apply(articulated_of_block(w.T[i]), motion_at(w.c, i)))
    put_force(w.hanging_force, i, force_to_parent(body_transform_at(tree, w.X, i), beyond))


def move(tree, w, i):
    """Compute a = X a_parent + c + S qdd of body i, screw by screw."""
    a = motion_add(motion_to_child(body_transform_at(tree, w.X, i), motion_at(w.a, tree.parent[i])), motion_at(w.c, i))
    for k in range(tree.v_start[i], tree.v_start[i + 1]):
        s = tree.screw[k]
        w.Z[i, 2, s], a = release_screw(a, force_at(w.L[i], s), w.Z[i, 0, s], w.Z[i, 1, s], s, tree.armature[k])
    put_motion(w.a, i, a)


# ---- the first body of a path


def hang_inertia(tree, w, i):
    """X' P X with P = W T_1^-1 W': the inertia that the first joint i of a path adds to the parent."""
    invert(w.T[i], SIX, w.Z[i])
    for r in range(6):
        if w.compliance[i, r] < 0:
            w.Z[i, r, r] = 0
    P = articulated_of_block(w.Z[i])
    put_articulated(w.hanging_inertia, i, articulated_to_parent(body_transform_at(tree, w.X, i), P))


def hang_force(tree, w, i):
    """X' (f + x) with x = T_1^-1 r_1: the force on the parent if it does not accelerate."""
    copy_vector(w.r[i], SIX, w.a[i])
    solve(w.T[i], SIX, w.a[i])
    total = force_add(force_at(w.F, i), force_at(w.a, i))
    put_force(w.hanging_force, i, force_to_parent(body_transform_at(tree, w.X, i), total))


def start(tree, w, i):
    """x_1 = T_1^-1 (r_1 + X a_parent)."""
    put_where_held(w, i, w.r[i], motion_to_child(body_transform_at(tree, w.X, i), motion_at(w.a, tree.parent[i])))
    solve(w.T[i], SIX, w.r[i])


def joint_force(w, i):
    """F = f + x."""
    return force_add(force_at(w.F, i), force_at(w.r, i))


def total_joint_force(tree, paths, w, i):
    """Return the wrench of the parent on body i, rotor excluded; of a body without inertia, from its acceleration."""
    if paths.sound[i] == 1:
        return joint_force(w, i)
    moved = articulated_apply(inertia_with_hanging(tree, paths, w, i), motion_at(w.a, i))
    return force_add(moved, bias_with_hanging(paths, w, i))


def acceleration(tree, paths, w, i):
    """Compute a = J (F - X' F_next - b)."""
    following = paths.heavy[i]
    passed_on = force_to_parent(body_transform_at(tree, w.X, following), joint_force(w, following))
    put_force(w.u, i, force_sub(force_sub(joint_force(w, i), force_at(w.b, i)), passed_on))
    apply(w.J[i], SIX, SIX, w.u[i], w.a[i])


def joint_acceleration(tree, w, i, qdd):
    """qdd = S' (a - X a_parent - c); marks the body as LOST if too much remains in constrained directions."""
    carried = motion_to_child(body_transform_at(tree, w.X, i), motion_at(w.a, tree.parent[i]))
    put_motion(w.u, i, motion_sub(motion_at(w.a, i), motion_add(carried, motion_at(w.c, i))))
    for k in range(tree.v_start[i], tree.v_start[i + 1]):
        qdd[k] = w.u[i, tree.screw[k]]
    left = size = w.u[i, 0] * 0
    for c in range(6):
        square = w.u[i, c] * w.u[i, c]
        left += square * (w.compliance[i, c] == 0)
        size += square + w.a[i, c] * w.a[i, c]
    w.unsound[i] = max(w.unsound[i], LOST if MOST_LEFT * MOST_LEFT * size < left else 0)
