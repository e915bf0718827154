"""Straight-line LLVM IR of a trace, for as many states at once as the processor's vectors have lanes.

One loop around the operations (`chunks`) gathers the lanes of a group of states from the caller's arrays,
and scatters the results.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..graph.fusion import fuse
from ..graph.trace import Trace
from ..primitives import COS, INPUT, SIN
from .batch_loop import BatchLoop, Group, Placed
from .builder import Module
from .chunks import addresses_apart, chunk_calls, chunk_functions
from .elementary import turn, write_helpers
from .prefetch import At, Prefetched, Prefetches
from .values import I32, I64, PTR, Value


class Code(NamedTuple):
    """LLVM IR with options of its compilation.

    text: the IR. workspace: vectors that its function `share` needs for each thread. optimize: whether LLVM
    inlines and optimises; code for one robot needs neither. unrolled: whether loops are unrolled. apart: IR of
    a second module, compiled at the same time, or "". called: number of its functions that the first module
    calls. quick: whether LLVM generates code at level 0, whatever $TREESIM_OPT is.
    """

    text: str
    workspace: int
    optimize: bool = False
    unrolled: bool = True
    apart: str = ""
    called: int = 0
    quick: bool = False


def straight_line(
    module: Module,
    traced: Trace,
    sizes: Sequence[int],
    results: Sequence[int],
    carried: int = 0,
    invariant: int = 0,
    quaternions: Sequence[int] = (),
) -> Code:
    """Return an empty module's code: a function `share(job)` that processes blocks of states until none is left.

    sizes, results: numbers of one state in each input and result array. The job points to a table with a row
    for each array: an address, and three strides in numbers (number, state, step). Without `carried`, steps is 1.
    With it, the first `carried` inputs are the first results of the step before; their arrays contain the initial
    states. The next `invariant` inputs are constant; all others have an entry for each step. Results are written
    after every `every` steps. The job's status is 1 if a number that is written, or read at a step, is not finite,
    or one of the quaternions, which begin at the given inputs, is not of length 1. Every lane executes the same
    operations in the same order, so a state's result does not depend on its position in the batch.
    """
    traced, order = distinct(traced, carried)
    before, angles = with_turned_inputs(traced, 1)
    fuse(before)
    first = carried + invariant if carried else 0
    soon = [Prefetched(k, size, False) for k, size in enumerate(sizes) if k >= first]
    asked = Prefetches(soon + results_prefetched(sizes, results), module.lanes)
    apart = Module(module.lanes, module.prefetches, fuses=module.fuses)
    chunks = chunk_functions(module, before, asked=asked, apart=apart)
    placed = results_placed(module, results, order)
    turned = turn(module, angles, traced.inputs) if angles else None

    def work(group: Group, read: At, written: At) -> None:
        f, slots = group.code, group.code.at(group.between, 2 * len(angles))
        asked.fill_table(f, slots, group.tables, read, written)
        if turned:
            f.call(turned, group.inputs)
        chunk_calls(f, chunks, group.inputs, slots, group.results)

    slots = 2 * len(angles) + chunks.slots
    loop = BatchLoop(module, work, slots, sizes, placed, carried, invariant)
    return code_of(loop, quaternions, apart)


def code_of(loop: BatchLoop, quaternions: Sequence[int], apart: Module | None = None) -> Code:
    """Return the code of a loop over groups of states, with everything that it calls; apart: the second module."""
    loop.write(quaternions)
    return whole_code(loop.module, apart, loop.workspace)


def whole_code(module: Module, apart: Module | None, workspace: int) -> Code:
    """Return the code of a module, and of a second one with functions that it calls, with their helpers."""
    write_helpers(module)
    if apart is None or not apart.functions:
        return Code(module.text(), workspace)
    called, lists = len(apart.functions), addresses_apart(apart)
    write_helpers(apart)
    own, other = (f"{one.text()}\n{listed}" for one, listed in zip((module, apart), lists, strict=True))
    return Code(own, workspace, apart=other, called=called)


def results_prefetched(sizes: Sequence[int], results: Sequence[int]) -> list[Prefetched]:
    """Return the results to prefetch before they are written; sizes: of the inputs."""
    return [Prefetched(k, size, True) for k, size in enumerate(results, start=len(sizes))]


def with_turned_inputs(traced: Trace, width: int) -> tuple[Trace, list[int]]:
    """Return the trace with sines and cosines of inputs as further inputs, and these angles.

    After the inputs follow, for each group of `width` angles, their sines and then their cosines.
    """
    graph = traced.graph
    needed = graph.needed(traced.results)
    turned = [k for k in needed if graph.operation[k] in (SIN, COS) and graph.operation[graph.first[k]] == INPUT]
    angles = sorted({graph.first[graph.first[k]] for k in turned})
    place = {angle: traced.inputs + 2 * width * (j // width) + j % width for j, angle in enumerate(angles)}
    changed = graph.copy()
    for k in turned:
        angle = graph.first[graph.first[k]]
        changed.operation[k], changed.first[k] = INPUT, place[angle] + width * (graph.operation[k] == COS)
    return Trace(changed, traced.results, traced.inputs), angles


def distinct(traced: Trace, carried: int) -> tuple[Trace, list[int]]:
    """Return the trace with each result once, and the index of the result in each place.

    Mirrored entries and zeros of a matrix are then stored once. Carried results stay in order.
    """
    if carried:
        return traced, list(range(len(traced.results)))
    own = {node: k for k, node in enumerate(dict.fromkeys(traced.results))}
    return traced._replace(results=list(own)), [own[node] for node in traced.results]


def results_placed(module: Module, results: Sequence[int], order: Sequence[int]) -> Placed:
    """Return the memory of results of these sizes; order: index of the distinct value in each place."""
    places: list[tuple[int, int | Value]] = []
    start = 0
    for k, size in enumerate(results):
        own = list(order[start : start + size])
        start += size
        if own == [own[0] + j for j in range(size)]:
            places.append((size, own[0] if own else 0))
        else:
            padding = [0] * module.lanes.width  # padding for vectors that begin before the list or end after it
            numbers = module.array(f"list{k}", [*padding, *own, *padding], I32)
            places.append((size, Value(f"getelementptr ({I32}, {PTR} {numbers.name}, {I64} {len(padding)})", PTR)))
    return Placed(places, max(order, default=-1) + 1)
