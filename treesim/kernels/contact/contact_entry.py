"""Entries of steps with contact: the variants of `contact_step` that are compiled."""

from __future__ import annotations

from functools import lru_cache

from ..entries.entry import entry
from ..mimic.contact_mimic import (
    any_tree,
    constrain_mimic_joints,
    constrain_nothing,
    mimic_constraint_memory,
    with_mimic_rotors,
)
from ..mimic.mimic_entry import mimic_entry
from ..stepping.external_forces import external_memory, nothing_around, under_external_forces
from .collision import MESHES, PLANES
from .constraint_rows import put_held
from .contact_kinematics import SIZE, kinematics_of
from .contact_points import POINT
from .contact_step import SOLVER_INFO, make_contact_step
from .layout import SIZES
from .rolling_friction import WITH_ROLLING
from .workspace import contact_memory


def with_kinematics(tree, m, kinematics):
    """Return the memory of a step with the views of an array of `contact_kinematics`."""
    k, r = kinematics_of(tree, kinematics, m.rows.IA), m.rows
    rows = r._replace(X=k.X, W=k.W, V=k.V, V_end=k.V_end, V_start=k.V_start, U=k.U, D_inv=k.D_inv)
    step = m.step._replace(tau=k.tau, diagonal=k.diagonal, resistance=k.resistance)
    return m._replace(rows=rows, mean=k.mean, end=k.end, lift=k.lift, step=step)


def from_kinematics(contact_step):
    """Return the kernel of a step with contact (`make_contact_step`) to which the kinematics are given."""

    def placed_step(
        tree, settings, scheme, q, v, q_free, v_free, force, work_free, before, external_contacts, kinematics, q_new,
        v_new, after, wrench, pairs, solver_info, work, points, m, memory, mimic_constraint,
    ):  # fmt: skip
        """Compute a step with contact from the results of `contact_kinematics`, which are overwritten."""
        return contact_step(
            tree, settings, scheme, q, v, q_free, v_free, force, work_free, before, external_contacts, q_new, v_new,
            after, wrench, pairs, solver_info, work, points, with_kinematics(tree, m, kinematics), memory,
            mimic_constraint,
        )  # fmt: skip

    return placed_step


@lru_cache(maxsize=16)
def contact_step_entry(solver, solver_memory, mimic, parts, pushed=False):
    """Return the entry of a step with contact by a solver.

    mimic: for robots with mimic joints. pushed: adds the array `external`, external joint forces, after `force`. With
    parts.placed, which goes with neither, it takes the array `kinematics` after `external_contacts`, and overwrites it.
    """
    step = make_contact_step(
        solver, *((with_mimic_rotors, constrain_mimic_joints) if mimic else (any_tree, constrain_nothing)), parts
    )
    step, around = (under_external_forces(step), external_memory) if pushed else (step, nothing_around)
    step = from_kinematics(step) if parts.placed else step

    def memory_for(tree, layout, geometry, rows, frames, q):
        m = contact_memory(tree, layout, geometry, rows, frames, q)
        return m, solver_memory(m.g.size, q), around(tree, q, 0)

    def mimic_memory_for(tree, mimic_ints, mimic_reals, layout, geometry, rows, frames, q):
        m = contact_memory(tree, layout, geometry, rows, frames, q)
        return m, solver_memory(m.g.size, q), around(tree, q, mimic_constraint_memory(tree, mimic_ints, mimic_reals, q))

    flags = {
        "over_planes": parts.solids is PLANES, "on_meshes": parts.solids is MESHES, "held": parts.put_held is put_held,
        "resists": parts.rolling is WITH_ROLLING, "again": parts.again, "mimic": mimic,
        "pushed": pushed, "placed": parts.placed,
    }  # fmt: skip
    step.__name__ = "_".join([f"contact_step_by_{solver.__name__}", *(name for name, holds in flags.items() if holds)])
    made = entry(
        step, mimic_memory_for if mimic else memory_for,
        {
            "layout": "TableOfIntegers", "geometry": "TableOfReals", "rows": "TableOfIntegers",
            "frames": "TableOfReals", "settings": "TableOfReals", "scheme": "TableOfReals",
        },
        SIZES, returns_status=True, expands=mimic,
        q="nq", v="nv", q_free="nq", v_free="nv", force="nv'", **({"external": "nv'"} if pushed else {}),
        work_free="2", before="R | unchecked", external_contacts="F, 9",
        **({"kinematics": f"{SIZE} | unchecked"} if parts.placed else {}), q_new="-> nq", v_new="-> nv",
        after="-> R | unchecked",
        wrench="-> N + 1, 6", pairs="-> P, 12", solver_info=f"-> {SOLVER_INFO}", work="-> 2",
        points=f"-> Q, {POINT} | unchecked",
    )  # fmt: skip
    return mimic_entry(made) if mimic else made
