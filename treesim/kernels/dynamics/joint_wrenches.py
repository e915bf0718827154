"""Forces across joints: the wrench f that each body's parent exerts on it (Jain 1991, f(k); RBDA eq. 5.10).

Links that are welded to a body, or to the base, are part of it in a tree. The wrench across such a weld is the sum over
the welds and bodies that it carries, in the coordinates of the body that it belongs to.
"""

from typing import Any, NamedTuple

from ..algebra.linear import cross, rotate, rotate_back, sub
from ..algebra.spatial import Motion, force_add, force_to_parent, net_force
from ..algebra.tables import (
    body_transform_at,
    central_at,
    force_at,
    matrix_at,
    motion_at,
    put_force,
    put_linear_first,
    transform_at,
)
from ..entries.entry import MOVING, entry
from ..entries.scratch import scratch_memory
from .rnea import inverse_dynamics

INERTIA, PLACEMENT = 10, 12  # numbers of a weld: its link's inertia in its body's coordinates, and the link's own pose


class Welds(NamedTuple):
    """Welds of a tree, parents first.

    count: their number W. body, parent: of each, the body that it belongs to, and the weld that carries it, -1 for
    none. carrier: of each body, the weld that carries its joint, -1 for none.
    """

    count: Any
    body: Any
    parent: Any
    carrier: Any
    inertia: Any
    placement: Any


def welds_in(weld_codes, weld_reals):
    """Return the welds of two tables: W, bodies, parents and carriers; then inertias and placements."""
    W = weld_codes[0]
    return Welds(
        W, weld_codes[1 : W + 1], weld_codes[W + 1 : 2 * W + 1], weld_codes[2 * W + 1 :],
        weld_reals[: W * INERTIA].reshape((W, INERTIA)), weld_reals[W * INERTIA :].reshape((W, PLACEMENT)),
    )  # fmt: skip


def put_joint_wrenches(tree, turns, F, wrenches):
    """Write the wrenches F on all bodies, in the axes of their own frames."""
    own = turns.reshape((tree.n_bodies + 1, 9))
    for i in range(1, tree.n_bodies + 1):
        R, f = matrix_at(own, i), force_at(F, i)
        put_linear_first(wrenches[i - 1], 0, Motion(rotate(R, f.n), rotate(R, f.f)))


def weld_wrenches(tree, welds, wrenches, X, V, A, F, G):
    """f_w = I a + v x* I v, plus the wrenches on what the weld carries; after inverse dynamics."""
    for w in range(welds.count):
        i = welds.body[w]
        put_force(G, w, net_force(central_at(welds.inertia, w), motion_at(V, i), motion_at(A, i)))
    if welds.count > 0:
        for i in range(1, tree.n_bodies + 1):
            w = welds.carrier[i - 1]
            if w >= 0:
                passed = force_to_parent(body_transform_at(tree, X, i), force_at(F, i))
                put_force(G, w, force_add(force_at(G, w), passed))
    for w in range(welds.count - 1, -1, -1):
        f, p, own = force_at(G, w), welds.parent[w], transform_at(welds.placement, w)
        if p >= 0:
            put_force(G, p, force_add(force_at(G, p), f))
        moment = rotate_back(own.R, sub(f.n, cross(own.p, f.f)))
        put_linear_first(wrenches[tree.n_bodies + w], 0, Motion(moment, rotate_back(own.R, f.f)))


def joint_wrenches(tree, q, v, a, f_ext, wrenches, turns, welds, memory):
    """f_i = I a + v x* I v - f_ext + sum of X' f_j over children: what inverse dynamics project on the joints.

    f_ext acts on the bodies' own links, not on those welded to them.
    """
    X, V, A, F, tau, G = memory
    inverse_dynamics(tree, q, v, a, f_ext, tau, X, V, A, F)
    put_joint_wrenches(tree, turns, F, wrenches)
    weld_wrenches(tree, welds, wrenches, X, V, A, F, G)


scratch_for = scratch_memory("X 12, V 6, A 6, F 6", given="weld_codes", tau="nv", G="weld_codes[0], 6")


WELDS = {"turns": "TableOfReals", "weld_codes": "TableOfIntegers", "weld_reals": "TableOfReals"}  # tables
joint_wrenches_states = entry(
    joint_wrenches, (welds_in, scratch_for), WELDS, {"W": "weld_codes[0]"},
    **MOVING, f_ext="N, 6 | none", wrenches="-> N + W, 6", expands=True, angles=True,
)  # fmt: skip
