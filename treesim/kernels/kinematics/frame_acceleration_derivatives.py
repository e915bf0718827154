"""Derivatives of a frame's classical acceleration J a + Jdot v in q, v and a.

While degree of freedom k moves, what is behind its joint turns with its screw S, as seen from the joint's parent. So
v changes by S x (v - v_λ), and a by S x (a - a_λ) + Pd x (v - v_λ), with Pd = v_λ x S. The derivative of a in the speed
of k is Q - v x S (`screw_motion`).
"""

from typing import Any

from ..algebra.linear import Vector, add, cross, rotate, sub, transpose
from ..algebra.rotations import compose, rotation
from ..algebra.spatial import Motion, motion_add, motion_cross, motion_sub
from ..algebra.tables import motion_at, put_linear_first, transform_at
from ..entries.entry import MOVING, entry
from ..entries.scratch import scratch_memory
from .bodies import body_transform, zero_motion
from .frames import FRAMES, frames_of
from .jacobians import WORLD_AXES
from .screw_motion import move_body, parent_motion

scratch_for = scratch_memory("W 12, V 6, A 6", "S 6, Pd 6, Pdd 6, Q 6")


def about(p, m):
    """Motion about the point p."""
    return Motion(m.ang, add(m.lin, cross(m.ang, p)))


def row_axes(tree, q, body, R, reference):
    """Rotation from the axes of a body's subtree to those of the rows: the world's, or those of a frame, R."""
    i = body
    while tree.parent[i] > 0:
        i = tree.parent[i]
    if reference == WORLD_AXES:
        return rotation(compose(transform_at(tree.placement, 0), body_transform(tree, i, q)))
    return transpose(R)


def classical_rate(rate, change, v, a, shift):
    """Rate of the acceleration (alpha, a + w x v) of a point, linear part by the rates of its a, v and position."""
    moved = add(change.lin, cross(v.ang, shift))
    turned = add(cross(a.ang, shift), add(cross(change.ang, v.lin), cross(v.ang, moved)))
    return Motion(rate.ang, add(rate.lin, turned))


def put_rows(D, start, k, axes, m):
    """Write a motion along other axes to column k, linear part first."""
    put_linear_first(D[:, k], start, Motion(rotate(axes, m.ang), rotate(axes, m.lin)))


def frame_acceleration_derivatives(tree, q, v, a, D, frames, m: Any):
    """D = derivatives in q, in v, and in a (the Jacobian) of one frame's acceleration, six rows each."""
    D.reshape(D.size)[:] = 0
    body, reference = frames.bodies[0], frames.reference
    for i in range(1, tree.n_bodies + 1):
        move_body(tree, i, q, v, a, zero_motion(tree), m)
    if body > 0:
        put_path_rows(tree, q, body, transform_at(frames.placement, 0), reference, D, m)


def put_path_rows(tree, q, body, offset, reference, D, m):
    """Write the columns of all degrees of freedom on the path to a body with a frame at `offset`."""
    F, velocity, acceleration = compose(transform_at(m.W, body), offset), motion_at(m.V, body), motion_at(m.A, body)
    axes, at_point = row_axes(tree, q, body, F.R, reference), about(F.p, velocity)
    still = Vector(F.p.x * 0, F.p.x * 0, F.p.x * 0)
    turning = add(about(F.p, acceleration).lin, cross(at_point.ang, at_point.lin))
    i = body
    while i > 0:
        relative = motion_sub(velocity, parent_motion(tree, i, m.V))
        changed = motion_sub(acceleration, parent_motion(tree, i, m.A))
        for k in range(tree.v_start[i], tree.v_start[i + 1]):
            S, Pd = motion_at(m.S, k), motion_at(m.Pd, k)
            rate = about(F.p, motion_add(motion_cross(S, changed), motion_cross(Pd, relative)))
            change, here = about(F.p, motion_cross(S, relative)), about(F.p, S)
            by_q = classical_rate(rate, change, at_point, acceleration, here.lin)
            if reference != WORLD_AXES:  # the frame's axes turn, too
                by_q = Motion(sub(by_q.ang, cross(S.ang, acceleration.ang)), sub(by_q.lin, cross(S.ang, turning)))
            rate = about(F.p, motion_sub(motion_at(m.Q, k), motion_cross(velocity, S)))
            put_rows(D, 0, k, axes, by_q)
            put_rows(D, 6, k, axes, classical_rate(rate, here, at_point, acceleration, still))
            put_rows(D, 12, k, axes, here)
        i = tree.parent[i]


frame_acceleration_derivatives_states = entry(
    frame_acceleration_derivatives,
    {"frames": frames_of, "m": scratch_for},
    FRAMES,
    **MOVING,
    D="-> 18, nv'",
    expands=True,
    angles=True,
)
