"""Entries of steps with contact: the variants of `contact_step` that are compiled."""

from functools import lru_cache

from ..entries.entry import entry
from ..mimic.contact_mimic import mimic_constraint_memory
from ..mimic.mimic_entry import mimic_entry
from ..stepping.external_forces import external_memory, nothing_around, put_external
from ..stepping.step import settings_of
from .admm import admm_memory, admm_memory_of_subtree
from .collision import VARIANTS
from .components import components_memory, no_components
from .contact_kinematics import SIZE, kinematics_of
from .contact_points import POINT
from .contact_step import contact_step
from .layout import RESULT_INFO, SIZES
from .one_state import one_state_functions
from .pgs import pgs_memory, pgs_memory_of_subtree
from .step_records import StepInput, StepMethod, StepOutput
from .workspace import contact_memory

OF_SUBTREE = {pgs_memory: pgs_memory_of_subtree, admm_memory: admm_memory_of_subtree}  # without a band


def put_kinematics(tree, m, kinematics):
    """Return the memory of a step with the views of an array of `contact_kinematics`."""
    k, r = kinematics_of(tree, kinematics, m.rows.IA), m.rows
    rows = r._replace(X=k.X, W=k.W, V=k.V, V_end=k.V_end, V_start=k.V_start, V_mid=m.again.V, U=k.U, D_inv=k.D_inv)
    step = m.step._replace(tau=k.tau, diagonal=k.diagonal, resistance=k.resistance)
    return m._replace(rows=rows, mean=k.mean, end=k.end, lift=k.lift, step=step)


def kernel_of_state(functions):
    """Return the kernel of a step of one state that computes its kinematics."""

    def step_of_state(
        tree, settings, scheme, q, v, q_free, v_free, force, work_free, before, external_contacts, q_new, v_new, after,
        wrench, pairs, solver_info, work, points, m, memory, mimic_constraint,
    ):  # fmt: skip
        """Compute a step with contact."""
        x = StepInput(q, v, q_free, v_free, force, 0, work_free, before, external_contacts)
        y = StepOutput(q_new, v_new, after, wrench, pairs, solver_info, work, points)
        method = StepMethod(settings_of(tree, settings), scheme, functions, memory, mimic_constraint, False)
        contact_step(tree, x, y, m, method)

    return step_of_state


def kernel_with_forces(functions):
    """Return the kernel of a step of one state under motor forces `force` and forces `external`, (nv,) each."""

    def step_of_state(
        tree, settings, scheme, q, v, q_free, v_free, force, external, work_free, before, external_contacts, q_new,
        v_new, after, wrench, pairs, solver_info, work, points, m, memory, own,
    ):  # fmt: skip
        """Compute a step with contact under external forces."""
        put_external(tree, settings, v, force, external, own)
        x = StepInput(q, v, q_free, v_free, own.force, external, work_free, before, external_contacts)
        y = StepOutput(q_new, v_new, after, wrench, pairs, solver_info, work, points)
        method = StepMethod(settings_of(tree, own.table), scheme, functions, memory, own.mimic_constraint, False)
        contact_step(tree, x, y, m, method)

    return step_of_state


def kernel_with_kinematics(functions):
    """Return the kernel of a step of one state from the results of `contact_kinematics`, which are overwritten."""

    def step_of_state(
        tree, settings, scheme, q, v, q_free, v_free, force, work_free, before, external_contacts, kinematics, q_new,
        v_new, after, wrench, pairs, solver_info, work, points, m, memory, mimic_constraint,
    ):  # fmt: skip
        """Compute a step with contact from its kinematics."""
        x = StepInput(q, v, q_free, v_free, force, 0, work_free, before, external_contacts)
        y = StepOutput(q_new, v_new, after, wrench, pairs, solver_info, work, points)
        method = StepMethod(settings_of(tree, settings), scheme, functions, memory, mimic_constraint, False)
        contact_step(tree, x, y, put_kinematics(tree, m, kinematics), method)

    return step_of_state


@lru_cache(maxsize=16)
def contact_step_entry(solver, solver_memory, variant):
    """Return the entry of a step with contact by a solver; variant: `StepVariant`.

    Under external forces it takes the array `external`, external joint forces, after `force`; with given kinematics,
    the array `kinematics` after `external_contacts`, which is overwritten.
    """
    with_forces, mimic, with_kinematics = variant.with_forces, variant.mimic, variant.with_kinematics
    make = kernel_with_forces if with_forces else kernel_with_kinematics if with_kinematics else kernel_of_state
    components, tables = components_memory if variant.several else no_components, VARIANTS[variant.solids].tables
    solver_memory = solver_memory if variant.several else OF_SUBTREE.get(solver_memory, solver_memory)
    step, around = make(one_state_functions(solver, variant)), external_memory if with_forces else nothing_around

    def memory_for(tree, layout, geometry, rows, frames, q):
        m = contact_memory(tree, tables(layout, geometry), rows, frames, q, components)
        return m, solver_memory(m.g.size, q), around(tree, q, 0)

    def mimic_memory_for(tree, mimic_ints, mimic_reals, layout, geometry, rows, frames, q):
        m = contact_memory(tree, tables(layout, geometry), rows, frames, q, components)
        return m, solver_memory(m.g.size, q), around(tree, q, mimic_constraint_memory(tree, mimic_ints, mimic_reals, q))

    flags = [name for name, holds in variant._replace(solids="")._asdict().items() if holds]
    step.__name__ = "_".join([f"contact_step_by_{solver.__name__}", variant.solids, *flags])
    made = entry(
        step, mimic_memory_for if mimic else memory_for,
        {
            "layout": "TableOfIntegers", "geometry": "TableOfReals", "rows": "TableOfIntegers",
            "frames": "TableOfReals", "settings": "TableOfReals", "scheme": "TableOfReals",
        },
        SIZES, expands=mimic,
        q="nq", v="nv", q_free="nq", v_free="nv", force="nv'", **({"external": "nv'"} if with_forces else {}),
        work_free="2", before="R | unchecked", external_contacts="F, 9",
        **({"kinematics": f"{SIZE} | unchecked"} if with_kinematics else {}), q_new="-> nq", v_new="-> nv",
        after="-> R | unchecked",
        wrench="-> N + 1, 6", pairs="-> P, 12", solver_info=f"-> {RESULT_INFO}", work="-> 2",
        points=f"-> Q, {POINT} | unchecked",
    )  # fmt: skip
    return mimic_entry(made) if mimic else made
