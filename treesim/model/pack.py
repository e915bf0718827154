"""Conversion of a tree to the flat tables that kernels read, in frames where a joint's screws are unit vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..kernels.algebra.joints import FLOATING, REVOLUTE, SPHERICAL
from ..kernels.algebra.rotations import GENERAL, TURN, TURN_CYCLED, TURN_CYCLED_BACK
from .frozen import frozen
from .matrices import IDENTITY, product

if TYPE_CHECKING:
    from .tree import Tree

CYCLE = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])  # x -> y -> z -> x


def axis_rotation(axis: np.ndarray) -> np.ndarray:
    """Return a rotation that takes z to the unit vector `axis`.

    It is a cyclic permutation of axes if `axis` is x, y or z, so that transforms between such joints stay cheap.
    Otherwise it is the smallest rotation.
    """
    x, y, z = axis.tolist()
    for cycled in (CYCLE, CYCLE.T):
        if (x, y, z) == tuple(cycled[:, 2].tolist()):
            return cycled
    across = x * x + y * y
    if z < 0 and across < 1e-300:  # opposite to z: half a turn about x
        return np.diag([1.0, -1.0, -1.0])
    k = 1 / (1 + z) if z >= 0 else (1 - z) / across  # equal; each form where it does not cancel
    return np.array([[1 - k * x * x, -k * x * y, x], [-k * x * y, 1 - k * y * y, y], [-x, -y, 1 - k * (x * x + y * y)]])


def _rotation_kind(code: int, fixed: np.ndarray) -> int:
    """Return the kind of rotation (see kernels.algebra.rotations) of a joint whose placement has rotation `fixed`."""
    if code == REVOLUTE:
        for kind, renaming in ((TURN, IDENTITY), (TURN_CYCLED, CYCLE), (TURN_CYCLED_BACK, CYCLE.T)):
            if fixed.tolist() == renaming.tolist():
                return kind
    return GENERAL


def pack(tree: Tree) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the flat integer and real tables that kernels read, and the (N+1, 3, 3) rotations of kernel frames.

    In kernels every body's frame is rotated so that its joint's axis is z. Then a joint's screws are unit vectors, and
    I S is a column of the inertia. Rotation i maps kernel coordinates of body i to the body's own. All three arrays are
    read-only. Their order is that of `treesim.kernels.algebra.tables.tree_tables`. O(N + n).
    """
    turns, placement, inertia = _body_tables(tree)
    reals = np.concatenate([placement.ravel(), inertia.ravel(), tree.armature, tree.gravity])
    return frozen(_integer_table(tree, placement), np.int64), frozen(reals), frozen(turns)


def _body_tables(tree: Tree) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the rotations of kernel frames, and placements (N+1, 12) and inertias (N+1, 10) in these frames."""
    N = tree.n_bodies
    turns = np.broadcast_to(np.eye(3), (N + 1, 3, 3)).copy()
    placement = np.zeros((N + 1, 12))
    inertia = np.zeros((N + 1, 10))
    placement[0, [0, 4, 8]] = 1.0
    if not N:
        return turns, placement, inertia
    for i, body in enumerate(tree.bodies, start=1):
        if body.joint.kind.has_axis:
            turns[i] = axis_rotation(np.asarray(body.joint.axis))
    back, parent_back = turns[1:].transpose(0, 2, 1), turns[tree.topology.parent].transpose(0, 2, 1)
    places, inertias = [body.joint.placement for body in tree.bodies], [body.inertia for body in tree.bodies]
    rotations = product(parent_back, np.array([place.rotation for place in places]))
    placement[1:, :9] = product(rotations, turns[1:]).reshape(N, 9)
    placement[1:, 9:] = product(parent_back, np.array([place.translation for place in places])[..., None])[..., 0]
    S = product(product(back, np.array([own.rotational for own in inertias])), turns[1:])
    inertia[1:, :6] = S[:, (0, 1, 2, 0, 0, 1), (0, 1, 2, 1, 2, 2)]
    inertia[1:, 6:9] = product(back, np.array([own.com for own in inertias])[..., None])[..., 0]
    inertia[1:, 9] = [own.mass for own in inertias]
    return turns, placement, inertia


def _integer_table(tree: Tree, placement: np.ndarray) -> np.ndarray:
    """Return sizes, connectivity, joint types and start indices, in the order that `tree_tables` reads."""
    topology, kinds = tree.topology, [body.joint.kind for body in tree.bodies]
    rotations = [
        _rotation_kind(kind.code, row[:9].reshape(3, 3)) for kind, row in zip(kinds, placement[1:], strict=True)
    ]
    depth = topology.dof_depth - 1
    row_start = np.cumsum(np.concatenate([[0], depth + 1]))
    return np.concatenate([
        [tree.n_bodies, tree.nq, tree.nv, row_start[-1], sum(kind.code in (SPHERICAL, FLOATING) for kind in kinds)],
        [0], topology.parent,
        [-1], [kind.code for kind in kinds],
        [GENERAL], rotations,
        [0], np.cumsum([0] + [kind.nq for kind in kinds])[:-1],
        np.cumsum([0, 0] + [kind.nv for kind in kinds]),
        np.array(topology.last_dof) - 1,
        [screw for kind in kinds for screw in kind.screws],
        topology.dof_parent - 1,
        depth,
        row_start[:-1],
    ])  # fmt: skip
