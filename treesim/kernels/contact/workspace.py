"""Contact tables, and scratch memory of a step with contact."""

from typing import Any, NamedTuple

import numpy as np

from ..constrained.constraints import constraint_tables
from ..stepping.step import step_memory
from .candidates import Contacts, contacts_memory
from .components import Components, all_subtrees
from .delassus import VECTOR, Rows, padded, rows_memory
from .midpoint_correction import again_memory
from .rolling_friction import RollingMemory, rolling_memory
from .tables import Touch
from .warm_start import first_row


class ContactMemory(NamedTuple):
    """Scratch memory of a step with contact."""

    touch: Touch
    held: Any  # frames and loops of the world, whose rows are constrained
    contacts: Contacts
    components: Components  # 0 in worlds with one component
    rows: Rows
    step: Any
    # (nv,): the mean and end velocity along the axes at the start, and what impulses change of each
    mean: Any
    end: Any
    mean_change: Any
    end_change: Any
    # (M,) of rows: velocities at the start, in the mean, and at the end; impulses of both sets, those without
    # restitution and what restitution adds; sigma; g; its bias; bounds; compliance R; velocities of the step's
    # motion along them; recovery impulses
    start_rate: Any
    mean_rate: Any
    end_rate: Any
    push: Any
    impulse: Any
    inelastic: Any
    bounce: Any
    sigma: Any
    g: Any
    bias: Any
    low: Any
    high: Any
    soft: Any
    moved: Any
    recovery: Any
    # by contact, then by group with rolling friction: friction of the solve, that of the positions, negative where no
    # joint moves it, and velocity bias of restitution
    mu: Any
    settled: Any
    rebound: Any
    limit: Any  # index of the limit of a scalar row; friction follows
    active: Any  # of rows 1, and 0 on the SIMD lanes of states without them; at first of contacts
    W: Any  # (2, N + 1, 12), of the end without what corrects positions, and of the end
    lift: Any  # (nv,) dU/dq
    acting: Any  # (N + 1,) 1 for bodies on which impulses act
    corrected: Any  # (nv,) 1 for degrees of freedom that need the midpoint corrector
    factored: Any  # (1,) `problem.Problem.factored`
    again: Any
    rolling: RollingMemory
    points: Any  # (C, 17) contact points, if they are returned (`contact_points`)
    count: Any  # (1,) number of contacts of each state
    info: Any  # diagnostics of the step (`layout.StepInfo`)


def contact_memory(tree, touch, rows, frames, q, components, vector=VECTOR):
    """Contact tables, and scratch memory with the dtype of q.

    touch: contact tables. components: `components.components_memory`, or `no_components`. vector: see `delassus.Rows`.
    """
    held = constraint_tables(rows, frames)
    resisting, contacts = touch.resists * touch.component, (1 + touch.resists) * touch.component
    scalars = touch.limits + touch.frictions + touch.speeds + held.R.shape[0]
    M = padded(3 * contacts + resisting + scalars)
    dof, row, by = np.empty((6, tree.nv), q.dtype), np.empty((15, M), q.dtype), np.empty((3, contacts), q.dtype)
    few, stored = np.empty(2, q.dtype), first_row(touch) + scalars
    return ContactMemory(
        touch, held, contacts_memory(touch, q), components(touch, stored, q),
        rows_memory(tree, M, q, vector, all_subtrees(touch)),
        step_memory(tree, q), dof[0], dof[1], dof[2], dof[3], row[0], row[1], row[2], row[3], row[4], row[5], row[6],
        row[7], row[8], row[9], row[10], row[11], row[12], row[13], row[14], by[0], by[1], by[2],
        np.empty(M, np.int64), np.empty(M + touch.most, q.dtype), np.empty((2, tree.n_bodies + 1, 12), q.dtype),
        dof[4], np.empty(tree.n_bodies + 1, q.dtype), dof[5], few[0:1], again_memory(tree, q),
        rolling_memory(resisting, q), 0, few[1:2], 0,
    )  # fmt: skip
