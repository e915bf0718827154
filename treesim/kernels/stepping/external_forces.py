"""External forces in a step: wrenches on bodies as joint forces J' F, to which effort limits do not apply.

They are evaluated at the start of the step and constant during it, like the forces of controllers.
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


def put_external(tree, settings, force, external, m):
    """m.force = force + external; m.table = settings of a step that does not limit this force.

    Gains of saturated joints are set to zero, since effort limits are removed.
    """
    for k in range(settings.size):
        m.table[k] = settings[k]
    s, own = settings_of(tree, settings), settings_of(tree, m.table)
    for k in range(tree.nv):
        own.kp[k], own.kd[k] = gains(s, force, k)
        own.effort_limit[k] = UNLIMITED
        m.force[k] = force[k] + external[k]


def under_external_forces(contact_step):
    """Return the kernel of a step with contact (`contact_step.make_contact_step`) that includes external forces."""

    def pushed_step(
        tree, settings, scheme, q, v, q_free, v_free, force, external, work_free, before, external_contacts, q_new,
        v_new, after, wrench, pairs, solver_info, work, m, memory, own,
    ):  # fmt: skip
        """Compute a step with contact under motor forces `force` and forces `external`, (nv,) each."""
        put_external(tree, settings, force, external, own)
        return contact_step(
            tree, own.table, scheme, q, v, q_free, v_free, own.force, work_free, before, external_contacts, q_new,
            v_new, after, wrench, pairs, solver_info, work, m, memory, own.mimic_constraint,
        )  # fmt: skip

    return pushed_step
