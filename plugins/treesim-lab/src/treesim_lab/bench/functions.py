"""Functions of treesim that the benchmark times, with the kernel entries that compute them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from treesim.compare.cases import (
    FORWARD,
    FORWARD_DERIVATIVES,
    INVERSE,
    INVERSE_DERIVATIVES,
    INVERSE_MASS,
    MASS,
    SOLVE,
    States,
)
from treesim.kernels.dynamics.aba import forward_dynamics_states
from treesim.kernels.dynamics.crba import mass_matrix_full_states, mass_matrix_packed_states
from treesim.kernels.dynamics.forward_dynamics_derivatives import forward_dynamics_derivatives_states
from treesim.kernels.dynamics.inverse_dynamics_derivatives import inverse_dynamics_derivatives_states
from treesim.kernels.dynamics.inverse_mass import inverse_mass_matrix_states, solve_mass_matrix_states
from treesim.kernels.dynamics.rnea import inverse_dynamics_states
from treesim.model.tree import Tree


class Function(NamedTuple):
    """Function of treesim and of `treesim.Dynamics`, with the same name.

    takes: its arguments, as fields of States. result: its result's shape, of numbers and attributes of the robot.
    entry: the kernel entry, which takes the same arguments, and external forces if there are three.
    """

    quantity: str
    name: str
    takes: tuple[str, ...]
    result: tuple[str | int, ...]
    entry: Callable[..., int]

    def arguments(self, states: States) -> list[np.ndarray]:
        """Return the arguments at a state, or at a batch of states."""
        return [getattr(states, label) for label in self.takes]

    def entry_arguments(self, state: States) -> list[np.ndarray]:
        """Return the arguments of the kernel entry at a state, without external forces."""
        return self.arguments(state) + [np.empty(0)] * (len(self.takes) == 3)

    def shape(self, tree: Tree) -> tuple[int, ...]:
        """Return the shape of the result at a state."""
        return tuple(size if isinstance(size, int) else getattr(tree, size) for size in self.result)

    def sizes(self, tree: Tree) -> tuple[list[int], list[int]]:
        """Return the numbers of each argument of the kernel entry, and of its result, at a state."""
        forces = [0] * (len(self.takes) == 3)
        return [tree.nq, *[tree.nv] * len(self.takes[1:]), *forces], [math.prod(self.shape(tree))]


FUNCTIONS = (
    Function(FORWARD, "forward_dynamics", ("q", "v", "tau"), ("nv",), forward_dynamics_states),
    Function(INVERSE, "inverse_dynamics", ("q", "v", "a"), ("nv",), inverse_dynamics_states),
    Function(MASS, "mass_matrix", ("q",), ("nv", "nv"), mass_matrix_full_states),
    Function(SOLVE, "solve_mass_matrix", ("q", "tau"), ("nv",), solve_mass_matrix_states),
)
MATRICES = ("nv", 3, "nv")  # rows of three, side by side
DERIVATIVES = (
    Function(
        INVERSE_DERIVATIVES, "inverse_dynamics_derivatives", ("q", "v", "a"), MATRICES,
        inverse_dynamics_derivatives_states,
    ),
    Function(
        FORWARD_DERIVATIVES, "forward_dynamics_derivatives", ("q", "v", "tau"), MATRICES,
        forward_dynamics_derivatives_states,
    ),
    Function(INVERSE_MASS, "inverse_mass_matrix", ("q",), ("nv", "nv"), inverse_mass_matrix_states),
)  # fmt: skip
PACKED = Function(MASS, "packed_mass_matrix", ("q",), ("nnz",), mass_matrix_packed_states)


def packed(tree: Tree) -> Function:
    """Return the function of the packed mass matrix; the numbers of the full one are taken for mimic joints."""
    return PACKED if tree.mimic_map is None else FUNCTIONS[2]
