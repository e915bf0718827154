"""Errors of tasks of inverse kinematics, and their derivatives.

The error of a task has a linear and an angular part: the vector to the target's origin, and the rotation vector phi of
exp(phi x) = R_target R'. The derivative of phi is -Jr(phi)^-1 w for the angular velocity w of R, where Jr is the right
Jacobian of rotations.
"""

from typing import Any, NamedTuple

from ..algebra.linear import (
    Matrix,
    Vector,
    add,
    cross,
    dot,
    matmul,
    matmul_transposed,
    rotate,
    rotate_back,
    scale,
    sub,
    transpose,
)
from ..algebra.numbers import sqrt
from ..algebra.rotations import Transform, compose
from ..algebra.spatial import Motion, unit_scaled_add
from ..algebra.tables import put_linear_first, transform_at
from ..dynamics.centroidal import center_of_placed
from ..kinematics.bodies import zero_motion
from ..kinematics.center_of_mass import jacobian_of_placed
from ..kinematics.configuration import log_quaternion, log_translation

FRAME, RELATIVE, CENTER = 0, 1, 2  # kinds of tasks
WORLD, FIRST = 0, 1  # axes of a task's rows: the world's, or those of its frame (of its first frame, if relative)
PER_TASK = 6  # codes of a task: kind, first body, second body, axes, its first row and that of the next task


class Tasks(NamedTuple):
    """Tables of k tasks with m rows in all."""

    count: int
    rows: int
    center: int  # 1 if a task is on the centre of mass
    codes: Any  # (k, 6) see PER_TASK
    placement: Any  # (2 k, 12) of the first and of the second frame on their bodies
    selection: Any  # (m, 6) rows, linear part first
    weight: Any  # (m,) square roots of the weights


def rotation_vector(R):
    """Rotation vector of a rotation matrix, by its quaternion; of length at most pi (Shepperd 1978)."""
    trace = R.xx + R.yy + R.zz
    if trace >= R.xx and trace >= R.yy and trace >= R.zz:
        w, v = 1 + trace, Vector(R.zy - R.yz, R.xz - R.zx, R.yx - R.xy)
    elif R.xx >= R.yy and R.xx >= R.zz:
        w, v = R.zy - R.yz, Vector(1 + R.xx - R.yy - R.zz, R.xy + R.yx, R.zx + R.xz)
    elif R.yy >= R.zz:
        w, v = R.xz - R.zx, Vector(R.xy + R.yx, 1 + R.yy - R.xx - R.zz, R.yz + R.zy)
    else:
        w, v = R.yx - R.xy, Vector(R.zx + R.xz, R.yz + R.zy, 1 + R.zz - R.xx - R.yy)
    length = sqrt(w * w + dot(v, v))
    return log_quaternion(scale(v, 1 / length), w / length)


class TaskState(NamedTuple):
    """State of one task: poses of its two frames, error in its base axes, and rotation to the axes of its rows.

    Base axes are the world's, for a relative task those of the first frame.
    """

    first: Transform
    second: Transform
    error: Motion
    axes: Matrix


def task_state(tree, tasks, t, target, W, G):
    """State of task t for bodies at poses W, with the centre of mass at G; target: pose, or position, of its frame."""
    kind, aligned = tasks.codes[t, 0], tasks.codes[t, 3] == WORLD
    first = compose(transform_at(W, tasks.codes[t, 1]), transform_at(tasks.placement, 2 * t))
    second = compose(transform_at(W, tasks.codes[t, 2]), transform_at(tasks.placement, 2 * t + 1))
    identity = transform_at(tree.placement, 0).R
    if kind == FRAME:
        phi = rotation_vector(matmul_transposed(target.R, second.R))
        axes = identity if aligned else transpose(second.R)
        return TaskState(first, second, Motion(phi, sub(target.p, second.p)), axes)
    if kind == RELATIVE:
        R = matmul(transpose(first.R), second.R)
        phi = rotation_vector(matmul_transposed(target.R, R))
        seen = rotate_back(first.R, sub(second.p, first.p))
        return TaskState(first, second, Motion(phi, sub(target.p, seen)), first.R if aligned else identity)
    return TaskState(first, second, Motion(zero_motion(tree).ang, sub(target.p, G)), identity)


