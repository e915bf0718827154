"""Poses, velocities and classical accelerations of frames along a motion (RBDA sections 2.11, 4.1 and 5.3)."""

from ..algebra.linear import add, cross
from ..algebra.rotations import compose
from ..algebra.spatial import Motion
from ..algebra.tables import motion_at, put_linear_first, put_motion, put_transform, transform_at
from ..entries.entry import MOVING, entry
from ..entries.scratch import scratch_memory
from .bodies import body_acceleration, body_transform, body_velocity, place_bodies, zero_motion
from .frames import COUNT, FRAMES, frames_of
from .jacobians import point_motion

NUMBERS = 24  # of a frame: rotation by rows, position, velocity, acceleration, both linear first along world axes
ACCELERATION = 18  # where a frame's acceleration begins among these


def move_bodies(tree, q, v, a, W, V, A):
    """Forward sweep: poses W, spatial velocities V and accelerations A of all bodies; no gravity in A."""
    place_bodies(tree, q, W)
    put_motion(V, 0, zero_motion(tree))
    put_motion(A, 0, zero_motion(tree))
    for i in range(1, tree.n_bodies + 1):
        Xi = body_transform(tree, i, q)
        velocity = body_velocity(tree, i, Xi, motion_at(V, tree.parent[i]), v)
        put_motion(V, i, velocity)
        put_motion(A, i, body_acceleration(tree, i, Xi, motion_at(A, tree.parent[i]), velocity, v, a))


def frame_motion(W, velocity, acceleration, offset, row):
    """Motion in world axes of the frame at `offset` on a body at pose W, written to a row of 24 numbers."""
    V = point_motion(velocity, offset, W.R)
    A = point_motion(acceleration, offset, W.R)
    put_transform(row.reshape((1, NUMBERS)), 0, compose(W, offset))
    put_linear_first(row, 12, V)
    classical = add(A.lin, cross(V.ang, V.lin))  # the acceleration of the point that moves along
    put_linear_first(row, ACCELERATION, Motion(A.ang, classical))


def frame_motions(tree, q, v, a, out, frames, memory):
    """Motions of k frames: out (k, 24)."""
    (bodies, placement, _), (W, V, A) = frames, memory
    move_bodies(tree, q, v, a, W, V, A)
    for f in range(bodies.size):
        i = bodies[f]
        frame_motion(transform_at(W, i), motion_at(V, i), motion_at(A, i), transform_at(placement, f), out[f])


scratch_for = scratch_memory("W 12, V 6, A 6")


moved_frames = frames_of, scratch_for
frame_motions_states = entry(
    frame_motions, moved_frames, FRAMES, COUNT, **MOVING, out=f"-> k, {NUMBERS}", expands=True, angles=True
)
