"""LLVM IR that every kernel on lanes needs: the loop over groups of states, the search for NaN and infinity, and for
quaternions that are not of length 1.

$VECTOR, $NUMBER, $LANES, $BYTES, $SUFFIX and $FAST stand for the vector type; {names} for what belongs to one kernel.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...kernels.status import LONGEST, SHORTEST
from .lanes import splat

HARNESS = """
; lanes[k] <- out[k] for k < count
define internal void @feed_back(ptr noalias %in, ptr noalias %out, i64 %count) noinline nounwind {{
entry:
  %some = icmp sgt i64 %count, 0
  br i1 %some, label %vector, label %end
vector:
  %k = phi i64 [ 0, %entry ], [ %k.next, %vector ]
  %from = getelementptr $VECTOR, ptr %out, i64 %k
  %to = getelementptr $VECTOR, ptr %in, i64 %k
  %x = load $VECTOR, ptr %from, align $BYTES
  store $VECTOR %x, ptr %to, align $BYTES
  %k.next = add i64 %k, 1
  %k.more = icmp slt i64 %k.next, %count
  br i1 %k.more, label %vector, label %end
end:
  ret void
}}

; all steps of states first .. last - 1; tables: address and three strides of each array (see straight_line)
define internal i64 @run(i64 %first, i64 %last, i64 %steps, i64 %every, ptr %workspace, ptr %tables) nounwind {{
entry:
  %in = getelementptr $VECTOR, ptr %workspace, i64 0
  %tmp = getelementptr $VECTOR, ptr %workspace, i64 {inputs}
  %above = add i64 {inputs}, {crossing}
  %out = getelementptr $VECTOR, ptr %workspace, i64 %above
  %some = icmp slt i64 %first, %last
  br i1 %some, label %loop, label %none
none:
  ret i64 0
loop:
  %group = phi i64 [ %first, %entry ], [ %group.next, %loop.end ]
  %status = phi i64 [ 0, %entry ], [ %status.group, %loop.end ]
{initial}
  br label %step
step:
  %t = phi i64 [ 0, %loop ], [ %t.next, %step.end ]
  %record = phi i64 [ 0, %loop ], [ %record.next, %step.end ]
  %status.before = phi i64 [ %status, %loop ], [ %status.in, %step.end ]
  %t.next = add i64 %t, 1
  %since = urem i64 %t.next, %every
  %due = icmp eq i64 %since, 0
  %final.step = icmp sge i64 %t.next, %steps
  %group.then = add i64 %group, $LANES
  %group.soon = select i1 %final.step, i64 %group.then, i64 %group
  %t.soon = select i1 %final.step, i64 0, i64 %t.next
{gathers}
  %arrived = getelementptr $VECTOR, ptr %in, i64 {arriving}
  %non_finite_check.in = call i64 @residue_in(ptr %arrived)
  %rotations = call i64 @rotations(ptr %in)
  %invalid = or i64 %non_finite_check.in, %rotations
  %status.in = or i64 %status.before, %invalid
{calls}
  br i1 %due, label %keep, label %step.end
keep:
  %record.kept = add i64 %record, 1
{scatters}
  br label %kept
kept:
  br label %step.end
step.end:
  %record.next = phi i64 [ %record, %step ], [ %record.kept, %kept ]
  call void @feed_back(ptr %in, ptr %out, i64 {carried})
  %t.more = icmp slt i64 %t.next, %steps
  br i1 %t.more, label %step, label %loop.end
loop.end: ; what is carried stays non-finite once it is: the last step's results tell of all
  %non_finite_check.out = call i64 @residue_out(ptr %out)
  %status.group = or i64 %status.in, %non_finite_check.out
  %group.next = add i64 %group, $LANES
  %more = icmp slt i64 %group.next, %last
  br i1 %more, label %loop, label %end
end:
  ret i64 %status.group
}}

