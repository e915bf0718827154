"""LLVM IR of elementary functions on lanes: sine and cosine, of one vector or of many, and the exponential."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from .. import trigonometry as double
from ..exponentials import LN_2_HIGH, LN_2_LOW, LOG2_E
from .arctangent import write_arctangent
from .builder import Function, Module
from .lanes import Lanes
from .values import I32, I64, PTR, Operand, Value, constant, pair_of


class Reduction(NamedTuple):
    """Constants of sine and cosine in one precision.

    The largest angle whose range reduction is exact, the number that rounds to integers, parts of pi/2, and
    polynomials on [-pi/4, pi/4].
    """

    largest: float
    round: float
    parts: tuple[float, ...]
    sine: tuple[float, ...]
    cosine: tuple[float, ...]


SINGLE = Reduction(  # Cephes' constants; 1.5 * 2^23
    8192.0, 12582912.0, (1.5703125, 4.837512969970703125e-4, 7.54978995489188216e-8),
    (-1.6666654611e-1, 8.3321608736e-3, -1.9515295891e-4),
    (4.166664568298827e-2, -1.388731625493765e-3, 2.443315711809948e-5),
)  # fmt: skip
DOUBLE = Reduction(
    double.LARGEST, double.ROUND, (double.PI_2_HIGH, double.PI_2_MIDDLE, double.PI_2_LOW),
    (double.S1, double.S2, double.S3, double.S4, double.S5, double.S6),
    (double.C1, double.C2, double.C3, double.C4, double.C5, double.C6),
)  # fmt: skip


def _reduced_sincos(f: Function, x: Value) -> tuple[Value, Value, Value]:
    """Append sine and cosine of x, as in trigonometry.sincos, and the mask of lanes with inexact reduction."""
    known, sign = SINGLE if f.lanes.single else DOUBLE, 8 * f.lanes.unit - 1
    shifted = f.multiply_add(x, double.TWO_OVER_PI, known.round)  # its last bits are the number of quarter turns
    r = _minus(f, x, f.fsub(shifted, known.round), known.parts)
    z = f.fmul(r, r)
    sine = _polynomial(f, known.sine, z)
    s = f.multiply_add(f.fmul(r, z), sine, r)
    cosine = _polynomial(f, known.cosine, z)
    half = f.fmul(z, 0.5)
    w = f.fsub(1.0, half)
    w_rest = f.fsub(f.fsub(1.0, w), half)
    c = f.fadd(w, f.multiply_add(f.fmul(z, z), cosine, w_rest))
    bits = f.cast("bitcast", shifted, f.lanes.whole)
    odd = f.icmp("ne", f.both(bits, 1), 0)
    first, second = f.select(odd, c, s), f.select(odd, s, c)
    signs = [f.both(f.shl(turns, sign - 1), -(1 << sign)) for turns in (bits, f.add(bits, 1))]
    whole = [f.cast("bitcast", value, f.lanes.whole) for value in (first, second)]
    signed = [f.xor(value, its_sign) for value, its_sign in zip(whole, signs, strict=True)]
    sin, cos = (f.cast("bitcast", value, f.vector) for value in signed)
    return sin, cos, f.fcmp("ugt", f.intrinsic("fabs", x), known.largest)


def _minus(f: Function, x: Value, count: Value, parts: Sequence[float]) -> Value:
    """Append x - count * sum(parts), the largest part first."""
    away = f.fneg(count)
    for part in parts:
        x = f.multiply_add(away, part, x)
    return x


def _polynomial(f: Function, coefficients: Sequence[float], z: Value) -> Value:
    """Append the polynomial in z with the given coefficients, lowest first, by Horner's rule."""
    value: Operand = coefficients[-1]
    for coefficient in coefficients[-2::-1]:
        value = f.multiply_add(value, z, coefficient)
    return constant(value, f.vector)


def write_sine_and_cosine(module: Module, name: str, lanes: Lanes) -> None:
    """Write a function name(x) of a module that returns sine and cosine.

    Lanes whose angle is too large for an exact range reduction use the C library, so that no lane depends on
    others. Without a C library they use the inexact reduction.
    """
    result = pair_of(lanes.vector)
    f = module.function(name, f"{lanes.vector} x", result, lanes=lanes, aligned_stack=True)
    [x] = f.arguments
    sin, cos, large = _reduced_sincos(f, x)
    if not module.has_library:
        f.ret_pair(sin, cos)
        return
    with f.when(f.any(large)):
        of_library = [f.intrinsic(word, x) for word in ("sin", "cos")]
        f.ret_pair(*(f.select(large, far, near) for far, near in zip(of_library, (sin, cos), strict=True)))
    f.ret_pair(sin, cos)


