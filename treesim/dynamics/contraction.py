"""Elimination plans with many joints at a time: divide and conquer, and tree contraction.

A plan consists of events. Bodies are *raw* until a `leaf` event turns one into an assembly. A `join` event unites two
assemblies along the joint between them; an assembly is named by its topmost body. A `hang` event adds a whole branch
to the raw body that carries it, or ends at the base. A `rake` event does so with a raw body without children. Events of
one block run one after the other, blocks of a stage at the same time.

Bodies that are not `solid` have very little inertia. Such a body, and its carrier, never become assemblies while they
have a child. Their children hang on them first, and then they are raked, as in the articulated-body algorithm.
Source: Featherstone 1999 (divide and conquer along a chain), Miller and Reif 1985 (rake and compress).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np

from ..kernels.published.parallel.assembly_tables import HANG, JOIN, LEAF, RAKE
from ..model.frozen import frozen, record


class Event(NamedTuple):
    """One step of a plan.

    LEAF: `body` becomes an assembly, whose lower handle is at joint `below` (0: none).
    JOIN: joint `body` unites the assembly `upper` above it with the one below it, whose lower handle is at `below`.
    HANG: the childless assembly at `body` is added to `upper`, its raw parent, or hangs on the base (0).
    RAKE: the same with a childless raw body.
    """

    kind: int
    body: int
    upper: int = 0
    below: int = 0


@record()
class Plan:
    """Stages of blocks of events, and the number of rounds of rake and compress, if used."""

    method: str
    stages: tuple[tuple[tuple[Event, ...], ...], ...]
    rounds: int | None = None

    def packed(self) -> np.ndarray:
        """Return the plan as a read-only flat table for kernels (see `plan_tables` in their `assembly_tables`)."""
        blocks = [block for stage in self.stages for block in stage]
        starts, events = [], []
        for kind in (LEAF, JOIN, HANG, RAKE):
            chosen = [[event[1:] for event in block if event.kind == kind] for block in blocks]
            starts += list(accumulate(map(len, chosen), initial=0))
            events += [number for block in chosen for event in block for number in event]
        stages = accumulate(map(len, self.stages), initial=0)
        return frozen([len(self.stages), len(blocks), *stages, *starts, *events], np.int64)

    def bodies(self) -> tuple[tuple[tuple[int, ...], ...], ...]:
        """Return for every stage the bodies of the assemblies that each block makes or hangs. O(N log N)."""
        members: dict[int, tuple[int, ...]] = {}
        return tuple(tuple(tuple(sorted(_touched(block, members))) for block in blocks) for blocks in self.stages)


def _touched(block: Sequence[Event], members: dict[int, tuple[int, ...]]) -> set[int]:
    """Return the bodies of the assemblies that a block makes or hangs, carriers included; updates `members`.

    members: {topmost body: bodies} of the existing assemblies.
    """
    touched: set[int] = set()
    for event in block:
        if event.kind == LEAF:
            members[event.body] = (event.body,)
        elif event.kind == JOIN:
            members[event.upper] += members.pop(event.body)
        if event.kind in (HANG, RAKE):
            touched.update(members.pop(event.body, (event.body,)), [event.upper] if event.upper else [])
        elif event.kind == JOIN:
            touched.update(members[event.upper])
    return touched


# ---- tree contraction


def tree_contraction(parent: Sequence[int], solid: Sequence[bool] | None = None) -> Plan:
    """Return the plan of rake and compress for the tree `parent` = (λ(1) ... λ(N)): O(log N) rounds for any tree.

    Each round first hangs every childless node on its parent (rake). Then it joins neighbours in pairs along every run
    of nodes with one child (compress). Blocks that do not depend on the round before run in an earlier stage. solid:
    flag of each body, True by default. O(N).
    """
    nodes = _Nodes(parent, solid)
    blocks, rounds = [], 0
    while nodes.alive:
        rounds += 1
        blocks += nodes.rake()
        blocks += nodes.compress()
    return Plan("tree_contraction", as_soon_as_possible(blocks), rounds)


def as_soon_as_possible(blocks: Sequence[tuple[Event, ...]]) -> tuple[tuple[tuple[Event, ...], ...], ...]:
    """Return stages of blocks: each block is in the first stage after all earlier blocks on the same bodies. O(N)."""
    last: dict[int, int] = {}  # stage of the last block that works on a body; not for the base
    stages: list[list[tuple[Event, ...]]] = []
    for block in blocks:
        bodies = {body for event in block for body in (event.body, event.upper) if body}
        stage = 1 + max(last.get(body, -1) for body in bodies)
        last.update(dict.fromkeys(bodies, stage))
        if stage == len(stages):
            stages.append([])
        stages[stage].append(block)
    return tuple(map(tuple, stages))


class _Nodes:
    """Nodes of a tree during contraction: raw bodies and assemblies, each named by its topmost body."""

    def __init__(self, parent: Sequence[int], solid: Sequence[bool] | None) -> None:
        self.parent = [0, *map(int, parent)]
        self.solid = _with_base(solid, len(self.parent))
        self.raw = [True] * len(self.parent)
        self.owner = list(range(len(self.parent)))  # of a body that is the lowest of its node: that node
        self.lowest = list(range(len(self.parent)))
        self.children = [0] * len(self.parent)
        for p in self.parent[1:]:
            self.children[p] += 1
        self.alive = list(range(1, len(self.parent)))

    def above(self, node: int) -> int:
        """Return the parent node of `node`; 0 is the base."""
        return self.owner[self.parent[node]]

    def rake(self) -> list[tuple[Event, ...]]:
        """Return blocks that hang every childless node on its parent; siblings on a raw body share a block."""
        childless = [node for node in self.alive if self.children[node] == 0]
        blocks: dict[int, list[Event]] = {}
        for node in childless:
            carrier = self.above(node)
            if carrier == 0 or self.raw[carrier]:
                event = Event(RAKE if self.raw[node] else HANG, node, upper=carrier)
                blocks.setdefault(carrier or -node, []).append(event)
            else:
                blocks[carrier] = [*_leaf(self.raw, node, 0), Event(JOIN, node, upper=carrier)]
        for node in childless:
            self.children[self.above(node)] -= 1
        gone = set(childless)
        self.alive = [node for node in self.alive if node not in gone]
        return [tuple(events) for events in blocks.values()]

    def compress(self) -> list[tuple[Event, ...]]:
        """Return blocks that join disjoint pairs of neighbours in every maximal run of nodes with one child."""
        child = {self.above(node): node for node in self.alive}  # the only one where there is but one
        single = {
            node
            for node in self.alive
            if self.children[node] == 1 and not (self.raw[node] and not (self.solid[node] and self.solid[child[node]]))
        }
        blocks, gone = [], set()
        for top in self.alive:
            if top not in single or self.above(top) in single:
                continue
            upper = top
            while upper in single and child[upper] in single:
                lower = child[upper]
                below = child[lower]
                blocks.append(
                    (*_leaf(self.raw, upper, lower), *_leaf(self.raw, lower, below), Event(JOIN, lower, upper, below))
                )
                gone.add(lower)
                self.owner[self.lowest[lower]] = upper
                self.lowest[upper] = self.lowest[lower]
                upper = below
        self.alive = [node for node in self.alive if node not in gone]
        return blocks


# ---- divide and conquer


def _with_base(solid: Sequence[bool] | None, count: int) -> list[bool]:
    """Return the flags of bodies with one for the base in front; all True for None."""
    return [True] * count if solid is None else [True, *map(bool, solid)]


def heavy_paths(parent: Sequence[int], solid: Sequence[bool] | None = None) -> list[list[int]]:
    """Return the heavy paths of a tree, each from its top to a childless body, into the child of the largest subtree.

    A path comes after its carrier's path. A body that is not solid is a path of its own. O(N).
    """
    above = [0, *map(int, parent)]
    firm = _with_base(solid, len(above))
    size = [1] * len(above)
    heavy = [0] * len(above)
    for i in range(len(above) - 1, 0, -1):
        size[above[i]] += size[i]
        if size[i] >= size[heavy[above[i]]] or heavy[above[i]] == 0:
            heavy[above[i]] = i
    paths = []
    for i in range(1, len(above)):
        if above[i] == 0 or heavy[above[i]] != i or not (firm[above[i]] and firm[i]):
            path = [i]
            while heavy[path[-1]] and firm[path[-1]] and firm[heavy[path[-1]]]:
                path.append(heavy[path[-1]])
            paths.append(path)
    return paths


def divide_and_conquer(parent: Sequence[int], solid: Sequence[bool] | None = None) -> Plan:
    """Return the plan of binary joining along the heavy paths of the tree `parent` = (λ(1) ... λ(N)).

    In each stage, neighbours on a path are joined in pairs if both are ready. A branch hangs on its carrier as soon as
    it is one assembly. A chain takes ⌈log2 N⌉ + 1 stages, any tree O(log² N). solid: flag of each body, True by
    default. O(N) if branches are ready when they are needed.
    """
    joining = _Joining(parent)
    for path in reversed(heavy_paths(parent, solid)):
        joining.hang(path[0], joining.join(path) + 1)
    stages = [tuple(map(tuple, joining.blocks[stage].values())) for stage in sorted(joining.blocks)]
    return Plan("divide_and_conquer", tuple(stages))


class _Joining:
    """Builder of the plan: blocks by stage and by the body on which they act."""

    def __init__(self, parent: Sequence[int]) -> None:
        self.parent = [0, *map(int, parent)]
        self.ready = [0] * len(self.parent)  # of a node, by its topmost body: the last stage that works on it
        self.raw = [True] * len(self.parent)
        self.blocks: dict[int, dict[int, list[Event]]] = defaultdict(dict)

    def join(self, nodes: list[int]) -> int:
        """Add blocks that join all nodes of a path; return the stage after which the path is one assembly."""
        while len(nodes) > 1:
            stage = 1 + min(max(self.ready[a], self.ready[b]) for a, b in pairwise(nodes))
            left, at = [], 0
            while at < len(nodes):
                left.append(nodes[at])
                if at + 1 < len(nodes) and max(self.ready[nodes[at]], self.ready[nodes[at + 1]]) < stage:
                    self._join_two(stage, nodes[at], nodes[at + 1], nodes[at + 2] if at + 2 < len(nodes) else 0)
                    at += 1
                at += 1
            nodes = left
        return self.ready[nodes[0]]

    def hang(self, top: int, stage: int) -> None:
        """Add the event that hangs a whole path on its carrier or on the base."""
        carrier = self.parent[top]
        place = carrier or -top
        event = Event(RAKE if self.raw[top] else HANG, top, upper=carrier)
        self.blocks[stage].setdefault(place, []).append(event)
        self.ready[carrier] = max(self.ready[carrier], stage)

    def _join_two(self, stage: int, upper: int, lower: int, below: int) -> None:
        leaves = [*_leaf(self.raw, upper, lower), *_leaf(self.raw, lower, below)]
        self.blocks[stage][upper] = [*leaves, Event(JOIN, lower, upper, below)]
        self.ready[upper] = stage


def _leaf(raw: list[bool], node: int, below: int) -> list[Event]:
    """Return the event that turns a raw node into an assembly; none if it is one already."""
    events = [Event(LEAF, node, below=below)] if raw[node] else []
    raw[node] = False
    return events
