"""Strategy of a kernel's SIMD code: straight-line or looped.

Straight-line code is 5 to 50 % faster if it is short enough: all constants are folded, no offset is looked
up. Looped code compiles faster, the more so for large and regular robots, and has no limit of size. The
choice depends on counts of operations, not on time, and is permanent. The two round differently, and a
result must not depend on previous computations or the speed of a machine. For the same reason looped code
is not replaced by straight-line code while a program runs.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from ...errors import ArgumentError, quoted
from ...kernels.entries.entry import fuses, is_faster_looped
from ..argument_checks import quaternion_places
from ..graph.blocks import Blocks, TableGraph, cut, table_trace
from ..graph.fusion import fuse
from ..graph.graph import Graph, TooLongError
from ..graph.trace import Trace, trace
from .builder import Module
from .lanes import Lanes
from .looped import looped
from .straight_line import Code, straight_line

VARIABLE = "TREESIM_CODE"
IN_ENVIRONMENT = os.environ.encodekey(VARIABLE)
AUTO, STRAIGHT, LOOPED = "auto", "straight", "looped"
STRATEGIES = (AUTO, STRAIGHT, LOOPED)
SHORT = 100_000  # operations whose straight-line code is compiled in about two seconds
STRAIGHT_COST, LOOPED_COST = 24, 34  # us to generate and compile an operation; looped: one of its templates
WORTH = 2  # largest ratio of the compile times of straight-line and looped code
IRREGULAR = 10_000  # operations of templates above which the trace is repeated without folding zeros


def wanted() -> str:
    """Return the strategy in $TREESIM_CODE: auto (the default), straight or looped.

    Raises ArgumentError for anything else.
    """
    known = getattr(os.environ, "_data", None)  # os.environ.get takes 0.5 us where there is no such variable
    if known is not None and IN_ENVIRONMENT not in known:
        return AUTO
    strategy = os.environ.get(VARIABLE) or AUTO
    if strategy not in STRATEGIES:
        choices = f"{', '.join(STRATEGIES[:-1])} or {STRATEGIES[-1]}"
        raise ArgumentError(f"{VARIABLE} is {quoted(strategy)}, but must be {choices}")
    return strategy


def emit(
    strategy: str,
    entry: Callable[..., int],
    constants: Sequence[Any],
    sizes: Sequence[int],
    results: Sequence[int],
    lanes: Lanes,
    carried: int = 0,
    invariant: int = 0,
) -> Code:
    """Return the IR of an entry in a strategy, see straight_line.

    auto: straight-line code if it is short, or compiles in at most twice the time of looped code and is faster. Raises
    UnsupportedError if the entry cannot be traced or is too long. Cost: 2 to 6 us per operation.
    """
    # for many steps the caller checks the first states' quaternions; steps preserve their length
    quaternions = () if carried else quaternion_places(entry, constants, sizes)
    module = Module(lanes, fuses=fuses(entry))

    def straight(graph: Graph) -> Code:
        traced = trace(entry, constants, sizes, results, graph)
        return straight_line(module, traced, sizes, results, carried, invariant, quaternions)

    if strategy == STRAIGHT:
        return straight(Graph())
    if strategy == AUTO:
        try:
            return straight(Graph(SHORT))
        except TooLongError:
            pass
    traced, blocks = _cut_trace(entry, constants, sizes, results)
    worth = len(blocks.order) * STRAIGHT_COST < WORTH * blocks.distinct * LOOPED_COST
    if strategy == AUTO and worth and not is_faster_looped(entry):
        try:
            return straight(Graph())
        except TooLongError:
            pass
    return looped(module, traced, blocks, sizes, results, carried, invariant, quaternions)


def _cut_trace(
    entry: Callable[..., int], constants: Sequence[Any], sizes: Sequence[int], results: Sequence[int]
) -> tuple[Trace, Blocks]:
    """Return a trace in blocks, with zeros in tables folded unless that leads to too many templates."""
    traced, blocks = _cut(entry, constants, sizes, results, fold_zeros=True)
    if blocks.distinct > IRREGULAR:
        general, general_blocks = _cut(entry, constants, sizes, results)
        if 2 * general_blocks.distinct < blocks.distinct:
            return general, general_blocks
    return traced, blocks


def _cut(
    entry: Callable[..., int], constants: Sequence[Any], sizes: Sequence[int], results: Sequence[int], **how: bool
) -> tuple[Trace, Blocks]:
    """Return a trace in blocks, with products and sums of the same iteration fused."""
    traced = table_trace(entry, constants, sizes, results, **how)
    assert isinstance(traced.graph, TableGraph)
    fuse(traced, [node for _, node in traced.graph.marks])
    return traced, cut(traced)
