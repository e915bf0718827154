"""The constraint-force method with elimination along each path, O(N)."""

from __future__ import annotations

from .annotations import Reals, TableOfIntegers, TableOfReals
from .constraint_force import forward_dynamics_states
from .path_elimination import EXTRA, eliminate, elimination_rounds, substitute, substitution_rounds


def forward_dynamics_constraint_force_states(
    ints: TableOfIntegers, reals: TableOfReals, q: Reals, v: Reals, tau: Reals, f_ext: Reals, qdd: Reals
) -> int:
    """Forward dynamics of each state; shapes and coordinates as in `aba`."""
    return forward_dynamics_states(
        ints, reals, q, v, tau, f_ext, qdd, EXTRA, elimination_rounds, substitution_rounds, eliminate, substitute
    )
