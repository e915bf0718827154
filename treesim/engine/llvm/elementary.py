"""LLVM IR of functions on lanes: sine and cosine, of one vector or of many in a row, and the exponential function.

For $VECTOR and the others see `batch_loop`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import NamedTuple

from .. import trigonometry as double
from .arctangent import arctangent_text
from .lanes import splat

# Cephes' single-precision constants: pi/2 in three parts, polynomials on [-pi/4, pi/4]
SINGLE_LARGEST, SINGLE_ROUND = 8192.0, 12582912.0  # 1.5 * 2^23
SINGLE_PI_2 = (1.5703125, 4.837512969970703125e-4, 7.54978995489188216e-8)
SINGLE_SINE = (-1.6666654611e-1, 8.3321608736e-3, -1.9515295891e-4)
SINGLE_COSINE = (4.166664568298827e-2, -1.388731625493765e-3, 2.443315711809948e-5)

# %sin.value and %cos.value of %x, as in trigonometry.sincos; %large: lanes for which the reduction is not exact
SINCOS_STEPS = """
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
  %large = fcmp ugt $VECTOR %size, {largest}"""
SINCOS = """
declare $VECTOR @llvm.sin.$SUFFIX($VECTOR)
declare $VECTOR @llvm.cos.$SUFFIX($VECTOR)
declare $VECTOR @llvm.fabs.$SUFFIX($VECTOR)
declare i1 @llvm.vector.reduce.or.v$LANESi1(<$LANES x i1>)

; both; of a lane that is too large for the reduction to be exact, the C library's, so that no lane depends on its
; neighbours
define internal {{ $VECTOR, $VECTOR }} @sine_and_cosine($VECTOR %x) noinline nounwind alignstack(64) {{
{steps}
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
# the angles' numbers are in a list, so that the code is as long for one as for all, and keeps its constants at hand
TURN = """
@angles = internal constant [{count} x i32] [{angles}]

; in[first + 2 k] and in[first + 2 k + 1] <- sine and cosine of in[angles[k]]
define internal void @turn(ptr noalias %in) noinline nounwind alignstack(64) {{
entry:
  %some = icmp ne i64 {count}, 0
  br i1 %some, label %angle, label %done
angle:
  %k = phi i64 [ 0, %entry ], [ %k.next, %angle ]
  %beyond = phi <$LANES x i1> [ zeroinitializer, %entry ], [ %beyond.next, %angle ]
{load}
{steps}
  %beyond.next = or <$LANES x i1> %beyond, %large
  store $VECTOR %sin.value, ptr %sin.at, align $BYTES
  store $VECTOR %cos.value, ptr %cos.at, align $BYTES
  %k.next = add i64 %k, 1
  %k.more = icmp slt i64 %k.next, {count}
  br i1 %k.more, label %angle, label %end
end:
  %any = call i1 @llvm.vector.reduce.or.v$LANESi1(<$LANES x i1> %beyond.next)
  br i1 %any, label %again, label %done
again:
  call void @turn_far(ptr %in)
  br label %done
done:
  ret void
}}

; the same, of angles of any size
define internal void @turn_far(ptr noalias %in) noinline nounwind alignstack(64) {{
entry:
  br label %angle
angle:
  %k = phi i64 [ 0, %entry ], [ %k.next, %angle ]
{load}
  %pair = call {{ $VECTOR, $VECTOR }} @sine_and_cosine($VECTOR %x)
  %sin.value = extractvalue {{ $VECTOR, $VECTOR }} %pair, 0
  %cos.value = extractvalue {{ $VECTOR, $VECTOR }} %pair, 1
  store $VECTOR %sin.value, ptr %sin.at, align $BYTES
  store $VECTOR %cos.value, ptr %cos.at, align $BYTES
  %k.next = add i64 %k, 1
  %k.more = icmp slt i64 %k.next, {count}
  br i1 %k.more, label %angle, label %done
done:
  ret void
}}
"""
ANGLE = """  %number.at = getelementptr i32, ptr @angles, i64 %k
  %number.entry = load i32, ptr %number.at
  %number = zext i32 %number.entry to i64
  %x.at = getelementptr $VECTOR, ptr %in, i64 %number
  %x = load $VECTOR, ptr %x.at, align $BYTES
  %k.twice = mul i64 %k, 2
  %sin.place = add i64 %k.twice, {first}
  %sin.at = getelementptr $VECTOR, ptr %in, i64 %sin.place
  %cos.at = getelementptr $VECTOR, ptr %sin.at, i64 1"""


def sincos(single: bool) -> str:
    """Return the text of @sine_and_cosine on lanes."""
    return _typed(SINCOS.format(steps=_sincos_steps(single)), single)


class Arithmetic(NamedTuple):
    """Additions and multiplications, and how many of these share an instruction with the addition that uses them."""

    additions: int
    multiplications: int
    fused: int


def sincos_arithmetic(single: bool) -> Arithmetic:
    """Return what the sine and cosine of one angle take together, counted in the text that is compiled."""
    text = _sincos_steps(single)
    sums = re.findall(r"= (?:fadd|fsub) (contract)? ?\$VECTOR (%?[\w.]+|splat \(.*?\)), (%?[\w.]+|splat \(.*?\))", text)
    products = re.findall(r"(%[\w.]+) = fmul", text)
    once = {name for name in products if len(re.findall(rf"{name}(?![\w.])", text)) == 2}  # where made, and where used
    joined = sum(bool(contract) and (first in once or second in once) for contract, first, second in sums)
    return Arithmetic(len(sums), len(products), joined)


def turn(angles: Sequence[int], first: int, single: bool) -> str:
    """Return the text of @turn(ptr in): sines and cosines of some of the vectors at `in`, in pairs from the vector
    `first` on. It needs @sine_and_cosine."""
    text = TURN.format(
        count=len(angles), angles=", ".join(f"i32 {k}" for k in angles),
        load=ANGLE.format(first=first), steps=_sincos_steps(single),
    )  # fmt: skip
    return _typed(text, single)


def _typed(text: str, single: bool) -> str:
    """The text with the name of a vector of integers, of the width of the numbers, in the place of $BITS."""
    return text.replace("$BITS", f"<$LANES x i{32 if single else 64}>")


def _sincos_steps(single: bool) -> str:
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
    return SINCOS_STEPS.format(
        largest=splat(largest, single), round=splat(rounder, single),
        two_over_pi=splat(double.TWO_OVER_PI, single), half=splat(0.5, single), one=splat(1.0, single),
        reduction=_reduction(parts, single), sine=_horner("sine", sine, single),
        cosine=_horner("cosine", cosine, single), bit_one=f"splat (i{width} 1)",
        to_sign=f"splat (i{width} {width - 2})", sign=f"splat (i{width} {-(1 << (width - 1))})",
    )  # fmt: skip


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
    return _typed(text, single)


HELPERS = {"@sine_and_cosine": sincos, "@exponential": exponential, "@arctangent": arctangent_text}


def helpers(text: str, single: bool) -> list[str]:
    """Return the texts of the functions that a text calls."""
    return [text_of(single) for name, text_of in HELPERS.items() if f"{name}(" in text]
