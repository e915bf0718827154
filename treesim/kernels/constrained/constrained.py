"""Shared part of compiled methods of constrained forward dynamics: memory, and the response to constraint forces."""

from ..algebra.rotations import compose
from ..algebra.spatial import force_add, force_component, force_scale, force_sub, force_to_parent
from ..algebra.tables import body_transform_at, force_at, put_force, put_transform, transform_at
from ..dynamics.aba import accelerate_outward, start_outward
from ..dynamics.rjk import zero_force
from ..entries.entry import DRIVEN, entry
from ..entries.scratch import scratch_memory
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


# By body: transforms, poses, velocities, velocity products, accelerations, articulated inertias, bias forces and
# constraint forces. By degree of freedom: U, D^-1, nu. By row: A, bias, required and found accelerations.
scratch_for = scratch_memory(
    "X 12, W 12, V 6, C 6, acceleration 6, IA 21, pA 6, F 6", "U 6, D_inv, nu", given="layout",
    A=f"2, {ROWS['m']}, 6", bias=ROWS["m"], wanted=ROWS["m"], found=ROWS["m"],
)  # fmt: skip


def prepare(tree, task, q, v, f_ext, alpha, scratch):
    """Compute the bodies' own inertias and bias forces (see `aba`), and rows, bias and targets of the constraints."""
    X, W, V, C, _, IA, pA, _, _, _, _, A, bias, wanted, _ = scratch
    start_outward(tree, q, v, f_ext, X, V, C, IA, pA)
    put_transform(W, 0, transform_at(tree.placement, 0))
    for i in range(1, tree.n_bodies + 1):
        put_transform(W, i, compose(transform_at(W, tree.parent[i]), body_transform_at(tree, X, i)))
    constraint_rows(task, W, V, A, bias)
    offset_targets(tree, task, W, A, bias, alpha, wanted)


def apply_multipliers(tree, task, mimic_constraint, scratch, f, qdd):
    """Compute qdd and the bodies' accelerations, with constraint forces f added to those already included in nu."""
    X, _, _, C, acceleration, _, _, F, U, D_inv, nu, A, _, _, _ = scratch
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


def constrained_dynamics_entries(method, name):
    """Return the entries of a method of constrained dynamics: without mimic joints, and with them.

    method: computes one state for target, the required derivatives of the rows (m,), and returns its iterations.
    """

    def constrained_dynamics(
        tree, settings, q, v, tau, f_ext, target, qdd, force, residual, iterations, task, mimic_constraint, memory
    ):
        with_rotors = mimic_constraint.with_rotors(tree, mimic_constraint)
        iterations[0] = method(
            with_rotors, task, mimic_constraint, q, v, tau, f_ext, target, memory, settings, qdd, force, residual
        )

    constrained_dynamics.__name__, constrained_dynamics.__doc__ = f"constrained_dynamics_{name}", method.__doc__
    with_mimic_joints = _made(constrained_dynamics, mimic_constraint_memory, mimic=True)
    return _made(constrained_dynamics, no_mimic_constraint, mimic=False), mimic_entry(with_mimic_joints)


def _made(kernel, mimic_constraint, mimic):
    return entry(
        kernel, (constraint_tables, mimic_constraint, scratch_for), {**CONSTRAINTS, "settings": "Reals"}, ROWS,
        expands=mimic, name=kernel.__name__ + "_mimic" * mimic,
        **DRIVEN, target="m", qdd="-> nv", force="-> m", residual="-> m", iterations="-> 1",
    )  # fmt: skip
