"""LLVM IR of a kernel entry for one state, behind a built-in function that CPython calls with next to no overhead.

The straight-line code is that of batches, with one lane. What goes before it works on whole vectors all the same: sine
and cosine of all joint angles, and the search for NaN and infinity. Quaternions are checked as those of batches are.
The built-in function takes the nonempty inputs and then the results, each an aligned, C-contiguous numpy array of
exactly the right type and shape, and turns everything else down with BAD_LAYOUT, as `fastcall` does; its result is the
status.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...kernels.status import FINE, NOT_FINITE
from ..fastcall import (
    ALIGNED,
    ARRAY_TYPE,
    BAD_LAYOUT,
    CONTIGUOUS,
    DATA,
    DESCRIPTOR,
    DIMENSIONS,
    DIMENSIONS_COUNT,
    FIRST_STATUS,
    FLAGS,
    HALF,
    NEW_REFERENCE,
    NUMBER_TYPE,
    TYPE,
    WRITEABLE,
)
from ..graph.trace import Trace
from .batch_loop import rotations
from .chunks import chunk_calls, chunk_functions
from .elementary import helpers, sincos
from .lanes import DECLARATIONS, Lanes, substituted
from .straight_line import with_turned_inputs

Shape = tuple[int, ...]

REDUCTION = """
declare i1 @llvm.vector.reduce.or.v$LANESi1(<$LANES x i1>)
"""
SINGLE = """
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

; 0, or 1 if one of `count` numbers is NaN or infinite (x * 0 is 0 only for finite x); the last vector overlaps
define internal i64 @non_finite_check(ptr %x, i64 %count) noinline nounwind {{
entry:
  %room = sub i64 %count, $LANES
  %wide = icmp sge i64 %room, 0
  br i1 %wide, label %vector, label %number
vector:
  %k = phi i64 [ 0, %entry ], [ %k.next, %vector ]
  %sum = phi $VECTOR [ zeroinitializer, %entry ], [ %sum.next, %vector ]
  %fits = icmp slt i64 %k, %room
  %at = select i1 %fits, i64 %k, i64 %room
  %here = getelementptr $NUMBER, ptr %x, i64 %at
  %values = load $VECTOR, ptr %here, align $UNIT
  %zero = fmul $VECTOR %values, zeroinitializer
  %sum.next = fadd $VECTOR %sum, %zero
  %k.next = add i64 %k, $LANES
  %k.more = icmp slt i64 %k.next, %count
  br i1 %k.more, label %vector, label %vectors
vectors:
  %bad = fcmp uno $VECTOR %sum.next, zeroinitializer
  %any = call i1 @llvm.vector.reduce.or.v$LANESi1(<$LANES x i1> %bad)
  %status = zext i1 %any to i64
  ret i64 %status
number:
  %n = phi i64 [ 0, %entry ], [ %n.next, %number.add ]
  %one.sum = phi $NUMBER [ 0.0, %entry ], [ %one.sum.next, %number.add ]
  %n.more = icmp slt i64 %n, %count
  br i1 %n.more, label %number.add, label %numbers
number.add:
  %one.here = getelementptr $NUMBER, ptr %x, i64 %n
  %one = load $NUMBER, ptr %one.here
  %one.zero = fmul $NUMBER %one, 0.0
  %one.sum.next = fadd $NUMBER %one.sum, %one.zero
  %n.next = add i64 %n, 1
  br label %number
numbers:
  %one.bad = fcmp uno $NUMBER %one.sum, 0.0
  %one.status = zext i1 %one.bad to i64
  ret i64 %one.status
}}

; all sines and cosines, of $LANES angles at a time
define internal void @turn(ptr noalias %in, ptr noalias %turned) noinline nounwind {{
{turns}
  ret void
}}

define internal i64 @single({parameters}) noinline nounwind {{
  %work = alloca [{size} x $NUMBER], align 64
  %in = getelementptr $NUMBER, ptr %work, i64 0
  %tmp = getelementptr $NUMBER, ptr %work, i64 {crossing}
  %results = getelementptr $NUMBER, ptr %work, i64 {results}
  %turned = getelementptr $NUMBER, ptr %in, i64 {inputs}
{copies}
  %non_finite_check.numbers = call i64 @non_finite_check(ptr %in, i64 {inputs})
  %non_finite_check.rotations = call i64 @rotations(ptr %in)
  %non_finite_check.in = or i64 %non_finite_check.numbers, %non_finite_check.rotations
  call void @turn(ptr %in, ptr %turned)
{calls}
{copies_back}
{residues}
  ret i64 %non_finite_check
}}

