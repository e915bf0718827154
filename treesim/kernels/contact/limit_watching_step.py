"""Unconstrained step of a rollout, which also returns the smallest distance from its limits so far."""

from __future__ import annotations

from functools import lru_cache

from ..algebra.numbers import absolute, minimum
from ..stepping.mean_force import mean_force
from ..stepping.step import add_work, made_step_entry, settings_of, step_entry
from .constraint_rows import limit_slack
from .tables import touch_tables


@lru_cache(maxsize=64)
def watched_step_entry(rule, dynamics):
    """Return the entry of the step of `step.step_entry` with additional states `slack` and `work`.

    slack: smallest slack since the start, of joint limits (`constraint_rows.limit_slack`), and of effort limits with
    the mean forces of gains (`mean_force`). work: accumulated work. Its
    arguments are (ints, reals, settings, layout, geometry, q, v, slack, force, work, control, then the next of all but
    the control).
    """
    one_step = step_entry(rule, dynamics).kernel

    def watched_step(tree, settings, layout, geometry, q, v, slack, force, work, control, q_new, v_new, slack_new,
        force_new, work_new, m, memory):  # fmt: skip
        status = one_step(tree, settings, q, v, control, q_new, v_new, force_new, work_new, m, memory)
        add_work(work, work_new)
        slack_new[0] = minimum(slack[0], limit_slack(touch_tables(layout, geometry), q, q_new))
        s = settings_of(tree, settings)
        for k in range(tree.nv):
            slack_new[0] = minimum(
                slack_new[0], s.effort_limit[k] - absolute(mean_force(s, v[k], v_new[k] - v[k], force_new, k))
            )
        return status

    watched_step.__name__ = f"watched_{one_step.__name__}"
    tables = {"settings": "TableOfReals", "layout": "TableOfIntegers", "geometry": "TableOfReals"}
    return made_step_entry(
        watched_step, (), dynamics, tables, q="nq", v="nv", slack="1", force="nv'", work="2", control="nv'",
        q_new="-> nq", v_new="-> nv", slack_new="-> 1", force_new="-> nv'", work_new="-> 2",
    )  # fmt: skip
