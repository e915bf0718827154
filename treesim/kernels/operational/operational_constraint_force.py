"""Λ^-1 by the constraint-force method: accelerations by unit forces on the frames' bodies, at rest (FF13).

Λ^-1 = B' [I^-1 - I^-1 (P W) A^-1 (P W)' I^-1] B, where B selects bodies. A is factorized once, and each of the 6 k task
rows is one right-hand side: O(N + k N'), N' the bodies of the paths that lead to frames. The stages are those of
`constraint_force`, their matrices first. Right-hand sides are independent, so that 6 k times as many processors solve
all in the time of one.
"""

from typing import Any, NamedTuple

import numpy as np

from ..algebra.tables import put_motion, put_transform
from ..entries.status import FINE, undefined
from ..kinematics.bodies import body_transform, zero_motion
from ..kinematics.frames import frames_of
from ..kinematics.jacobians import task_rows
from ..published.parallel import cyclic_reduction, parallel_cyclic_reduction, path_elimination
from ..published.parallel.constraint_force import NUMBERS, joint_compliance, put_nothing, work_in
from ..published.parallel.constraint_force_stages import matrix_at_places, soundness, vector_at_places
from ..published.parallel.heavy_paths import (
    DOWN_SWEEP,
    TRANSFORMS,
    UP_SWEEP,
    VELOCITIES,
    heavy_paths,
    paths_in,
    table_size,
)
from ..published.parallel.path_velocities import append_transform, down_sweep, placement, start_transform, up_sweep
from .inverse_inertia import inverse_inertia_entry


class Scratch(NamedTuple):
    """Task rows as forces on their bodies, paths, those that lead to frames, and work memory."""

    K: Any
    paths: Any
    carries: Any  # (N+1,) 1 for every body of a path on the way from the base to a frame
    work: Any


def mark_carrying(parent, paths, bodies, carries):
    """Mark all bodies of the paths that lead to `bodies`."""
    for f in range(bodies.size):
        i = bodies[f]
        while i > 0:
            carries[i] = 1
            i = parent[i]
    for place in range(paths.order.size):
        carries[paths.order[place]] = carries[paths.order[paths.start[place]]]


def memory_for(tree, codes, offsets, q, solver):
    """Frames, and scratch memory for a tree and tasks, with the dtype of q."""
    frames = frames_of(codes, offsets)
    bodies, B = frames.bodies, tree.n_bodies + 1
    paths = paths_in(tree.n_bodies, np.empty(table_size(tree.n_bodies), np.int64))
    heavy_paths(tree, q, paths, solver)
    carries, longest = np.zeros(B, np.int64), 1
    mark_carrying(tree.parent, paths, bodies, carries)
    for e in range(paths.sizes[0]):
        longest = max(longest, paths.longest[e])
    work = work_in(B, np.zeros(B * (NUMBERS + solver.extra_for(solver.elimination_rounds(longest))), q.dtype))
    return frames, Scratch(np.empty((6 * bodies.size, 6), q.dtype), paths, carries, work)


def place_at(tree, paths, w, s, low, high, q):
    """Compute stage s of transforms and poses; poses use the stages and the memory of velocities."""
    what, turn = paths.stages[s, 0], paths.stages[s, 1]
    if what == TRANSFORMS:
        for place in range(low, high):
            i = paths.order[place]
            put_transform(w.X, i, body_transform(tree, i, q))
            start_transform(tree, w.X, w.P, i)
            joint_compliance(tree, i, w.compliance[i])
    elif what == UP_SWEEP:
        up_sweep(paths, w, turn, low, high, append_transform)
    elif what == DOWN_SWEEP:
        down_sweep(paths, w, turn, low, high, append_transform)
    elif what == VELOCITIES:
        for place in range(low, high):
            placement(tree, paths, w, place)


def factor_paths(tree, paths, w, q, solver):
    """Compute poses, and factorize the matrices of all paths."""
    put_nothing(tree, w)
    put_motion(w.a, 0, zero_motion(tree))
    for s in range(paths.sizes[1]):
        place_at(tree, paths, w, s, paths.stages[s, 2], paths.stages[s, 3], q)
        matrix_at_places(tree, paths, w, s, paths.stages[s, 2], paths.stages[s, 3], solver)


def put_task_row(tree, frames, w, K, f):
    """Write the six rows of a frame as forces on its body."""
    task_rows(tree, frames.bodies[f], frames.placement, w.P, frames.reference, f, K[6 * f : 6 * f + 6])


def put_unit_force(w, body, force):
    """Set the bias forces to zero, except for -force on one body."""
    for i in range(1, w.b.shape[0]):
        for c in range(6):
            w.b[i, c] = force[c] * 0
    for c in range(6):
        w.b[body, c] = -force[c]


def respond(tree, paths, w, carries, solver):
    """Compute accelerations w.a caused by the forces on bodies, for all bodies on paths that lead to frames."""
    for s in range(paths.sizes[1]):
        place = paths.stages[s, 2]
        while place < paths.stages[s, 3]:
            if carries[paths.order[place]] == 1:
                vector_at_places(tree, paths, w, s, place, paths.stop[place], solver)
            place = paths.stop[place]


def put_column(frames, w, K, s, out):
    """Write column s of Λ^-1 below the diagonal, and its transpose: K' a."""
    for r in range(s, K.shape[0]):
        a, power = w.a[frames.bodies[r // 6]], K[r, 0] * 0
        for c in range(6):
            power += K[r, c] * a[c]
        out[r, s] = out[s, r] = power


def inverse_inertia(tree, q, out, frames, memory, solver):
    """Λ^-1, a column for each task row, with a given method to solve along paths."""
    K, paths, carries, w = memory
    factor_paths(tree, paths, w, q, solver)
    for f in range(frames.bodies.size):
        put_task_row(tree, frames, w, K, f)
    for s in range(K.shape[0]):
        put_unit_force(w, frames.bodies[s // 6], K[s])
        respond(tree, paths, w, carries, solver)
        put_column(frames, w, K, s, out)
    if soundness(w) != FINE:
        out[0, 0] = undefined(out[0, 0])


def _path_method(name, solver):
    """Return the entry of Λ^-1, a column for each task row, for a module that solves along paths; its name ends so."""

    def scratch_for(tree, codes, offsets, q):
        """Frames, paths of a tree, and scratch memory, with the dtype of q."""
        return memory_for(tree, codes, offsets, q, solver)

    def columns(tree, q, out, frames, memory):
        """Λ^-1, a column for each task row."""
        inverse_inertia(tree, q, out, frames, memory, solver)

    return inverse_inertia_entry(columns, scratch_for, name=f"inverse_inertia_{name}")


ELIMINATION = _path_method("constraint_force", path_elimination)  # O(N + k N')
CYCLIC_REDUCTION = _path_method("constraint_force_cr", cyclic_reduction)  # as much in O(log^2 N) stages
PARALLEL_CYCLIC_REDUCTION = _path_method("constraint_force_pcr", parallel_cyclic_reduction)
