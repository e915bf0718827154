"""Constraints on accelerations of frames, in the coordinates of their bodies.

A constraint prescribes rows R of the velocity of its first frame relative to its second (the base's, for a frame fixed
in the world): R d/dt (v_first - v_second) = alpha. The velocities are those of `operational`, of the frames' origins
first, in the world's axes or the first frame's own. Their derivatives are those of the components, also in rotating
axes.
In the bodies' coordinates this is A_first a_first + A_second a_second + bias = alpha, with spatial accelerations a. The
force of row r acts on the bodies as A'. The second frame of a frame constraint is on body 0, which is fixed.
"""

from typing import Any, NamedTuple

from ..algebra.linear import Vector, add, cross, dot, matmul, rotate_back, scale, sub, transpose
from ..algebra.spatial import Force, Motion, force_add, force_dot, force_scale
from ..algebra.tables import force_at, motion_at, put_force, put_motion, transform_at
from ..entries.entry import entry
from ..entries.scratch import scratch_memory
from ..kinematics.bodies import (
    base_acceleration,
    body_acceleration,
    body_transform,
    body_velocity,
    place_bodies,
    zero_motion,
)
from ..kinematics.jacobians import WORLD_AXES, point_motion

CONSTRAINTS = {"layout": "Integers", "geometry": "Reals"}  # tables of an entry
ROW_COUNT = "{0}[1 + 3 * {0}[0]]"  # of a layout: the last of `start`
ROWS = {"m": ROW_COUNT.format("layout")}


class Constraints(NamedTuple):
    """Constant tables of a set of constraints."""

    body: Any  # (C, 2) bodies of the first and second frame of each; 0 = the base
    start: Any  # (C+1,) first row of each
    reference: Any  # (C,) WORLD_AXES or FRAME_AXES
    offset: Any  # (2C, 12) placements of the frames on their bodies
    R: Any  # (m, 6) rows, linear first


def row_count(layout):
    """Return the number of rows of a set of constraints: the last of `start`."""
    return layout[1 + 3 * layout[0]]


def constraint_tables(layout, geometry):
    """Return the tables of a set of constraints from two flat arrays: (C, body, start, reference) and (offset, R)."""
    C = layout[0]
    body, start = layout[1 : 1 + 2 * C].reshape((C, 2)), layout[1 + 2 * C : 2 + 3 * C]
    reference = layout[2 + 3 * C : 2 + 4 * C]
    offset, R = geometry[: 24 * C].reshape((2 * C, 12)), geometry[24 * C :].reshape((start[C], 6))
    return Constraints(body, start, reference, offset, R)


def world_to_axes(task, c, W):
    """Return the rotation from the world's axes to those of constraint c."""
    if task.reference[c] == WORLD_AXES:
        return transform_at(W, 0).R
    return transpose(matmul(transform_at(W, task.body[c, 0]).R, transform_at(task.offset, 2 * c).R))


def task_force(R, r, offset, axes):
    """Return the force on a body that is equivalent to a unit force of row r, about the body's origin in its axes."""
    force = rotate_back(axes, Vector(R[r, 0], R[r, 1], R[r, 2]))
    moment = rotate_back(axes, Vector(R[r, 3], R[r, 4], R[r, 5]))
    return Force(add(moment, cross(offset.p, force)), force)


def velocity_terms(task, c, first, second):
    """Return the velocity-dependent part of d/dt (v_first - v_second) of constraint c.

    first, second: the frames' motions in the constraint's axes. It consists of the origins' centripetal accelerations
    w x u. In axes that rotate with the first frame it also has -w x (v_first - v_second).
    """
    lin = sub(cross(first.ang, first.lin), cross(second.ang, second.lin))
    if task.reference[c] == WORLD_AXES:
        return Motion(scale(lin, 0), lin)
    lin = sub(lin, cross(first.ang, sub(first.lin, second.lin)))
    return Motion(cross(first.ang, second.ang), lin)


