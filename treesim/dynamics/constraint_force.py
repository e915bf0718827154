"""The constraint-force method: block-tridiagonal systems for the forces across the joints, along paths of any tree."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import ModuleType
from typing import ClassVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike

from ..engine.call.evaluate import Runner
from ..engine.call.stages import staged
from ..engine.generic import compiled
from ..engine.threads import thread_count
from ..errors import AccuracyError, NonFiniteError, SingularInertiaError, UnsupportedError
from ..kernels import constraint_force as kernel
from ..kernels import (
    constraint_force_branches_first,
    constraint_force_cr,
    constraint_force_grouped,
    constraint_force_pcr,
    constraint_force_serial,
    constraint_force_stages,
    cyclic_reduction,
    parallel_cyclic_reduction,
    path_elimination,
)
from ..kernels.aba import forward_dynamics_states
from ..kernels.heavy_paths import Paths, paths_in, table_size
from ..kernels.tables import tree_tables
from ..model import heavy_paths
from ..model.schedule import Schedule
from ..model.states import on_states
from ..model.tree import Tree
from .base import Capabilities, CompiledBackend, explain_failure
from .block_counts import Counting, Stages
from .path_stages import branches_first_stages, grouped_stages, path_stages

SOURCE = "Fijany and Featherstone 2013; heavy paths on trees"
LARGE = 5000  # bodies; in a smaller robot, handing blocks to threads takes longer than it saves on two cores
BLOCKS_PER_SHARE = 100


class HeavyPathBackend(CompiledBackend):
    """The heavy paths of a tree, level after level, each path a block-tridiagonal system."""

    solver: ClassVar[ModuleType]  # solves along paths
    prepare: ClassVar[Callable[..., int]]
    stages: ClassVar[Callable[..., int]]

    def __init__(self) -> None:
        super().__init__()
        self._tables: WeakKeyDictionary[Tree, np.ndarray] = WeakKeyDictionary()
        self._widths: WeakKeyDictionary[Tree, list[int]] = WeakKeyDictionary()

    def table(self, robot: Tree) -> np.ndarray:
        """Return the robot's paths and stages, as kernels read them."""
        if robot not in self._tables:
            table = np.zeros(table_size(robot.n_bodies), np.int64)
            prepare = type(self).prepare
            (compiled(prepare) if robot.n_bodies >= LARGE else prepare)(robot.ints, robot.reals, table)
            self._tables[robot] = table
        return self._tables[robot]

    def paths(self, robot: Tree) -> Paths:
        """Return the robot's paths and stages, by name."""
        return paths_in(robot.n_bodies, self.table(robot))

    def schedule(self, robot: Tree) -> Schedule:
        """Return the stages in which the blocks of `robot` are eliminated; see `treesim.schedule`."""
        counting = Counting(robot)
        return counting.schedule(self.name, path_stages(robot, self.paths(robot), type(self).solver, counting))

    def widths(self, robot: Tree) -> list[int]:
        """Return the number of independent blocks of every stage."""
        if robot not in self._widths:
            solver = type(self).solver
            blocks = solver.elimination_block, solver.substitution_block
            self._widths[robot] = heavy_paths.widths(self.paths(robot), *blocks)
        return self._widths[robot]

    def runner(self, robot: Tree) -> Runner | None:
        """Return what runs the stages of large robots on several threads."""
        if robot.n_bodies < LARGE or thread_count() == 1:
            return None
        numbers = (robot.n_bodies + 1) * (kernel.NUMBERS + type(self).solver.EXTRA)
        code = compiled(type(self).stages)
        widths = [*self.widths(robot), 1]  # the last tells how all went
        return staged(code, (self.table(robot),), numbers, widths, BLOCKS_PER_SHARE)

    def explain(
        self, robot: Tree, named: dict[str, np.ndarray], gravity: ArrayLike | None, armature: ArrayLike | None
    ) -> Exception:
        """Return the error: a singular mass matrix, a body without inertia to divide by, or an overflow."""
        constants = self.constants(robot, gravity, armature)
        return explain_inertia(robot, named, constants, explain_failure(robot, named, armature), self.name)


def explain_inertia(
    robot: Tree,
    named: dict[str, np.ndarray],
    constants: tuple[np.ndarray, np.ndarray],
    general: Exception,
    name: str,
) -> Exception:
    """Return the error of a body whose inertia, with what hangs on it, cannot be divided by, if that is what failed:
    the mass matrix is not singular, as the `general` error would say."""
    if isinstance(general, SingularInertiaError):
        return general
    i = body_without_inertia(robot, named["q"], constants)
    if i is None:
        return lost_digits(robot, named, constants, name) or general
    return UnsupportedError(
        f"{name} divides by the inertia of every body, but that of body {robot.body_names[i - 1]!r}, moved by joint "
        f"{robot.joint_names[i - 1]!r}, is not positive definite: use the method 'aba' or 'ltdl', give the body "
        f"inertia in every direction, or merge it with a neighbour"
    )


