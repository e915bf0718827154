"""Λ^-1 = R Omega R' with the blocks of Omega from RJK (F10, appendix B)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..algebra.tables import motion_at, transform_at
from ..dynamics.rjk import articulated_quantities, inverse_inertia_blocks, load_block, required_in
from ..kinematics.frames import FRAMES, frames_of
from ..kinematics.jacobians import frame_axes, point_motion, put_task_axes
from .inverse_inertia import inverse_inertia_entry


def frame_rows_of_block(tree, bodies, offsets, W, reference, f, B):
    """B <- R_f B: convert the motions in the columns of B to motions of frame f, linear first."""
    offset = transform_at(offsets, f)
    axes = frame_axes(transform_at(W, bodies[f]), offset, reference)
    for c in range(6):
        m = point_motion(motion_at(B.T, c), offset, axes)
        B[0, c], B[1, c], B[2, c] = m.lin.x, m.lin.y, m.lin.z
        B[3, c], B[4, c], B[5, c] = m.ang.x, m.ang.y, m.ang.z


def blocks_of_frames(tree, bodies, offsets, W, reference, needed, Omega, B, out):
    """out = R Omega R', block by block (F10 Figure 14, last line)."""
    for f in range(bodies.size):
        for g in range(f + 1):
            load_block(Omega[needed.of_pair[f, g]], bodies[f] > bodies[g], B)
            frame_rows_of_block(tree, bodies, offsets, W, reference, f, B)
            frame_rows_of_block(tree, bodies, offsets, W, reference, g, B.T)
            for r in range(6):
                for c in range(6):
                    out[6 * f + r, 6 * g + c] = out[6 * g + c, 6 * f + r] = B[r, c]


class Scratch(NamedTuple):
    """Poses, transforms, articulated inertias, U and D^-1, one block, and the required Omega blocks."""

    W: Any
    X: Any
    P: Any
    U: Any
    D_inv: Any
    block: Any
    Omega: Any
    needed: Any


def scratch_for(tree, codes, offsets, needed, q):
    """Frames, and scratch memory with the dtype of q: O(N), and a 6 x 6 block for each required one."""
    body, dof = np.empty((tree.n_bodies + 1, 45), q.dtype), np.empty((tree.nv, 7), q.dtype)
    blocks = required_in(codes.size - 1, needed)
    return frames_of(codes, offsets), Scratch(
        body[:, 0:12],
        body[:, 12:24],
        body[:, 24:45],
        dof[:, 0:6],
        dof[:, 6],
        np.empty((6, 6), q.dtype),
        np.empty((blocks.i.size + 1, 6, 6), q.dtype),
        blocks,
    )


def inverse_inertia_rjk(tree, q, out, frames, memory):
    """Λ^-1 from the required blocks of Omega."""
    bodies, placement, reference = frames
    W, X, P, U, D_inv, block, Omega, blocks = memory
    articulated_quantities(tree, q, X, P, U, D_inv)
    put_task_axes(tree, X, bodies, reference, W)
    inverse_inertia_blocks(tree, blocks, X, U, D_inv, Omega)
    blocks_of_frames(tree, bodies, placement, W, reference, blocks, Omega, block, out)


inverse_inertia_rjk_states = inverse_inertia_entry(
    inverse_inertia_rjk, scratch_for, FRAMES | {"needed": "TableOfIntegers"}
)
