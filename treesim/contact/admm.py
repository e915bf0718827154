"""The contact solver "admm": alternating direction method of multipliers, for stacks and large mass ratios."""

from ..kernels.contact.admm import admm_memory, solve_admm
from .base import ContactSolver


class Admm(ContactSolver):
    """Alternating direction method of multipliers; see `treesim.kernels.contact.admm`."""

    name = "admm"
    about = "alternating direction method of multipliers"
    kernel = staticmethod(solve_admm)
    memory = staticmethod(admm_memory)
