"""Block Gauss-Seidel with the exact solve of each contact, active sets where it is slow, and ADMM where both stall."""

from __future__ import annotations

from ..kernels.contact.pgs import pgs_memory, solve_pgs
from .base import ContactSolver


class Pgs(ContactSolver):
    """See `treesim.kernels.contact.pgs`."""

    name = "pgs"
    about = "block Gauss-Seidel, active sets, and ADMM"
    kernel = staticmethod(solve_pgs)
    memory = staticmethod(pgs_memory)