def lost_digits(
    robot: Tree, named: dict[str, np.ndarray], constants: tuple[np.ndarray, np.ndarray], name: str
) -> AccuracyError | None:
    """Return the error of a result that breaks the constraints, if articulated bodies have a finite one."""
    if "tau" not in named:
        return None
    try:
        on_states(forward_dynamics_states, robot, constants, {**named, "f_ext": None})
    except NonFiniteError:
        return None
    return AccuracyError(
        f"{name} lost its digits on {robot.name!r}: accelerations break the constraints of its joints by more than "
        f"{kernel.MOST_LEFT:g} of their size, as light links between heavy ones can cause; use the backend 'aba'"
    )


def body_without_inertia(robot: Tree, q: np.ndarray, constants: tuple[np.ndarray, np.ndarray]) -> int | None:
    """Return the first body whose inertia is not positive definite, found by the kernel as plain Python, or None."""
    with np.errstate(all="ignore"):
        return next((i for one in q.reshape(-1, robot.nq) for i in _unsound_bodies(robot, one, constants)), None)


def _unsound_bodies(robot: Tree, q: np.ndarray, constants: tuple[np.ndarray, np.ndarray]) -> Iterator[int]:
    """The bodies without inertia to divide by at one configuration, those that hang on others first."""
    tree, solver, at_rest = tree_tables(*constants), path_elimination, np.zeros(robot.nv)
    table = np.zeros(table_size(robot.n_bodies), np.int64)
    constraint_force_stages.prepare(*constants, table, solver.elimination_rounds, solver.substitution_rounds)
    paths = paths_in(robot.n_bodies, table)
    w = kernel.work_in(robot.n_bodies + 1, np.zeros((robot.n_bodies + 1) * kernel.NUMBERS))
    functions = solver.eliminate_matrix, solver.eliminate_vector, solver.substitute
    for s in range(int(paths.sizes[1])):
        constraint_force_stages.stage(
            tree, paths, w, s, 0, 1, q, at_rest, at_rest, np.empty((0, 6)), np.empty(robot.nv), *functions
        )
    yield from (i for i in paths.order.tolist() if w.unsound[i] == kernel.BARE)


class ConstraintForce(HeavyPathBackend):
    """Heavy paths, each solved by elimination from its tip."""

    name = "constraint_force"
    capabilities = Capabilities(cost="O(N)", source=SOURCE, error_factor=100)
    entry = constraint_force_serial.forward_dynamics_constraint_force_states
    prepare = constraint_force_serial.prepare_constraint_force
    stages = constraint_force_serial.constraint_force_stages
    solver: ClassVar[ModuleType] = path_elimination


class ConstraintForceCr(HeavyPathBackend):
    """Heavy paths, each solved by cyclic reduction."""

    name = "constraint_force_cr"
    capabilities = Capabilities(cost="O(N), O(log^2 N) stages", source=SOURCE, error_factor=100)
    entry = constraint_force_cr.forward_dynamics_constraint_force_cr_states
    prepare = constraint_force_cr.prepare_constraint_force_cr
    stages = constraint_force_cr.constraint_force_cr_stages
    solver: ClassVar[ModuleType] = cyclic_reduction


class ConstraintForcePcr(HeavyPathBackend):
    """Heavy paths, each solved by parallel cyclic reduction."""

    name = "constraint_force_pcr"
    capabilities = Capabilities(cost="O(N log N), O(log^2 N) stages", source=SOURCE, error_factor=210)
    entry = constraint_force_pcr.forward_dynamics_constraint_force_pcr_states
    prepare = constraint_force_pcr.prepare_constraint_force_pcr
    stages = constraint_force_pcr.constraint_force_pcr_stages
    solver: ClassVar[ModuleType] = parallel_cyclic_reduction


class ChainsBackend(CompiledBackend):
    """Main chains of a tree by constraint forces; side branches on them in some other way."""

    parts: ClassVar[Callable[[Tree, Counting], Stages]]

    def explain(
        self, robot: Tree, named: dict[str, np.ndarray], gravity: ArrayLike | None, armature: ArrayLike | None
    ) -> Exception:
        """Return the error: a singular mass matrix, a body without inertia to divide by, or an overflow."""
        constants = self.constants(robot, gravity, armature)
        return explain_inertia(robot, named, constants, explain_failure(robot, named, armature), self.name)

    def schedule(self, robot: Tree) -> Schedule:
        """Return the stages in which the blocks of `robot` are eliminated; see `treesim.schedule`."""
        counting = Counting(robot)
        return counting.schedule(self.name, type(self).parts(robot, counting))


class ConstraintForceGrouped(ChainsBackend):
    """Main chains by constraint forces, the joints of side branches in the blocks of the bodies that they hang on."""

    name = "constraint_force_grouped"
    capabilities = Capabilities(
        cost="O(N) for short branches, their size cubed for long ones",
        source="Fijany and Featherstone 2013; grouped side branches",
        error_factor=100,
    )
    entry = constraint_force_grouped.forward_dynamics_constraint_force_grouped_states
    parts = grouped_stages


class ConstraintForceBranchesFirst(ChainsBackend):
    """Main chains by constraint forces, side branches eliminated first by the articulated-body algorithm."""

    name = "constraint_force_branches_first"
    capabilities = Capabilities(
        cost="O(N)", source="Fijany and Featherstone 2013; articulated side branches", error_factor=100
    )
    entry = constraint_force_branches_first.forward_dynamics_constraint_force_branches_first_states
    parts = branches_first_stages
