"""The constraint-force method on main chains, side branches eliminated first by the articulated-body algorithm, O(N).

Every subtree on the base has a main chain, its heavy path. A branch passes on an inertia P and a force to the body
that it hangs on, and moves with that body afterwards.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .aba import eliminate_screw, release_screw
from .blocks import SIX, factorize
from .constraint_force import (
    NUMBERS,
    acceleration,
    body_bias,
    equation_matrix,
    equation_vector,
    given_acceleration,
    inverse_inertia,
    joint_acceleration,
    put_nothing,
    start,
    work_in,
)
from .constraint_force_stages import constraint_force_entry, soundness
from .heavy_paths import choose_heavy, keep_main, lay_out, paths_in, sound_bodies, table_size
from .kinematics import body_transform, body_velocity
from .path_elimination import EXTRA, eliminate_path_matrix, eliminate_path_vector, substitute_path
from .spatial import (
    articulated,
    articulated_add,
    articulated_apply,
    articulated_to_parent,
    force_add,
    force_sub,
    force_to_parent,
    motion_add,
    motion_to_child,
)
from .tables import (
    articulated_at,
    body_inertia,
    body_transform_at,
    force_at,
    motion_at,
    put_articulated,
    put_force,
    put_motion,
    put_transform,
)


class Branches(NamedTuple):
    """U = IA S, D^-1 and D^-1 u of the degrees of freedom, as in `aba`."""

    U: Any
    D_inv: Any
    nu: Any


def main_chains(tree, q):
    """The main chains as paths; all other bodies are paths of their own, on lower levels than what carries them."""
    paths = paths_in(tree.n_bodies, np.empty(table_size(tree.n_bodies), np.int64))
    choose_heavy(tree.parent, sound_bodies(tree, q), paths.heavy)
    keep_main(tree.parent, paths.heavy)
    lay_out(tree.parent, paths)
    return paths


def velocities(tree, w, v):
    """Velocities of all bodies, outward."""
    put_nothing(tree, w)
    for i in range(1, tree.n_bodies + 1):
        X = body_transform_at(tree, w.X, i)
        put_motion(w.V, i, body_velocity(tree, i, X, motion_at(w.V, tree.parent[i]), v))


def yield_to_branch(tree, paths, w, branches, i, tau):
    """Body i of a branch: its inertia and bias force with what hangs on it, less what joint i lets through."""
    inertia, bias = articulated(body_inertia(tree, i)), force_at(w.b, i)
    child = paths.hanging[i]
    while child > 0:
        inertia = articulated_add(inertia, articulated_at(w.hanging_inertia, child))
        bias = force_add(bias, force_at(w.hanging_force, child))
        child = paths.next_hanging[child]
    for k in range(tree.v_start[i + 1] - 1, tree.v_start[i] - 1, -1):
        U, branches.D_inv[k], branches.nu[k], inertia, bias = eliminate_screw(
            inertia, bias, tree.screw[k], tree.armature[k], tau[k]
        )
        put_force(branches.U, k, U)
    X = body_transform_at(tree, w.X, i)
    bias = force_add(bias, articulated_apply(inertia, motion_at(w.c, i)))
    put_articulated(w.hanging_inertia, i, articulated_to_parent(X, inertia))
    put_force(w.hanging_force, i, force_to_parent(X, bias))


def move_branch(tree, w, branches, i, qdd):
    """qdd = D^-1 (u - U' a'), a' = X a_λ + c, of body i of a branch."""
    a = motion_to_child(body_transform_at(tree, w.X, i), motion_at(w.a, tree.parent[i]))
    a = motion_add(a, motion_at(w.c, i))
    for k in range(tree.v_start[i], tree.v_start[i + 1]):
        qdd[k], a = release_screw(
            a, force_at(branches.U, k), branches.D_inv[k], branches.nu[k], tree.screw[k], tree.armature[k]
        )
    put_motion(w.a, i, a)


def solve_equations(tree, paths, w, head):
    """The forces across the joints of the main chain that begins at a place."""
    eliminate_path_matrix(paths, w, head)
    eliminate_path_vector(paths, w, head)
    factorize(w.T[paths.order[head]], SIX)
    start(tree, w, paths.order[head])
    substitute_path(paths, w, head)


def solve_chain(tree, paths, w, head, qdd):
    """The main chain that begins at a place: forces across its joints, then accelerations."""
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


def forward_dynamics_constraint_force_branches_first(tree, q, v, tau, f_ext, qdd, paths, w, branches):
    """qdd = FD(q, v, tau): branches inward, main chains, branches outward."""
    for i in range(1, tree.n_bodies + 1):
        put_transform(w.X, i, body_transform(tree, i, q))
    velocities(tree, w, v)
    for i in range(1, tree.n_bodies + 1):
        body_bias(tree, w, i, v, tau)
    for i in range(1, f_ext.shape[0] + 1):
        put_force(w.b, i, force_sub(force_at(w.b, i), force_at(f_ext, i - 1)))
    for place in range(tree.n_bodies):
        i = paths.order[place]
        if paths.start[place] == place:
            if tree.parent[i] > 0:
                yield_to_branch(tree, paths, w, branches, i, tau)
            else:
                solve_chain(tree, paths, w, place, qdd)
    for place in range(tree.n_bodies - 1, -1, -1):
        i = paths.order[place]
        if paths.start[place] == place and tree.parent[i] > 0:
            move_branch(tree, w, branches, i, qdd)
    return soundness(w)


def scratch_for(tree, q):
    """The chains of a tree, and memory, of the numbers in q."""
    paths, dof = main_chains(tree, q), np.empty((tree.nv, 8), q.dtype)
    branches = Branches(dof[:, 0:6], dof[:, 6], dof[:, 7])
    memory = np.zeros((tree.n_bodies + 1) * (NUMBERS + EXTRA), q.dtype)
    return paths, work_in(tree.n_bodies + 1, memory), branches


forward_dynamics_constraint_force_branches_first_states = constraint_force_entry(
    forward_dynamics_constraint_force_branches_first, scratch_for
)
