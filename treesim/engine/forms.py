"""Which form a kernel's code on lanes takes: straight-line, or rolled.

Straight-line code is 5 to 50 % faster where it fits: every constant is folded, no offset is looked up. Rolled code is
compiled sooner, the more so the larger and the more regular the robot, and there is no limit to how large. The choice
is made by counts of operations, not by clocks, and holds for good: the two forms round differently, and a result must
depend on neither what was computed before nor how fast a machine is. For the same reason a robot's rolled code is not
exchanged for straight-line code while a program runs.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from ..errors import ArgumentError
from .admission import quaternion_places
from .graph import Graph, TooLongError
from .lanes import Lanes
from .rolled import rolled
from .segments import Segments, cut, table_trace
from .straight_line import Code, straight_line
from .trace import Trace, trace

VARIABLE = "TREESIM_CODE"
AUTO, STRAIGHT, ROLLED = "auto", "straight", "rolled"
FORMS = (AUTO, STRAIGHT, ROLLED)
SHORT = 100_000  # operations whose straight-line code is compiled in about two seconds
STRAIGHT_COST, ROLLED_COST = 24, 34  # us to write and compile an operation; of rolled code, one of its shapes
WORTH = 2  # straight-line code may take so many times as long to compile
IRREGULAR = 10_000  # operations of shapes, above which it is tried whether zeros make them differ


def wanted() -> str:
    """Return the form that $TREESIM_CODE asks for: auto (also if it is not set), straight or rolled.

    Raises ArgumentError for anything else.
    """
    form = os.environ.get(VARIABLE) or AUTO
    if form not in FORMS:
        raise ArgumentError(f"{VARIABLE} is {form!r}, but must be {', '.join(FORMS[:-1])} or {FORMS[-1]}")
    return form


def written(
    form: str,
    entry: Callable[..., int],
    constants: Sequence[Any],
    sizes: Sequence[int],
    results: Sequence[int],
    lanes: Lanes,
    fed_back: int = 0,
    held: int = 0,
) -> Code:
    """Return the IR of an entry in a form, see straight_line.

    auto: straight-line code if it is short, or compiled in not more than twice the time of rolled code. Raises
    UnsupportedError if the entry cannot be traced or is too long. Cost: 2 to 6 us per operation.
    """

    # of many steps the first states' quaternions are the caller's to look at; steps keep them at length 1
    quaternions = () if fed_back else quaternion_places(entry, constants, sizes)

    def straight(graph: Graph) -> Code:
        traced = trace(entry, constants, sizes, results, graph)
        return straight_line(traced, sizes, results, lanes, fed_back, held, quaternions)

    if form == STRAIGHT:
        return straight(Graph())
    if form == AUTO:
        try:
            return straight(Graph(SHORT))
        except TooLongError:
            pass
    traced, segments = _cut_trace(entry, constants, sizes, results)
    if form == AUTO and len(segments.order) * STRAIGHT_COST < WORTH * segments.distinct * ROLLED_COST:
        try:
            return straight(Graph())
        except TooLongError:
            pass
    return rolled(traced, segments, sizes, results, lanes, fed_back, held, quaternions)


def _cut_trace(
    entry: Callable[..., int], constants: Sequence[Any], sizes: Sequence[int], results: Sequence[int]
) -> tuple[Trace, Segments]:
    """A trace in segments: with zeros in tables folded, unless that makes too many shapes."""
    traced = table_trace(entry, constants, sizes, results, fold_zeros=True)
    segments = cut(traced)
    if segments.distinct > IRREGULAR:
        general = table_trace(entry, constants, sizes, results)
        general_segments = cut(general)
        if 2 * general_segments.distinct < segments.distinct:
            return general, general_segments
    return traced, segments
