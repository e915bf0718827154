"""The constraint-force method with cyclic reduction along each path, O(N) work in O(log^2 N) stages."""

from __future__ import annotations

from .annotations import Reals, TableOfIntegers, TableOfReals
from .constraint_force import forward_dynamics_states
from .cyclic_reduction import EXTRA, eliminate, elimination_rounds, substitute, substitution_rounds


def forward_dynamics_constraint_force_cr_states(
    ints: TableOfIntegers, reals: TableOfReals, q: Reals, v: Reals, tau: Reals, f_ext: Reals, qdd: Reals
) -> int:
    """Forward dynamics of each state; shapes and coordinates as in `aba`."""
    return forward_dynamics_states(
        ints, reals, q, v, tau, f_ext, qdd, EXTRA, elimination_rounds, substitution_rounds, eliminate, substitute
    )
