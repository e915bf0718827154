"""In which order the joints of a tree are eliminated so that many can be at once: divide and conquer, contraction.

A plan is made of events. Bodies are *raw* until a `leaf` event turns one into an assembly; an assembly is a run of
bodies that a `join` event made from two along the joint between them, known by its topmost body; `hang` adds a whole
branch to the raw body that carries it, or ends at the base. Events of one block run one after the other, blocks of a
stage at the same time.
Source: Featherstone 1999 (divide and conquer along a chain), Miller and Reif 1985 (rake and compress).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..kernels.assemblies import HANG, JOIN, LEAF
from .schedule import Schedule, Stage


class Event(NamedTuple):
    """One step of a plan.

    LEAF: `body` becomes an assembly, its lower handle at joint `below` (0: it has none).
    JOIN: joint `body` unites the assembly `upper` above it with the one below it, whose lower handle is at `below`.
    HANG: the childless assembly at `body` is added to its raw parent, or hangs on the base.
    """

    kind: int
    body: int
    upper: int = 0
    below: int = 0


@dataclass(frozen=True)
class Plan:
    """Stages of blocks of events: names of the stages, and for each stage its blocks."""

    method: str
    names: tuple[str, ...]
    stages: tuple[tuple[tuple[Event, ...], ...], ...]

    def packed(self) -> np.ndarray:
        """Return the plan as kernels read it (see kernels.assemblies.plan_tables), read-only."""
        blocks = [block for stage in self.stages for block in stage]
        events = [event for block in blocks for event in block]
        table = np.concatenate([
            [len(self.stages), len(blocks), len(events)],
            np.cumsum([0, *map(len, self.stages)]),
            np.cumsum([0, *map(len, blocks)]),
            np.array(events, dtype=np.int64).reshape(-1),
        ]).astype(np.int64)  # fmt: skip
        table.setflags(write=False)
        return table

    def schedule(self) -> Schedule:
        """Return the stages with the bodies of the assemblies that each block makes or hangs. O(N log N)."""
        members: dict[int, tuple[int, ...]] = {}
        stages = []
        for name, blocks in zip(self.names, self.stages, strict=True):
            stages.append(Stage(name, tuple(tuple(sorted(_touched(block, members))) for block in blocks)))
        return Schedule(self.method, tuple(stages))


def _touched(block: Sequence[Event], members: dict[int, tuple[int, ...]]) -> set[int]:
    """The bodies of every assembly that the block ends with; `members` keeps those of the assemblies that live."""
    touched: set[int] = set()
    for event in block:
        if event.kind == LEAF:
            members[event.body] = (event.body,)
        elif event.kind == JOIN:
            members[event.upper] += members.pop(event.body)
        touched.update(members[event.upper or event.body])
    return touched


# ---- tree contraction


def tree_contraction(parent: Sequence[int]) -> Plan:
    """Return the plan of rake and compress for the tree `parent` = (λ(1) ... λ(N)): O(log N) rounds for any tree.

    Each round first hangs every childless node on its parent (rake), then joins neighbours two by two along every run
    of nodes with one child (compress). O(N).
    """
    nodes = _Nodes(parent)
    names, stages = [], []
    round_ = 0
    while nodes.alive:
        round_ += 1
        for name, blocks in (("rake", nodes.rake()), ("compress", nodes.compress())):
            if blocks:
                names.append(f"round {round_}: {name}")
                stages.append(tuple(blocks))
    return Plan("tree_contraction", tuple(names), tuple(stages))


class _Nodes:
    """The nodes of a tree that is being contracted: raw bodies and assemblies, each known by its topmost body."""

    def __init__(self, parent: Sequence[int]) -> None:
        self.parent = [0, *map(int, parent)]
        self.raw = [True] * len(self.parent)
        self.owner = list(range(len(self.parent)))  # of a body that is the lowest of its node: that node
        self.lowest = list(range(len(self.parent)))
        self.children = [0] * len(self.parent)
        for p in self.parent[1:]:
            self.children[p] += 1
        self.alive = list(range(1, len(self.parent)))

    def above(self, node: int) -> int:
        """The node that carries `node`; 0 is the base."""
        return self.owner[self.parent[node]]

    def leaf(self, node: int, below: int) -> list[Event]:
        """What turns a raw node into an assembly."""
        events = [Event(LEAF, node, below=below)] if self.raw[node] else []
        self.raw[node] = False
        return events

    def rake(self) -> list[tuple[Event, ...]]:
        """Hang every childless node on its parent; siblings on a raw body share a block."""
        childless = [node for node in self.alive if self.children[node] == 0]
        blocks: dict[int, list[Event]] = {}
        for node in childless:
            carrier = self.above(node)
            events = self.leaf(node, 0)
            if carrier == 0:
                blocks[-node] = [*events, Event(HANG, node)]
            elif self.raw[carrier]:
                blocks.setdefault(carrier, []).extend([*events, Event(HANG, node)])
            else:
                blocks[carrier] = [*events, Event(JOIN, node, upper=carrier)]
        for node in childless:
            self.children[self.above(node)] -= 1
        gone = set(childless)
        self.alive = [node for node in self.alive if node not in gone]
        return [tuple(events) for events in blocks.values()]

    def compress(self) -> list[tuple[Event, ...]]:
        """Join disjoint pairs of neighbours in every maximal run of nodes with one child."""
        child = {self.above(node): node for node in self.alive}  # the only one where there is but one
        single = {node for node in self.alive if self.children[node] == 1}
        blocks, gone = [], set()
        for top in self.alive:
            if top not in single or self.above(top) in single:
                continue
            upper = top
            while upper in single and child[upper] in single:
                lower = child[upper]
                below = child[lower]
                blocks.append((*self.leaf(upper, lower), *self.leaf(lower, below), Event(JOIN, lower, upper, below)))
                gone.add(lower)
                self.owner[self.lowest[lower]] = upper
                self.lowest[upper] = self.lowest[lower]
                upper = below
        self.alive = [node for node in self.alive if node not in gone]
        return blocks


# ---- divide and conquer


def heavy_paths(parent: Sequence[int]) -> list[list[int]]:
    """Return the paths of a tree, each from its top to a childless body, always into the child of the largest
    subtree; a path comes after the one it hangs on. O(N)."""
    above = [0, *map(int, parent)]
    size = [1] * len(above)
    heavy = [0] * len(above)
    for i in range(len(above) - 1, 0, -1):
        size[above[i]] += size[i]
        if size[i] >= size[heavy[above[i]]] or heavy[above[i]] == 0:
            heavy[above[i]] = i
    paths = []
    for i in range(1, len(above)):
        if above[i] == 0 or heavy[above[i]] != i:
            path = [i]
            while heavy[path[-1]]:
                path.append(heavy[path[-1]])
            paths.append(path)
    return paths


def divide_and_conquer(parent: Sequence[int]) -> Plan:
    """Return the plan of balanced binary joining along the heavy paths of the tree `parent` = (λ(1) ... λ(N)).

    A path is halved again and again; a branch hangs on its carrier as soon as it is one assembly. Every event runs in
    the first stage in which its operands are ready: ⌈log2 N⌉ + 1 stages for a chain, O(log² N) for any tree. O(N).
    """
    joining = _Joining(parent)
    for path in reversed(heavy_paths(parent)):
        stage = joining.join(path, 0, len(path)) + 1
        joining.hang(path[0], stage, single=len(path) == 1)
    stages = [tuple(map(tuple, joining.blocks[stage].values())) for stage in sorted(joining.blocks)]
    names = tuple(f"level {stage}" for stage in range(1, len(stages) + 1))
    return Plan("divide_and_conquer", names, tuple(stages))


class _Joining:
    """Blocks by stage and by the body that they lead to."""

    def __init__(self, parent: Sequence[int]) -> None:
        self.parent = [0, *map(int, parent)]
        self.ready = [0] * len(self.parent)  # the last stage that changes a raw body
        self.blocks: dict[int, dict[int, list[Event]]] = defaultdict(dict)

    def join(self, path: list[int], first: int, end: int) -> int:
        """Plan the joints inside path[first:end]; return the stage after which it is one assembly."""
        if end - first == 1:
            return self.ready[path[first]]
        middle = (first + end + 1) // 2
        stage = 1 + max(self.join(path, first, middle), self.join(path, middle, end))
        events = [
            Event(LEAF, path[at], below=path[at + 1] if at + 1 < len(path) else 0)
            for at, size in ((first, middle - first), (middle, end - middle))
            if size == 1
        ]
        below = path[end] if end < len(path) else 0
        self.blocks[stage][path[first]] = [*events, Event(JOIN, path[middle], path[first], below)]
        return stage

    def hang(self, top: int, stage: int, single: bool) -> None:
        """Plan what happens to a whole path: it hangs on its carrier, or on the base."""
        carrier = self.parent[top]
        events = [Event(LEAF, top)] if single else []
        if carrier == 0:
            self.blocks[stage][top] = [*events, Event(HANG, top)]
        else:
            self.blocks[stage].setdefault(carrier, []).extend([*events, Event(HANG, top)])
            self.ready[carrier] = max(self.ready[carrier], stage)
