"""Shared part of divide and conquer and tree contraction: elimination plans and their limitations."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from functools import partial
from itertools import accumulate
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike

from ..engine.call.evaluate import Runner
from ..engine.call.generic import compiled
from ..engine.call.stages import staged
from ..engine.threads import thread_count
from ..errors import AccuracyError, SingularInertiaError
from ..kernels.algebra.tables import tree_tables
from ..kernels.published.parallel import assemblies as kernel
from ..kernels.published.parallel import assembly_tables as layout
from ..kernels.published.parallel import assembly_velocities as velocities
from ..model.tree import Tree
from ..states.states import declared
from . import contraction
from .base import Capabilities, explain_failure
from .block_counts import Block, Counting, Stages, each
from .checked import CheckedBackend, checked_stages, explain_lost_digits
from .contraction import Plan
from .schedule import Schedule

LARGE = 5000  # bodies; in a smaller robot, handing blocks to threads takes longer than it saves on two cores
BLOCKS_PER_SHARE = 50  # fewer would take less time than to hand them over
LIGHT = 1e-3  # of a neighbour's inertia: with lighter bodies, joints between assemblies lose more digits
ROUNDING = 1e-10  # of the moments about the origin: below, those about the centre of mass are rounding errors


class AssembliesBackend(CheckedBackend):
    """A backend that joins assemblies in the order of a plan, which is made once for each tree."""

    negative_rotors = False
    method = kernel.forward_dynamics_by_plan_states

    def __init__(self) -> None:
        super().__init__()
        self._integers: WeakKeyDictionary[Tree, np.ndarray] = WeakKeyDictionary()

    @abstractmethod
    def plan(self, robot: Tree) -> Plan:
        """Return the order in which the joints of `robot` are eliminated. O(N)."""

    def schedule(self, robot: Tree) -> Schedule:
        """Return the stages in which the joints of `robot` are eliminated; see `treesim.schedule`."""
        counting = Counting(robot, self.integers(robot))
        return counting.schedule(self.name, _stages(robot, self.plan(robot), counting))

    def integers(self, robot: Tree) -> np.ndarray:
        """Return the robot's integer table, followed by the plan."""
        known = self._integers.get(robot)
        if known is None:
            known = np.concatenate([robot.ints, self.plan(robot).packed()])
            known.setflags(write=False)
            self._integers[robot] = known
        return known

    def runner(self, robot: Tree) -> Runner | None:
        """Return a runner that computes the stages of large robots on several threads; None for small robots."""
        if robot.n_bodies < LARGE or thread_count() == 1:
            return None
        N = robot.n_bodies
        tree = tree_tables(robot.ints, robot.reals)
        blocks = np.diff(layout.plan_tables(tree, self.integers(robot)).stage_start).tolist()
        widths = [N, *blocks, *reversed(blocks), N, *blocks, *reversed(blocks), N, 1]
        numbers = (N + 1) * layout.NUMBERS_PER_BODY
        return checked_stages(staged(compiled(kernel.some_stages), (), numbers, widths, BLOCKS_PER_SHARE))

    def explain(
        self, robot: Tree, named: dict[str, np.ndarray], gravity: ArrayLike | None, armature: ArrayLike | None
    ) -> Exception:
        """Return the error: a singular mass matrix, loss of accuracy, or an overflow."""
        general = explain_failure(robot, named, armature)
        if isinstance(general, SingularInertiaError):
            return general
        constants = self.constants(robot, gravity, armature)
        i = first_violated(robot, named, constants)
        if i is None:
            return explain_lost_digits(self, robot, named, constants, general)
        return AccuracyError(
            f"{self.name} lost its digits on {robot.name!r}: accelerations break the constraints of joint "
            f"{robot.joint_names[i - 1]!r} by more than {kernel.LOST:g} of their size; use the backend 'aba'"
        )


