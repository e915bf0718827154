"""External forces in a step: wrenches on bodies as forces of the joints, J' F, which no effort limit bounds.

They are taken at the start of the step, and stay what they are through it, as the forces of controllers do.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..algebra.limits import UNLIMITED
from ..algebra.spatial import force_add, force_component, force_to_parent
from ..algebra.tables import force_at, put_force
from ..kinematics.bodies import body_transform
from .step import COLUMNS, gains, settings_of


class ExternalMemory(NamedTuple):
    """Scratch memory of a step under external forces: what holds mimic joints in it (`contact_mimic`), its table of
    settings, and the forces of all joints, (nv,)."""

    mimic_constraint: Any
    table: Any
    force: Any


def external_memory(tree, q, mimic_constraint):
    """Scratch memory for one state, of the numbers in q, around the memory of a step without external forces."""
    return ExternalMemory(mimic_constraint, np.empty(1 + COLUMNS * tree.nv, q.dtype), np.empty(tree.nv, q.dtype))


def nothing_around(tree, q, mimic_constraint):
    """The memory as it is, of a step without external forces."""
    return mimic_constraint


def joint_forces(tree, q, F, external):
    """external = J' F at q of wrenches F (N + 1, 6) on the bodies, in their own axes about their origins: one sweep to
    the base. F is used up."""
    for i in range(tree.n_bodies, 0, -1):
        f, p = force_at(F, i), tree.parent[i]
        for k in range(tree.v_start[i], tree.v_start[i + 1]):
            external[k] = force_component(f, tree.screw[k])
        if p > 0:
            put_force(F, p, force_add(force_at(F, p), force_to_parent(body_transform(tree, i, q), f)))


def put_external(tree, settings, force, external, m):
    """m.force = force + external, and m.table = the settings under which a step takes it whole: gains of joints whose
    motor is saturated are left out, and no effort is limited any more."""
    for k in range(settings.size):
        m.table[k] = settings[k]
    s, own = settings_of(tree, settings), settings_of(tree, m.table)
    for k in range(tree.nv):
        own.kp[k], own.kd[k] = gains(s, force, k)
        own.effort[k] = UNLIMITED
        m.force[k] = force[k] + external[k]


def under_external_forces(contact_step):
    """The kernel of a step with contact (`contact_step.make_contact_step`) under external forces too."""

    def pushed_step(
        tree, settings, scheme, q, v, q_free, v_free, force, external, work_free, before, external_contacts, q_new,
        v_new, after, wrench, pairs, solver_info, work, m, memory, own,
    ):  # fmt: skip
        """The same after a free step of motors with `force`, and of `external` beside it, (nv,) each."""
        put_external(tree, settings, force, external, own)
        return contact_step(
            tree, own.table, scheme, q, v, q_free, v_free, own.force, work_free, before, external_contacts, q_new,
            v_new, after, wrench, pairs, solver_info, work, m, memory, own.mimic_constraint,
        )  # fmt: skip

    return pushed_step
