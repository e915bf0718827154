"""The contact solver "convex": the convex relaxation of contact, whose velocities are unique."""

from ..kernels.contact.admm import admm_memory, solve_admm
from .base import ContactSolver


class Convex(ContactSolver):
    """Alternating direction method of multipliers without De Saxcé's shift; see `treesim.kernels.contact.admm`."""

    name = "convex"
    about = "alternating direction method of multipliers"
    exact = False
    kernel = staticmethod(solve_admm)
    memory = staticmethod(admm_memory)
