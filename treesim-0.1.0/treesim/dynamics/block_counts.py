"""Operation counts of level-parallel methods, block by block: the kernels run on numbers that count.

As in `treesim cost`, the robot's constants are known, and the state is not. Operations between constants are free.
Blocks and stages without operations are not listed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from ..engine.interpreter import Tally, converted
from ..kernels.algebra.tables import tree_tables
from ..model.tree import Tree
from .schedule import Schedule, Stage

SEED = 1  # of the state that is counted on


class Block(NamedTuple):
    """The bodies of a block of work, and a function that computes it."""

    bodies: tuple[int, ...]
    work: Callable[[], Any]


# what a stage does, and its blocks, made when all stages before have run
Stages = Iterable[tuple[str, Iterable[Block]]]


class Counting:
    """A state of a robot in counting numbers, as arguments of kernel functions: q, v, tau, no external forces, qdd."""

    def __init__(self, robot: Tree, integers: np.ndarray | None = None) -> None:
        self.tally = Tally()
        self.integers = robot.ints if integers is None else integers
        self.reals = converted(robot.reals, self.tally.number)
        self.tree: Any = tree_tables(self.integers, self.reals)  # type: ignore[no-untyped-call]
        rng = np.random.default_rng(SEED)
        self.q = self.tally.variables(robot.random(rng))
        self.v, self.tau = (self.tally.variables(rng.normal(size=robot.nv)) for _ in range(2))
        self.f_ext = np.empty((0, 6))
        self.qdd = self.numbers(robot.nv)

    def numbers(self, count: int) -> np.ndarray:
        """Return an array of `count` counting numbers that are zero."""
        memory = np.empty(count, object)
        memory[:] = self.tally.number(0.0)
        return memory

    def schedule(self, method: str, stages: Stages) -> Schedule:
        """Compute all stages, and return their schedule."""
        return self.schedule_of(method, self.done(stages))

    def schedule_of(self, method: str, stages: Iterable[Stage]) -> Schedule:
        """Return the schedule of computed stages, without those that have no operations."""
        return Schedule(method, tuple(stage for stage in stages if stage.blocks), self.tally.depth)

    def done(self, stages: Stages) -> list[Stage]:
        """Compute all blocks of all stages, and return their operation counts."""
        return [self._done(name, blocks) for name, blocks in stages]

    def _done(self, name: str, blocks: Iterable[Block]) -> Stage:
        counted = [(block.bodies, self._operations(block)) for block in blocks]
        busy = [(bodies, operations) for bodies, operations in counted if operations]
        return Stage(name, tuple(bodies for bodies, _ in busy), tuple(operations for _, operations in busy))

    def _operations(self, block: Block) -> int:
        before = self.tally.operations.total()
        block.work()
        return self.tally.operations.total() - before


def side_by_side(columns: Iterable[list[Stage]]) -> Iterator[Stage]:
    """Yield merged stages of several independent columns of work, which have the same stages."""
    for parts in zip(*columns, strict=True):
        blocks = tuple(block for part in parts for block in part.blocks)
        yield Stage(parts[0].name, blocks, tuple(count for part in parts for count in part.operations))


def each(bodies: Iterable[int], work: Callable[[int], Any]) -> Iterator[Block]:
    """Return one block for each body."""
    return (Block((i,), partial(work, i)) for i in bodies)


def in_turn(bodies: tuple[int, ...], work: Callable[[int], Any]) -> Block:
    """Return one block for all bodies, which computes one after the other."""
    return Block(bodies, lambda: [work(i) for i in bodies])


def levels(robot: Tree) -> list[tuple[int, list[int]]]:
    """Return the depths of the tree, from the base outward, with the bodies at each depth."""
    depth = robot.topology.body_depth.tolist()
    ordered = sorted(range(1, robot.n_bodies + 1), key=lambda i: depth[i - 1])
    return [(d, list(group)) for d, group in groupby(ordered, key=lambda i: depth[i - 1])]


def onto_parents(robot: Tree, bodies: Iterable[int], work: Callable[[int], Any]) -> Iterator[Block]:
    """Yield blocks of work that adds to the parent: one for all siblings, but one each for bodies on the base."""
    parent = [0, *robot.parent.tolist()]
    for p, siblings in groupby(sorted(bodies, key=lambda i: parent[i]), key=lambda i: parent[i]):
        if p == 0:
            yield from each(siblings, work)
        else:
            yield in_turn(tuple(siblings), work)