def row_dot(R, r, m):
    """Return R_r m, for a motion m of frames."""
    return dot(Vector(R[r, 0], R[r, 1], R[r, 2]), m.lin) + dot(Vector(R[r, 3], R[r, 4], R[r, 5]), m.ang)


def constraint_rows(task, W, V, A, bias):
    """Write A (2, m, 6), forces by rows in coordinates of the first and second body (0 on the base), and the bias."""
    for c in range(task.reference.size):
        turn = world_to_axes(task, c, W)
        p, q = task.body[c, 0], task.body[c, 1]
        at_p, at_q = transform_at(task.offset, 2 * c), transform_at(task.offset, 2 * c + 1)
        axes_p, axes_q = matmul(turn, transform_at(W, p).R), matmul(turn, transform_at(W, q).R)
        first, second = point_motion(motion_at(V, p), at_p, axes_p), point_motion(motion_at(V, q), at_q, axes_q)
        product = velocity_terms(task, c, first, second)
        for r in range(task.start[c], task.start[c + 1]):
            put_force(A[0], r, force_scale(task_force(task.R, r, at_p, axes_p), 1 if p > 0 else 0))
            put_force(A[1], r, force_scale(task_force(task.R, r, at_q, axes_q), -1 if q > 0 else 0))
            bias[r] = row_dot(task.R, r, product)


def row_accelerations(task, A, accelerations, out):
    """out = A_first a_first + A_second a_second, row by row."""
    for c in range(task.reference.size):
        first, second = motion_at(accelerations, task.body[c, 0]), motion_at(accelerations, task.body[c, 1])
        for r in range(task.start[c], task.start[c + 1]):
            out[r] = force_dot(force_at(A[0], r), first) + force_dot(force_at(A[1], r), second)


def offset_targets(tree, task, W, A, bias, alpha, out):
    """out = alpha - bias + A a_0, the required A a for accelerations that include -g.

    Those of the articulated-body algorithm do. a_0 is a linear acceleration of each body, along -g.
    """
    rising = base_acceleration(tree).lin
    for c in range(task.reference.size):
        for r in range(task.start[c], task.start[c + 1]):
            out[r] = alpha[r] - bias[r]
            for side in range(2):
                up = rotate_back(transform_at(W, task.body[c, side]).R, rising)
                out[r] += dot(force_at(A[side], r).f, up)


def add_row_forces(task, A, f, F):
    """F[body] += A' f, row by row."""
    for c in range(task.reference.size):
        for side in range(2):
            for r in range(task.start[c], task.start[c + 1]):
                i = task.body[c, side]
                put_force(F, i, force_add(force_at(F, i), force_scale(force_at(A[side], r), f[r])))


def constraint_derivatives(tree, q, v, qdd, derivative, rows, task, memory):
    """R d/dt (v_first - v_second) of all rows (m,) for accelerations qdd, and A (2, m, 6)."""
    W, V, acceleration, bias = memory
    place_bodies(tree, q, W)
    put_motion(V, 0, zero_motion(tree))
    put_motion(acceleration, 0, zero_motion(tree))
    for i in range(1, tree.n_bodies + 1):
        X, p = body_transform(tree, i, q), tree.parent[i]
        velocity = body_velocity(tree, i, X, motion_at(V, p), v)
        put_motion(V, i, velocity)
        put_motion(acceleration, i, body_acceleration(tree, i, X, motion_at(acceleration, p), velocity, v, qdd))
    constraint_rows(task, W, V, rows, bias)
    row_accelerations(task, rows, acceleration, derivative)
    for r in range(derivative.size):
        derivative[r] += bias[r]


scratch_for = scratch_memory("W 12, V 6, acceleration 6", given="layout", bias=ROWS["m"])


constraint_derivatives_states = entry(
    constraint_derivatives,
    (constraint_tables, scratch_for),
    CONSTRAINTS,
    ROWS,
    q="nq",
    v="nv",
    qdd="nv",
    derivative="-> m",
    rows="-> 2, m, 6",
    expands=True,
)
