"""Entries of one time step by an integrator, with the inputs and results that are requested."""

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..algebra.numbers import less, select
from ..constrained.constraints import ROWS, row_count
from ..constrained.rows import WORLD, mimic_world_tables, plain_world_tables, row_memory
from ..entries.entry import entry, is_mimic_entry
from ..mimic.mimic_entry import mimic_entry
from .external_forces import external_memory, put_external
from .step import actuate, label, mark_failure, settings_of, step_memory

# results besides the state, with their shapes; those that are not requested go to scratch memory
RESULTS = {"force": "nv'", "work": "2", "impulses": "m", "residual": "m"}


class Extra(NamedTuple):
    """Further result of a step, computed at its end.

    shape: of one state. compute(tree, settings, q, v, before, q_new, v_new, force, result, m, room): its kernel, with
    the result `before` of the previous step if it is carried, and the step's memory m. memory: function that allocates
    `room`. tables: further tables of the entry, as pairs of name and kind.
    """

    shape: str
    compute: Any
    memory: Any
    tables: tuple[tuple[str, str], ...] = ()


def nothing(tree):
    """Stand for an array or memory that a step does not need."""
    return 0


def force_memory(tree, q):
    """Memory for a force, with the dtype of q."""
    return np.empty(tree.nv, q.dtype)


def work_memory(tree, q):
    """Memory for the work of a step, with the dtype of q."""
    return np.empty(2, q.dtype)


def impulse_memory(layout, q):
    """Memory for a number of each constrained row, with the dtype of q."""
    return np.empty(row_count(layout), q.dtype)


def own_memory(tree, q):
    """Memory of a step under external forces, with the dtype of q."""
    return external_memory(tree, q, 0)


def rows_for(tree, layout, geometry, closure, q):
    """Scratch memory for the rows of a world, with the dtype of q."""
    return row_memory(tree, plain_world_tables(layout, geometry, closure), q)


def actuated(tree, settings, q, v, control, external, force, own):
    """Compute the force of a control; return the settings and the force that acts."""
    s = settings_of(tree, settings)
    actuate(tree, s, q, v, control, force)
    return s, force


def actuated_with_external(tree, settings, q, v, control, external, force, own):
    """Compute the force of a control; return the settings and the force that acts: its sum with the external force."""
    actuate(tree, settings_of(tree, settings), q, v, control, force)
    put_external(tree, settings, v, force, external, own)
    return settings_of(tree, own.table), own.force


def make_step(rule, forward, rows=False, external=False, counted=False, extra=None):
    """Return the kernel of a step by an integrator (`rules.Rule`); see `step_entry`. forward: kernel of the dynamics.

    counted: whether the work of previous steps is added. What is not used may be 0.
    """
    has_rows, has_external, has_extra = rows, external, extra is not None
    apply = actuated_with_external if external else actuated
    several = rule.stages > 1 and not rule.implicit  # the mean force is not that at the start
    one_step, step_with_rows, compute = rule.step, rule.step_with_rows, extra and extra.compute

    def step(
        tree, settings, q, v, extra_before, work_before, control, external, q_new, v_new, force, work, impulses,
        residual, extra, own, held, rows, room, m, memory,
    ):  # fmt: skip
        """Compute (q, v) at the end of a step, the force [N m, N], and the work of control and damping [J]."""
        s, applied = apply(tree, settings, q, v, control, external, force, own)
        if has_rows:
            status = step_with_rows(
                tree, s, held, q, v, applied, q_new, v_new, work, impulses, residual, m, rows, forward, memory
            )
        else:
            status = one_step(tree, s, q, v, applied, q_new, v_new, work, m, forward, memory)
        status = mark_failure(v_new, status)
        if has_external and several:
            for k in range(tree.nv):
                force[k] = applied[k] - external[k]
        if counted:
            for k in range(2):
                work[k] += work_before[k]
        if has_extra:
            compute(tree, settings, q, v, extra_before, q_new, v_new, force, extra, m, room)
        return status

    return step


