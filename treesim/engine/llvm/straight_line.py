"""LLVM IR from a trace: straight-line code for as many states at once as the processor's vectors have lanes.

Around the operations (`chunks`) stands one loop that gathers the lanes of a group of states from the caller's arrays,
and scatters the results.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..graph.trace import Trace
from ..primitives import COS, INPUT, SIN
from .batch_loop import HARNESS, JOB_WORDS, non_finite_check, rotations
from .chunks import chunk_calls, chunk_functions
from .elementary import helpers, turn
from .gather_scatter import gather_and_scatter
from .lanes import DECLARATIONS, Lanes, substituted
from .nontemporal_stores import LEAST, NontemporalResult, nontemporal_calls, nontemporal_functions
from .prefetch import Prefetched, Prefetches, array_lines


class Code(NamedTuple):
    """IR text, the number of vectors of workspace that its function `share` needs for each thread, and whether LLVM is
    to inline and optimise it: text that was made for one robot is as it should be. unrolled: whether loops then are."""

    text: str
    workspace: int
    optimize: bool = False
    unrolled: bool = True


class Placed(NamedTuple):
    """Where results lie among the distinct values that lanes compute: of each array its size, and the place of its
    first number if all lie in order, else the address of their list; the lists' texts; how many values there are."""

    places: list[tuple[int, int | str]]
    lists: list[str]
    values: int


