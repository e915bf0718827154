"""Λ^-1 = R Omega R' with the blocks of Omega from RJK (F10, appendix B)."""

from ..algebra.tables import motion_at, put_linear_first, transform_at
from ..dynamics.rjk import COLUMNS, articulated_quantities, inverse_inertia_blocks, load_block, required_in
from ..entries.scratch import scratch_memory
from ..kinematics.frames import FRAMES, frames_of
from ..kinematics.jacobians import frame_axes, point_motion, put_task_axes
from .inverse_inertia import inverse_inertia_entry


def frame_rows_of_block(tree, bodies, offsets, W, reference, f, B):
    """B <- R_f B: convert the motions in the columns of B to motions of frame f, linear first."""
    offset = transform_at(offsets, f)
    axes = frame_axes(transform_at(W, bodies[f]), offset, reference)
    for c in range(6):
        m = point_motion(motion_at(B.T, c), offset, axes)
        put_linear_first(B[:, c], 0, m)


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


def blocks_for(codes, needed):
    """Return the required blocks of the tasks."""
    return required_in(codes.size - 1, needed)


# poses, transforms, articulated inertias, U and D^-1, one block, and the required Omega blocks
scratch_for = scratch_memory(
    "W 12, X 12, P 21", "U 6, D_inv", given="codes, needed",
    block="6, 6", Omega=f"(needed.size - (codes.size - 1) ** 2) // {COLUMNS} + 1, 6, 6",
)  # fmt: skip


def inverse_inertia_rjk(tree, q, out, frames, blocks, memory):
    """Λ^-1 from the required blocks of Omega."""
    bodies, placement, reference = frames
    W, X, P, U, D_inv, block, Omega = memory
    articulated_quantities(tree, q, X, P, U, D_inv)
    put_task_axes(tree, X, bodies, reference, W)
    inverse_inertia_blocks(tree, blocks, X, U, D_inv, Omega)
    blocks_of_frames(tree, bodies, placement, W, reference, blocks, Omega, block, out)


inverse_inertia_rjk_states = inverse_inertia_entry(
    inverse_inertia_rjk, (frames_of, blocks_for, scratch_for), FRAMES | {"needed": "TableOfIntegers"}
)