@lru_cache(maxsize=256)
def step_entry(rule, dynamics, rows=False, external=False, results=("force", "work"), carried=(), extra=None):
    """Return the entry of one step by an integrator (`rules.Rule`), with the forward dynamics of an entry.

    rows: whether the world has constrained rows, whose tables precede the settings; their impulses [N s, N m s] and
    residuals are further results. external: whether it takes external joint forces. results, carried: names in RESULTS,
    or "extra" for that of `extra`; of those carried, the values before the step are inputs. The entry's arguments are
    (ints, reals, *tables, settings, q, v, *carried before, control, external, q_new, v_new, *carried, *results). It is
    a variant for mimic joints if `dynamics` is one. Its work of the control includes that of external forces.
    """
    mimic = is_mimic_entry(dynamics)
    step = make_step(rule, dynamics.one, rows, external, "work" in carried, extra)
    requested, also = (*carried, *results), [] if extra is None else [extra.compute.__name__]
    step.__name__ = "_".join([
        rule.name, *["with_rows"] * rows, "by", label(dynamics), *["external"] * external,
        *(f"next_{name}" for name in carried), *results, *also,
    ])  # fmt: skip
    shapes = RESULTS | ({} if extra is None else {"extra": extra.shape})
    arrays = {"q": "nq", "v": "nv", **{f"{name}_before": shapes[name] for name in carried}, "control": "nv'"}
    arrays |= {"external": "nv'"} if external else {}
    arrays |= {"q_new": "-> nq", "v_new": "-> nv", **{name: f"-> {shapes[name]}" for name in requested}}
    memory = {
        "extra_before": nothing, "work_before": nothing, "external": nothing, "force": force_memory,
        "work": work_memory, "impulses": impulse_memory if rows else nothing,
        "residual": impulse_memory if rows else nothing, "extra": nothing, "own": own_memory if external else nothing,
        "held": nothing if not rows else mimic_world_tables if mimic else plain_world_tables,
        "rows": rows_for if rows else nothing, "room": nothing if extra is None else extra.memory,
        "m": step_memory, "memory": dynamics.memory,
    }  # fmt: skip
    tables = {**(WORLD if rows else {}), "settings": "TableOfReals", **dict(extra.tables if extra else ())}
    made = entry(
        step, {name: part for name, part in memory.items() if name not in arrays}, tables, ROWS if rows else {},
        returns_status=True, expands=mimic, **arrays,
    )  # fmt: skip
    return mimic_entry(made) if mimic else made


@lru_cache(maxsize=64)
def policy_step_entry(one_step):
    """Return the step of an entry under the control of a policy, for traces.

    The entry has the arguments (*constants, *states, control, *next states); its last constant is `settings`, and its
    first states are q and v. The policy returns the control u at the k-th step, from parameters p; u is constant for
    `substeps` substeps, of which this is the j-th. The result's arguments are (*constants, policy, substeps, k, j, u,
    *states, p, k_new, j_new, u_new, *next states).
    """
    count = 2 + len(one_step.signature.tables)
    carried = sum(array.result for array in one_step.signature.arrays)

    def policy_step_states(*given):
        constants, settings = given[:count], given[count - 1]
        policy, substeps, k, j, u = given[count : count + 5]
        states, (p, k_new, j_new, u_new), news = (
            given[count + 5 : count + 5 + carried], given[count + 5 + carried : count + 9 + carried],
            given[count + 9 + carried :],
        )  # fmt: skip
        wanted = policy(substeps * settings[0] * k[0], *states[:2], p)
        for i in range(len(wanted)):
            u_new[i] = select(less(j[0], 0.5), wanted[i], u[i])
        last = less(substeps - 1.5, j[0])
        k_new[0] = k[0] + last
        j_new[0] = (j[0] + 1) * (1 - last)
        return one_step(*constants, *states, u_new, *news)

    policy_step_states.__name__ = f"policy_{one_step.__name__}"
    return policy_step_states
