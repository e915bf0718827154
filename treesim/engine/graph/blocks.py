"""Division of a trace at its loops' iterations into blocks, and the templates that equal blocks share.

Bodies of one joint type take the same operations on different numbers. Such blocks share one template,
which is compiled once. Each block has its own operands, entries of the robot's tables, and destinations of
its values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ...kernels.entries.entry import fuses
from ..primitives import ARITY, CONSTANT, PRIMITIVES, TABLE
from .graph import Graph
from .loops import marked, with_callback
from .trace import Trace, trace

LONGEST = 600_000  # operations: a trace takes 3 us and 500 bytes for each
SMALL = 16  # operations: loops with shorter iterations are divided only after a run of
RUN = 48  # operations
TRIPS = 2  # iterations: loops with no more, on average, are not divided
KNOWN = (CONSTANT, TABLE)
# kinds of operands, in the last two bits of the code
LOCAL, SLOT, ENTRY, LITERAL = range(4)


class TableGraph(Graph):
    """Graph whose operations do not depend on the numbers in the robot's tables, with marks of loop iterations.

    Entries of tables, and results computed from them alone, are nodes of the kind TABLE with a value each. Only
    literals in the source, such as 0, 1 and 2, are folded; optionally also entries that are zero. The latter
    saves operations, but blocks with different zeros then differ.
    """

    def __init__(self, fold_zeros: bool = False, longest: int = LONGEST) -> None:
        super().__init__(longest)
        self.fold_zeros = fold_zeros
        self.marks: list[tuple[int, int]] = []  # site of a loop, number of nodes when its mark was met

    def mark(self, site: int) -> None:
        """Record that an iteration starts here, or that a loop has ended."""
        self.marks.append((site, len(self.operation)))

    def given(self, value: float) -> tuple[int, float | None]:
        """Return a new node of a table's entry; equal entries are not merged, except zeros that are folded."""
        if value == 0 and self.fold_zeros:
            return super().given(value)
        return self._entry(value), None

    def _entry(self, value: float) -> int:
        self.values.append(value)
        return super()._new(TABLE, len(self.values) - 1, 0)

    def _new(self, operation: int, first: int, second: int) -> int:
        kinds, arity = self.operation, ARITY[operation]
        if 1 <= arity <= 2 and kinds[first] in KNOWN and (arity == 1 or kinds[second] in KNOWN):
            values = [self.values[self.first[k]] for k in (first, second)[:arity]]
            try:
                return self._entry(float(PRIMITIVES[operation].python(*values)))
            except (ZeroDivisionError, ValueError):
                pass  # computed by the processor
        return super()._new(operation, first, second)


def table_trace(
    entry: Callable[..., int],
    constants: Sequence[Any],
    sizes: Sequence[int],
    results: Sequence[int],
    fold_zeros: bool = False,
) -> Trace:
    """Return the trace of an entry's marked copy, on a TableGraph; otherwise as `trace`."""
    graph = TableGraph(fold_zeros)
    graph.fuses = fuses(entry)
    with with_callback(graph.mark):
        return trace(marked(entry), constants, sizes, results, graph)


class Nodes(NamedTuple):
    """Nodes and values of a graph as arrays."""

    operation: np.ndarray
    first: np.ndarray
    second: np.ndarray
    third: np.ndarray
    values: np.ndarray


class BlockTemplate(NamedTuple):
    """Operations that blocks share.

    operations: one row each, operation and the codes of its operands (see `operand`). externals: SLOT or ENTRY,
    for each number from outside, in order of first use. stored: operations whose value any of the blocks must
    store. blocks: indices of the blocks.
    """

    operations: np.ndarray
    externals: np.ndarray
    stored: np.ndarray
    blocks: np.ndarray


class Blocks(NamedTuple):
    """Trace divided into blocks.

    nodes: the graph. order: nodes that results depend on. starts: of each block in `order`, and the end.
    externals: nodes that blocks take from outside, by block in order of first use. external_starts: of each
    block in these. crossing: mask of `order` of values that a later block uses.
    """

    nodes: Nodes
    order: np.ndarray
    starts: np.ndarray
    externals: np.ndarray
    external_starts: np.ndarray
    crossing: np.ndarray
    templates: list[BlockTemplate]

    @property
    def distinct(self) -> int:
        """Number of operations of all templates."""
        return sum(len(template.operations) for template in self.templates)


def operand(code: int) -> tuple[int, int]:
    """Decode an operand: its kind, and the index of an operation in the block, an external, or a literal."""
    return code & 3, code >> 2


