"""Gauss-Seidel on the impulses of contacts, in the kernels' Python."""

from __future__ import annotations

import numpy as np

from treesim.contact.base import ContactSolver
from treesim.kernels.contact.pgs import sweep
from treesim.kernels.contact.problem import relative_velocities


def solve_sweeps(problem, impulse, sigma, tolerance, most, memory):
    """Sweep from the given impulses until no velocity changes by more than the tolerance."""
    relative_velocities(problem, impulse, sigma)
    taken, largest = 0, tolerance + 1
    while taken < most and largest > tolerance:
        largest = sweep(problem, impulse, sigma)
        taken += 1
    return taken


def no_memory(rows, q):
    """Return the scratch memory for at most so many rows, of the number type of q: none."""
    return np.empty(0, q.dtype)


class Sweeps(ContactSolver):
    """Block Gauss-Seidel alone."""

    name = "sweeps"
    about = "block Gauss-Seidel"
    kernel = staticmethod(solve_sweeps)
    memory = staticmethod(no_memory)
