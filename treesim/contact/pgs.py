"""Block Gauss-Seidel with the exact solve of each contact, and ADMM where it stalls."""

from __future__ import annotations

from ..kernels.contact_admm import admm_memory
from ..kernels.contact_pgs import solve_pgs
from .base import ContactSolver


class Pgs(ContactSolver):
    """See `treesim.kernels.contact_pgs`."""

    name = "pgs"
    about = "block Gauss-Seidel, then ADMM"
    kernel = staticmethod(solve_pgs)
    memory = staticmethod(admm_memory)
