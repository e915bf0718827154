"""Forward dynamics checked by inverse dynamics: the residual tau - ID(q, v, qdd), one refinement, and refusal.

Methods that divide by the inertias of single bodies, or that iterate, lose digits where heavy bodies hang on light
ones. Their accelerations then leave a residual: forces that they do not explain. The largest number of the residual is
compared with the largest joint force: of tau, gravity, velocities, and external wrenches, each by itself. Above REFINED
of it, the accelerations that the residual causes are added (Wilkinson's iterative refinement). Above REFUSED of it
after that, the result is refused.

Joint forces can be rounding errors of 0, as of a pendulum that hangs straight, or of a body that spins about its
principal axis. So ROUNDED of the wrenches across joints, and of momenta times angular velocities, also counts.
"""

from functools import lru_cache

import numpy as np

from ..algebra.numbers import absolute, maximum
from ..algebra.spatial import force_add, force_component, force_sub, force_to_parent, net_force, rigid_apply
from ..algebra.tables import (
    body_inertia,
    body_transform_at,
    central_at,
    force_at,
    motion_at,
    put_force,
    put_motion,
    put_transform,
    with_gravity,
)
from ..entries.entry import DRIVEN, entry
from ..entries.scratch import scratch_memory
from ..entries.status import FINE, NOT_CONVERGED, NOT_FINITE, status_of
from ..kinematics.bodies import base_acceleration, body_acceleration, body_transform, body_velocity, zero_motion

REFINED, REFUSED = 1e-8, 1e-6  # residuals relative to the largest joint force
ROUNDED = 1e-6  # of wrenches and momenta: a residual of REFUSED * ROUNDED of these is round-off


# velocities, accelerations and forces of bodies; the residual, changed accelerations; zeros; the tree's gravity, in
# memory of the same kind as no_gravity
arrays_of_check = scratch_memory(
    "V 6, A 6, F 6", left="nv", change="nv", still="nv | zeros", no_wrenches="0, 6", no_gravity="3 | zeros", gravity="3"
)


def check_memory(tree, q):
    """Scratch memory for the check of one state, with the dtype of q."""
    m = arrays_of_check(tree, q)
    for k in range(3):
        m.gravity[k] = tree.gravity[k]
    return m


def largest(x):
    """Return the largest absolute value in x, 0 if there is none."""
    size = x[0] * 0
    for k in range(x.size):
        size = maximum(size, absolute(x[k]))
    return size


def put_residual(tree, X, v, tau, f_ext, qdd, m):
    """Compute m.left = tau - ID(q, v, qdd) for the bodies' transforms X; return its largest number.

    Also returns the largest joint force that a single body needs.
    """
    put_motion(m.V, 0, zero_motion(tree))
    put_motion(m.A, 0, base_acceleration(tree))
    for i in range(1, tree.n_bodies + 1):
        Xi, p = body_transform_at(tree, X, i), tree.parent[i]
        velocity = body_velocity(tree, i, Xi, motion_at(m.V, p), v)
        acceleration = body_acceleration(tree, i, Xi, motion_at(m.A, p), velocity, v, qdd)
        put_motion(m.V, i, velocity)
        put_motion(m.A, i, acceleration)
        put_force(m.F, i, net_force(central_at(tree.inertia, i), velocity, acceleration))
    for i in range(1, f_ext.shape[0] + 1):
        put_force(m.F, i, force_sub(force_at(m.F, i), force_at(f_ext, i - 1)))
    left = needed = tree.gravity[0] * 0
    for i in range(1, tree.n_bodies + 1):
        for k in range(tree.v_start[i], tree.v_start[i + 1]):
            needed = maximum(needed, absolute(m.F[i, tree.screw[k]]))
    for i in range(tree.n_bodies, 0, -1):
        f, p = force_at(m.F, i), tree.parent[i]
        for k in range(tree.v_start[i], tree.v_start[i + 1]):
            m.left[k] = tau[k] - force_component(f, tree.screw[k]) - tree.armature[k] * qdd[k]
            left = maximum(left, absolute(m.left[k]))
        if p > 0:
            put_force(m.F, p, force_add(force_at(m.F, p), force_to_parent(body_transform_at(tree, X, i), f)))
    return left, needed


def part_scale(tree, X, v, f_ext, m):
    """Return the largest joint force at zero acceleration and tau, or ROUNDED of the wrenches across joints."""
    size, _ = put_residual(tree, X, v, m.still, f_ext, m.still, m)
    for i in range(1, tree.n_bodies + 1):
        size = maximum(size, ROUNDED * largest(m.F[i]))
    return size


def spin_scale(tree, m):
    """Return ROUNDED of the largest number of a body's momentum times its angular velocity; overwrites m.F."""
    size = tree.gravity[0] * 0
    for i in range(1, tree.n_bodies + 1):
        put_force(m.F, i, rigid_apply(body_inertia(tree, i), motion_at(m.V, i)))
        size = maximum(size, ROUNDED * largest(m.F[i]) * largest(m.V[i, 0:3]))
    return size