define ptr @fast(ptr %me, ptr %arguments, i64 %count) nounwind {{
  %me.slot = getelementptr i64, ptr %me, i64 {data}
  %known = load ptr, ptr %me.slot
  %complete = icmp eq i64 %count, {count}
  br i1 %complete, label %argument0, label %misfit
{checks}
argument{count}:
  %non_finite_check = call i64 @single({values})
  %failed = icmp ne i64 %non_finite_check, 0
  %status = select i1 %failed, i64 {not_finite}, i64 {fine}
  br label %box
misfit:
  br label %box
box:
  %told = phi i64 [ %status, %argument{count} ], [ {misfit}, %misfit ]
  %told.place = add i64 %told, {first_status}
  %told.slot = getelementptr ptr, ptr %known, i64 %told.place
  %number = load ptr, ptr %told.slot
  %references = load i64, ptr %number
  %new.slot = getelementptr i64, ptr %known, i64 {new_reference}
  %new = load i64, ptr %new.slot
  %more = add i64 %references, %new
  store i64 %more, ptr %number
  ret ptr %number
}}
"""

CHECK = """argument{k}:
  %slot{k} = getelementptr ptr, ptr %arguments, i64 {k}
  %object{k} = load ptr, ptr %slot{k}
{conditions}
  br i1 {fits}, label %argument{next}, label %misfit"""


def single_state(
    traced: Trace, inputs: Sequence[Shape], results: Sequence[Shape], wide: Lanes, quaternions: Sequence[int] = ()
) -> str:
    """Return the IR of a function `fast` for one state of a trace; wide: the processor's vectors; quaternions: at which
    inputs they begin."""
    one = Lanes(wide.single, 1)
    before, angles = with_turned_inputs(traced, wide.width)
    chunks, slots, _ = chunk_functions(before, one)
    shapes = [shape for shape in inputs if math.prod(shape)]
    buffer = 0 if len(results) == 1 else sum(map(math.prod, results))  # a single result is written in its place
    groups = -(-len(angles) // wide.width)
    crossing = traced.inputs + 2 * groups * wide.width
    arrays = [*(f"ptr %a{k}" for k in range(len(shapes))), *(f"ptr %r{k}" for k in range(len(results)))]
    into = "%results" if buffer else "%r0"
    text = SINGLE.format(
        turns=_turns(angles, wide),
        parameters=", ".join(arrays),
        size=crossing + slots + buffer,
        crossing=crossing, results=crossing + slots, inputs=traced.inputs,
        copies=_copies(shapes, "%in", "%a", inward=True),
        calls="\n".join(chunk_calls(len(chunks), "%in", "%tmp", into)).replace("$VECTOR", "$NUMBER"),
        copies_back=_copies(results, "%results", "%r", inward=False) if buffer else "",
        residues=_residues([math.prod(shape) for shape in results]),
        values=", ".join(f"ptr %data{k}" for k in range(len(arrays))),
        checks=_checks([*((shape, False) for shape in shapes), *((shape, True) for shape in results)]),
        count=len(arrays), data=DATA, fine=FINE, not_finite=NOT_FINITE, misfit=BAD_LAYOUT,
        first_status=FIRST_STATUS, new_reference=NEW_REFERENCE,
    )  # fmt: skip
    own = substituted("\n".join([DECLARATIONS, REDUCTION, rotations(quaternions, one.single), *chunks]), one)
    scalar = [substituted(text, one) for text in helpers(own, one.single)]
    shared = substituted(
        DECLARATIONS + REDUCTION + sincos(wide.single).replace("@sine_and_cosine", "@turn_angles") + text, wide
    )
    return _declared_once("\n".join([shared, own, *scalar]))


def _turns(angles: Sequence[int], wide: Lanes) -> str:
    """Code that stores the sines and cosines of the angles, group by group; the last group repeats its last angle."""
    lines = []
    for group in range(0, len(angles), wide.width):
        some = [*angles[group : group + wide.width]]
        some += [some[-1]] * (wide.width - len(some))
        x = "undef"
        for lane, angle in enumerate(some):
            name = f"%x{group}.{lane}"
            lines += [
                f"  {name}.at = getelementptr $NUMBER, ptr %in, i64 {angle}",
                f"  {name}.angle = load $NUMBER, ptr {name}.at",
                f"  {name} = insertelement $VECTOR {x}, $NUMBER {name}.angle, i64 {lane}",
            ]
            x = name
        lines.append(f"  %pair{group} = call {{ $VECTOR, $VECTOR }} @turn_angles($VECTOR {x})")
        for part in range(2):
            name = f"%part{group}.{part}"
            lines += [
                f"  {name} = extractvalue {{ $VECTOR, $VECTOR }} %pair{group}, {part}",
                f"  {name}.at = getelementptr $NUMBER, ptr %turned, i64 {2 * group + part * wide.width}",
                f"  store $VECTOR {name}, ptr {name}.at, align $UNIT",
            ]
    return "\n".join(lines)


def _copies(shapes: Sequence[Shape], buffer: str, arrays: str, inward: bool) -> str:
    """Copies between arrays and their places, one after the other, in a buffer."""
    lines, start = [], 0
    for k, size in enumerate(map(math.prod, shapes)):
        place = f"%copy.{arrays[1:]}{k}"
        lines.append(f"  {place} = getelementptr $NUMBER, ptr {buffer}, i64 {start}")
        target, source = (place, f"{arrays}{k}") if inward else (f"{arrays}{k}", place)
        lines += [
            f"  {place}.bytes = mul i64 {size}, $UNIT",
            f"  call void @llvm.memcpy.p0.p0.i64(ptr {target}, ptr {source}, i64 {place}.bytes, i1 false)",
        ]
        start += size
    return "\n".join(lines)


def _residues(sizes: Sequence[int]) -> str:
    lines, so_far = [], "%non_finite_check.in"
    for k, size in enumerate(sizes):
        total = "%non_finite_check" if k == len(sizes) - 1 else f"%non_finite_check.{k}"
        lines += [
            f"  %non_finite_check.out{k} = call i64 @non_finite_check(ptr %r{k}, i64 {size})",
            f"  {total} = or i64 {so_far}, %non_finite_check.out{k}",
        ]
        so_far = total
    return "\n".join(lines)


def _checks(arguments: Sequence[tuple[Shape, bool]]) -> str:
    """Code that looks at each argument in turn: type, type of its numbers, flags, number of dimensions, shape."""
    texts = []
    for k, (shape, written) in enumerate(arguments):
        flags = CONTIGUOUS | ALIGNED | (WRITEABLE if written else 0)
        lines = [
            *_word(k, "type", TYPE), *_known(k, "type", ARRAY_TYPE),
            *_word(k, "descriptor", DESCRIPTOR), *_known(k, "descriptor", NUMBER_TYPE),
            *_word(k, "flags", FLAGS), *_masked(k, "flags", flags, flags),
            *_word(k, "rank", DIMENSIONS_COUNT), *_masked(k, "rank", HALF, len(shape)),
            f"  %shape{k}.slot = getelementptr ptr, ptr %object{k}, i64 {DIMENSIONS}",
            f"  %shape{k} = load ptr, ptr %shape{k}.slot",
            f"  %fits{k} = and i1 %type{k}.fits, %descriptor{k}.fits",
            f"  %fits{k}.flags = and i1 %fits{k}, %flags{k}.fits",
            f"  %fits{k}.rank = and i1 %fits{k}.flags, %rank{k}.fits",
            f"  br i1 %fits{k}.rank, label %shape{k}.look, label %misfit",
            f"shape{k}.look:",
            *_word(k, "data", DATA, kind="ptr"),
        ]  # fmt: skip
        fits = ""
        for d, length in enumerate(shape):
            name = f"%length{k}.{d}"
            lines += [
                f"  {name}.slot = getelementptr i64, ptr %shape{k}, i64 {d}",
                f"  {name} = load i64, ptr {name}.slot",
                f"  {name}.fits = icmp eq i64 {name}, {length}",
            ]
            if fits:
                lines.append(f"  {name}.all = and i1 {fits}, {name}.fits")
            fits = f"{name}.all" if fits else f"{name}.fits"
        texts.append(CHECK.format(k=k, conditions="\n".join(lines), fits=fits, next=k + 1))
    return "\n".join(texts)


def _word(k: int, name: str, place: int, kind: str = "i64") -> list[str]:
    return [
        f"  %{name}{k}.slot = getelementptr i64, ptr %object{k}, i64 {place}",
        f"  %{name}{k} = load {kind}, ptr %{name}{k}.slot",
    ]


def _known(k: int, name: str, place: int) -> list[str]:
    return [
        f"  %{name}{k}.known.slot = getelementptr i64, ptr %known, i64 {place}",
        f"  %{name}{k}.known = load i64, ptr %{name}{k}.known.slot",
        f"  %{name}{k}.fits = icmp eq i64 %{name}{k}, %{name}{k}.known",
    ]


def _masked(k: int, name: str, mask: int, wanted: int) -> list[str]:
    return [
        f"  %{name}{k}.masked = and i64 %{name}{k}, {mask}",
        f"  %{name}{k}.fits = icmp eq i64 %{name}{k}.masked, {wanted}",
    ]


def _declared_once(text: str) -> str:
    """The text without repeated declarations: both vector types may declare the same intrinsic."""
    seen: set[str] = set()
    lines = []
    for line in text.splitlines():
        if line.startswith("declare"):
            if line in seen:
                continue
            seen.add(line)
        lines.append(line)
    return "\n".join(lines)
