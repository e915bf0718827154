"""The contact solver "pgs": block Gauss-Seidel with exact contact solves, active sets if slow, ADMM if both stall."""

from ..kernels.contact.pgs import pgs_memory, solve_pgs
from .base import ContactSolver


class Pgs(ContactSolver):
    """Block Gauss-Seidel with active sets and ADMM; see `treesim.kernels.contact.pgs`."""

    name = "pgs"
    about = "block Gauss-Seidel, active sets, and ADMM"
    kernel = staticmethod(solve_pgs)
    memory = staticmethod(pgs_memory)