def straight_line(
    traced: Trace,
    sizes: Sequence[int],
    results: Sequence[int],
    lanes: Lanes,
    carried: int = 0,
    invariant: int = 0,
    quaternions: Sequence[int] = (),
) -> Code:
    """Return the IR of a function `share(job)` that works on blocks of states until none of the job's is left.

    sizes, results: numbers of one state in each input and result array. The job points to a table of an address,
    three strides, counted in numbers, from number to number, from state to state, from step to step, and whether to
    write it by nontemporal stores, for each array.
    Without `carried`, steps is 1. With it, the first `carried` inputs are the first results of the step before, their
    arrays hold the states to start from; the next `invariant` inputs stay; all others hold an entry for each step.
    Results are written after every `every` steps; the job's status is 1 if one written, or one read at a step, is not
    finite, or one of the quaternions, which begin at these inputs, is not of length 1.
    Every lane sees the same operations in the same order, so a state's result does not depend on where in the batch it
    stands.
    """
    traced, order = distinct(traced, carried)
    before, angles = with_turned_inputs(traced, 1)
    first = carried + invariant if carried else 0
    soon = [Prefetched(k, size, False, "%t.soon", "%group.soon") for k, size in enumerate(sizes) if k >= first]
    # what is carried is not written at every step
    large = [] if carried else [k for k, size in enumerate(results, len(sizes)) if size >= LEAST]
    asked = Prefetches(soon + results_prefetched(sizes, results, large), lanes.width, lanes.bytes // lanes.width)
    chunks, slots, done = chunk_functions(before, lanes, asked)
    placed = results_placed(results, order, lanes.width)
    nontemporal = _nontemporal(large, len(sizes), placed, order, done)
    turned = 2 * len(angles)
    calls = [
        f"  %slots = getelementptr $VECTOR, ptr %tmp, i64 {turned}",
        f"  %table = getelementptr $VECTOR, ptr %slots, i64 0\n{asked.table_lines()}\n  call void @turn(ptr %in)",
        *chunk_calls(
            len(chunks), "%in", "%slots", "%out", nontemporal_calls(nontemporal, len(chunks), "%out", lanes.width)
        ),
    ]
    functions = [turn(angles, traced.inputs, lanes.single), *chunks, *nontemporal_functions(nontemporal, lanes)]
    return wrapped(functions, calls, turned + slots, sizes, placed, lanes, carried, invariant, quaternions, large)


def results_prefetched(
    sizes: Sequence[int], results: Sequence[int], nontemporal: Sequence[int] = ()
) -> list[Prefetched]:
    """Return what is to be asked for before the results of a step are written; sizes: of the inputs; nontemporal: the
    arrays that may be."""
    arrays = enumerate(results, start=len(sizes))
    return [Prefetched(k, size, True, "%record", "%group", k in nontemporal) for k, size in arrays]


def _nontemporal(
    arrays: Sequence[int], inputs: int, placed: Placed, order: Sequence[int], done: Sequence[int]
) -> list[NontemporalResult]:
    """The results that may be written by nontemporal stores, of `arrays`, numbered behind the inputs; order: which
    distinct value stands in each place; done: the chunk of each."""
    starts = np.cumsum([0, *(size for size, _ in placed.places)]).tolist()
    return [
        NontemporalResult(
            k, *placed.places[k - inputs], [done[j] for j in order[starts[k - inputs] : starts[k - inputs + 1]]]
        )
        for k in arrays
    ]


def with_turned_inputs(traced: Trace, width: int) -> tuple[Trace, list[int]]:
    """The same trace with sines and cosines of inputs as further inputs, and these angles.

    Behind the inputs lie, for each group of `width` angles, their sines and then their cosines.
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
    """Return the trace with each result once, and which of these stands in each place: mirrored entries and zeros of a
    matrix then go through memory once. What is carried stays in order."""
    if carried:
        return traced, list(range(len(traced.results)))
    own = {node: k for k, node in enumerate(dict.fromkeys(traced.results))}
    return traced._replace(results=list(own)), [own[node] for node in traced.results]


def wrapped(
    functions: Sequence[str],
    calls: Sequence[str],
    slots: int,
    sizes: Sequence[int],
    placed: Placed,
    lanes: Lanes,
    carried: int,
    invariant: int,
    quaternions: Sequence[int],
    nontemporal: Sequence[int] = (),
) -> Code:
    """Return the IR of `share`, see straight_line, around `calls` of `functions`, which take a group of states from
    %in through %tmp, of so many slots, to %out; the three follow one another in memory. placed: the results at %out.
    nontemporal: arrays that the calls may have written already."""
    inputs = _places(sizes)
    first = carried + invariant if carried else 0  # of those that change with the steps
    text = HARNESS.format(
        inputs=sum(sizes),
        arriving=sum(sizes[:first]),
        crossing=slots,
        calls="\n".join(calls),
        initial=_transfers("gather", "%in", inputs[:first], 0, "0"),
        gathers=_transfers("gather", "%in", inputs[first:], first, "%t"),
        scatters=_transfers("scatter", "%out", placed.places, len(sizes), "%record", nontemporal),
        words=JOB_WORDS,
        carried=sum(sizes[:carried]),
    )
    residues = non_finite_check("residue_in", sum(sizes[first:])), non_finite_check("residue_out", placed.values)
    checks = *residues, rotations(quaternions, lanes.single)
    called = helpers("\n".join(functions), lanes.single)
    text = "\n".join([DECLARATIONS, *called, gather_and_scatter(lanes.width), *checks, *placed.lists, *functions, text])
    return Code(substituted(text, lanes), sum(sizes) + slots + placed.values)


def _places(sizes: Sequence[int]) -> list[tuple[int, int]]:
    """Size and place in the lanes' buffer of each array."""
    return [(size, sum(sizes[:k])) for k, size in enumerate(sizes)]


def results_placed(results: Sequence[int], order: Sequence[int], width: int) -> Placed:
    """Return where results of these sizes lie; order: which distinct value stands in each place; width: of vectors."""
    places: list[tuple[int, int | str]] = []
    lists = []
    for k, (size, start) in enumerate(_places(results)):
        own = list(order[start : start + size])
        if own == [own[0] + j for j in range(size)]:
            places.append((size, own[0] if own else 0))
        else:
            beside = [0] * width  # what a vector that begins before the list, or ends behind it, finds there
            padded = ", ".join(f"i32 {j}" for j in (*beside, *own, *beside))
            places.append((size, f"getelementptr (i32, ptr @list{k}, i64 {width})"))
            lists.append(f"@list{k} = internal constant [{size + 2 * width} x i32] [{padded}]")
    return Placed(places, lists, max(order, default=-1) + 1)


def _transfers(
    function: str,
    buffer: str,
    places: Sequence[tuple[int, int | str]],
    array: int,
    step: str,
    nontemporal: Sequence[int] = (),
) -> str:
    """Calls that move arrays, numbered from `array` on, between the caller's memory at a step and the lanes' buffer.

    places: size of each array, and where it begins in the buffer, or the name of the list of its numbers' places.
    nontemporal: arrays that are left out if their row of the table says that nontemporal stores write them.
    """
    lines = []
    for k, (size, start) in enumerate(places, start=array):
        name = f"%{function}{k}"
        listed = isinstance(start, str)
        if size:
            lines += [
                *array_lines(name, k, step),
                f"  {name}.lanes = getelementptr $VECTOR, ptr {buffer}, i64 {0 if listed else start}",
                f"  call void @{function}{'_listed' if listed else ''}(ptr {name}.here, i64 {size}, "
                f"i64 {name}.element, i64 {name}.state, i64 %group, i64 %last, "
                f"ptr {name}.lanes{f', ptr {start}' if listed else ''})",
            ]
            if k in nontemporal:
                lines[-1:] = _unless_nontemporal(name, lines[-1])
    return "\n".join(lines)


def _unless_nontemporal(name: str, call: str) -> list[str]:
    """Lines that make a call only for an array that nontemporal stores do not write."""
    return [
        f"  {name}.there = icmp ne i64 {name}.nontemporal, 0",
        f"  br i1 {name}.there, label {name}.end, label {name}.begin",
        f"{name[1:]}.begin:",
        call,
        f"  br label {name}.end",
        f"{name[1:]}.end:",
    ]
