"""Shared part of methods for Λ^-1 = J H^-1 J': entries, and the correction for mimic joints.

With rows A of mimic joints (see `mimic`), Λ^-1 of a robot is Λ^-1 - B S^-1 B' of its spanning tree, with B = J H^-1 A'
and S = A H^-1 A'. This correction is the same for every method.
"""

import numpy as np

from ..algebra.tables import motion_at, put_linear_first, transform_at
from ..entries.entry import entry
from ..kinematics.bodies import body_transform, path_placement
from ..kinematics.frames import COUNT, FRAMES, frames_of
from ..kinematics.jacobians import frame_axes, point_motion
from ..mimic.mimic import respond_to_rows, subtract_row_response, unit_response


def couple_frames(tree, q, frames, A, column):
    """column = accelerations of all frames, six rows each, for bodies' accelerations A."""
    bodies, offsets, reference = frames
    for f in range(bodies.size):
        offset = transform_at(offsets, f)
        W = path_placement(tree, body_transform, q, bodies[f])
        m = point_motion(motion_at(A, bodies[f]), offset, frame_axes(W, offset, reference))
        put_linear_first(column, 6 * f, m)


def reduce_inverse_inertia(tree, mimic, codes, offsets, q, out, rows):
    """Correct Λ^-1 of the spanning tree by the constraints of mimic joints, in place; see `mimic_entry`."""
    B, change = np.empty((out.shape[0], mimic.count), q.dtype), np.empty(tree.nv, q.dtype)
    frames = frames_of(codes, offsets)
    respond_to_rows(tree, mimic, q, rows)
    for b in range(mimic.count):
        unit_response(tree, mimic, b, change, rows)
        couple_frames(tree, q, frames, rows.A, B[:, b])
    subtract_row_response(mimic, B, out, rows)
    for i in range(out.shape[0]):
        for j in range(i):
            out[j, i] = out[i, j]


def inverse_inertia_entry(kernel, scratch, tables=FRAMES, name=""):
    """Return the entry of a method for Λ^-1 (m, m) of k frames, m = 6 k."""
    return entry(
        kernel, scratch, tables, COUNT, reduce=reduce_inverse_inertia, name=name, q="nq", out="-> 6 * k, 6 * k"
    )
