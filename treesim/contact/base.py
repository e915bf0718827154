"""Interface of contact solvers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from .. import plugins
from ..errors import ArgumentError
from ..states.arguments import short_repr
from ..system.display import Implementation
from ..types import ContactSolverName


class ContactSolver(Implementation):
    """Interface of a solver for the impulses of a step: sigma = G lambda + g with complementarity conditions per row.

    The problem is defined in `kernels.contact.problem`.

    kernel: static method `solve(problem, impulse, sigma, tolerance, most, memory)` in the Python subset of kernels. It
    starts from `impulse` and overwrites it, sets sigma = G lambda + g, and returns the number of iterations. Each of
    its methods takes at most `most` iterations. Arrays may be longer than `problem.rows`. memory: static method
    `memory(rows, q)` that allocates scratch memory for up to `rows` rows, with the dtype of q. exact: True for
    Signorini's and Coulomb's conditions. False for their convex relaxation, whose velocities are unique, and which
    separates sliding contacts by mu |sigma_t| h per step.
    """

    what: ClassVar[str] = "contact solver"
    kernel: ClassVar[Callable[..., Any]]
    memory: ClassVar[Callable[..., Any]]
    exact: ClassVar[bool] = True
    about: ClassVar[str] = ""

    def _about(self) -> list[str]:
        return [self.about, "" if self.exact else "convex relaxation"]


def chosen_solver(solver: ContactSolverName | ContactSolver) -> ContactSolver:
    """Return the contact solver of a name, or the one given; raises UnknownNameError or ArgumentError."""
    found = plugins.get("contact_solvers", solver) if isinstance(solver, str) else solver
    if not (hasattr(type(found), "kernel") and hasattr(type(found), "memory")):
        raise ArgumentError(f"contact_solver must be a name or a ContactSolver, got {short_repr(solver)}")
    return found
