"""Forward dynamics by joining assemblies: divide and conquer and tree contraction, O(N) work in O(log N) stages.

An assembly is a sequence of bodies with two handles: its top joint (1) and the joint below it (2). Forces f on the
handles and their accelerations a, each in the coordinates of the body below that joint, satisfy
    a1 = P11 f1 + P12 f2 + b1,    a2 = P12' f1 + P22 f2 + b2.
The motion of joint k, S qdd = V F - β - ..., V = P22 (above) + P11 (below), leaves only its constraint forces unknown.
So joint k is eliminated, and two assemblies become one. An assembly whose lower handle is free is added to the body
above as inertia and force, and so is a single body. The plan determines the order (see dynamics.contraction). Backwards
through it, the forces are computed, and with them the accelerations of the bodies.
Armature ρ of a screw s adds ρ qdd to the force that moves it: F_s = τ_s - ρ qdd_s. So F = t + w y, with w_r = 1 for
constrained components, w_s = √ρ for screws, t_s = τ_s / (1 + ρ V_ss), and
    (w V w + [1 on screws]) y = w (β - V t + [V_ss t_s on screws]).
Its row of a screw without armature is y_s = 0.
Source: Featherstone 1999, Parts 1 and 2; instead of V^-1, which need not exist, M = w V w + [1] is factorized.
"""

import numpy as np

from ...algebra.blocks import (
    SIX,
    add,
    add_apply,
    articulated_of_block,
    copy,
    copy_vector,
    factorize,
    invert,
    product,
    put_articulated_block,
    put_identity,
    put_zero,
    solve,
    solve_columns,
    subtract_apply,
    subtract_product,
    subtract_transposed_product,
    transform,
    transform_rows,
)
from ...algebra.numbers import sqrt
from ...algebra.spatial import (
    articulated,
    articulated_apply,
    articulated_to_parent,
    force_add,
    force_sub,
    force_to_parent,
    motion_add,
    motion_to_child,
    velocity_force,
)
from ...algebra.tables import (
    body_inertia,
    body_transform_at,
    central_at,
    force_at,
    motion_at,
    put_force,
    put_motion,
    put_transform,
    transform_at,
    tree_tables,
)
from ...dynamics.aba import eliminate_screw, release_screw, velocity_product
from ...entries.entry import DRIVEN, entry, stages_of
from ...entries.status import FINE, NOT_FINITE, status_of
from ...kinematics.bodies import base_acceleration, body_transform, zero_motion
from .assembly_tables import HANG, JOIN, LEAF, NUMBERS_PER_BODY, RAKE, memory_of, plan_tables, share_of
from .assembly_velocities import contract_velocities, expand_velocities
from .path_velocities import start_map

LOST = 1e-6  # of an acceleration: by as much may a joint's constraint be violated


# ---- bodies before and after


def place_base(tree, m):
    """Write row 0, the base: acceleration -g for gravity, and no force."""
    put_transform(m.X, 0, transform_at(tree.placement, 0))
    put_motion(m.V, 0, zero_motion(tree))
    put_motion(m.A, 0, base_acceleration(tree))
    put_motion(m.F, 0, zero_motion(tree))
    put_motion(m.b, 0, zero_motion(tree))
    put_zero(m.I[0], SIX, SIX)


def place(tree, q, v, m, first, end):
    """Compute transforms, inertias and velocity maps of the bodies first .. end - 1."""
    for i in range(first, end):
        put_transform(m.X, i, body_transform(tree, i, q))
        put_articulated_block(m.I[i], articulated(body_inertia(tree, i)))
        start_map(tree, m.X, m.T, m.u, i, v)


def put_biases(tree, v, f_ext, m, first, end):
    """c = v x S qd and b = v x* I v - f_ext of the bodies first .. end - 1."""
    for i in range(first, end):
        velocity = motion_at(m.V, i)
        put_motion(m.c, i, velocity_product(tree, i, velocity, v))
        put_force(m.b, i, velocity_force(central_at(tree.inertia, i), velocity))
    for i in range(first, min(end, f_ext.shape[0] + 1)):
        put_force(m.b, i, force_sub(force_at(m.b, i), force_at(f_ext, i - 1)))


