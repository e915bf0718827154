"""Constraint-force method on main chains; side branches are eliminated first by the articulated-body algorithm, O(N).

Every subtree on the base has a main chain, its heavy path. A branch adds an inertia P and a force to the body that it
hangs on, and moves with that body afterwards.
"""

import numpy as np

from ...algebra.blocks import SIX, factorize
from ...algebra.spatial import force_sub
from ...algebra.tables import force_at, motion_at, put_force, put_motion, put_transform
from ...kinematics.bodies import body_transform, body_velocity
from .constraint_force import (
    NUMBERS,
    acceleration,
    articulate,
    body_bias,
    equation_matrix,
    equation_vector,
    given_acceleration,
    inverse_inertia,
    joint_acceleration,
    move,
    pass_bias,
    put_nothing,
    start,
    work_in,
)
from .constraint_force_stages import constraint_force_entry, soundness
from .heavy_paths import choose_heavy, find_sound, keep_main, lay_out, paths_in, table_size
from .path_elimination import EXTRA, eliminate_path_matrix, eliminate_path_vector, substitute_path


def main_chains(tree, q):
    """Return the main chains as paths; all other bodies are paths of their own, on lower levels than their carriers."""
    paths = paths_in(tree.n_bodies, np.empty(table_size(tree.n_bodies), np.int64))
    find_sound(tree, q, paths.sound)
    choose_heavy(tree.parent, paths.sound, paths.heavy)
    keep_main(tree.parent, paths.heavy)
    lay_out(tree.parent, paths)
    return paths


def move_bodies(tree, w, q, v, tau, f_ext):
    """Forward sweep: transforms, velocities and forces of all bodies."""
    put_nothing(tree, w)
    for i in range(1, tree.n_bodies + 1):
        X = body_transform(tree, i, q)
        put_transform(w.X, i, X)
        put_motion(w.V, i, body_velocity(tree, i, X, motion_at(w.V, tree.parent[i]), v))
        body_bias(tree, w, i, v, tau)
    for i in range(1, f_ext.shape[0] + 1):
        put_force(w.b, i, force_sub(force_at(w.b, i), force_at(f_ext, i - 1)))


def is_branch(tree, paths, i):
    """Return whether body i is eliminated as an articulated body: on a branch, or without inertia of its own."""
    return tree.parent[i] > 0 or paths.sound[i] == 0


def yield_to_branch(tree, paths, w, i):
    """Eliminate joint i of a branch: reduce inertia and bias force of body i to its parent."""
    articulate(tree, paths, w, i)
    pass_bias(tree, paths, w, i)


def move_branch(tree, w, i, qdd):
    """Compute the accelerations of joint and body i of a branch."""
    move(tree, w, i)
    for k in range(tree.v_start[i], tree.v_start[i + 1]):
        qdd[k] = w.Z[i, 2, tree.screw[k]]


def solve_equations(tree, paths, w, head):
    """Solve for the forces across the joints of the main chain that begins at place `head`."""
    eliminate_path_matrix(paths, w, head)
    eliminate_path_vector(paths, w, head)
    factorize(w.T[paths.order[head]], SIX)
    start(tree, w, paths.order[head])
    substitute_path(paths, w, head)


def solve_chain(tree, paths, w, head, qdd):
    """Solve the main chain that begins at place `head`: forces across its joints, then accelerations."""
    for place in range(head, paths.stop[head]):
        inverse_inertia(tree, paths, w, paths.order[place])
        given_acceleration(tree, paths, w, paths.order[place])
    for place in range(head, paths.stop[head]):
        equation_matrix(tree, paths, w, paths.order[place])
        equation_vector(tree, paths, w, paths.order[place])
    solve_equations(tree, paths, w, head)
    for place in range(head, paths.stop[head]):
        acceleration(tree, paths, w, paths.order[place])
        joint_acceleration(tree, w, paths.order[place], qdd)


def forward_dynamics_constraint_force_branches_first(tree, q, v, tau, f_ext, qdd, paths, w):
    """qdd = FD(q, v, tau): branches inward, main chains, branches outward."""
    move_bodies(tree, w, q, v, tau, f_ext)
    for place in range(tree.n_bodies):
        i = paths.order[place]
        if paths.start[place] == place:
            if is_branch(tree, paths, i):
                yield_to_branch(tree, paths, w, i)
            else:
                solve_chain(tree, paths, w, place, qdd)
    for place in range(tree.n_bodies - 1, -1, -1):
        i = paths.order[place]
        if paths.start[place] == place and is_branch(tree, paths, i):
            move_branch(tree, w, i, qdd)
    return soundness(w)


def scratch_for(tree, q):
    """Chains of a tree, and scratch memory, with the dtype of q."""
    memory = np.zeros((tree.n_bodies + 1) * (NUMBERS + EXTRA), q.dtype)
    return main_chains(tree, q), work_in(tree.n_bodies + 1, memory)


forward_dynamics_constraint_force_branches_first_states = constraint_force_entry(
    forward_dynamics_constraint_force_branches_first, scratch_for
)
