"""Time derivative of a frame's Jacobian: in moving axes, d(X S)/dt = X (v_i - v_f) x S (RBDA section 2.10)."""

from ..algebra.linear import add, cross, rotate, scale, sub
from ..algebra.rotations import compose
from ..algebra.spatial import Motion, motion_add, motion_cross, motion_to_child, unit_scaled_add
from ..algebra.tables import put_linear_first, transform_at
from ..entries.entry import entry
from .bodies import body_transform, path_placement, zero_motion
from .frames import FRAMES, frames_of
from .jacobians import WORLD_AXES, frame_axes


def screw_at(tree, k, s, toward, p):
    """Screw k times s along the axes of the frame's body; the linear part is that of the body's point p."""
    m = motion_to_child(toward, unit_scaled_add(zero_motion(tree), tree.screw[k], s))
    return Motion(m.ang, add(m.lin, cross(m.ang, p)))


def path_velocity(tree, q, v, body, p):
    """Velocity of a body along its own axes, by a backward sweep along its path; the linear part is that of point p."""
    velocity, toward, i = zero_motion(tree), transform_at(tree.placement, 0), body
    while i > 0:
        for k in range(tree.v_start[i], tree.v_start[i + 1]):
            velocity = motion_add(velocity, screw_at(tree, k, v[k], toward, p))
        toward = compose(body_transform(tree, i, q), toward)
        i = tree.parent[i]
    return velocity


def jacobian_derivative(tree, q, v, Jd, frames):
    """Compute the derivative Jd (6, nv) of one frame's Jacobian by a backward sweep along the frame's path.

    The velocity of the frame relative to body i, of whose joint the column is, is summed on the way.
    """
    Jd.reshape(Jd.size)[:] = 0
    body, offset, reference = frames.bodies[0], transform_at(frames.placement, 0), frames.reference
    axes = frame_axes(path_placement(tree, body_transform, q, body), offset, reference)
    turning = zero_motion(tree).ang  # angular velocity of the body's axes relative to those of the rows
    if reference == WORLD_AXES:
        turning = path_velocity(tree, q, v, body, offset.p).ang
    relative, toward, i = zero_motion(tree), transform_at(tree.placement, 0), body
    while i > 0:
        change = Motion(sub(turning, relative.ang), scale(relative.lin, -1))
        for k in range(tree.v_start[i], tree.v_start[i + 1]):
            m = motion_cross(change, screw_at(tree, k, tree.placement[0, 0], toward, offset.p))
            put_linear_first(Jd[:, k], 0, Motion(rotate(axes, m.ang), rotate(axes, m.lin)))
        for k in range(tree.v_start[i], tree.v_start[i + 1]):
            relative = motion_add(relative, screw_at(tree, k, v[k], toward, offset.p))
        toward = compose(body_transform(tree, i, q), toward)
        i = tree.parent[i]


jacobian_derivative_states = entry(
    jacobian_derivative, (frames_of,), FRAMES, q="nq", v="nv", Jd="-> 6, nv'", expands=True
)
