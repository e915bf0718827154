"""Exact operation counts of code specialized for a robot: those of a kernel's trace, and its critical path.

In addition to what `counting` leaves out (operations with constants 0, 1 and -1), a trace shares equal
subexpressions and drops unused ones. The machine code does just these operations on every state
(`engine.llvm.straight_line`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from treesim.dynamics.base import CompiledBackend, DynamicsBackend
from treesim.dynamics.operational.base import CompiledMethod, OperationalMethod
from treesim.engine.graph.trace import Trace, trace
from treesim.errors import UnsupportedError
from treesim.kernels.dynamics.crba import mass_matrix_full_states
from treesim.kernels.dynamics.rnea import inverse_dynamics_states
from treesim.model.tree import Tree
from treesim.states.states import serving
from treesim.types import Reference
from treesim_lab.cost.trace_counts import depth, operations

from .counting import NO_FORCES, Count
from .operations import Operations


def of_trace(traced: Trace) -> Count:
    """Return the count of a trace without exponentials and comparisons, which no formula contains."""
    return Count(Operations(**operations(traced)), depth(traced))


def forward_dynamics(robot: Tree, backend: DynamicsBackend) -> Count | None:
    """Return the count of a backend; None if it has no straight-line code."""
    if not isinstance(backend, CompiledBackend):
        return None
    sizes = (robot.nq, robot.nv, robot.nv, 0)
    return _of_entry(*serving(backend.counted_entry(), robot, backend.constants(robot)), sizes, robot.nv)


def inverse_inertia(
    robot: Tree, method: OperationalMethod, frames: Sequence[str], reference: Reference
) -> Count | None:
    """Return the count of Λ⁻¹ of `frames` by a method; None if it has no straight-line code."""
    if not isinstance(method, CompiledMethod):
        return None
    served = serving(type(method).entry, robot, method.constants(robot, frames, reference))
    return _of_entry(*served, (robot.nq,), (6 * len(frames)) ** 2)


def inertia_matrix(robot: Tree) -> Count | None:
    """Return the count of the mass matrix (CRBA); None if the robot is too large for straight-line code."""
    served = serving(mass_matrix_full_states, robot, (robot.ints, robot.reals))
    return _of_entry(*served, (robot.nq,), robot.nv**2)


def bias(robot: Tree) -> Count | None:
    """Return the count of the bias force (RNEA at zero accelerations); None if the robot is too large."""
    entry, constants = serving(inverse_dynamics_states, robot, (robot.ints, robot.reals))

    def at_rest(*given: Any) -> int:
        *tables, q, v, tau = given
        return int(entry(*tables, q, v, 0.0 * v, NO_FORCES, tau))

    return _of_entry(at_rest, constants, (robot.nq, robot.nv), robot.nv)


def _of_entry(entry: Callable[..., int], constants: Sequence[Any], sizes: Sequence[int], result: int) -> Count | None:
    try:
        return of_trace(trace(entry, constants, sizes, (result,)))
    except UnsupportedError:
        return None
