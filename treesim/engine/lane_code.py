"""LLVM IR that every straight-line kernel needs: the loop over groups of states, and sine and cosine on lanes.

$VECTOR, $NUMBER, $LANES, $BYTES, $SUFFIX and $FAST stand for the vector type; {names} for what belongs to one kernel.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence

from . import trigonometry as double

HARNESS = """
; 0, or 1 if one of `count` vectors holds NaN or infinity (x * 0 is NaN for these only; no fast flags here)
define internal i64 @residue(ptr noalias %out, i64 %count) noinline nounwind {{
entry:
  br label %vector
vector:
  %k = phi i64 [ 0, %entry ], [ %k.next, %vector ]
  %bad = phi <$LANES x i1> [ zeroinitializer, %entry ], [ %bad.next, %vector ]
  %at = getelementptr $VECTOR, ptr %out, i64 %k
  %x = load $VECTOR, ptr %at, align $BYTES
  %zero = fmul $VECTOR %x, zeroinitializer
  %nan = fcmp uno $VECTOR %zero, zeroinitializer
  %bad.next = or <$LANES x i1> %bad, %nan
  %k.next = add i64 %k, 1
  %k.more = icmp slt i64 %k.next, %count
  br i1 %k.more, label %vector, label %end
end:
  %any = call i1 @llvm.vector.reduce.or.v$LANESi1(<$LANES x i1> %bad.next)
  %status = zext i1 %any to i64
  ret i64 %status
}}
declare i1 @llvm.vector.reduce.or.v$LANESi1(<$LANES x i1>)

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
  %status = phi i64 [ 0, %entry ], [ %status.step, %loop.end ]
{initial}
  br label %step
step:
  %t = phi i64 [ 0, %loop ], [ %t.next, %step.end ]
  %record = phi i64 [ 0, %loop ], [ %record.next, %step.end ]
  %status.before = phi i64 [ %status, %loop ], [ %status.step, %step.end ]
{gathers}
{calls}
  %t.next = add i64 %t, 1
  %since = urem i64 %t.next, %every
  %due = icmp eq i64 %since, 0
  br i1 %due, label %keep, label %step.end
keep:
  %residue.in = call i64 @residue(ptr %in, i64 {inputs})
  %residue.out = call i64 @residue(ptr %out, i64 {results})
  %residue = or i64 %residue.in, %residue.out
  %status.kept = or i64 %status.before, %residue
  %record.kept = add i64 %record, 1
{scatters}
  br label %step.end
step.end:
  %status.step = phi i64 [ %status.before, %step ], [ %status.kept, %keep ]
  %record.next = phi i64 [ %record, %step ], [ %record.kept, %keep ]
  call void @feed_back(ptr %in, ptr %out, i64 {fed_back})
  %t.more = icmp slt i64 %t.next, %steps
  br i1 %t.more, label %step, label %loop.end
loop.end:
  %group.next = add i64 %group, $LANES
  %more = icmp slt i64 %group.next, %last
  br i1 %more, label %loop, label %end
end:
  ret i64 %status.step
}}

; one thread's share of a job: block after block of states, until none is left (see specialised.Job for its words)
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


# Cephes' single-precision constants: pi/2 in three parts, polynomials on [-pi/4, pi/4]
SINGLE_LARGEST, SINGLE_ROUND = 8192.0, 12582912.0  # 1.5 * 2^23
SINGLE_PI_2 = (1.5703125, 4.837512969970703125e-4, 7.54978995489188216e-8)
SINGLE_SINE = (-1.6666654611e-1, 8.3321608736e-3, -1.9515295891e-4)
SINGLE_COSINE = (4.166664568298827e-2, -1.388731625493765e-3, 2.443315711809948e-5)

