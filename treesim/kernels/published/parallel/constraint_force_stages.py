"""Stages of the constraint-force method, with any way to solve along paths; see `constraint_force`.

The work of a stage is split into motion, matrices and vectors, since Λ^-1 needs the matrices once for many vectors.
"""

import numpy as np

from ...algebra.blocks import SIX, factorize
from ...algebra.spatial import force_sub
from ...algebra.tables import force_at, put_force, put_transform, tree_tables
from ...dynamics import joint_wrenches
from ...entries.entry import DRIVEN, entry
from ...entries.status import FINE, NOT_FINITE, status_of
from ...kinematics.bodies import body_transform
from .constraint_force import (
    NUMBERS,
    acceleration,
    articulate,
    body_bias,
    equation_matrix,
    equation_vector,
    given_acceleration,
    hang_force,
    hang_inertia,
    inverse_inertia,
    joint_acceleration,
    move,
    pass_bias,
    put_nothing,
    start,
    total_joint_force,
    work_in,
)
from .heavy_paths import (
    ACCELERATIONS,
    BIASES,
    DOWN_SWEEP,
    ELIMINATION,
    EQUATIONS,
    HEADS,
    INERTIAS,
    JOINTS,
    STARTS,
    SUBSTITUTION,
    TRANSFORMS,
    UP_SWEEP,
    VELOCITIES,
    heavy_paths,
    paths_in,
    table_size,
)
from .path_velocities import append_map, down_sweep, start_map, up_sweep, velocity


def motion_at_places(tree, paths, w, s, low, high, q, v, tau, f_ext):
    """Compute stage s of transforms, velocities and biases; the share with the first place also writes row 0."""
    what, turn = paths.stages[s, 0], paths.stages[s, 1]
    if what == TRANSFORMS:
        if low == 0:
            put_nothing(tree, w)
        for place in range(low, high):
            i = paths.order[place]
            put_transform(w.X, i, body_transform(tree, i, q))
            start_map(tree, w.X, w.P, w.V, i, v)
    elif what == UP_SWEEP:
        up_sweep(paths, w, turn, low, high, append_map)
    elif what == DOWN_SWEEP:
        down_sweep(paths, w, turn, low, high, append_map)
    elif what == VELOCITIES:
        for place in range(low, high):
            velocity(tree, paths, w, place)
    elif what == BIASES:
        for place in range(low, high):
            body_bias(tree, w, paths.order[place], v, tau)
        if f_ext.shape[0] > 0:
            for place in range(low, high):
                i = paths.order[place]
                put_force(w.b, i, force_sub(force_at(w.b, i), force_at(f_ext, i - 1)))


def is_head(paths, place):
    """Return whether a path begins at a place, other than one body without inertia."""
    return paths.start[place] == place and paths.sound[paths.order[place]] == 1


def matrix_at_places(tree, paths, w, s, low, high, solver):
    """Compute the matrices of stage s: inertias, equations, their elimination, what hangs on others."""
    what, turn = paths.stages[s, 0], paths.stages[s, 1]
    if what == INERTIAS:
        for place in range(low, high):
            i = paths.order[place]
            if paths.sound[i] == 1:
                inverse_inertia(tree, paths, w, i)
            else:
                articulate(tree, paths, w, i)
    elif what == EQUATIONS:
        for place in range(low, high):
            if paths.sound[paths.order[place]] == 1:
                equation_matrix(tree, paths, w, paths.order[place])
    elif what == ELIMINATION:
        solver.eliminate_matrix(paths, w, turn, low, high)
    elif what == HEADS:
        for place in range(low, high):
            if is_head(paths, place):
                factorize(w.T[paths.order[place]], SIX)
                hang_inertia(tree, w, paths.order[place])


def vector_at_places(tree, paths, w, s, low, high, solver):
    """Compute the forces and accelerations of stage s, for given matrices."""
    what, turn = paths.stages[s, 0], paths.stages[s, 1]
    if what == INERTIAS:
        for place in range(low, high):
            i = paths.order[place]
            if paths.sound[i] == 1:
                given_acceleration(tree, paths, w, i)
            else:
                pass_bias(tree, paths, w, i)
    elif what == EQUATIONS:
        for place in range(low, high):
            if paths.sound[paths.order[place]] == 1:
                equation_vector(tree, paths, w, paths.order[place])
    elif what == ELIMINATION:
        solver.eliminate_vector(paths, w, turn, low, high)
    elif what == HEADS:
        for place in range(low, high):
            if is_head(paths, place):
                hang_force(tree, w, paths.order[place])
    elif what == STARTS:
        for place in range(low, high):
            if is_head(paths, place):
                start(tree, w, paths.order[place])
    elif what == SUBSTITUTION:
        solver.substitute(paths, w, turn, low, high)
    elif what == ACCELERATIONS:
        for place in range(low, high):
            i = paths.order[place]
            if paths.sound[i] == 1:
                acceleration(tree, paths, w, i)
            else:
                move(tree, w, i)


