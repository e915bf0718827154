"""Kinematics of a step with contact: what its rows need of the bodies, whatever contacts there are.

Nothing of it depends on which rows act. So engines write it as straight-line code for one robot, and the contact solve,
whose branches and loops depend on contacts, starts from its results.
"""

from typing import Any, NamedTuple

import numpy as np

from ..algebra.tables import with_armature
from ..entries.entry import entry, unfused
from ..kinematics.configuration import retrace
from ..stepping.step import COLUMNS, resist, settings_of, step_memory
from .delassus import articulate, move_bodies, place
from .work import put_lift


class ContactKinematics(NamedTuple):
    """Views of one array of numbers, and scratch memory IA.

    X, W (N + 1, 12): transforms from the parents, and poses, at the start of the step. V, V_end, V_start (N + 1, 6):
    the bodies' velocities in the unconstrained mean and end, and at the start. U (nv, 6), D_inv (nv,): articulated
    quantities of M + D. mean, end (nv,): unconstrained velocities in the axes at the start. lift (nv,): dU/dq. tau,
    diagonal, resistance (nv,): those of `step.StepMemory`. IA (N + 1, 21): articulated inertias.
    """

    X: Any
    W: Any
    V: Any
    V_end: Any
    V_start: Any
    U: Any
    D_inv: Any
    mean: Any
    end: Any
    lift: Any
    tau: Any
    diagonal: Any
    resistance: Any
    IA: Any


SIZE = "42 * (N + 1) + 13 * nv"  # numbers of the array, of N bodies and nv degrees of freedom


def kinematics_size(N, nv):
    """Return SIZE as a number."""
    return 42 * (N + 1) + 13 * nv


def kinematics_of(tree, x, IA):
    """Return the views of an array of SIZE numbers."""
    rows, nv = tree.n_bodies + 1, tree.nv
    k = 42 * rows
    return ContactKinematics(
        x[0 : 12 * rows].reshape((rows, 12)), x[12 * rows : 24 * rows].reshape((rows, 12)),
        x[24 * rows : 30 * rows].reshape((rows, 6)), x[30 * rows : 36 * rows].reshape((rows, 6)),
        x[36 * rows : k].reshape((rows, 6)),
        x[k : k + 6 * nv].reshape((nv, 6)), x[k + 6 * nv : k + 7 * nv], x[k + 7 * nv : k + 8 * nv],
        x[k + 8 * nv : k + 9 * nv], x[k + 9 * nv : k + 10 * nv], x[k + 10 * nv : k + 11 * nv],
        x[k + 11 * nv : k + 12 * nv], x[k + 12 * nv : k + 13 * nv], IA,
    )  # fmt: skip


def contact_kinematics(tree, settings, q, v, q_free, v_free, force, kinematics, step, IA, F):
    """Compute the kinematics of an unconstrained step from (q, v) to (q_free, v_free) under the controls `force`."""
    s, k = settings_of(tree, settings), kinematics_of(tree, kinematics, IA)
    retrace(tree, q, q_free, v_free, s.dt, k.mean, k.end)
    place(tree, q, k)
    move_bodies(tree, k, k.mean)
    move_bodies(tree, k._replace(V=k.V_end), k.end)
    move_bodies(tree, k._replace(V=k.V_start), v)
    m = step._replace(tau=k.tau, diagonal=k.diagonal, resistance=k.resistance)
    resist(tree, s, q, v, force, s.dt / 2, m)  # m.tau is for the midpoint corrector only
    articulate(with_armature(tree, k.diagonal), k)
    put_lift(tree, k, F, k.lift)


def scratch_for(tree, q):
    """Scratch memory for one state, with the dtype of q."""
    B = tree.n_bodies + 1
    return step_memory(tree, q), np.empty((B, 21), q.dtype), np.empty((B, 6), q.dtype)


contact_kinematics_states = unfused(entry(
    contact_kinematics, scratch_for, q="nq", v="nv", q_free="nq", v_free="nv", force="nv'",
    settings=f"1 + {COLUMNS} * nv", kinematics=f"-> {SIZE} | unchecked",
))  # fmt: skip