class Arithmetic(NamedTuple):
    """Numbers of additions and multiplications, and of multiplications fused with an addition."""

    additions: int
    multiplications: int
    fused: int


class _Noted(Function):
    """Function that counts its arithmetic: additions, multiplications, and fused ones."""

    def __init__(self, lanes: Lanes) -> None:
        super().__init__(Module(lanes), "noted", f"{lanes.vector} x")
        self.noted: Counter[str] = Counter()

    def arithmetic(self, word: str, x: Operand, y: Operand) -> Value:
        self.noted[word] += 1
        return super().arithmetic(word, x, y)

    def multiply_add(self, x: Operand, y: Operand, z: Operand) -> Value:
        self.noted.update(("fadd", "fmul", "fused"))
        return super().multiply_add(x, y, z)


def sincos_arithmetic(single: bool) -> Arithmetic:
    """Return the arithmetic of sine and cosine of one angle together, counted in the compiled instructions."""
    f = _Noted(Lanes(single, 1))
    _reduced_sincos(f, *f.arguments)
    return Arithmetic(f.noted["fadd"] + f.noted["fsub"], f.noted["fmul"], f.noted["fused"])


def turn(module: Module, angles: Sequence[int], first: int) -> Function:
    """Return a function turn(in): sines and cosines of the vectors `angles` at `in`, stored in pairs from `first` on.

    The angles' indices are in a list, so that the code has the same length for any number of them.
    """
    numbers = module.array("angles", angles, I32)

    def pair_at(f: Function, k: Value) -> tuple[Value, Value, Value]:
        """Append the k-th angle, and the addresses of its sine and cosine."""
        x = f.load_at(f.arguments[0], f.cast("zext", f.load_at(numbers, k, I32), I64))
        sin_at = f.at(f.arguments[0], f.add(f.mul(k, 2), first))
        return x, sin_at, f.at(sin_at, 1)

    far = module.function("turn_far", f"{PTR} noalias in")
    with far.loop(0, len(angles)) as loop:
        x, *places = pair_at(far, loop.k)
        for value, place in zip(far.helper_pair("sine_and_cosine", x), places, strict=True):
            far.store(value, place)
    far.ret()

    f = module.function("turn", f"{PTR} noalias in", aligned_stack=True)
    with f.loop(0, len(angles), carried=[constant(0, f.condition)]) as loop:
        x, sin_at, cos_at = pair_at(f, loop.k)
        sin, cos, large = _reduced_sincos(f, x)
        loop.values = [f.either(loop.values[0], large)]
        f.store(sin, sin_at)
        f.store(cos, cos_at)
    with f.when(f.any(loop.values[0])):
        f.call(far, *f.arguments)
    f.ret()
    return f


# natural logarithm of 2 in two parts (fdlibm's, Cephes'): products with whole numbers of the exponents' size are exact
LN_2, SINGLE_LN_2 = (LN_2_HIGH, LN_2_LOW), (0.693359375, -2.12194440e-4)


def write_exponential(module: Module, name: str, lanes: Lanes) -> None:
    """Write a function name(x) of a module: the exponential to two units in the last place, 0 or infinity beyond range.

    2^n e^r for x = n ln 2 + r, |r| <= ln 2 / 2, e^r by its Taylor series, 2^n in two factors, since n may be
    below -1022.
    """
    single = lanes.single
    mantissa, bias, spare, most, least = (23, 127, 10, 89.0, -104.0) if single else (52, 1023, 13, 710.0, -746.0)
    known, ln_2 = (SINGLE, SINGLE_LN_2) if single else (DOUBLE, LN_2)
    f = module.function(name, f"{lanes.vector} x", lanes.vector, lanes=lanes, aligned_stack=True)
    x = f.maximum(f.minimum(f.arguments[0], most), least)
    shifted = f.multiply_add(x, LOG2_E, known.round)  # its last bits are n
    r = _minus(f, x, f.fsub(shifted, known.round), ln_2)
    series = _polynomial(f, [1 / math.factorial(k) for k in range(8 if single else 14)], r)
    n = f.ashr(f.shl(f.cast("bitcast", shifted, lanes.whole), spare), spare)
    half = f.ashr(n, 1)
    for part in (half, f.sub(n, half)):
        power = f.shl(f.add(part, bias), mantissa)
        series = f.fmul(series, f.cast("bitcast", power, f.vector))
    f.ret(series)


HELPERS: dict[str, Callable[[Module, str, Lanes], None]] = {
    "sine_and_cosine": write_sine_and_cosine, "exponential": write_exponential, "arctangent": write_arctangent,
}  # fmt: skip


def write_helpers(module: Module) -> None:
    """Write the helper functions that a module's functions call (`Function.helper`)."""
    for name, lanes in module.helpers:
        HELPERS[name](module, f"{name}.{lanes.suffix}", lanes)
