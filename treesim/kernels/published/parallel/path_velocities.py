"""Velocities and poses of all bodies in O(log N) stages: prefix sums along all paths, then level after level.

Along a path v_i = X_i v_i-1 + S qd is a composition of affine maps (X, u): v -> X v + u, and composition is
associative: (X_i, u_i) (X_j, u_j) = (X_i X_j, X_i u_j + u_i). So the map from the velocity of a path's parent to that
of each of its bodies is a prefix sum. An up-sweep and a down-sweep over distances h = 1, 2, 4 ... and back compute it
in place: 2 log2 L stages for a path of L bodies, O(L) work. Source: Blelloch 1990, without the last stages of the
up-sweep that reach no further body, as in Brent and Kung 1982.
"""

from ...algebra.rotations import GENERAL, Transform, compose, rotation
from ...algebra.spatial import motion_add, motion_to_child
from ...algebra.tables import body_transform_at, motion_at, put_motion, put_transform, transform_at
from ...kinematics.bodies import add_joint_velocity, zero_motion


def start_transform(tree, X, P, i):
    """Initialize P of body i by its own transform."""
    Xi = body_transform_at(tree, X, i)
    put_transform(P, i, Transform(GENERAL, rotation(Xi), Xi.p))


def start_map(tree, X, P, V, i, v):
    """Initialize (P, u) of body i by its own transform and S qd; u is in row i of V."""
    start_transform(tree, X, P, i)
    put_motion(V, i, add_joint_velocity(tree, i, zero_motion(tree), v))


def append_transform(P, V, i, j):
    """P_i <- P_i P_j, for a sequence of bodies that ends with j, followed by one that ends with i; V is not used."""
    put_transform(P, i, compose(transform_at(P, j), transform_at(P, i)))


def append_map(P, V, i, j):
    """(P_i, u_i) <- (P_i, u_i) (P_j, u_j), as `append_transform`."""
    put_motion(V, i, motion_add(motion_to_child(transform_at(P, i), motion_at(V, j)), motion_at(V, i)))
    append_transform(P, V, i, j)


def sweep(paths, w, h, rest, first, low, high, append):
    """Call `append` for selected bodies between two places and the bodies h places before them.

    Selected are those whose number n on their path, from 1, satisfies n >= first and n mod 2 h = rest.
    """
    place = low
    while place < high:
        number = place - paths.start[place] + 1
        missing = (rest - number) & (2 * h - 1)
        if missing == 0 and number >= first:
            append(w.P, w.V, paths.order[place], paths.order[place - h])
        place = min(place + (2 * h if missing == 0 else missing), paths.stop[place])


def up_sweep(paths, w, turn, low, high, append):
    """Compute maps of sequences of 2 h bodies, h = 2^turn, from two of half the length each."""
    h = 1 << turn
    sweep(paths, w, h, 0, 2 * h, low, high, append)


def down_sweep(paths, w, turn, low, high, append):
    """Compute maps from the path's parent for the bodies h = 2^turn after one whose map is known."""
    h = 1 << turn
    sweep(paths, w, h, h, 3 * h, low, high, append)


def velocity(tree, paths, w, place):
    """v_i = P_i v_parent + u_i, with the parent of the path that contains this place."""
    i, head = paths.order[place], paths.order[paths.start[place]]
    carried = motion_to_child(transform_at(w.P, i), motion_at(w.V, tree.parent[head]))
    put_motion(w.V, i, motion_add(carried, motion_at(w.V, i)))


def placement(tree, paths, w, place):
    """P_i <- W_i = W_parent P_i, the world pose, with the parent of the path that contains this place."""
    i, head = paths.order[place], paths.order[paths.start[place]]
    put_transform(w.P, i, compose(transform_at(w.P, tree.parent[head]), transform_at(w.P, i)))
