"""Unconstrained step of a rollout, which also returns the smallest distance from joint limits so far."""

from __future__ import annotations

from functools import lru_cache

from ..algebra.numbers import minimum
from ..entries.entry import entry
from ..stepping.step import add_work, step_entry, step_memory
from .constraint_rows import limit_slack
from .tables import touch_tables


@lru_cache(maxsize=64)
def watched_step_entry(name, dynamics):
    """Return the entry of the step of `step.step_entry` with additional states `slack` and `work`.

    slack: smallest slack of joint limits since the start (`constraint_rows.limit_slack`). work: accumulated work. Its
    arguments are (ints, reals, settings, layout, geometry, q, v, slack, force, work, control, then the next of all but
    the control).
    """
    one_step, forward_memory = step_entry(name, dynamics).kernel, dynamics.memory

    def memory_for(tree, ints, q):
        return step_memory(tree, q), forward_memory(tree, ints, q)

    def watched_step(tree, settings, layout, geometry, q, v, slack, force, work, control, q_new, v_new, slack_new,
        force_new, work_new, m, memory):  # fmt: skip
        status = one_step(tree, settings, q, v, control, q_new, v_new, force_new, work_new, m, memory)
        add_work(work, work_new)
        slack_new[0] = minimum(slack[0], limit_slack(touch_tables(layout, geometry), q, q_new))
        return status

    watched_step.__name__ = f"watched_{one_step.__name__}"
    return entry(
        watched_step,
        memory_for,
        {"settings": "TableOfReals", "layout": "TableOfIntegers", "geometry": "TableOfReals"},
        returns_status=True,
        q="nq",
        v="nv",
        slack="1",
        force="nv'",
        work="2",
        control="nv'",
        q_new="-> nq",
        v_new="-> nv",
        slack_new="-> 1",
        force_new="-> nv'",
        work_new="-> 2",
    )
