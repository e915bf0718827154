"""Λ^-1 by the constraint-force method: the accelerations that unit forces on the frames' bodies cause, at rest (FF13).

Λ^-1 = B' [I^-1 - I^-1 (P W) A^-1 (P W)' I^-1] B, B picking bodies: the factors of all paths once, then one way inward
and outward along the paths for each of the 6 k task rows, O(N + k N'), N' the bodies of the paths that carry frames.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .blocks import SIX, factorize
from .constraint_force import (
    NUMBERS,
    acceleration,
    equation_matrix,
    equation_vector,
    given_acceleration,
    hang_force,
    hang_inertia,
    inverse_inertia,
    joint_compliance,
    put_nothing,
    soundness,
    start,
    work_in,
)
from .frames import frames_of
from .heavy_paths import heavy_paths, paths_in, sound_bodies, table_size
from .kinematics import body_transform, place_bodies, zero_motion
from .operational import inverse_inertia_entry, task_rows
from .path_elimination import (
    EXTRA,
    eliminate_matrix,
    eliminate_vector,
    elimination_rounds,
    substitute_path,
    substitution_rounds,
)
from .status import FINE, undefined
from .tables import put_motion, put_transform


class Scratch(NamedTuple):
    """Placements, the task rows as forces on their bodies, the paths, those that carry frames, and work memory."""

    W: Any
    K: Any
    paths: Any
    carries: Any  # (N+1,) 1 for every body of a path on the way from the base to a frame
    work: Any


def mark_carrying(parent, paths, bodies, carries):
    """All bodies of the paths that lead to `bodies`."""
    for f in range(bodies.size):
        i = bodies[f]
        while i > 0:
            carries[i] = 1
            i = parent[i]
    for place in range(paths.order.size):
        carries[paths.order[place]] = carries[paths.order[paths.start[place]]]


def scratch_for(tree, codes, offsets, q):
    """The frames, and scratch memory for a tree and tasks, of the numbers in q."""
    frames = frames_of(codes, offsets)
    bodies = frames.bodies
    B = tree.n_bodies + 1
    paths = paths_in(tree.n_bodies, np.empty(table_size(tree.n_bodies), np.int64))
    heavy_paths(tree.parent, sound_bodies(tree, q), paths, elimination_rounds, substitution_rounds)
    carries = np.zeros(B, np.int64)
    mark_carrying(tree.parent, paths, bodies, carries)
    work = work_in(B, np.zeros(B * (NUMBERS + EXTRA), q.dtype))
    return frames, Scratch(np.empty((B, 12), q.dtype), np.empty((6 * bodies.size, 6), q.dtype), paths, carries, work)


def factor_paths(tree, paths, w, q):
    """Transforms, inertias and the factors of all paths, level after level, bodies before the heads of their paths."""
    put_nothing(tree, w)
    put_motion(w.a, 0, zero_motion(tree))
    for i in range(1, tree.n_bodies + 1):
        put_transform(w.X, i, body_transform(tree, i, q))
        joint_compliance(tree, i, w.compliance[i])
    for head in range(tree.n_bodies):
        if paths.start[head] == head:
            for place in range(head, paths.stop[head]):
                inverse_inertia(tree, paths, w, paths.order[place])
            for place in range(head, paths.stop[head]):
                equation_matrix(tree, paths, w, paths.order[place])
            eliminate_matrix(paths, w, head)
            factorize(w.T[paths.order[head]], SIX)
            hang_inertia(tree, w, paths.order[head])


def pull_inward(tree, paths, w, carries):
    """Right-hand sides of the paths that carry frames, and what they pass on at rest."""
    for head in range(tree.n_bodies):
        if paths.start[head] == head and carries[paths.order[head]] == 1:
            for place in range(head, paths.stop[head]):
                given_acceleration(tree, paths, w, paths.order[place])
            for place in range(head, paths.stop[head]):
                equation_vector(tree, paths, w, paths.order[place])
            eliminate_vector(paths, w, head)
            hang_force(tree, w, paths.order[head])


def accelerate_outward(tree, paths, w, carries):
    """Accelerations of the paths that carry frames."""
    for head in range(tree.n_bodies - 1, -1, -1):
        if paths.start[head] == head and carries[paths.order[head]] == 1:
            start(tree, w, paths.order[head])
            substitute_path(paths, w, head)
            for place in range(head, paths.stop[head]):
                acceleration(tree, paths, w, paths.order[place])


def response_to_force(tree, paths, w, carries, body, force):
    """a <- the accelerations that `force` on one body causes."""
    for i in range(1, tree.n_bodies + 1):
        for c in range(6):
            w.b[i, c] = force[c] * 0
    for c in range(6):
        w.b[body, c] = -force[c]
    pull_inward(tree, paths, w, carries)
    accelerate_outward(tree, paths, w, carries)


def inverse_inertia_constraint_force(tree, q, out, frames, memory):
    """Λ^-1, a column for each task row."""
    bodies, placement, reference = frames
    W, K, paths, carries, w = memory
    place_bodies(tree, q, W)
    factor_paths(tree, paths, w, q)
    for f in range(bodies.size):
        task_rows(tree, bodies[f], placement, W, reference, f, K[6 * f : 6 * f + 6])
    for s in range(K.shape[0]):
        response_to_force(tree, paths, w, carries, bodies[s // 6], K[s])
        for r in range(s, K.shape[0]):
            a, power = w.a[bodies[r // 6]], K[r, 0] * 0
            for c in range(6):
                power += K[r, c] * a[c]
            out[r, s] = out[s, r] = power
    if soundness(w) != FINE:
        out[0, 0] = undefined(out[0, 0])


inverse_inertia_constraint_force_states = inverse_inertia_entry(inverse_inertia_constraint_force, scratch_for)