def read_accelerations(tree, m, qdd, first, end):
    """qdd = S'(a - X a_λ - c) of the bodies first .. end - 1, and margins of the joints' constraints.

    The constraint violation may not exceed LOST times the accelerations.
    """
    for i in range(first, end):
        put_motion(m.b1, i, motion_to_child(body_transform_at(tree, m.X, i), motion_at(m.A, tree.parent[i])))
        size = violation = tree.gravity[0] * 0
        for r in range(SIX):
            m.b2[i, r] = m.A[i, r] - m.b1[i, r] - m.c[i, r]
            size = size + m.A[i, r] * m.A[i, r] + m.b1[i, r] * m.b1[i, r] + m.c[i, r] * m.c[i, r]
        for k in range(tree.v_start[i], tree.v_start[i + 1]):
            qdd[k] = m.b2[i, tree.screw[k]]
            m.b2[i, tree.screw[k]] = 0
        for r in range(SIX):
            violation = violation + m.b2[i, r] * m.b2[i, r]
        m.margin[i] = LOST * LOST * size - violation


# ---- events


def leaf(tree, m, i, below):
    """Turn body i into an assembly: P11 = I^-1, P12 = I^-1 X', P22 = X I^-1 X', b = -P (bias), X of the joint below."""
    factorize(m.I[i], SIX)
    invert(m.I[i], SIX, m.P11[i])
    for r in range(SIX):
        m.b1[i, r] = 0
    subtract_apply(m.P11[i], SIX, SIX, m.b[i], m.b1[i])
    X = body_transform_at(tree, m.X, below)
    copy(m.P11[i], SIX, SIX, m.P12[i])
    copy(m.P11[i], SIX, SIX, m.P22[i])
    transform_rows(X, m.P12[i].T)
    transform(X, m.P22[i])
    put_motion(m.b2, i, motion_to_child(X, motion_at(m.b1, i)))


def bind(tree, k, tau, V, beta, m):
    """F0 = t + w M^-1 w (β - V t + [V_ss t_s]) of joint k, M = w V w + [1 on screws]. Overwrites V by M's factor."""
    w, F0 = m.w[k], m.F0[k]
    for r in range(SIX):
        w[r] = 1
        F0[r] = 0
    for j in range(tree.v_start[k], tree.v_start[k + 1]):
        s, armature = tree.screw[j], tree.armature[j]
        w[s] = sqrt(armature)
        F0[s] = tau[j] / (1 + armature * V[s, s])
    subtract_apply(V, SIX, SIX, F0, beta)
    for j in range(tree.v_start[k], tree.v_start[k + 1]):
        beta[tree.screw[j]] += V[tree.screw[j], tree.screw[j]] * F0[tree.screw[j]]
    for r in range(SIX):
        beta[r] = w[r] * beta[r]
        for c in range(r + 1):
            V[r, c] = w[r] * V[r, c] * w[c]
    for j in range(tree.v_start[k], tree.v_start[k + 1]):
        V[tree.screw[j], tree.screw[j]] += 1
    factorize(V, SIX)
    solve(V, SIX, beta)
    for r in range(SIX):
        F0[r] += w[r] * beta[r]


def constrain(w, L, B):
    """B <- w M^-1 w B, for the factor L of M."""
    for r in range(SIX):
        for c in range(SIX):
            B[r, c] = w[r] * B[r, c]
    solve_columns(L, SIX, B, SIX)
    for r in range(SIX):
        for c in range(SIX):
            B[r, c] = w[r] * B[r, c]


def join(tree, tau, m, k, a):
    """Eliminate joint k: join the assembly k below it and the assembly a above it to a."""
    add(m.P22[a], SIX, SIX, m.P11[k])  # V
    for r in range(SIX):
        m.b1[k, r] = m.c[k, r] - m.b1[k, r] + m.b2[a, r]  # β
    bind(tree, k, tau, m.P11[k], m.b1[k], m)
    copy(m.P12[a].T, SIX, SIX, m.G1[k])
    constrain(m.w[k], m.P11[k], m.G1[k])  # G1 = w M^-1 w A.P12'
    copy(m.P12[k], SIX, SIX, m.G2[k])
    constrain(m.w[k], m.P11[k], m.G2[k])  # G2 = w M^-1 w B.P12
    subtract_product(m.P12[a], m.G1[k], SIX, SIX, SIX, m.P11[a])
    subtract_apply(m.P12[a], SIX, SIX, m.F0[k], m.b1[a])
    copy(m.P22[k], SIX, SIX, m.P22[a])
    subtract_transposed_product(m.P12[k], m.G2[k], SIX, SIX, SIX, m.P22[a])
    copy_vector(m.b2[k], SIX, m.b2[a])
    add_apply(m.P12[k].T, SIX, SIX, m.F0[k], m.b2[a])
    product(m.P12[a], m.G2[k], SIX, SIX, SIX, m.P12[k])
    copy(m.P12[k], SIX, SIX, m.P12[a])