SINCOS = """
declare $VECTOR @llvm.sin.$SUFFIX($VECTOR)
declare $VECTOR @llvm.cos.$SUFFIX($VECTOR)
declare $VECTOR @llvm.fabs.$SUFFIX($VECTOR)

; both, as in trigonometry.sincos; of a lane that is too large for the reduction to be exact, the C library's, so that
; no lane depends on its neighbours
define internal {{ $VECTOR, $VECTOR }} @sine_and_cosine($VECTOR %x) noinline nounwind alignstack(64) {{
  %scaled = fmul contract $VECTOR %x, {two_over_pi}
  %shifted = fadd contract $VECTOR %scaled, {round}  ; its last bits are the number of quarter turns
  %turns = fsub $VECTOR %shifted, {round}
  %away = fneg $VECTOR %turns
{reduction}
  %z = fmul contract $VECTOR %r, %r
{sine}
  %rz = fmul contract $VECTOR %r, %z
  %s.part = fmul contract $VECTOR %rz, %sine
  %s = fadd contract $VECTOR %r, %s.part
{cosine}
  %half = fmul contract $VECTOR %z, {half}
  %w = fsub contract $VECTOR {one}, %half
  %w.lost = fsub $VECTOR {one}, %w
  %w.rest = fsub $VECTOR %w.lost, %half
  %zz = fmul contract $VECTOR %z, %z
  %c.part = fmul contract $VECTOR %zz, %cosine
  %c.rest = fadd contract $VECTOR %w.rest, %c.part
  %c = fadd contract $VECTOR %w, %c.rest
  %bits = bitcast $VECTOR %shifted to $BITS
  %odd.bit = and $BITS %bits, {bit_one}
  %odd = icmp ne $BITS %odd.bit, zeroinitializer
  %first = select <$LANES x i1> %odd, $VECTOR %c, $VECTOR %s
  %second = select <$LANES x i1> %odd, $VECTOR %s, $VECTOR %c
  %sin.sign = shl $BITS %bits, {to_sign}
  %sin.mask = and $BITS %sin.sign, {sign}
  %next = add $BITS %bits, {bit_one}
  %cos.sign = shl $BITS %next, {to_sign}
  %cos.mask = and $BITS %cos.sign, {sign}
  %first.bits = bitcast $VECTOR %first to $BITS
  %second.bits = bitcast $VECTOR %second to $BITS
  %sin.bits = xor $BITS %first.bits, %sin.mask
  %cos.bits = xor $BITS %second.bits, %cos.mask
  %sin.value = bitcast $BITS %sin.bits to $VECTOR
  %cos.value = bitcast $BITS %cos.bits to $VECTOR
  %size = call $VECTOR @llvm.fabs.$SUFFIX($VECTOR %x)
  %large = fcmp ugt $VECTOR %size, {largest}
  %any = call i1 @llvm.vector.reduce.or.v$LANESi1(<$LANES x i1> %large)
  br i1 %any, label %library, label %done
library:
  %sin.x = call $VECTOR @llvm.sin.$SUFFIX($VECTOR %x)
  %cos.x = call $VECTOR @llvm.cos.$SUFFIX($VECTOR %x)
  %sin.mixed = select <$LANES x i1> %large, $VECTOR %sin.x, $VECTOR %sin.value
  %cos.mixed = select <$LANES x i1> %large, $VECTOR %cos.x, $VECTOR %cos.value
  %mixed.0 = insertvalue {{ $VECTOR, $VECTOR }} undef, $VECTOR %sin.mixed, 0
  %mixed.1 = insertvalue {{ $VECTOR, $VECTOR }} %mixed.0, $VECTOR %cos.mixed, 1
  ret {{ $VECTOR, $VECTOR }} %mixed.1
done:
  %both.0 = insertvalue {{ $VECTOR, $VECTOR }} undef, $VECTOR %sin.value, 0
  %both.1 = insertvalue {{ $VECTOR, $VECTOR }} %both.0, $VECTOR %cos.value, 1
  ret {{ $VECTOR, $VECTOR }} %both.1
}}
"""


def splat(value: float, single: bool) -> str:
    """Return LLVM's text of a vector constant, all lanes alike."""
    exact = struct.unpack("<f", struct.pack("<f", value))[0] if single else value
    word = struct.unpack(">Q", struct.pack(">d", exact))[0]
    return f"splat ({'float' if single else 'double'} 0x{word:016X})"


def sincos(single: bool) -> str:
    """Return the text of sine and cosine on lanes."""
    sine: tuple[float, ...]
    cosine: tuple[float, ...]
    if single:
        largest, rounder, parts = SINGLE_LARGEST, SINGLE_ROUND, SINGLE_PI_2
        sine, cosine = SINGLE_SINE, SINGLE_COSINE
    else:
        largest, rounder = double.LARGEST, double.ROUND
        parts = (double.PI_2_HIGH, double.PI_2_MIDDLE, double.PI_2_LOW)
        sine = (double.S1, double.S2, double.S3, double.S4, double.S5, double.S6)
        cosine = (double.C1, double.C2, double.C3, double.C4, double.C5, double.C6)
    width = 32 if single else 64
    text = SINCOS.format(
        largest=splat(largest, single), round=splat(rounder, single),
        two_over_pi=splat(double.TWO_OVER_PI, single), half=splat(0.5, single), one=splat(1.0, single),
        reduction=_reduction(parts, single), sine=_horner("sine", sine, single),
        cosine=_horner("cosine", cosine, single), bit_one=f"splat (i{width} 1)",
        to_sign=f"splat (i{width} {width - 2})", sign=f"splat (i{width} {-(1 << (width - 1))})",
    )  # fmt: skip
    return text.replace("$BITS", f"<$LANES x i{width}>")