; one thread's share of a job: block after block of states, until none is left (see specialized.Job for its words)
define void @share(ptr %job) nounwind {{
entry:
  %tickets = getelementptr i64, ptr %job, i64 1
  %status = getelementptr i64, ptr %job, i64 2
  %me = atomicrmw add ptr %tickets, i64 1 monotonic
{words}
  %mine = mul i64 %me, %bytes
  %memory = getelementptr i8, ptr %workspaces, i64 %mine
  br label %take
take:
  %first = atomicrmw add ptr %job, i64 %block monotonic
  %some = icmp slt i64 %first, %count
  br i1 %some, label %work, label %end
work:
  %beyond = add i64 %first, %block
  %whole = icmp slt i64 %beyond, %count
  %last = select i1 %whole, i64 %beyond, i64 %count
  %wrong = call i64 @run(i64 %first, i64 %last, i64 %steps, i64 %every, ptr %memory, ptr %tables)
  %before = atomicrmw or ptr %status, i64 %wrong monotonic
  br label %take
end:
  fence seq_cst ; what was written past the caches is there before anybody is told
  ret void
}}
"""
# words of a job behind the three that threads write to: the next state, tickets (threads so far), status
JOB = (("count", "i64"), ("block", "i64"), ("steps", "i64"), ("every", "i64"), ("bytes", "i64"),
       ("workspaces", "ptr"), ("tables", "ptr"))  # fmt: skip
JOB_WORDS = "\n".join(
    f"  %{name}.at = getelementptr i64, ptr %job, i64 {k}\n  %{name} = load {kind}, ptr %{name}.at"
    for k, (name, kind) in enumerate(JOB, start=3)
)


NON_FINITE_CHECK = """
; 0, or 1 if one of {count} vectors holds NaN or infinity (x * 0 is 0 for all else; no fast flags here)
define internal i64 @{name}(ptr noalias %vectors) noinline nounwind {{
entry:
  %some = icmp ne i64 {rounds}, 0
  br i1 %some, label %round, label %rest
round:
  %k = phi i64 [ 0, %entry ], [ %k.next, %round ]
{sums}
  %at = getelementptr $VECTOR, ptr %vectors, i64 %k
{in_round}
  %k.next = add i64 %k, {unrolled}
  %k.more = icmp slt i64 %k.next, {whole}
  br i1 %k.more, label %round, label %rest
rest:
{so_far}
{in_rest}
  %nan = fcmp uno $VECTOR {total}, zeroinitializer
  %any = call i1 @llvm.vector.reduce.or.v$LANESi1(<$LANES x i1> %nan)
  %status = zext i1 %any to i64
  ret i64 %status
}}
"""
ROTATIONS = """
; 0, or 1 if one of the quaternions among the inputs is not of length 1 (or NaN) in one of the lanes
define internal i64 @rotations(ptr noalias %vectors) noinline nounwind {{
{lines}
  %any = call i1 @llvm.vector.reduce.or.v$LANESi1(<$LANES x i1> {wrong})
  %status = zext i1 %any to i64
  ret i64 %status
}}
"""
UNROLLED, SUMS = 8, 4  # vectors in a round of the loop, and sums that they are added to, so that none waits for another


def non_finite_check(name: str, count: int) -> str:
    """Return the text of a function name(ptr): whether one of `count` vectors there holds NaN or infinity."""
    rounds = count // UNROLLED
    sums, so_far, totals = ([f"%{label}.{j}" for j in range(SUMS)] for label in ("sum", "so.far", "total"))
    in_round, added = _added(range(UNROLLED), "%at", sums, "%x")
    in_rest, ends = _added(range(rounds * UNROLLED, count), "%vectors", so_far, "%y")
    parts = zip(totals[1:], [ends[0], *totals[1:]], ends[1:], strict=False)
    return NON_FINITE_CHECK.format(
        name=name, count=count, rounds=rounds, whole=rounds * UNROLLED, unrolled=UNROLLED, total=totals[-1],
        sums=_carried(sums, added), so_far=_carried(so_far, added), in_round="\n".join(in_round),
        in_rest="\n".join([*in_rest, *(f"  {total} = fadd $VECTOR {x}, {y}" for total, x, y in parts)]),
    )  # fmt: skip


def _carried(names: Sequence[str], values: Sequence[str]) -> str:
    """Sums that are zero before the first round."""
    pairs = zip(names, values, strict=True)
    return "\n".join(f"  {name} = phi $VECTOR [ zeroinitializer, %entry ], [ {x}, %round ]" for name, x in pairs)


def _added(places: Sequence[int], buffer: str, sums: Sequence[str], name: str) -> tuple[list[str], list[str]]:
    """Lines that add 0 times the vectors at some places to one sum after the other, and what the sums are then."""
    lines, now = [], list(sums)
    for k in places:
        j, x = k % SUMS, f"{name}.{k}"
        lines += [
            f"  {x}.at = getelementptr $VECTOR, ptr {buffer}, i64 {k}",
            f"  {x} = load $VECTOR, ptr {x}.at, align $BYTES",
            f"  {x}.zero = fmul contract $VECTOR {x}, zeroinitializer",
            f"  {x}.sum = fadd contract $VECTOR {now[j]}, {x}.zero",
        ]
        now[j] = f"{x}.sum"
    return lines, now


def rotations(places: Sequence[int], single: bool) -> str:
    """Return the text of a function rotations(ptr): whether a quaternion at one of these places among the vectors there
    is not of length 1 (see kernels.status)."""
    shortest, longest = (splat(bound, single) for bound in (SHORTEST, LONGEST))
    lines, wrong = [], "zeroinitializer"
    for k in places:
        square = "zeroinitializer"
        for c in range(k, k + 4):
            lines += [
                f"  %x{c}.at = getelementptr $VECTOR, ptr %vectors, i64 {c}",
                f"  %x{c} = load $VECTOR, ptr %x{c}.at, align $BYTES",
                f"  %x{c}.square = fmul contract $VECTOR %x{c}, %x{c}",
                f"  %x{c}.sum = fadd contract $VECTOR {square}, %x{c}.square",
            ]
            square = f"%x{c}.sum"
        lines += [
            f"  %short{k} = fcmp ult $VECTOR {square}, {shortest}",  # unordered: NaN is wrong too
            f"  %long{k} = fcmp ugt $VECTOR {square}, {longest}",
            f"  %either{k} = or <$LANES x i1> %short{k}, %long{k}",
            f"  %wrong{k} = or <$LANES x i1> {wrong}, %either{k}",
        ]
        wrong = f"%wrong{k}"
    return ROTATIONS.format(lines="\n".join(lines), wrong=wrong)