def cut(traced: Trace) -> Blocks:
    """Divide a trace into blocks. Cost: about 1 us per operation."""
    graph = traced.graph
    order = np.array(graph.needed(traced.results), dtype=np.int64)
    operation, first, second = (np.array(x, dtype=np.int64) for x in (graph.operation, graph.first, graph.second))
    third = np.full(len(operation), -1, dtype=np.int64)
    third[list(graph.third)] = list(graph.third.values())
    nodes = Nodes(operation, first, second, third, np.array(graph.values, dtype=float))
    sources = _sources(nodes, order)
    starts = _boundaries(graph.marks if isinstance(graph, TableGraph) else [], order)
    block = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    place = np.full(len(nodes.operation), -1, dtype=np.int64)
    place[order] = np.arange(len(order))
    kinds = nodes.operation
    used = sources >= 0
    local = used & (place[sources] >= starts[block][:, None])
    literal = used & ~local & (kinds[sources] == CONSTANT)
    outside = used & ~local & ~literal
    codes = np.full(sources.shape, -1, dtype=np.int64)
    codes[local] = 4 * (place[sources] - starts[block][:, None])[local] + LOCAL
    codes[literal] = 4 * nodes.first[sources[literal]] + LITERAL
    of_block, externals, rank = _first_uses(
        np.repeat(block[:, None], sources.shape[1], axis=1)[outside], sources[outside]
    )
    entry = kinds[externals] == TABLE
    external_starts = np.searchsorted(of_block, np.arange(len(starts)))
    codes[outside] = 4 * (rank - external_starts[of_block[rank]]) + np.where(entry[rank], ENTRY, SLOT)
    crossing = np.zeros(len(order), dtype=bool)
    crossing[place[externals[place[externals] >= 0]]] = True
    wanted = crossing.copy()
    results = place[np.array(traced.results, dtype=np.int64)]
    wanted[results[results >= 0]] = True
    rows = np.column_stack([kinds[order], codes])
    templates = _templates(rows, starts, wanted, np.where(entry, ENTRY, SLOT), external_starts)
    return Blocks(nodes, order, starts, externals, external_starts, crossing, templates)


def _sources(nodes: Nodes, order: np.ndarray) -> np.ndarray:
    """Return the operands (-1: none) of the nodes in `order`."""
    sources = np.column_stack([nodes.first[order], nodes.second[order], nodes.third[order]])
    sources[np.array(ARITY)[nodes.operation[order]] < 2, 1] = -1
    return sources


def _first_uses(block: np.ndarray, node: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return distinct pairs (block, node) in order of first use, and the index of each given pair among them."""
    most = int(node.max(initial=0)) + 1
    pairs, first, which = np.unique(block * most + node, return_index=True, return_inverse=True)
    by_use = np.argsort(first)
    rank = np.empty(len(pairs), dtype=np.int64)
    rank[by_use] = np.arange(len(pairs))
    in_order = pairs[by_use]
    return in_order // most, in_order % most, rank[which.reshape(-1)]


def _templates(
    rows: np.ndarray, starts: np.ndarray, wanted: np.ndarray, kinds: np.ndarray, external_starts: np.ndarray
) -> list[BlockTemplate]:
    """Group blocks with equal rows of operations."""
    groups: dict[bytes, list[int]] = {}
    for k, (first, last) in enumerate(pairwise(starts)):
        groups.setdefault(rows[first:last].tobytes(), []).append(k)
    templates = []
    for members in groups.values():
        blocks = np.array(members)
        first, last = starts[members[0]], starts[members[0] + 1]
        stored = wanted[starts[blocks][:, None] + np.arange(last - first)].any(axis=0)
        externals = kinds[external_starts[members[0]] : external_starts[members[0] + 1]]
        templates.append(BlockTemplate(rows[first:last], externals, np.flatnonzero(stored), blocks))
    return templates


# ---- boundaries of blocks


class _Site:
    """Counts of a loop: instances, iterations, and operations in its iterations."""

    __slots__ = ("instances", "iterations", "operations")

    def __init__(self) -> None:
        self.instances = self.iterations = self.operations = 0

    def long(self) -> bool:
        """Return whether the loop has enough iterations to be divided."""
        return self.iterations > TRIPS * self.instances

    def small(self) -> bool:
        """Return whether an iteration is too short for a block of its own."""
        return self.operations < SMALL * self.iterations


def _boundaries(marks: Sequence[tuple[int, int]], order: np.ndarray) -> np.ndarray:
    """Return the starts of the blocks in `order`, and its end."""
    places = np.searchsorted(order, [node for _, node in marks]).tolist()
    visits = [(site, place) for (site, _), place in zip(marks, places, strict=True)]
    sites = _counted(visits)
    always = {site for site, counts in sites.items() if counts.long() and not counts.small()}
    sometimes = {site for site, counts in sites.items() if counts.long() and counts.small()}
    starts = [0]
    for site, place in visits:
        known = max(site, ~site)
        run = place - starts[-1]
        if (run > 0 and known in always) or (run >= RUN and known in sometimes):
            starts.append(place)
    return np.array([*starts, len(order)] if starts[-1] < len(order) else starts, dtype=np.int64)


def _counted(visits: Sequence[tuple[int, int]]) -> dict[int, _Site]:
    """Return the counts of every loop.

    A loop left by `return` has no end mark; the next mark of an enclosing loop ends it.
    """
    sites: dict[int, _Site] = {}
    inside: list[tuple[int, int]] = []  # current loops, and the start of their iteration
    for site, place in visits:
        known = max(site, ~site)
        counts = sites.setdefault(known, _Site())
        going_on = bool(inside) and (inside[-1][0] == known or any(known == other for other, _ in inside))
        while going_on and inside:
            other, start = inside.pop()
            sites[other].operations += place - start
            if other == known:
                break
        if site >= 0:
            counts.instances += not going_on
            counts.iterations += 1
            inside.append((site, place))
    return sites