def hang(tree, tau, m, k, p):
    """Eliminate joint k: add the assembly k, whose lower handle is free, to the body p, or end at the base."""
    for r in range(SIX):
        m.b1[k, r] = m.c[k, r] - m.b1[k, r]
    bind(tree, k, tau, m.P11[k], m.b1[k], m)
    put_identity(m.G1[k], SIX)
    constrain(m.w[k], m.P11[k], m.G1[k])  # inertia below, reduced by the joint
    carry(tree, m, k, p, articulated_of_block(m.G1[k]), force_at(m.F0, k))


def rake(tree, tau, m, k, p):
    """Eliminate joint k: add body k, which has no children left, to the body p, as in the articulated-body algorithm.

    U, D^-1 and ν of its screws are stored in G1, w and F0.
    """
    inertia, bias = articulated_of_block(m.I[k]), force_at(m.b, k)
    for j in range(tree.v_start[k + 1] - 1, tree.v_start[k] - 1, -1):
        s = tree.screw[j]
        U, m.w[k, s], m.F0[k, s], inertia, bias = eliminate_screw(inertia, bias, s, tree.armature[j], tau[j])
        put_force(m.G1[k], s, U)
    carry(tree, m, k, p, inertia, force_add(bias, articulated_apply(inertia, motion_at(m.c, k))))


def carry(tree, m, k, p, inertia, bias):
    """Add inertia and bias, reduced by joint k, to body p."""
    X = body_transform_at(tree, m.X, k)
    put_articulated_block(m.P11[k], articulated_to_parent(X, inertia))
    add(m.P11[k], SIX, SIX, m.I[p])
    put_force(m.b, p, force_add(force_at(m.b, p), force_to_parent(X, bias)))


def force_of_joined(m, k, a, below):
    """F = F0 + G1 f1 - G2 f2 of joint k inside an assembly, with f1 = F_a and f2 = -F_below on its handles."""
    copy_vector(m.F0[k], SIX, m.F[k])
    add_apply(m.G1[k], SIX, SIX, m.F[a], m.F[k])
    add_apply(m.G2[k], SIX, SIX, m.F[below], m.F[k])


def force_of_hanging(tree, m, k, p):
    """F = F0 + G1 X a of joint k, by which an assembly hangs on body p of acceleration a."""
    put_motion(m.b2, k, motion_to_child(body_transform_at(tree, m.X, k), motion_at(m.A, p)))
    copy_vector(m.F0[k], SIX, m.F[k])
    add_apply(m.G1[k], SIX, SIX, m.b2[k], m.F[k])


def acceleration_of_raked(tree, m, k, p):
    """Compute a = X a_p + c + S qdd, qdd = ν - D^-1 U' a, screw by screw, of body k."""
    a = motion_add(motion_to_child(body_transform_at(tree, m.X, k), motion_at(m.A, p)), motion_at(m.c, k))
    for j in range(tree.v_start[k], tree.v_start[k + 1]):
        s = tree.screw[j]
        _, a = release_screw(a, force_at(m.G1[k], s), m.w[k, s], m.F0[k, s], s, tree.armature[j])
    put_motion(m.A, k, a)


def acceleration_of(tree, m, i, below):
    """Compute a = I^-1 (F - X' F_below - b) of body i, with I and b that include all that hangs on it."""
    passed_on = force_to_parent(body_transform_at(tree, m.X, below), force_at(m.F, below))
    put_force(m.A, i, force_sub(force_sub(force_at(m.F, i), force_at(m.b, i)), passed_on))
    solve(m.I[i], SIX, m.A[i])


# ---- the plan, forth and back


def contract(tree, plan, tau, m, first, end):
    """Process the events of the blocks first .. end - 1 of one stage."""
    for e in range(plan.start[LEAF, first], plan.start[LEAF, end]):
        leaf(tree, m, plan.leaves[e, 0], plan.leaves[e, 2])
    for e in range(plan.start[JOIN, first], plan.start[JOIN, end]):
        join(tree, tau, m, plan.joints[e, 0], plan.joints[e, 1])
    for e in range(plan.start[HANG, first], plan.start[HANG, end]):
        hang(tree, tau, m, plan.hanging[e, 0], plan.hanging[e, 1])
    for e in range(plan.start[RAKE, first], plan.start[RAKE, end]):
        rake(tree, tau, m, plan.raked[e, 0], plan.raked[e, 1])


