"""Smallest distance of rollouts from their limits so far, a result of their unconstrained steps."""

from ..algebra.numbers import minimum
from ..stepping.mean_force import excess, mean_force
from ..stepping.step import settings_of
from ..stepping.step_entry import Extra
from .constraint_rows import limit_slack
from .tables import touch_tables


def put_slack(tree, settings, q, v, before, q_new, v_new, force, slack, m, touch):
    """slack = smallest since the start, of joint limits (`limit_slack`), and of limits of forces (`mean_force`)."""
    slack[0] = minimum(before[0], limit_slack(touch, q, q_new))
    s = settings_of(tree, settings)
    for k in range(tree.nv):
        change = v_new[k] - v[k]
        beyond, _ = excess(s, mean_force(s, v[k], change, force, k), v[k], v[k] + s.theta[k] * change, k)
        slack[0] = minimum(slack[0], -beyond)


SLACK = Extra("1", put_slack, touch_tables, (("layout", "TableOfIntegers"), ("geometry", "TableOfReals")))