def force_scale(tree, X, v, tau, f_ext, m):
    """Return the largest joint force of tau, gravity, velocities and external wrenches, each by itself."""
    weightless = with_gravity(tree, m.no_gravity)
    size = maximum(largest(tau), part_scale(tree, X, m.still, m.no_wrenches, m))
    size = maximum(size, part_scale(weightless, X, m.still, f_ext, m))
    size = maximum(size, part_scale(weightless, X, v, m.no_wrenches, m))
    return maximum(size, spin_scale(tree, m))


def residual_status(tree, X, v, tau, f_ext, qdd, m):
    """Return FINE, or NOT_FINITE if accelerations qdd leave a residual that calls for a refinement."""
    left, needed = put_residual(tree, X, v, tau, f_ext, qdd, m)
    if status_of(m.left) != FINE:
        return NOT_FINITE
    if left <= REFINED * maximum(needed, largest(tau)):
        return FINE
    own = with_gravity(tree, m.gravity)
    return NOT_FINITE if left > REFINED * force_scale(own, X, v, tau, f_ext, m) else FINE


def put_transforms(tree, q, X):
    """Write the transforms of all bodies to their parents."""
    for i in range(1, tree.n_bodies + 1):
        put_transform(X, i, body_transform(tree, i, q))


def residual(tree, q, v, tau, f_ext, qdd, size, X, m):
    """Compute size = largest number of the residual of accelerations qdd, and the largest joint force."""
    put_transforms(tree, q, X)
    size[0], _ = put_residual(tree, X, v, tau, f_ext, qdd, m)
    size[1] = force_scale(tree, X, v, tau, f_ext, m)


def cheap_residual(tree, q, v, tau, f_ext, qdd, size, X, m):
    """Compute size = largest number of the residual, and the largest number of tau and of forces of single bodies."""
    put_transforms(tree, q, X)
    size[0], needed = put_residual(tree, X, v, tau, f_ext, qdd, m)
    size[1] = maximum(needed, largest(tau))


def scratch_for(tree, q):
    """Scratch memory of the residual of one state, with the dtype of q."""
    return np.empty((tree.n_bodies + 1, 12), q.dtype), check_memory(tree, q)


residual_states = entry(residual, scratch_for, **DRIVEN, qdd="nv", size="-> 2")
cheap_residual_states = entry(cheap_residual, scratch_for, **DRIVEN, qdd="nv", size="-> 2")


def improve(tree, X, v, tau, f_ext, qdd, left, m):
    """qdd += m.change if that makes the residual smaller than `left`; return its largest number."""
    if status_of(m.change) != FINE:
        return left
    for k in range(tree.nv):
        m.change[k] += qdd[k]
    size, _ = put_residual(tree, X, v, tau, f_ext, m.change, m)
    if not size < left:
        return left
    for k in range(tree.nv):
        qdd[k] = m.change[k]
    return size


@lru_cache(maxsize=32)
def checked_entry(states, transforms_in):
    """Return the forward-dynamics entry `states` with the check, which returns NOT_FINITE for refused accelerations.

    Results that the method itself reports as unsound are checked in the same way. transforms_in: function that
    returns the bodies' transforms in the memory of the method.
    """
    forward, forward_memory = states.one, states.memory

    def checked(tree, q, v, tau, f_ext, qdd, m, memory):
        """Forward dynamics of one state with its check; returns a status."""
        own = with_gravity(tree, m.gravity)  # all trees here have one type, and the kernels are compiled once
        moving, rate, force, wrenches, result = own, v, tau, f_ext, qdd
        left = allowed = tree.gravity[0] * 0
        for turn in range(2):  # around one call: so the compiler inlines it
            status = forward(moving, q, rate, force, wrenches, result, memory)
            X = transforms_in(memory)
            if turn == 0:
                if status == NOT_CONVERGED:
                    return status
                left, needed = put_residual(own, X, v, tau, f_ext, qdd, m)
                if status_of(m.left) != FINE:
                    return NOT_FINITE
                if left <= REFINED * maximum(needed, largest(tau)):
                    return FINE
                allowed = force_scale(own, X, v, tau, f_ext, m)
                if left <= REFINED * allowed:
                    return FINE
                left, _ = put_residual(own, X, v, tau, f_ext, qdd, m)
                moving, rate, force = with_gravity(tree, m.no_gravity), m.still, m.left
                wrenches, result = m.no_wrenches, m.change
            elif status != NOT_CONVERGED:
                left = improve(own, X, v, tau, f_ext, qdd, left, m)
        return NOT_FINITE if left > REFUSED * allowed else FINE

    checked.__name__ = f"checked_{states.kernel.__name__}"
    memory = check_memory, forward_memory
    return entry(checked, memory, returns_status=True, **DRIVEN, qdd="-> nv", follows="qdd")


def transforms_first(memory):
    """Return the transforms in the first part of a method's memory."""
    return memory[0].X


def transforms_second(memory):
    """Return the transforms in the second part of a method's memory."""
    return memory[1].X
