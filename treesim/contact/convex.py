"""The convex relaxation of contact, as engines with soft contact solve it: its velocities are unique."""

from __future__ import annotations

from ..kernels.contact.admm import admm_memory, solve_admm
from .base import ContactSolver


class Convex(ContactSolver):
    """See `treesim.kernels.contact.admm`, without De Saxcé's shift."""

    name = "convex"
    about = "alternating direction method of multipliers"
    exact = False
    kernel = staticmethod(solve_admm)
    memory = staticmethod(admm_memory)
