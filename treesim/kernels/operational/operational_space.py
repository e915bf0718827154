"""Base quantities of the operational space of frames and the centre of mass: motions, J, Y_D, Λ^-1 and β (F10).

Rows of frames are used along the tree's paths only: H = L_d' D L_d, Y_d = J L_d^-1, Y_D = Y_d D^-1, Λ^-1 = Y_D Y_d'
(F10 eq. 22 and 23), J H^-1 C = Y_D L_d^-T C. All joints move the centre of mass: its rows are dense.
"""

from ..algebra.blocks import sum_of_products
from ..algebra.linear import Vector, add
from ..algebra.rotations import compose
from ..algebra.spatial import motion_sub, motion_to_child
from ..algebra.tables import body_transform_at, motion_at, put_transform, transform_at
from ..dynamics import ltdl
from ..dynamics.crba import mass_matrix_of_transforms, put_packed
from ..dynamics.rnea import inverse_dynamics
from ..entries.entry import entry
from ..entries.scratch import scratch_memory
from ..kinematics.bodies import base_acceleration, path_placement, stored_transform
from ..kinematics.center_of_mass import center_of_mass_motion, jacobian_of_placed
from ..kinematics.configuration import put_vector
from ..kinematics.frame_motion import ACCELERATION, NUMBERS, frame_motion
from ..kinematics.frames import COUNT, FRAMES, frames_of
from ..kinematics.jacobians import packed_jacobian, unpack_jacobian
from .operational_sparse import last_of_rows
from .sparse_rows import divide_ltdl, multiply_rows, product

CENTER = {"center": "TableOfIntegers"}  # the centre of mass' coordinates: 0, 1, 2, or none
ROWS = COUNT | {"c": "center.size", "m": "6 * (codes.size - 1) + center.size"}


# by body: transforms, velocities, accelerations (gravity included), forces, composite inertias, poses, and first
# moments and masses of subtrees; by row of frames: Y_d, and a number; C; zero accelerations of joints
scratch_for = scratch_memory(
    "Xt 12, V 6, A 6, F 6, Ic 10, W 12, moment 3, mass", given="codes",
    Y="6 * (codes.size - 1), nv", of_rows="6 * (codes.size - 1)", C="nv", still="nv | zeros",
)  # fmt: skip


def last_for(tree, codes):
    """Last degree of freedom of each row of the frames."""
    return last_of_rows(tree, codes[1:])


def rows_of_frames(tree, frames, memory, motions, J):
    """Motions (24) of k frames for zero joint accelerations, and their rows of J, which are also packed in Y."""
    bodies, placement, reference = frames
    for f in range(bodies.size):
        i = bodies[f]
        W = path_placement(tree, stored_transform, memory.Xt, i)
        acceleration = motion_sub(motion_at(memory.A, i), motion_to_child(W, base_acceleration(tree)))
        frame_motion(W, motion_at(memory.V, i), acceleration, transform_at(placement, f), motions[f])
    packed_jacobian(tree, stored_transform, memory.Xt, bodies, placement, reference, memory.Y)
    unpack_jacobian(tree, bodies, memory.Y, J)


def rows_of_center(tree, memory, motion, J):
    """Motion of the centre of mass for zero joint accelerations, and its rows of J."""
    W, gravity = memory.W, Vector(tree.gravity[0], tree.gravity[1], tree.gravity[2])
    put_transform(W, 0, transform_at(tree.placement, 0))
    for i in range(1, tree.n_bodies + 1):
        put_transform(W, i, compose(transform_at(W, tree.parent[i]), body_transform_at(tree, memory.Xt, i)))
    position, velocity, acceleration = center_of_mass_motion(tree, W, memory.V, memory.A)
    motion[:] = 0
    put_vector(motion, 9, position)
    put_vector(motion, 12, velocity)
    put_vector(motion, ACCELERATION, add(acceleration, gravity))
    jacobian_of_placed(tree, W, memory.moment, memory.mass, J)


def divide_by_mass(tree, last, memory, J, Y, factors, inverse):
    """Y = Y_D and Λ^-1 = Y_D Y_d'; rows of frames are packed, dense rows after them are divided like vectors."""
    parent, depth, start = tree.dof_parent, tree.dof_depth, tree.row_start
    first = last.size
    ltdl.factorize(parent, depth, start, factors)
    Y.reshape(Y.size)[:] = 0
    divide_ltdl(parent, depth, start, factors, last, memory.Y, Y)
    multiply_rows(parent, depth, last, Y, memory.Y, inverse)
    for r in range(first, J.shape[0]):
        row = Y[r]
        row[:] = J[r]
        ltdl.solve_lower_transposed(parent, depth, start, factors, row)  # Y_d
        for s in range(first, r):
            inverse[r, s] = inverse[s, r] = sum_of_products(row, Y[s])
        inverse[r, r] = row[0] * 0
        for k in range(tree.nv):
            divided = row[k] / factors[start[k] + depth[k]]
            inverse[r, r] += row[k] * divided
            row[k] = divided
        product(parent, depth, last, memory.Y, row, memory.of_rows)
        for s in range(first):
            inverse[r, s] = inverse[s, r] = memory.of_rows[s]


def put_bias(tree, last, memory, motions, Y, factors, bias):
    """β = Jdot v - J H^-1 C (F10 eq. 8), with Jdot v from the motions' accelerations for zero joint accelerations.

    J H^-1 C = Y_D (L_d^-T C). Overwrites C.
    """
    parent, depth, first = tree.dof_parent, tree.dof_depth, last.size
    ltdl.solve_lower_transposed(parent, depth, tree.row_start, factors, memory.C)
    product(parent, depth, last, Y, memory.C, memory.of_rows)
    for r in range(bias.size):
        answer = memory.of_rows[r] if r < first else sum_of_products(Y[r], memory.C)
        bias[r] = motions[r // 6, ACCELERATION + r % 6] - answer


def operational_rows(tree, q, v, f_ext, motions, J, Y, factors, inverse, bias, frames, last, memory):
    """Compute base quantities of k frames in world axes and, after them, of the centre of mass if c = 3.

    motions (k + c / 3, 24) for zero joint accelerations, J (m, nv), Y_D (m, nv), factors of H, Λ^-1 (m, m), β (m), m =
    6 k + c.
    """
    Xt, V, A, F, Ic = memory.Xt, memory.V, memory.A, memory.F, memory.Ic
    inverse_dynamics(tree, q, v, memory.still, f_ext, memory.C, Xt, V, A, F)
    mass_matrix_of_transforms(tree, Xt, Ic, factors, put_packed)
    k = frames.bodies.size
    rows_of_frames(tree, frames, memory, motions, J)
    if J.shape[0] > 6 * k:
        rows_of_center(tree, memory, motions[k], J[6 * k :])
    divide_by_mass(tree, last, memory, J, Y, factors, inverse)
    put_bias(tree, last, memory, motions, Y, factors, bias)


operational_rows_states = entry(
    operational_rows,
    (frames_of, last_for, scratch_for),
    FRAMES | CENTER,
    ROWS,
    q="nq",
    v="nv",
    f_ext="N, 6 | none",
    motions=f"-> k + c // 3, {NUMBERS}",
    J="-> m, nv",
    Y="-> m, nv",
    factors="-> nnz",
    inverse="-> m, m",
    bias="-> m",
)
