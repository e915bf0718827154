"""Constraint-force method on heavy paths, each solved in the way of one module.

`path_elimination` takes O(N) work, `cyclic_reduction` O(N) work in O(log^2 N) stages, `parallel_cyclic_reduction`
O(N log N) work in O(log^2 N) stages.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import NamedTuple

import numpy as np

from ...entries.annotations import Integers, TableOfIntegers, TableOfReals
from ...entries.entry import stages_of
from ..residual_check import check_memory, residual_status
from . import cyclic_reduction, parallel_cyclic_reduction, path_elimination
from .constraint_force_stages import (
    constraint_force_entry,
    forward_dynamics,
    joint_wrenches_entry,
    memory_for,
    prepare,
    put_joint_wrenches,
    some_stages,
)


class PathMethod(NamedTuple):
    """Kernels of the constraint-force method with one way to solve along paths.

    states, wrenches: entries of forward dynamics and of the joint wrenches. prepare: writes the paths and stages of a
    tree to a table of `table_size` integers. stages: computes one share of some stages for one state. solver: the
    module that solves along paths.
    """

    states: Callable[..., int]
    wrenches: Callable[..., int]
    prepare: Callable[..., int]
    stages: Callable[..., int]
    solver: ModuleType


def _path_method(name: str, solver: ModuleType) -> PathMethod:
    """Return the kernels of a way to solve along paths; their names end with `name`."""

    def one_state(tree, q, v, tau, f_ext, qdd, paths, w):
        """Forward dynamics; returns a status, as `soundness` does."""
        return forward_dynamics(tree, q, v, tau, f_ext, qdd, paths, w, solver)

    def scratch_for(tree, q):
        """Paths of a tree, and scratch memory, with the dtype of q."""
        return memory_for(tree, q, solver)

    def joint_wrenches(tree, q, v, tau, f_ext, wrenches, turns, qdd, check, paths, w):
        """Wrenches across all joints, the unknowns of this method; returns a status."""
        status = one_state(tree, q, v, tau, f_ext, qdd, paths, w)
        put_joint_wrenches(tree, paths, w, turns, wrenches)
        return max(status, residual_status(tree, w.X, v, tau, f_ext, qdd, check))

    def scratch_for_wrenches(tree, q):
        """Scratch memory for accelerations, for their check, and for forward dynamics."""
        paths, w = scratch_for(tree, q)
        return np.empty(tree.nv, q.dtype), check_memory(tree, q), paths, w

    def table(ints: TableOfIntegers, reals: TableOfReals, paths: Integers) -> int:
        """Write the paths and stages of a tree to a table of `table_size` integers."""
        return prepare(ints, reals, paths, solver)

    states = constraint_force_entry(one_state, scratch_for, f"forward_dynamics_{name}")

    @stages_of(states, paths="Integers", memory="Reals")
    def stages(ints, reals, paths, memory, first, last, share, shares, q, v, tau, f_ext, qdd):
        """Compute one of `shares` shares of the stages from `first` to `last`, for one state."""
        return some_stages(ints, reals, paths, memory, first, last, share, shares, q, v, tau, f_ext, qdd, solver)

    wrenches = joint_wrenches_entry(joint_wrenches, scratch_for_wrenches, f"joint_wrenches_{name}")
    table.__name__, stages.__name__ = f"prepare_{name}", f"{name}_stages"
    return PathMethod(states, wrenches, table, stages, solver)


ELIMINATION = _path_method("constraint_force", path_elimination)
CYCLIC_REDUCTION = _path_method("constraint_force_cr", cyclic_reduction)
PARALLEL_CYCLIC_REDUCTION = _path_method("constraint_force_pcr", parallel_cyclic_reduction)
