"""The alternating direction method of multipliers: for stacks, and bodies of very different mass on one another."""

from __future__ import annotations

from ..kernels.contact.admm import admm_memory, solve_admm
from .base import ContactSolver


class Admm(ContactSolver):
    """See `treesim.kernels.contact.admm`."""

    name = "admm"
    about = "alternating direction method of multipliers"
    kernel = staticmethod(solve_admm)
    memory = staticmethod(admm_memory)