def work_at(tree, paths, w, s, low, high, q, v, tau, f_ext, qdd, solver):
    """Compute stage s at the places from `low` to `high`; solver: module that solves along paths."""
    motion_at_places(tree, paths, w, s, low, high, q, v, tau, f_ext)
    matrix_at_places(tree, paths, w, s, low, high, solver)
    vector_at_places(tree, paths, w, s, low, high, solver)
    if paths.stages[s, 0] == JOINTS:
        for place in range(low, high):
            joint_acceleration(tree, w, paths.order[place], qdd)


def stage(tree, paths, w, s, share, shares, q, v, tau, f_ext, qdd, solver):
    """Compute one of `shares` equal shares of stage s."""
    first, end = paths.stages[s, 2], paths.stages[s, 3]
    low, high = first + (end - first) * share // shares, first + (end - first) * (share + 1) // shares
    work_at(tree, paths, w, s, low, high, q, v, tau, f_ext, qdd, solver)


def soundness(w):
    """Return FINE, or NOT_FINITE if a body is unsound."""
    for i in range(1, w.unsound.size):
        if w.unsound[i] != 0:
            return NOT_FINITE
    return FINE


def memory_for(tree, q, solver):
    """Paths of a tree, and memory."""
    paths = paths_in(tree.n_bodies, np.empty(table_size(tree.n_bodies), np.int64))
    heavy_paths(tree, q, paths, solver)
    B = tree.n_bodies + 1
    return paths, work_in(B, np.zeros(B * (NUMBERS + solver.EXTRA), q.dtype))


def forward_dynamics(tree, q, v, tau, f_ext, qdd, paths, w, solver):
    """Forward dynamics of one state, with a given method to solve along paths; returns a status."""
    for s in range(paths.sizes[1]):
        stage(tree, paths, w, s, 0, 1, q, v, tau, f_ext, qdd, solver)
    return soundness(w)


def constraint_force_entry(kernel, scratch, name=""):
    """Return the entry of a constraint-force method, which returns a status."""
    return entry(kernel, scratch, returns_status=True, name=name, **DRIVEN, qdd="-> nv", follows="qdd")


def put_joint_wrenches(tree, paths, w, turns, wrenches):
    """Write the wrenches across all joints after forward dynamics, whose unknowns they are; overwrites u."""
    for i in range(1, tree.n_bodies + 1):
        put_force(w.u, i, total_joint_force(tree, paths, w, i))
    joint_wrenches.put_joint_wrenches(tree, turns, w.u, wrenches)


def joint_wrenches_entry(kernel, scratch, name):
    """Return the entry of the joint wrenches of a constraint-force method, which returns a status."""
    tables = {"turns": "TableOfReals"}
    return entry(kernel, scratch, tables, returns_status=True, name=name, **DRIVEN, wrenches="-> N, 6")


def prepare(ints, reals, table, solver):
    """Write the paths and stages of a tree to a table of `table_size` integers."""
    tree = tree_tables(ints, reals)
    paths = paths_in(tree.n_bodies, table)
    heavy_paths(tree, reals, paths, solver)
    return FINE


def some_stages(ints, reals, table, memory, first, last, share, shares, q, v, tau, f_ext, qdd, solver):
    """Compute one share of the stages first .. last of a single state, with the caller's paths and work memory.

    The stage after the last, when all shares are done, returns the status.
    """
    tree = tree_tables(ints, reals)
    paths, w = paths_in(tree.n_bodies, table), work_in(tree.n_bodies + 1, memory)
    forces = f_ext.reshape((f_ext.size // 6, 6))
    for s in range(first, min(last + 1, paths.sizes[1])):
        stage(tree, paths, w, s, share, shares, q, v, tau, forces, qdd, solver)
    return FINE if last < paths.sizes[1] else max(soundness(w), status_of(qdd))
