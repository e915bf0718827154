"""Shared part of compiled methods of constrained forward dynamics: memory, and the response to constraint forces."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..algebra.rotations import compose
from ..algebra.spatial import force_add, force_component, force_scale, force_sub, force_to_parent
from ..algebra.tables import body_transform_at, force_at, put_force, put_transform, transform_at
from ..dynamics.aba import accelerate_outward, start_outward
from ..dynamics.rjk import zero_force
from ..entries.entry import entry
from ..mimic.mimic_entry import mimic_entry
from .constrained_mimic import mimic_constraint_memory, no_mimic_constraint
from .constraints import (
    CONSTRAINTS,
    ROWS,
    add_row_forces,
    constraint_rows,
    constraint_tables,
    offset_targets,
    row_accelerations,
)


def propagate_forces(tree, X, U, D_inv, F, nu):
    """Backward sweep: adds the response nu to body forces F. Overwrites F."""
    for i in range(tree.n_bodies, 0, -1):
        f = force_at(F, i)
        for k in range(tree.v_start[i + 1] - 1, tree.v_start[i] - 1, -1):
            share = force_component(f, tree.screw[k]) * D_inv[k]
            nu[k] += share
            f = force_sub(f, force_scale(force_at(U, k), share))
        p = tree.parent[i]
        if p > 0:
            put_force(F, p, force_add(force_at(F, p), force_to_parent(body_transform_at(tree, X, i), f)))


class Scratch(NamedTuple):
    """Scratch memory of constrained dynamics.

    By body: transforms, poses, velocities, velocity products, accelerations, articulated inertias, bias forces and
    constraint forces. By degree of freedom: U, D^-1, nu. By row: A, bias, required and found accelerations.
    mimic_constraint: functions and memory for mimic joints.
    """

    X: Any
    W: Any
    V: Any
    C: Any
    acceleration: Any
    IA: Any
    pA: Any
    F: Any
    U: Any
    D_inv: Any
    nu: Any
    A: Any
    bias: Any
    wanted: Any
    found: Any
    mimic_constraint: Any


def scratch_for(tree, task, q, mimic_constraint):
    """Scratch memory for a tree and constraints, with the dtype of q.

    mimic_constraint: functions and memory for mimic joints.
    """
    m = task.R.shape[0]
    body, dof = np.empty((tree.n_bodies + 1, 75), q.dtype), np.empty((tree.nv, 8), q.dtype)
    row = np.empty((3, m), q.dtype)
    return Scratch(
        body[:, 0:12], body[:, 12:24], body[:, 24:30], body[:, 30:36], body[:, 36:42], body[:, 42:63], body[:, 63:69],
        body[:, 69:75], dof[:, 0:6], dof[:, 6], dof[:, 7], np.empty((2, m, 6), q.dtype), row[0], row[1], row[2],
        mimic_constraint,
    )  # fmt: skip


def prepare(tree, task, q, v, f_ext, alpha, scratch):
    """Compute the bodies' own inertias and bias forces (see `aba`), and rows, bias and targets of the constraints."""
    X, W, V, C, _, IA, pA, _, _, _, _, A, bias, wanted, _, _ = scratch
    start_outward(tree, q, v, f_ext, X, V, C, IA, pA)
    put_transform(W, 0, transform_at(tree.placement, 0))
    for i in range(1, tree.n_bodies + 1):
        put_transform(W, i, compose(transform_at(W, tree.parent[i]), body_transform_at(tree, X, i)))
    constraint_rows(task, W, V, A, bias)
    offset_targets(tree, task, W, A, bias, alpha, wanted)


def apply_multipliers(tree, task, scratch, f, qdd):
    """Compute qdd and the bodies' accelerations, with constraint forces f added to those already included in nu."""
    X, _, _, C, acceleration, _, _, F, U, D_inv, nu, A, _, _, _, mimic_constraint = scratch
    for i in range(tree.n_bodies + 1):
        put_force(F, i, zero_force(tree))
    add_row_forces(task, A, f, F)
    propagate_forces(tree, X, U, D_inv, F, nu)
    accelerate_outward(tree, X, C, U, D_inv, nu, qdd, acceleration)
    mimic_constraint.hold(tree, mimic_constraint, qdd)
    mimic_constraint.move(tree, mimic_constraint, acceleration)


def find_residual(task, A, acceleration, wanted, residual):
    """residual = wanted - A a."""
    row_accelerations(task, A, acceleration, residual)
    for r in range(residual.size):
        residual[r] = wanted[r] - residual[r]


def memory_for(tree, layout, geometry, q):
    """Constraints, and scratch memory with the dtype of q."""
    task = constraint_tables(layout, geometry)
    return task, scratch_for(tree, task, q, no_mimic_constraint())


def mimic_memory_for(tree, mimic_ints, mimic_reals, layout, geometry, q):
    """Constraints, and scratch memory with the dtype of q, for a robot with mimic joints."""
    task = constraint_tables(layout, geometry)
    return task, scratch_for(tree, task, q, mimic_constraint_memory(tree, mimic_ints, mimic_reals, task.R.shape[0], q))


def constrained_dynamics_entry(kernel):
    """Return the entry of a method of constrained dynamics; target: required derivatives of the rows (m,)."""
    return _made(kernel, memory_for, mimic=False)


def mimic_constrained_dynamics_entry(kernel):
    """Return the entry of a method of constrained dynamics for robots with mimic joints."""
    return mimic_entry(_made(kernel, mimic_memory_for, mimic=True))


def _made(kernel, memory, mimic):
    return entry(
        kernel,
        memory,
        {**CONSTRAINTS, "settings": "Reals"},
        ROWS,
        expands=mimic,
        name=kernel.__name__ + "_mimic" * mimic,
        q="nq",
        v="nv",
        tau="nv'",
        f_ext="N, 6 | none",
        target="m",
        qdd="-> nv",
        force="-> m",
        residual="-> m",
        iterations="-> 1",
    )