def _reduction(
    parts: Sequence[float], single: bool, names: Sequence[str] = ("%x", "%r.high", "%r.middle", "%r")
) -> str:
    """r = ((x - turns high) - turns middle) - turns low."""
    lines = []
    for before, after, part in zip(names, names[1:], parts, strict=False):
        lines += [
            f"  {after}.part = fmul contract $VECTOR %away, {splat(part, single)}",
            f"  {after} = fadd contract $VECTOR {before}, {after}.part",
        ]
    return "\n".join(lines)


def _horner(name: str, coefficients: Sequence[float], single: bool) -> str:
    """The polynomial in z with the given coefficients, lowest first."""
    lines, value = [], splat(coefficients[-1], single)
    for k in range(len(coefficients) - 2, -1, -1):
        result = f"%{name}" if k == 0 else f"%{name}.{k}"
        lines += [
            f"  %{name}.{k}.part = fmul contract $VECTOR {value}, %z",
            f"  {result} = fadd contract $VECTOR %{name}.{k}.part, {splat(coefficients[k], single)}",
        ]
        value = result
    return "\n".join(lines)


# natural logarithm of 2 in two parts (fdlibm's, Cephes'): products with whole numbers of the exponents' size are exact
LN_2, SINGLE_LN_2 = (6.93147180369123816490e-01, 1.90821492927058770002e-10), (0.693359375, -2.12194440e-4)
EXPONENTIAL = """
; 2^n e^r for x = n ln 2 + r, |r| <= ln 2 / 2, e^r by its Taylor series, 2^n in two factors, since n may be below -1022
define internal $VECTOR @exponential($VECTOR %all) noinline nounwind alignstack(64) {{
  %below = call $VECTOR @llvm.minnum.$SUFFIX($VECTOR %all, $VECTOR {most})
  %x = call $VECTOR @llvm.maxnum.$SUFFIX($VECTOR %below, $VECTOR {least})
  %scaled = fmul contract $VECTOR %x, {log2_e}
  %shifted = fadd contract $VECTOR %scaled, {round}  ; its last bits are n
  %n = fsub $VECTOR %shifted, {round}
  %away = fneg $VECTOR %n
{reduction}
  %z = fadd $VECTOR %r, zeroinitializer
{series}
  %bits = bitcast $VECTOR %shifted to $BITS
  %high = shl $BITS %bits, {spare}
  %whole = ashr $BITS %high, {spare}
  %one = ashr $BITS %whole, {single_bit}
  %other = sub $BITS %whole, %one
  %one.biased = add $BITS %one, {bias}
  %other.biased = add $BITS %other, {bias}
  %one.bits = shl $BITS %one.biased, {mantissa}
  %other.bits = shl $BITS %other.biased, {mantissa}
  %one.factor = bitcast $BITS %one.bits to $VECTOR
  %other.factor = bitcast $BITS %other.bits to $VECTOR
  %part = fmul $VECTOR %series, %one.factor
  %result = fmul $VECTOR %part, %other.factor
  ret $VECTOR %result
}}
"""


def exponential(single: bool) -> str:
    """Return the text of the exponential function on lanes: within two units of the last place, 0 or infinity beyond
    the numbers' range."""
    width, mantissa, bias, spare = (32, 23, 127, 10) if single else (64, 52, 1023, 13)
    text = EXPONENTIAL.format(
        most=splat(89.0 if single else 710.0, single), least=splat(-104.0 if single else -746.0, single),
        log2_e=splat(math.log2(math.e), single), round=splat(SINGLE_ROUND if single else double.ROUND, single),
        reduction=_reduction(SINGLE_LN_2 if single else LN_2, single, ("%x", "%r.high", "%r")),
        series=_horner("series", [1 / math.factorial(k) for k in range(8 if single else 14)], single),
        spare=f"splat (i{width} {spare})", single_bit=f"splat (i{width} 1)", bias=f"splat (i{width} {bias})",
        mantissa=f"splat (i{width} {mantissa})",
    )  # fmt: skip
    return text.replace("$BITS", f"<$LANES x i{width}>")
