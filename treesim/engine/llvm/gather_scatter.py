"""LLVM IR that gathers numbers of the caller's arrays into lanes, and scatters them back, number after number.

An array is told by two strides: from one number of a state to its next, and from one state to the next. Where a
state's numbers are neighbours, square blocks of as many numbers as there are lanes are transposed in registers; the
last block overlaps the one before where the count does not divide. Where the states are neighbours, lanes are moved as
they are; where all states share their numbers, these are spread over the lanes. Anything else goes number by number.
Results that stand in several places, as zeros and the halves of a symmetric matrix do, lie in the lanes' memory once;
a list then says which of its vectors belongs to each number. Lanes beyond the last state hold that state too: they
compute the same results, and write them to the same place.
"""

from __future__ import annotations

FUNCTION = """
define internal void @{name}(ptr noalias %array, i64 %size, i64 %element, i64 %stride, i64 %group, i64 %last,
                             ptr noalias %lanes{list}) noinline nounwind {{
entry:
  %final = sub i64 %last, 1
{rows}
  %room = sub i64 %size, {count}
  %wide = icmp sge i64 %room, 0
  %by.rows = icmp eq i64 %element, 1
  %blocks = and i1 %wide, %by.rows
{first}
not.shared:
  br i1 %blocks, label %block, label %other
block:
  %k = phi i64 [ 0, %not.shared ], [ %k.next, %block ]
  %k.fits = icmp slt i64 %k, %room
  %at = select i1 %k.fits, i64 %k, i64 %room
{loads}
{transposition}
{stores}
  %k.next = add i64 %k, {count}
  %k.more = icmp slt i64 %k.next, %size
  br i1 %k.more, label %block, label %end
other:
  %full = icmp slt i64 %wanted.{top}, %last
  %by.columns = icmp eq i64 %stride, 1
  %vectors = and i1 %full, %by.columns
  br i1 %vectors, label %vector, label %number
vector:
  %c = phi i64 [ 0, %other ], [ %c.next, %vector ]
  %c.start = mul i64 %c, %element
  %column = getelementptr $NUMBER, ptr %row.0, i64 %c.start
{c_place}
  %c.lanes = getelementptr $VECTOR, ptr %lanes, i64 %c.place
  %c.ahead = getelementptr $VECTOR, ptr %column, i64 1
  call void @llvm.prefetch.p0(ptr %c.ahead, i32 {writes}, i32 3, i32 1)
{move}
  %c.next = add i64 %c, 1
  %c.more = icmp slt i64 %c.next, %size
  br i1 %c.more, label %vector, label %end
number:
  %n = phi i64 [ 0, %other ], [ %n.next, %number ]
  %n.start = mul i64 %n, %element
{n_place}
  %n.lanes = mul i64 %n.place, {count}
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
LANE_BLOCK = """  %number.{l} = add i64 %at, {l}
{place}
  %to.{l} = getelementptr $VECTOR, ptr %lanes, i64 %place.{l}"""
COPY_PLACES = """  %one.{l} = getelementptr $NUMBER, ptr %row.{l}, i64 %n.start
  %spot.{l} = add i64 %n.lanes, {l}
  %lane.{l} = getelementptr $NUMBER, ptr %lanes, i64 %spot.{l}"""
# rows that are written are far apart, as columns are: no processor foresees so many at once, so it is told, but not of
# more lines than a core can wait for
AHEAD = """  %ahead.{l} = getelementptr $VECTOR, ptr %from.{l}, i64 2
  call void @llvm.prefetch.p0(ptr %ahead.{l}, i32 1, i32 3, i32 1)"""
# where the lanes of a number lie: in order, or as the list says
IN_ORDER = "  %{place} = add i64 %{number}, 0"
LISTED = """  %{place}.at = getelementptr i32, ptr %list, i64 %{number}
  %{place}.entry = load i32, ptr %{place}.at
  %{place} = zext i32 %{place}.entry to i64"""
# what only gathering knows: numbers that all states share
SPREAD = """  %shared = icmp eq i64 %stride, 0
  br i1 %shared, label %spread, label %not.shared
spread:
  %s = phi i64 [ 0, %entry ], [ %s.next, %spread ]
  %s.start = mul i64 %s, %element
  %s.from = getelementptr $NUMBER, ptr %array, i64 %s.start
  %s.one = load $NUMBER, ptr %s.from
  %s.single = insertelement $VECTOR undef, $NUMBER %s.one, i32 0
  %s.all = shufflevector $VECTOR %s.single, $VECTOR undef, <{count} x i32> zeroinitializer
  %s.to = getelementptr $VECTOR, ptr %lanes, i64 %s
  store $VECTOR %s.all, ptr %s.to, align $BYTES
  %s.next = add i64 %s, 1
  %s.more = icmp slt i64 %s.next, %size
  br i1 %s.more, label %spread, label %end"""


def gather_and_scatter(count: int) -> str:
    """Return the text of @gather, arrays to lanes, @scatter, back, and @scatter_listed, back from where a list says.

    count: numbers of a vector.
    """
    declaration = "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)\n"
    moves = [_function(name, count) for name in ("gather", "scatter", "scatter_listed")]
    return "".join([declaration, *moves])


def _function(name: str, count: int) -> str:
    """One direction: vectors from %source to %target, single numbers from %one to %other."""
    gathers = name == "gather"
    source, target, one, other = ("from", "to", "one", "lane") if gathers else ("to", "from", "lane", "one")
    read, written = ("$UNIT", "$BYTES") if gathers else ("$BYTES", "$UNIT")  # alignments
    listed = name == "scatter_listed"
    place = LISTED if listed else IN_ORDER
    places = [
        ROW_BLOCK.format(l=lane)
        + "\n"
        + LANE_BLOCK.format(l=lane, place=place.format(place=f"place.{lane}", number=f"number.{lane}"))
        for lane in range(count)
    ]
    loads = [f"  %v0.{lane} = load $VECTOR, ptr %{source}.{lane}, align {read}" for lane in range(count)]
    transposition, last = _transposition(count)
    stores = [f"  store $VECTOR {last}.{lane}, ptr %{target}.{lane}, align {written}" for lane in range(count)]
    copies = [
        COPY_PLACES.format(l=lane)
        + f"\n  %x.{lane} = load $NUMBER, ptr %{one}.{lane}\n  store $NUMBER %x.{lane}, ptr %{other}.{lane}"
        for lane in range(count)
    ]
    begin, end = ("%column", "%c.lanes") if gathers else ("%c.lanes", "%column")
    if not gathers:
        places += [AHEAD.format(l=lane) for lane in range(count)]
    move = f"  %c.x = load $VECTOR, ptr {begin}, align {read}\n  store $VECTOR %c.x, ptr {end}, align {written}"
    return FUNCTION.format(
        name=name, count=count, writes=int(not gathers), top=count - 1,
        rows="\n".join(ROW.format(l=lane) for lane in range(count)),
        first=SPREAD.format(count=count) if gathers else "  br label %not.shared",
        loads="\n".join(places + loads), transposition=transposition, stores="\n".join(stores), move=move,
        copies="\n".join(copies), list=", ptr noalias %list" if listed else "",
        c_place=place.format(place="c.place", number="c"), n_place=place.format(place="n.place", number="n"),
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