def _stages(robot: Tree, plan: Plan, counting: Counting) -> Stages:
    """Yield the kernel's stages with their blocks: bodies, velocities and dynamics, each along the plan and back."""
    tree, q, v, tau, none = counting.tree, counting.q, counting.v, counting.tau, counting.f_ext
    tables = layout.plan_tables(tree, counting.integers)
    m = layout.memory_of(tree, counting.numbers((robot.n_bodies + 1) * layout.NUMBERS_PER_BODY))
    bodies, touched = range(1, robot.n_bodies + 1), plan.bodies()
    forth = list(range(len(touched)))
    starts = [0, *accumulate(map(len, touched))]

    def of_plan(stage: int, work: Callable[[int, int], Any]) -> Iterator[Block]:
        for number, members in enumerate(touched[stage], start=starts[stage]):
            yield Block(members, partial(work, number, number + 1))

    def velocities_back(first: int, end: int) -> None:
        velocities.expand_velocities(tree, tables, m, v, first, end)

    kernel.place_base(tree, m)
    yield "transforms", each(bodies, lambda i: kernel.place(tree, q, v, m, i, i + 1))
    for stage in forth:
        blocks = of_plan(stage, lambda first, end: velocities.contract_velocities(tables, m, first, end))
        yield f"velocities forth, level {stage + 1}", blocks
    for stage in reversed(forth):
        yield f"velocities back, level {stage + 1}", of_plan(stage, velocities_back)
    yield "biases", each(bodies, lambda i: kernel.put_biases(tree, v, none, m, i, i + 1))
    for stage in forth:
        blocks = of_plan(stage, lambda first, end: kernel.contract(tree, tables, tau, m, first, end))
        yield f"assemblies, level {stage + 1}", blocks
    for stage in reversed(forth):
        blocks = of_plan(stage, lambda first, end: kernel.expand(tree, tables, m, first, end))
        yield f"forces, level {stage + 1}", blocks
    yield "joint accelerations", each(bodies, lambda i: kernel.read_accelerations(tree, m, counting.qdd, i, i + 1))


def solid_bodies(robot: Tree) -> list[bool]:
    """Return for each body whether it has an inertia to divide by.

    Its mass and moments must exceed LIGHT times those of its parent and children. Its moments about its centre of mass
    must exceed rounding errors of those about its origin.
    """
    masses = [body.inertia.mass for body in robot.bodies]
    moments = [np.linalg.eigvalsh(body.inertia.rotational) for body in robot.bodies]
    solid = [
        bool(body.inertia.mass > 0 and moment[0] > ROUNDING * np.trace(body.inertia.about_origin()))
        for body, moment in zip(robot.bodies, moments, strict=True)
    ]
    for child, p in enumerate(robot.parent.tolist()):
        for i, neighbour in ((child, p - 1), (p - 1, child)) if p else ():
            is_heavy = masses[i] > LIGHT * masses[neighbour] and moments[i][0] > LIGHT * moments[neighbour][2]
            solid[i] = solid[i] and bool(is_heavy)
    return solid


def first_violated(robot: Tree, named: dict[str, np.ndarray], constants: tuple[np.ndarray, np.ndarray]) -> int | None:
    """Return the first body whose joint constraint is violated in the first state that fails, or None.

    The kernel runs as plain Python.
    """
    ints, reals = constants
    tree = tree_tables(ints, reals)
    plan = layout.plan_tables(tree, ints)
    memory = layout.memory_of(tree, np.empty((robot.n_bodies + 1) * layout.NUMBERS_PER_BODY))
    with np.errstate(all="ignore"):
        for q, v, tau, f_ext in _states(robot, named):
            kernel.forward_dynamics(tree, q, v, tau, f_ext, np.empty(robot.nv), plan, memory)
            if (memory.margin[1:] < 0).any():
                return int(np.argmax(memory.margin[1:] < 0)) + 1
    return None


def _states(robot: Tree, named: dict[str, np.ndarray]) -> Iterator[list[np.ndarray]]:
    """Yield q, v, tau and wrenches in kernel coordinates of each state; wrenches have no rows if there are none."""
    entry, tables = kernel.forward_dynamics_by_plan_states, (robot.ints, robot.reals)
    shapes = {x.label: x.shape for x in declared(entry, robot, tables, {"f_ext": None, **named})[0]}
    batch = np.broadcast_shapes(*(x.shape[: x.ndim - len(shapes[label])] for label, x in named.items()))
    full = {label: np.broadcast_to(x, batch + shapes[label]) for label, x in named.items()}
    for state in np.ndindex(batch):
        yield [full[label][state] if label in full else np.empty((0, 6)) for label in shapes]


class DivideAndConquer(AssembliesBackend):
    """Divide and conquer: halves of every heavy path are joined, branches first."""

    name = "divide_and_conquer"
    capabilities = Capabilities(
        cost="O(N), O(log N) in parallel on a chain, O(log^2 N) on any tree",
        source="Featherstone 1999, Parts 1 and 2",
        error_factor=100.0,
        worst_error_factor=1e6,
    )

    def plan(self, robot: Tree) -> contraction.Plan:
        """Return the levels of balanced joining along the heavy paths."""
        return contraction.divide_and_conquer(robot.parent.tolist(), solid_bodies(robot))


class TreeContraction(AssembliesBackend):
    """Tree contraction: rake and compress in O(log N) rounds on any tree."""

    name = "tree_contraction"
    capabilities = Capabilities(
        cost="O(N), O(log N) in parallel",
        source="Featherstone 1999 on the rounds of Miller and Reif 1985",
        error_factor=100.0,
        worst_error_factor=1e6,
    )

    def plan(self, robot: Tree) -> contraction.Plan:
        """Return the rounds of rake and compress."""
        return contraction.tree_contraction(robot.parent.tolist(), solid_bodies(robot))
