"""LLVM IR that moves numbers between the caller's arrays, state after state, and lanes, number after number.

Square blocks of as many numbers as there are lanes are transposed in registers; the last block overlaps the one before
where the count does not divide. Lanes beyond the last state hold that state too: they compute the same results, and
write them to the same place.
"""

from __future__ import annotations

FUNCTION = """
define internal void @{name}(
    ptr noalias %array, i64 %size, i64 %stride, i64 %group, i64 %last, ptr noalias %lanes) noinline nounwind {{
entry:
  %final = sub i64 %last, 1
{rows}
  %room = sub i64 %size, {count}
  %wide = icmp sge i64 %room, 0
  br i1 %wide, label %block, label %number
block:
  %k = phi i64 [ 0, %entry ], [ %k.next, %block ]
  %k.fits = icmp slt i64 %k, %room
  %at = select i1 %k.fits, i64 %k, i64 %room
{loads}
{transposition}
{stores}
  %k.next = add i64 %k, {count}
  %k.more = icmp slt i64 %k.next, %size
  br i1 %k.more, label %block, label %end
number:
  %n = phi i64 [ 0, %entry ], [ %n.next, %number ]
  %n.lanes = mul i64 %n, {count}
{copies}
  %n.next = add i64 %n, 1
  %n.more = icmp slt i64 %n.next, %size
  br i1 %n.more, label %number, label %end
end:
  ret void
}}
"""
ROW = """  %wanted.{l} = add i64 %group, {l}
  %inside.{l} = icmp slt i64 %wanted.{l}, %final
  %state.{l} = select i1 %inside.{l}, i64 %wanted.{l}, i64 %final
  %start.{l} = mul i64 %state.{l}, %stride
  %row.{l} = getelementptr $NUMBER, ptr %array, i64 %start.{l}"""
ROW_BLOCK = "  %from.{l} = getelementptr $NUMBER, ptr %row.{l}, i64 %at"
LANE_BLOCK = """  %place.{l} = add i64 %at, {l}
  %to.{l} = getelementptr $VECTOR, ptr %lanes, i64 %place.{l}"""
COPY_PLACES = """  %one.{l} = getelementptr $NUMBER, ptr %row.{l}, i64 %n
  %spot.{l} = add i64 %n.lanes, {l}
  %lane.{l} = getelementptr $NUMBER, ptr %lanes, i64 %spot.{l}"""


def transfers(count: int) -> str:
    """Return the text of @gather, arrays to lanes, and @scatter, back, for vectors of `count` numbers."""
    return _function("gather", count, "from", "to", "one", "lane") + _function(
        "scatter", count, "to", "from", "lane", "one"
    )


def _function(name: str, count: int, source: str, target: str, one: str, other: str) -> str:
    """One direction: vectors from %source to %target, single numbers from %one to %other."""
    rows_aligned, lanes_aligned = "$UNIT", "$BYTES"
    from_rows = source == "from"
    places = [ROW_BLOCK.format(l=lane) + "\n" + LANE_BLOCK.format(l=lane) for lane in range(count)]
    loads = [
        f"  %v0.{lane} = load $VECTOR, ptr %{source}.{lane}, align {rows_aligned if from_rows else lanes_aligned}"
        for lane in range(count)
    ]
    transposition, last = _transposition(count)
    stores = [
        f"  store $VECTOR {last}.{lane}, ptr %{target}.{lane}, align {lanes_aligned if from_rows else rows_aligned}"
        for lane in range(count)
    ]
    copies = [
        COPY_PLACES.format(l=lane)
        + f"\n  %x.{lane} = load $NUMBER, ptr %{one}.{lane}\n  store $NUMBER %x.{lane}, ptr %{other}.{lane}"
        for lane in range(count)
    ]
    return FUNCTION.format(
        name=name, count=count, rows="\n".join(ROW.format(l=lane) for lane in range(count)),
        loads="\n".join(places + loads), transposition=transposition, stores="\n".join(stores),
        copies="\n".join(copies),
    )  # fmt: skip


def _transposition(count: int) -> tuple[str, str]:
    """Butterflies: in step d, vectors i and i + d exchange the parts in which their positions differ in bit d."""
    lines, before, step = [], "%v0", 0
    d = 1
    while d < count:
        step += 1
        after = f"%v{step}"
        for i in range(count):
            low, high = i & ~d, i | d
            places = range(count)
            if i == low:
                mask = [p if not p & d else count + p - d for p in places]
            else:
                mask = [p + d if not p & d else count + p for p in places]
            text = ", ".join(f"i32 {p}" for p in mask)
            pair = f"$VECTOR {before}.{low}, $VECTOR {before}.{high}"
            lines.append(f"  {after}.{i} = shufflevector {pair}, <{count} x i32> <{text}>")
        before = after
        d *= 2
    return "\n".join(lines), before
