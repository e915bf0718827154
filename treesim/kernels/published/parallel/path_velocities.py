"""Velocities and placements of all bodies in O(log N) stages: prefix sums along all paths, then level after level.

Along a path v_i = X_i v_i-1 + S qd is a composition of affine maps (X, u): v -> X v + u, and composition is
associative: (X_i, u_i) (X_j, u_j) = (X_i X_j, X_i u_j + u_i). So the map from the velocity of a path's parent to that
of each of its bodies is a prefix sum, which an up-sweep and a down-sweep over distances h = 1, 2, 4 ... and back find
in place: 2 log2 L stages for a path of L bodies, O(L) work. Source: Blelloch 1990, with the last stages of the
up-sweep left out that reach no further body, as in Brent and Kung 1982.
"""

from __future__ import annotations

from ...algebra.rotations import GENERAL, Transform, compose, rotation
from ...algebra.spatial import motion_add, motion_to_child
from ...algebra.tables import body_transform_at, motion_at, put_motion, put_transform, transform_at
from ...kinematics.bodies import add_joint_velocity, zero_motion


def start_transform(tree, X, P, i):
    """P of body i alone: its transform."""
    Xi = body_transform_at(tree, X, i)
    put_transform(P, i, Transform(GENERAL, rotation(Xi), Xi.p))


def start_map(tree, X, P, V, i, v):
    """(P, u) of body i alone, u in row i of V: its transform, and S qd."""
    start_transform(tree, X, P, i)
    put_motion(V, i, add_joint_velocity(tree, i, zero_motion(tree), v))


def append_transform(P, V, i, j):
    """P_i <- P_i P_j: the run of bodies that ends with j, then the one that ends with i; V is left alone."""
    put_transform(P, i, compose(transform_at(P, j), transform_at(P, i)))


def append_map(P, V, i, j):
    """(P_i, u_i) <- (P_i, u_i) (P_j, u_j), likewise."""
    put_motion(V, i, motion_add(motion_to_child(transform_at(P, i), motion_at(V, j)), motion_at(V, i)))
    append_transform(P, V, i, j)


def sweep(paths, w, h, rest, first, low, high, append):
    """`append` the run of bodies that ends h before, for the bodies between two places whose number on their path, from
    1, is `first` or more and leaves `rest` when divided by 2 h."""
    place = low
    while place < high:
        number = place - paths.start[place] + 1
        missing = (rest - number) & (2 * h - 1)
        if missing == 0 and number >= first:
            append(w.P, w.V, paths.order[place], paths.order[place - h])
        place = min(place + (2 * h if missing == 0 else missing), paths.stop[place])


def up_sweep(paths, w, turn, low, high, append):
    """Maps of runs of 2 h bodies, h = 2^turn, from two of half the length each."""
    h = 1 << turn
    sweep(paths, w, h, 0, 2 * h, low, high, append)


def down_sweep(paths, w, turn, low, high, append):
    """Maps from the path's parent, for the bodies h = 2^turn after one that has its own."""
    h = 1 << turn
    sweep(paths, w, h, h, 3 * h, low, high, append)


def velocity(tree, paths, w, place):
    """v_i = P_i v_parent + u_i, of the parent of the path that holds this place."""
    i, head = paths.order[place], paths.order[paths.start[place]]
    carried = motion_to_child(transform_at(w.P, i), motion_at(w.V, tree.parent[head]))
    put_motion(w.V, i, motion_add(carried, motion_at(w.V, i)))


def placement(tree, paths, w, place):
    """W_i = W_parent P_i in the world, in the place of P_i, of the parent of the path that holds this place."""
    i, head = paths.order[place], paths.order[paths.start[place]]
    put_transform(w.P, i, compose(transform_at(w.P, tree.parent[head]), transform_at(w.P, i)))
