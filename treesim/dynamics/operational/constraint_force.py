"""Λ^-1 by the constraint-force method, with three ways of solving along paths."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from types import ModuleType
from typing import Any, ClassVar

import numpy as np

from ...engine.interpreter import converted
from ...kernels.algebra.tables import put_motion
from ...kernels.kinematics.bodies import zero_motion
from ...kernels.operational import operational_constraint_force as kernel
from ...kernels.published.parallel import (
    constraint_force,
    constraint_force_stages,
    cyclic_reduction,
    parallel_cyclic_reduction,
    path_elimination,
)
from ...model.tree import Tree
from ...types import Reference
from ..block_counts import Block, Counting, Stages, side_by_side
from ..heavy_paths import NAMES
from ..path_stages import table_stages
from ..schedule import Schedule, Stage
from .base import CompiledMethod
from .frames import frame_codes


class HeavyPathMethod(CompiledMethod):
    """Λ^-1 by the constraint-force method."""

    source = "Fijany and Featherstone 2013; heavy paths on trees"
    negative_rotors = False
    solver: ClassVar[ModuleType]  # solves along paths

    def schedule(self, robot: Tree, frames: tuple[str, ...], reference: Reference) -> Schedule:
        """Return the stages of Λ^-1 of `frames`; see `treesim.schedule`."""
        counting = Counting(robot)
        codes, offsets = frame_codes(robot, frames, reference)
        converted_offsets = converted(offsets, counting.tally.number)
        entry: Any = type(self).entry
        tasks, memory = entry.origin.scratch(counting.tree, codes, converted_offsets, counting.q)
        return counting.schedule_of(self.name, _stages(counting, tasks, memory, type(self).solver))


def _stages(counting: Counting, tasks: Any, memory: Any, solver: ModuleType) -> Iterator[Stage]:
    """Yield the stages: matrices of all paths, then right-hand sides of all task rows, which are independent."""
    tree, (K, paths, _, w) = counting.tree, memory
    constraint_force.put_nothing(tree, w)
    put_motion(w.a, 0, zero_motion(tree))

    def matrices(stage: int, low: int, high: int) -> None:
        kernel.place_at(tree, paths, w, stage, low, high, counting.q)
        constraint_force_stages.matrix_at_places(tree, paths, w, stage, low, high, solver)

    names = {what: name.replace("velocities", "placements") for what, name in NAMES.items()}
    yield from counting.done(table_stages(paths, solver, matrices, names=names))
    bodies = tasks.bodies.tolist()
    rows = [Block((i,), partial(kernel.put_task_row, tree, tasks, w, K, f)) for f, i in enumerate(bodies)]
    yield from counting.done([("task rows", rows)])
    out = counting.numbers(K.shape[0] ** 2).reshape(K.shape[0], K.shape[0])
    columns = range(K.shape[0])
    yield from side_by_side(counting.done(_column(counting, tasks, memory, solver, s, out)) for s in columns)


def _column(counting: Counting, tasks: Any, memory: Any, solver: ModuleType, s: int, out: np.ndarray) -> Stages:
    """Yield the stages of one column of Λ^-1."""
    tree, (K, paths, carries, w) = counting.tree, memory

    def vectors(stage: int, low: int, high: int) -> None:
        constraint_force_stages.vector_at_places(tree, paths, w, stage, low, high, solver)

    body = int(tasks.bodies[s // 6])
    kernel.put_unit_force(w, body, K[s])
    yield from table_stages(paths, solver, vectors, lambda head: bool(carries[head]))
    yield "columns of the result", [Block((body,), partial(kernel.put_column, tasks, w, K, s, out))]


class ConstraintForce(HeavyPathMethod):
    """Elimination along each path, O(N + k N') for k frames on paths of N' bodies."""

    name = "constraint_force"
    entry = kernel.ELIMINATION
    solver: ClassVar[ModuleType] = path_elimination


class ConstraintForceCr(HeavyPathMethod):
    """Cyclic reduction along each path, O(N + k N') work, O(log^2 N) stages, O(log N) on a chain."""

    name = "constraint_force_cr"
    entry = kernel.CYCLIC_REDUCTION
    solver: ClassVar[ModuleType] = cyclic_reduction


class ConstraintForcePcr(HeavyPathMethod):
    """Parallel cyclic reduction along each path, O((N + k N') log N) work and memory, O(log^2 N) stages."""

    name = "constraint_force_pcr"
    entry = kernel.PARALLEL_CYCLIC_REDUCTION
    solver: ClassVar[ModuleType] = parallel_cyclic_reduction
