"""The constraint-force method: block-tridiagonal systems for joint constraint forces along paths of any tree."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import ClassVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike

from ..engine.call.evaluate import Runner
from ..engine.call.generic import compiled
from ..engine.call.stages import staged
from ..engine.threads import thread_count
from ..kernels.published.parallel import constraint_force as kernel
from ..kernels.published.parallel import (
    constraint_force_branches_first,
    constraint_force_grouped,
    constraint_force_paths,
)
from ..kernels.published.parallel.constraint_force_paths import PathMethod
from ..kernels.published.parallel.heavy_paths import Paths, paths_in, table_size
from ..model.tree import Tree
from ..states.physics import Numbers
from ..states.states import state_function
from ..types import Engine
from . import heavy_paths
from .base import Capabilities
from .block_counts import Counting, Stages
from .checked import CheckedBackend, checked_stages
from .path_stages import branches_first_stages, grouped_stages, path_stages
from .schedule import Schedule
from .tables import kernel_wrenches

SOURCE = "Fijany and Featherstone 2013; heavy paths on trees"
LARGE = 5000  # bodies; in a smaller robot, handing blocks to threads takes longer than it saves on two cores
BLOCKS_PER_SHARE = 100


class HeavyPathBackend(CheckedBackend):
    """Constraint-force method on heavy paths, level after level, one block-tridiagonal system per path."""

    negative_rotors = False
    along: ClassVar[PathMethod]  # the paths

    def __init__(self) -> None:
        super().__init__()
        self._tables: WeakKeyDictionary[Tree, np.ndarray] = WeakKeyDictionary()
        self._widths: WeakKeyDictionary[Tree, list[int]] = WeakKeyDictionary()
        self._wrenches = state_function(type(self).along.wrenches)

    def table(self, robot: Tree) -> np.ndarray:
        """Return the robot's paths and stages as a flat table for kernels."""
        if robot not in self._tables:
            table = np.zeros(table_size(robot.n_bodies), np.int64)
            prepare = type(self).along.prepare
            (compiled(prepare) if robot.n_bodies >= LARGE else prepare)(robot.ints, robot.reals, table)
            self._tables[robot] = table
        return self._tables[robot]

    def paths(self, robot: Tree) -> Paths:
        """Return the robot's paths and stages by name."""
        return paths_in(robot.n_bodies, self.table(robot))

    def schedule(self, robot: Tree) -> Schedule:
        """Return the stages in which the blocks of `robot` are eliminated; see `treesim.schedule`."""
        counting = Counting(robot)
        return counting.schedule(self.name, path_stages(robot, self.paths(robot), type(self).along.solver, counting))

    def widths(self, robot: Tree) -> list[int]:
        """Return the number of independent blocks of every stage."""
        if robot not in self._widths:
            solver = type(self).along.solver
            blocks = solver.elimination_block, solver.substitution_block
            self._widths[robot] = heavy_paths.widths(self.paths(robot), *blocks)
        return self._widths[robot]

    def runner(self, robot: Tree) -> Runner | None:
        """Return a runner that computes the stages of large robots on several threads; None for small robots."""
        if robot.n_bodies < LARGE or thread_count() == 1:
            return None
        numbers = (robot.n_bodies + 1) * (kernel.NUMBERS + type(self).along.solver.EXTRA)
        code = compiled(type(self).along.stages)
        widths = [*self.widths(robot), 1]  # the last returns the status
        return checked_stages(staged(code, (self.table(robot),), numbers, widths, BLOCKS_PER_SHARE))

    def joint_wrenches(
        self,
        robot: Tree,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        f_ext: ArrayLike | None,
        gravity: ArrayLike | None,
        armature: ArrayLike | None,
        engine: Engine,
        physics: Numbers | None,
    ) -> np.ndarray:
        """Return the wrenches (..., N, 6) across the joints, the unknowns of the method; no mimic joints."""
        constants = *self.constants(robot, gravity, armature), robot.body_rotations.reshape(-1)
        explain = partial(self.explain, gravity=gravity, armature=armature)
        wrenches = kernel_wrenches(robot, f_ext)
        return self._wrenches(robot, *constants, q, v, tau, wrenches, engine, physics=physics, explain=explain)


class ConstraintForce(HeavyPathBackend):
    """Constraint-force method; heavy paths are solved by elimination from the tip."""

    name = "constraint_force"
    capabilities = Capabilities(cost="O(N)", source=SOURCE, error_factor=100, worst_error_factor=1e8)
    along = constraint_force_paths.ELIMINATION
    method = along.states


class ConstraintForceCr(HeavyPathBackend):
    """Constraint-force method; heavy paths are solved by cyclic reduction."""

    name = "constraint_force_cr"
    capabilities = Capabilities(cost="O(N), O(log^2 N) stages", source=SOURCE, error_factor=100, worst_error_factor=1e8)
    along = constraint_force_paths.CYCLIC_REDUCTION
    method = along.states


class ConstraintForcePcr(HeavyPathBackend):
    """Constraint-force method; heavy paths are solved by parallel cyclic reduction."""

    name = "constraint_force_pcr"
    capabilities = Capabilities(
        cost="O(N log N), O(log^2 N) stages", source=SOURCE, error_factor=1000, worst_error_factor=1e9
    )
    along = constraint_force_paths.PARALLEL_CYCLIC_REDUCTION
    method = along.states


class ChainsBackend(CheckedBackend):
    """Constraint-force method on the main chains of a tree, with another method for side branches."""

    negative_rotors = False
    parts: ClassVar[Callable[[Tree, Counting], Stages]]

    def schedule(self, robot: Tree) -> Schedule:
        """Return the stages in which the blocks of `robot` are eliminated; see `treesim.schedule`."""
        counting = Counting(robot)
        return counting.schedule(self.name, type(self).parts(robot, counting))


class ConstraintForceGrouped(ChainsBackend):
    """Constraint-force method on main chains; the joints of side branches are in the blocks of their carriers."""

    name = "constraint_force_grouped"
    capabilities = Capabilities(
        cost="O(N) for short branches, their size cubed for long ones",
        source="Fijany and Featherstone 2013; grouped side branches",
        error_factor=100,
        worst_error_factor=1e8,
    )
    method = constraint_force_grouped.forward_dynamics_constraint_force_grouped_states
    parts = grouped_stages


class ConstraintForceBranchesFirst(ChainsBackend):
    """Constraint-force method on main chains; side branches are eliminated by the articulated-body algorithm."""

    name = "constraint_force_branches_first"
    capabilities = Capabilities(
        cost="O(N)",
        source="Fijany and Featherstone 2013; articulated side branches",
        error_factor=100,
        worst_error_factor=1e8,
    )
    method = constraint_force_branches_first.forward_dynamics_constraint_force_branches_first_states
    parts = branches_first_stages
