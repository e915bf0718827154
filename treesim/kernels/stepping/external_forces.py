"""External forces in a step: wrenches on bodies as joint forces J' F, to which effort limits do not apply.

They are constant during a step, like the forces of controllers. Wrenches along the world's axes are those at a
configuration `lead` seconds ahead, such as the predicted midpoint, which makes them of order 2 for turning bodies.
"""

from typing import Any, NamedTuple

import numpy as np

from ..algebra.limits import UNLIMITED
from ..algebra.linear import Vector, add, matmul, rotate_back
from ..algebra.rotations import rotation
from ..algebra.spatial import Force, force_add, force_component, force_to_parent
from ..algebra.tables import force_at, matrix_at, put_force, transform_at
from ..entries.entry import entry
from ..kinematics.bodies import body_transform, place_bodies
from ..kinematics.configuration import integrate, vector_at
from .step import COLUMNS, gains, settings_of

# numbers of the wrenches on a body, about its origin: along its own axes, moment first (6), along the world's axes,
# moment first (6), and sum p f' of forces f along the world's axes at points p of it (9)
LOCAL, WORLD, AT_POINTS, WRENCHES = 0, 6, 12, 21


class ExternalMemory(NamedTuple):
    """Scratch memory of a step under external forces.

    mimic_constraint: of mimic joints (`contact_mimic`). table: settings of the step. force: sum of all joint forces,
    (nv,).
    """

    mimic_constraint: Any
    table: Any
    force: Any


def external_memory(tree, q, mimic_constraint):
    """Scratch memory for one state, with the dtype of q.

    mimic_constraint: that of a step without external forces.
    """
    return ExternalMemory(mimic_constraint, np.empty(1 + COLUMNS * tree.nv, q.dtype), np.empty(tree.nv, q.dtype))


def nothing_around(tree, q, mimic_constraint):
    """Return `mimic_constraint`; variant of `external_memory` without external forces."""
    return mimic_constraint


def joint_forces(tree, q, F, external):
    """external = J' F at q, by a backward sweep of wrenches F (N + 1, 6) on the bodies. Overwrites F.

    The wrenches are in the bodies' own axes about their origins.
    """
    for i in range(tree.n_bodies, 0, -1):
        f, p = force_at(F, i), tree.parent[i]
        for k in range(tree.v_start[i], tree.v_start[i + 1]):
            external[k] = force_component(f, tree.screw[k])
        if p > 0:
            put_force(F, p, force_add(force_at(F, p), force_to_parent(body_transform(tree, i, q), f)))


def body_wrench(W, F):
    """Return the sum of the wrenches F (21,) on a body, along its axes about its origin; W: its pose."""
    R = rotation(W)
    moment, force = rotate_back(R, vector_at(F, WORLD)), rotate_back(R, vector_at(F, WORLD + 3))
    # sum p (R' f)', of which the moments p x R' f are the skew-symmetric part
    A = matmul(matrix_at(F[AT_POINTS:WRENCHES].reshape((1, 9)), 0), R)
    turning = Vector(A.yz - A.zy, A.zx - A.xz, A.xy - A.yx)
    return force_add(Force(vector_at(F, LOCAL), vector_at(F, LOCAL + 3)), Force(add(moment, turning), force))


class WrenchMemory(NamedTuple):
    """Scratch memory of `external_joint_forces`: ahead (nv,), q (nq,), poses W and wrenches F of the bodies."""

    ahead: Any
    q: Any
    W: Any
    F: Any


def wrench_memory(tree, q):
    """Scratch memory for one state, with the dtype of q."""
    B = tree.n_bodies + 1
    W, F = np.empty((B, 12), q.dtype), np.empty((B, 6), q.dtype)
    return (WrenchMemory(np.empty(tree.nv, q.dtype), np.empty(tree.nq, q.dtype), W, F),)


def external_joint_forces(tree, lead, q, v, wrenches, external, m):
    """external = J' F of the bodies' wrenches (N, 21), at the configuration q (+) lead v; lead: a table of one time."""
    for k in range(tree.nv):
        m.ahead[k] = lead[0] * v[k]
    integrate(tree, q, m.ahead, m.q)
    place_bodies(tree, m.q, m.W)
    for i in range(1, tree.n_bodies + 1):
        put_force(m.F, i, body_wrench(transform_at(m.W, i), wrenches[i - 1]))
    joint_forces(tree, m.q, m.F, external)


external_joint_forces_states = entry(
    external_joint_forces, wrench_memory, {"lead": "TableOfReals"}, expands=True, q="nq", v="nv",
    wrenches=f"N, {WRENCHES} | unchecked", external="-> nv'",
)  # fmt: skip


def put_external(tree, settings, v, force, external, m):
    """m.force = force + external; m.table = settings of a step that does not limit this force.

    Gains are those at the velocity v of the start, see `gains`, since limits are removed. m.force is a force, also
    where the control is a target.
    """
    for k in range(m.table.size):  # without pieces of torque-speed curves
        m.table[k] = settings[k]
    s, own = settings_of(tree, settings), settings_of(tree, m.table)
    for k in range(tree.nv):
        own.kp[k], own.kd[k] = gains(s, force, v[k], k)
        own.effort_limit[k], own.driven[k], own.explicit[k] = UNLIMITED, settings[0] * 0, settings[0] * 0
        own.stall[k], own.slope[k] = settings[0] * 0, settings[0] * 0
        m.force[k] = force[k] + external[k]
