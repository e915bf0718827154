"""Exact operation counts of the kernels on a robot: the kernel source, run on numbers that count.

The robot's constants are known to the count, its state is not. Operations between constants, and those with
a factor 0, 1 or -1 or a summand 0, are free. For example, a mass on a joint's axis reduces the count, as it
would reduce code generated for that robot.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

import numpy as np

from treesim.dynamics.base import CompiledBackend, DynamicsBackend
from treesim.dynamics.inverse_dynamics import inverse_dynamics
from treesim.dynamics.operational.base import CompiledMethod, OperationalMethod
from treesim.engine.interpreter import Tally, run
from treesim.kernels.dynamics.crba import mass_matrix_full_states
from treesim.kernels.dynamics.factored import LTDL, LTL, SOLVE, Entries
from treesim.kernels.dynamics.rnea import inverse_dynamics_states
from treesim.model.tree import Tree
from treesim.states.states import serving
from treesim.types import Reference

from .operations import Operations

SEEDS = (1, 2)  # states counted on: two, to see whether the count depends on the state
NO_FORCES = np.empty(0)


class Count(NamedTuple):
    """Operations, the longest chain of dependent ones, and whether both depend on the state."""

    operations: Operations
    depth: int
    varies: bool = False

    def as_dict(self) -> dict[str, int]:
        """Return mul, add, div, sqrt, trig (sines and cosines) and depth by name."""
        return {**asdict(self.operations), "depth": self.depth}


def forward_dynamics(robot: Tree, backend: DynamicsBackend) -> Count | None:
    """Return the count of one call of a backend; None if it is not a single kernel of treesim.

    The state and the acceleration that the torque causes are random; see `Count.varies`.
    """
    if not isinstance(backend, CompiledBackend):
        return None
    entry, constants = serving(backend.counted_entry(), robot, backend.constants(robot))

    def count(rng: np.random.Generator) -> Count:
        q, (v, a) = robot.random(rng), rng.normal(size=(2, robot.nv))
        return _counted(entry, constants, (q, v, inverse_dynamics(robot, q, v, a)), NO_FORCES, robot.nv)

    iterates = "iteration" in backend.capabilities.cost  # two states may take equally many iterations by chance
    counted = _on_two_states(count)
    return counted._replace(varies=counted.varies or iterates)


def inverse_inertia(
    robot: Tree, method: OperationalMethod, frames: Sequence[str], reference: Reference
) -> Count | None:
    """Return the count of Λ⁻¹ of `frames` by a method; None if it is not a single kernel of treesim."""
    if not isinstance(method, CompiledMethod):
        return None
    entry, constants = serving(type(method).entry, robot, method.constants(robot, frames, reference))
    size = (6 * len(frames)) ** 2
    return _on_two_states(lambda rng: _counted(entry, constants, (robot.random(rng),), None, size))


def inertia_matrix(robot: Tree) -> Count:
    """Return the count of the mass matrix (CRBA)."""
    q = robot.random(SEEDS[0])
    return _counted(*serving(mass_matrix_full_states, robot, (robot.ints, robot.reals)), (q,), None, robot.nv**2)


def bias(robot: Tree) -> Count:
    """Return the count of inverse dynamics at zero acceleration, the bias force (RNEA)."""
    rng = np.random.default_rng(SEEDS[0])
    tally = Tally()
    state = (tally.variables(robot.random(rng)), tally.variables(rng.normal(size=robot.nv)))
    at_rest = np.zeros(robot.nv)  # known beforehand, so what it multiplies is free
    entry, constants = serving(inverse_dynamics_states, robot, (robot.ints, robot.reals))
    run(entry, constants, (*state, at_rest, NO_FORCES), [(robot.nv,)], tally.number)
    return _count(tally)


class FactorCounts(NamedTuple):
    """Counts of a sparse factorization and of solving one system with it."""

    factorize: Count
    solve: Count


def ltdl(robot: Tree) -> FactorCounts:
    """Return the counts of H = LᵀDL and of a solve with it, with no entry of H on the tree's paths known to be zero."""
    return _factor_counts(robot, LTDL)


def ltl(robot: Tree) -> FactorCounts:
    """Return the counts of H = LᵀL and of a solve with it, with no entry of H on the tree's paths known to be zero."""
    return _factor_counts(robot, LTL)


def _factor_counts(robot: Tree, entries: Entries) -> FactorCounts:
    tree = robot.dof_topology
    last = np.cumsum(tree.dof_depth) - 1  # of each row
    pattern = (tree.dof_parent - 1, tree.dof_depth - 1, last + 1 - tree.dof_depth)
    H = np.full(int(tree.dof_depth.sum()), 1e-3)  # any positive definite matrix costs the same
    H[last] = 1.0 + robot.nv
    tally = Tally()
    entries.factorize(*pattern, tally.variables(H))
    factored = _count(tally)
    tally = Tally()
    entries.apply(*pattern, tally.variables(H), SOLVE, tally.variables(np.ones(robot.nv)))
    return FactorCounts(factored, _count(tally))


def _on_two_states(count: Callable[[np.random.Generator], Count]) -> Count:
    first, second = (count(np.random.default_rng(seed)) for seed in SEEDS)
    return first._replace(varies=first != second)


def _counted(entry: Callable[..., int], constants: Sequence[Any], state: Any, forces: Any, size: int) -> Count:
    tally = Tally()
    arguments = [tally.variables(x) for x in state] + ([] if forces is None else [forces])
    run(entry, constants, arguments, [(size,)], tally.number)
    return _count(tally)


def _count(tally: Tally) -> Count:
    return Count(Operations(**tally.operations), tally.depth)
