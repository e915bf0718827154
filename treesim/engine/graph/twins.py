"""Equal subtrees of a robot, and the operations that a trace executes for both: one vector instruction does two.

Arms, legs and fingers come in pairs. A trace has the same operations for both of a pair, on other numbers. `twins`
finds them from the inputs outward: an operation on numbers of one subtree, and otherwise on numbers common to both,
is equal to one on the corresponding numbers of the other. Any two operations of the same kind may share an instruction,
so nothing depends on the constants being alike, and every number is the same to the bit.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ...kernels.algebra.joints import FLOATING, SPHERICAL
from ...kernels.algebra.tables import Tree, tree_tables
from ...kernels.entries.entry import is_mimic_entry
from ..argument_checks import declared_arrays
from ..primitives import ADD, DIV, FMA, FMS, FNMA, INPUT, LESS, MAX, MIN, MUL, NEG, SELECT, SQRT, SUB
from .trace import Trace

IN_VECTORS = {ADD, SUB, MUL, DIV, NEG, FMA, FMS, FNMA, SQRT, MAX, MIN, LESS, SELECT}


def equal_subtrees(tree: Tree) -> Iterator[tuple[list[int], list[int]]]:
    """Yield the bodies of pairs of disjoint subtrees with the same joints, the larger ones first."""
    children: list[list[int]] = [[] for _ in range(tree.n_bodies + 1)]
    for i in range(1, tree.n_bodies + 1):
        children[tree.parent[i]].append(i)

    def bodies(i: int) -> list[int]:
        return [i, *(k for child in children[i] for k in bodies(child))]

    def form(i: int) -> tuple[Any, ...]:
        screws = tree.screw[tree.v_start[i] : tree.v_start[i + 1]]
        return int(tree.code[i]), tuple(map(int, screws)), *map(form, children[i])

    left = [0]
    while left:
        unmatched: dict[tuple[Any, ...], int] = {}
        for i in children[left.pop()]:
            other = unmatched.pop(form(i), None)
            if other is None:
                unmatched[form(i)] = i
            else:
                yield bodies(other), bodies(i)
        left += unmatched.values()


def twin_inputs(entry: Callable[..., int], constants: Sequence[Any], sizes: Sequence[int]) -> list[tuple[int, int]]:
    """Return pairs of inputs of an entry that are the same numbers of two equal subtrees."""
    shapes = [array.shape for array in declared_arrays(entry) if not array.result]
    if is_mimic_entry(entry) or not ({("nq",), ("nv",)} & {*shapes}):  # the numbers of mimic joints are no inputs
        return []
    tree, found, before = tree_tables(*constants[:2]), list[tuple[int, int]](), 0
    pairs = [pair for one, other in equal_subtrees(tree) for pair in zip(one, other, strict=True)]
    for shape, size in zip(shapes, sizes, strict=False):
        for i, j in pairs if shape in (("nq",), ("nv",)) else ():
            coordinates = shape == ("nq",)
            first = tree.q_start if coordinates else tree.v_start
            more = coordinates and tree.code[i] in (SPHERICAL, FLOATING)
            count = int(tree.v_start[i + 1] - tree.v_start[i]) + more
            found += [(before + int(first[i]) + k, before + int(first[j]) + k) for k in range(count)]
        before += size
    return found


def twins(traced: Trace, inputs: Sequence[tuple[int, int]]) -> dict[int, int]:
    """Return pairs of nodes with the same operation on numbers of two equal subtrees; inputs: pairs of these."""
    graph, number = traced.graph, dict[Any, int]()
    side = {x: k for pair in inputs for k, x in enumerate(pair)}
    own = {x: -1 - k for k, pair in enumerate(inputs) for x in pair}  # numbers of the inputs' pairs
    known: dict[int, tuple[int, int]] = {}  # of a node that depends on one side: the side, and the number of its pair
    count, members = Counter[Any](), dict[int, dict[int, int]]()

    def place(x: int) -> tuple[int, int] | None:
        if graph.operation[x] == INPUT:
            k = graph.first[x]
            return (side[k], own[k]) if k in side else None
        return known.get(x)

    for node in graph.needed(traced.results) if inputs else ():
        places = [*map(place, graph.operands(node))]
        sides = {at[0] for at in places if at is not None}
        if len(sides) == 1:
            (one,) = sides
            key = graph.operation[node], *(None if at is None else at[1] for at in places)
            count[one, key] += 1
            pair = number.setdefault((key, count[one, key]), len(number))
            known[node] = one, pair
            members.setdefault(pair, {})[one] = node
    both = [pair for pair in members.values() if len(pair) == 2]
    return {pair[0]: pair[1] for pair in both if graph.operation[pair[0]] in IN_VECTORS}


def paired_order(traced: Trace, pairs: dict[int, int]) -> list[int]:
    """Return the needed nodes so that the second of a pair can be computed with the first, without the second ones.

    Pairs of which one node depends on the other, maybe by other pairs, are removed from `pairs`.
    """
    graph, order = traced.graph, traced.graph.needed(traced.results)
    if not pairs:
        return order
    operands = {node: graph.operands(node) for node in order}
    known: set[int] = set()  # nodes that can be computed
    while True:
        done = _in_order([node for node in order if node not in known], operands, pairs)
        complete = not known
        known.update(part for node in done for part in (node, pairs.get(node, node)))
        if len(known) == len(order):
            return done if complete else _in_order(order, operands, pairs)
        for node in [node for node in pairs if node not in known]:
            if any(all(x in known or x not in operands for x in operands[part]) for part in (node, pairs[node])):
                del pairs[node]


def _in_order(nodes: Sequence[int], operands: dict[int, tuple[int, ...]], pairs: dict[int, int]) -> list[int]:
    """Return ascending nodes, without the second ones of pairs, each behind its operands and otherwise in this order.

    Pairs that depend on each other are left out, and what depends on them. operands: of all nodes; those that are not
    among the given ones are known.
    """
    among, first = set(nodes), {second: one for one, second in pairs.items()}
    known: set[int] = set()
    waiting: dict[int, list[int]] = {}  # for a node that comes later
    done = []
    for each in nodes:
        ready = [] if each in first else [each]
        while ready:
            node = heapq.heappop(ready)
            parts = (node, pairs[node]) if node in pairs else (node,)
            sources = (first.get(x, x) for part in parts for x in operands[part])
            missing = next((x for x in sources if x in among and x not in known), None)
            if missing is None:
                done.append(node)
                known.add(node)
                for user in waiting.pop(node, ()):
                    heapq.heappush(ready, user)
            else:
                waiting.setdefault(missing, []).append(node)
    return done
