"""The work of level-parallel methods counted block by block: their kernels' own text, run on numbers that count.

As in `treesim cost`, the robot's constants are known to the count and its state is not: operations between constants
are free, and blocks and stages in which nothing is left to do are not listed.
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
    """The bodies that a block works on, and what does its work."""

    bodies: tuple[int, ...]
    work: Callable[[], Any]


# what a stage does, and its blocks, made when all stages before have run
Stages = Iterable[tuple[str, Iterable[Block]]]


class Counting:
    """A state of a robot in numbers that count, for the functions of a kernel: q, v, tau, no further forces, qdd."""

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
        """Return memory for numbers, zero at first."""
        memory = np.empty(count, object)
        memory[:] = self.tally.number(0.0)
        return memory

    def schedule(self, method: str, stages: Stages) -> Schedule:
        """Do the work of all stages, and return what it was."""
        return self.schedule_of(method, self.done(stages))

    def schedule_of(self, method: str, stages: Iterable[Stage]) -> Schedule:
        """The schedule of stages that are done, but for those without work."""
        return Schedule(method, tuple(stage for stage in stages if stage.blocks), self.tally.depth)

    def done(self, stages: Stages) -> list[Stage]:
        """Do the work of all blocks of all stages, and count it."""
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
    """The stages of several columns of work that do not wait for one another, each of the same stages."""
    for parts in zip(*columns, strict=True):
        blocks = tuple(block for part in parts for block in part.blocks)
        yield Stage(parts[0].name, blocks, tuple(count for part in parts for count in part.operations))


def each(bodies: Iterable[int], work: Callable[[int], Any]) -> Iterator[Block]:
    """One block for every body."""
    return (Block((i,), partial(work, i)) for i in bodies)


def in_turn(bodies: tuple[int, ...], work: Callable[[int], Any]) -> Block:
    """One block for all bodies, one after the other."""
    return Block(bodies, lambda: [work(i) for i in bodies])


def levels(robot: Tree) -> list[tuple[int, list[int]]]:
    """Return the depths of the tree, from the base outward, and the bodies of each."""
    depth = robot.topology.body_depth.tolist()
    ordered = sorted(range(1, robot.n_bodies + 1), key=lambda i: depth[i - 1])
    return [(d, list(group)) for d, group in groupby(ordered, key=lambda i: depth[i - 1])]


def onto_parents(robot: Tree, bodies: Iterable[int], work: Callable[[int], Any]) -> Iterator[Block]:
    """Blocks of work that adds something to the parent: siblings share one, unless they are on the base."""
    parent = [0, *robot.parent.tolist()]
    for p, siblings in groupby(sorted(bodies, key=lambda i: parent[i]), key=lambda i: parent[i]):
        if p == 0:
            yield from each(siblings, work)
        else:
            yield in_turn(tuple(siblings), work)