def selected(tasks, r, m):
    """Row r of the tasks' selections times a motion."""
    s = tasks.selection[r]
    return s[0] * m.lin.x + s[1] * m.lin.y + s[2] * m.lin.z + s[3] * m.ang.x + s[4] * m.ang.y + s[5] * m.ang.z


def put_errors(tree, tasks, targets, W, e, errors):
    """Write the weighted errors of all rows to e (m,), and the length of each task's error to `errors` (k,).

    Returns half the sum of squares of e.
    """
    cost = tree.gravity[0] * 0
    G = center_of_placed(tree, W) if tasks.center > 0 else zero_motion(tree).lin
    for t in range(tasks.count):
        state = task_state(tree, tasks, t, transform_at(targets, t), W, G)
        m = Motion(rotate(state.axes, state.error.ang), rotate(state.axes, state.error.lin))
        squares = tree.gravity[0] * 0
        for r in range(tasks.codes[t, 4], tasks.codes[t, 5]):
            x = selected(tasks, r, m)
            squares = squares + x * x
            e[r] = tasks.weight[r] * x
            cost = cost + e[r] * e[r] / 2
        errors[t] = sqrt(squares)
    return cost


def supported_motion(tree, W, body, p, J):
    """Write the velocity of a body's point p, then the angular velocity, for each degree of freedom to J (6, nv)."""
    J.reshape(J.size)[:] = 0
    i = body
    while i > 0:
        placement = transform_at(W, i)
        for k in range(tree.v_start[i], tree.v_start[i + 1]):
            screw = unit_scaled_add(zero_motion(tree), tree.screw[k], tree.placement[0, 0])
            w = rotate(placement.R, screw.ang)
            u = add(rotate(placement.R, screw.lin), cross(w, sub(p, placement.p)))
            put_linear_first(J[:, k], 0, Motion(w, u))
        i = tree.parent[i]


def column(J, k):
    """Motion in column k of a matrix (6, nv)."""
    return Motion(Vector(J[3, k], J[4, k], J[5, k]), Vector(J[0, k], J[1, k], J[2, k]))


def error_rate(tasks, t, state, first, second):
    """Return the derivative of a task's error, along the axes of its rows.

    first, second: velocities of its two frames along world axes.
    """
    e, minus = state.error, scale(state.error.ang, -1)
    if tasks.codes[t, 0] == FRAME:
        lin, ang = scale(second.lin, -1), scale(log_translation(minus, second.ang), -1)
        if tasks.codes[t, 3] == WORLD:
            return Motion(ang, lin)
        turning = scale(second.ang, -1)  # R' e changes by R' (de/dt - w x e)
    else:
        arm, R = sub(state.second.p, state.first.p), state.first.R
        seen = sub(sub(second.lin, first.lin), cross(first.ang, arm))
        lin = scale(rotate_back(R, seen), -1)
        ang = scale(log_translation(minus, rotate_back(R, sub(second.ang, first.ang))), -1)
        if tasks.codes[t, 3] == FIRST:
            return Motion(ang, lin)
        turning = rotate_back(R, first.ang)  # R e changes by R (de/dt + w x e)
    return Motion(
        rotate(state.axes, add(ang, cross(turning, e.ang))), rotate(state.axes, add(lin, cross(turning, e.lin)))
    )


def put_rates(tree, tasks, targets, W, J, m):
    """Write minus the derivatives of the weighted errors of all rows to J (m, nv)."""
    G = center_of_placed(tree, W) if tasks.center > 0 else zero_motion(tree).lin
    for t in range(tasks.count):
        state = task_state(tree, tasks, t, transform_at(targets, t), W, G)
        if tasks.codes[t, 0] == CENTER:
            m.first.reshape(m.first.size)[:] = 0
            jacobian_of_placed(tree, W, m.moment, m.mass, m.first)
        else:
            supported_motion(tree, W, tasks.codes[t, 1], state.first.p, m.first)
            supported_motion(tree, W, tasks.codes[t, 2], state.second.p, m.second)
        for k in range(tree.nv):
            if tasks.codes[t, 0] == CENTER:
                rate = Motion(zero_motion(tree).ang, scale(column(m.first, k).lin, -1))
            else:
                rate = error_rate(tasks, t, state, column(m.first, k), column(m.second, k))
            for r in range(tasks.codes[t, 4], tasks.codes[t, 5]):
                J[r, k] = -tasks.weight[r] * selected(tasks, r, rate)
