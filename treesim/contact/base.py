"""What a solver of contact problems is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from .. import plugins
from ..errors import ArgumentError
from ..states.arguments import short_repr
from ..system.display import Implementation


class ContactSolver(Implementation):
    """A solver of the impulses of a step: sigma = G lambda + g under the law of every row (`kernels.contact.problem`).

    kernel: a static method `solve(problem, impulse, sigma, tolerance, most, memory)` in the kernels' Python, which
    changes `impulse` from what it holds, leaves sigma = G lambda + g, and returns the iterations taken, of each of its
    methods `most` at most. Arrays may be longer than `problem.rows`.
    memory: a static method `memory(rows, q)` that lays out its scratch memory for at most so many rows, of the numbers
    in q.
    exact: whether the law is Signorini's and Coulomb's, else their convex relaxation, whose velocities are unique, and
    which lifts what slides by mu |sigma_t| h in a step.
    """

    what: ClassVar[str] = "contact solver"
    kernel: ClassVar[Callable[..., Any]]
    memory: ClassVar[Callable[..., Any]]
    exact: ClassVar[bool] = True
    about: ClassVar[str] = ""

    def _about(self) -> list[str]:
        return [self.about, "" if self.exact else "convex relaxation"]


def chosen_solver(solver: str | ContactSolver) -> ContactSolver:
    """Return a contact solver of a name, or the one given; raises UnknownNameError, ArgumentError for none."""
    found = plugins.get("contact_solvers", solver) if isinstance(solver, str) else solver
    if not (hasattr(type(found), "kernel") and hasattr(type(found), "memory")):
        raise ArgumentError(f"contact_solver must be a name or a ContactSolver, got {short_repr(solver)}")
    return found