def expand(tree, plan, m, first, end):
    """Process the events of the blocks first .. end - 1 of one stage backwards: joint forces, body accelerations."""
    for e in range(plan.start[RAKE, first], plan.start[RAKE, end]):
        acceleration_of_raked(tree, m, plan.raked[e, 0], plan.raked[e, 1])
    for e in range(plan.start[HANG, first], plan.start[HANG, end]):
        force_of_hanging(tree, m, plan.hanging[e, 0], plan.hanging[e, 1])
    for e in range(plan.start[JOIN, first], plan.start[JOIN, end]):
        force_of_joined(m, plan.joints[e, 0], plan.joints[e, 1], plan.joints[e, 2])
    for e in range(plan.start[LEAF, first], plan.start[LEAF, end]):
        acceleration_of(tree, m, plan.leaves[e, 0], plan.leaves[e, 2])


def stage_count(plan):
    """Return the number of stages: bodies, velocities forth and back, bodies, dynamics forth and back, bodies."""
    return 4 * plan.n_stages + 3


def stage(tree, plan, m, s, share, shares, q, v, tau, f_ext, qdd):
    """Compute one of `shares` shares of stage s: of its bodies, or of the blocks of a stage of the plan."""
    n = plan.n_stages
    first, end = 1 + tree.n_bodies * share // shares, 1 + tree.n_bodies * (share + 1) // shares
    if s == 0:
        if share == 0:
            place_base(tree, m)
        place(tree, q, v, m, first, end)
    elif s == 2 * n + 1:
        put_biases(tree, v, f_ext, m, first, end)
    elif s == 4 * n + 2:
        read_accelerations(tree, m, qdd, first, end)
    else:
        t = (s - 1) % (2 * n + 1)  # forth, then back
        first, end = share_of(plan, t if t < n else 2 * n - 1 - t, share, shares)
        if s <= n:
            contract_velocities(plan, m, first, end)
        elif s <= 2 * n:
            expand_velocities(tree, plan, m, v, first, end)
        elif t < n:
            contract(tree, plan, tau, m, first, end)
        else:
            expand(tree, plan, m, first, end)


def forward_dynamics(tree, q, v, tau, f_ext, qdd, plan, m):
    """qdd = FD(q, v, tau), stage by stage."""
    for s in range(stage_count(plan)):
        stage(tree, plan, m, s, 0, 1, q, v, tau, f_ext, qdd)


def soundness(tree, m):
    """Return FINE, or NOT_FINITE if a joint's constraint is violated."""
    for i in range(1, tree.n_bodies + 1):
        if m.margin[i] < 0:
            return NOT_FINITE
    return FINE


def forward_dynamics_by_plan(tree, q, v, tau, f_ext, qdd, plan, m):
    """Forward dynamics by the plan that follows the tree's integers.

    Returns NOT_FINITE if a joint's constraint is violated by more than LOST times its accelerations; the result is then
    invalid.
    """
    forward_dynamics(tree, q, v, tau, f_ext, qdd, plan, m)
    return soundness(tree, m)


def scratch_for(tree, ints, q):
    """Plan, and scratch memory with the dtype of q."""
    return plan_tables(tree, ints), memory_of(tree, np.empty((tree.n_bodies + 1) * NUMBERS_PER_BODY, q.dtype))


forward_dynamics_by_plan_states = entry(
    forward_dynamics_by_plan, scratch_for, returns_status=True, **DRIVEN, qdd="-> nv", follows="qdd"
)


@stages_of(forward_dynamics_by_plan_states, memory="Reals")
def some_stages(ints, reals, memory, first, last, share, shares, q, v, tau, f_ext, qdd):
    """Compute one of `shares` shares of the stages first .. last of a single state, with the caller's memory.

    The stage after the last returns the status.
    """
    tree = tree_tables(ints, reals)
    plan, m = plan_tables(tree, ints), memory_of(tree, memory)
    forces = f_ext.reshape((f_ext.size // 6, 6))
    for s in range(first, min(last + 1, stage_count(plan))):
        stage(tree, plan, m, s, share, shares, q, v, tau, forces, qdd)
    return FINE if last < stage_count(plan) else max(soundness(tree, m), status_of(qdd))
