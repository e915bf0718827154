"""Table of the compiled integrators: all that simulations, rollouts, steppers and exports use of each."""

from math import inf
from typing import Any, NamedTuple

from .constrained_step import implicit_midpoint_with_rows
from .explicit_rules import bullet, explicit_euler, midpoint, rk4
from .step import PASSES, implicit_midpoint, semi_implicit_euler

LONGEST = 5e-4  # s: longest substep of the implicit midpoint rule; see docs/integrators.md


class Rule(NamedTuple):
    """Compiled integrator.

    order: of convergence. step: kernel of an unconstrained step. step_with_rows: kernel of a step with constrained
    rows, None if there is none. stages: evaluations of the forward dynamics. implicit: whether damping and gains are
    added to the mass matrix. theta: least part of a step after which they act; with impulses that change the velocity
    at the end of a step by dv, positions advance by theta dv more. contact: whether there are such impulses, of
    contact, joint limits and joint friction. lead: part of a step after which external forces are evaluated.
    longest_substep [s]: by default. gyroscopic: whether the gyroscopic term of free bodies is implicit.
    """

    name: str
    order: int
    step: Any
    step_with_rows: Any = None
    stages: int = 1
    implicit: bool = False
    theta: float = 1.0
    contact: bool = False
    lead: float = 0.0
    longest_substep: float = inf
    gyroscopic: bool = False


RULES: dict[str, Rule] = {
    rule.name: rule
    for rule in (
        Rule(
            "implicit_midpoint", 2, implicit_midpoint, implicit_midpoint_with_rows, PASSES, implicit=True, theta=0.5,
            contact=True, lead=0.5, longest_substep=LONGEST,
        ),
        Rule("semi_implicit_euler", 1, semi_implicit_euler, implicit=True, contact=True, gyroscopic=True),
        Rule("explicit_euler", 1, explicit_euler),
        Rule("midpoint", 2, midpoint, stages=2, lead=0.5),
        Rule("rk4", 4, rk4, stages=4, lead=0.5),
        Rule("bullet", 1, bullet),
    )
}  # fmt: skip
IN_PYTHON = Rule("", 0, None)  # stands for all integrators that are not compiled
CONTACT_RULES = {rule.name: rule.theta for rule in RULES.values() if rule.contact}
