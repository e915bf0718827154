"""Emulation of fused multiply-add, x y + z rounded once, for processors without the instruction.

S. Boldo and G. Melquiond, Emulation of FMA and correctly rounded sums: proved algorithms using rounding to
odd, IEEE Transactions on Computers 57(4), 2008. Results equal those of the instruction to the bit, over the
whole range of numbers. The algorithm is valid for |x y| + |z| >= 2^-900 without overflow, and always for
float32. Groups of lanes with other numbers use the C library's function, unless those are products with a
zero.
"""

from __future__ import annotations

import re

from .builder import Function, Module
from .lanes import Lanes
from .values import I64, Value, as_many

LIBRARY, OWN = "@llvm.fma.", "@fma."
DECLARED = re.compile(rf"^declare (float|double|<(\d+) x (?:float|double)>) {OWN}(\w+)\(.*$", re.MULTILINE)
LEAST = 2.0**-900  # then the last bit of x y is representable, or x y is far below the last bit of z
LOW = 27  # bits of a factor's lower part


def emulated(text: str) -> str:
    """Return a module's IR with LLVM's fused multiply-adds replaced by functions of its own.

    text: LLVM IR with vectors and scalars of float64 and float32.
    """
    return DECLARED.sub(_definition, text.replace(LIBRARY, OWN))


def _definition(declared: re.Match[str]) -> str:
    """Return the declaration of LLVM's function, and the function that replaces it."""
    (kind, width, suffix), line = declared.groups(), declared[0]
    lanes = Lanes("float" in kind, int(width or 1))
    f = Module(lanes).function(OWN[1:] + suffix, ", ".join(f"{kind} {name}" for name in "xyz"), kind)
    f.ret((_single if lanes.single else _double)(f, *f.arguments))
    return f"{line.replace(OWN, LIBRARY)}\n{f.text()}"


def _single(f: Function, x: Value, y: Value, z: Value) -> Value:
    """Append the float32 operation: the product is exact in float64, and a sum rounded to odd may be rounded again."""
    wide = as_many("double", f.vector)
    x, y, z = (f.cast("fpext", number, wide) for number in (x, y, z))
    return f.cast("fptrunc", _sum_to_odd(f, f.fmul(x, y), z), f.vector)


def _double(f: Function, x: Value, y: Value, z: Value) -> Value:
    """Append the float64 operation; returns early for lanes outside the algorithm's range."""
    u, u_rest = _product(f, x, y)
    t, t_rest = _sum(f, z, u_rest)
    v, v_rest = _sum(f, u, t)
    result = f.fadd(v, _sum_to_odd(f, t_rest, v_rest))
    small = f.fcmp("ult", f.fadd(_size(f, u), _size(f, z)), LEAST)
    beyond = f.either(small, f.fcmp("uno", result, result))
    with f.when(_any(f, beyond)):
        zero = f.either(f.fcmp("oeq", x, 0.0), f.fcmp("oeq", y, 0.0))
        with f.when(_any(f, f.both(beyond, f.xor(zero, 1)))):
            f.ret(f.intrinsic("fma", x, y, z))
        f.ret(f.select(zero, f.fadd(u, z), result))
    return result


def _product(f: Function, x: Value, y: Value) -> tuple[Value, Value]:
    """Append x y, rounded, and its rounding error (Dekker 1971)."""
    x_high, x_low = _halves(f, x)
    y_high, y_low = _halves(f, y)
    u = f.fmul(x, y)
    rest = f.fsub(f.fmul(x_high, y_high), u)
    for one, other in ((x_high, y_low), (x_low, y_high), (x_low, y_low)):
        rest = f.fadd(rest, f.fmul(one, other))
    return u, rest


def _halves(f: Function, x: Value) -> tuple[Value, Value]:
    """Append the split of a factor into two numbers of 26 bits: the upper bits, rounded to nearest, and the rest."""
    rounded = f.add(f.cast("bitcast", x, f.lanes.whole), 1 << (LOW - 1))
    high = f.cast("bitcast", f.both(rounded, -(1 << LOW)), f.vector)
    return high, f.fsub(x, high)


def _sum(f: Function, x: Value, y: Value) -> tuple[Value, Value]:
    """Append x + y, rounded, and its rounding error (Knuth)."""
    s = f.fadd(x, y)
    y_taken = f.fsub(s, x)
    x_taken = f.fsub(s, y_taken)
    return s, f.fadd(f.fsub(x, x_taken), f.fsub(y, y_taken))


def _sum_to_odd(f: Function, x: Value, y: Value) -> Value:
    """Append x + y rounded to odd: if inexact, the neighbouring float64 whose last bit is set.

    It is the neighbour towards zero with its last bit set; where rounding went away from zero, that is one less
    in bits.
    """
    s, rest = _sum(f, x, y)
    whole = as_many(I64, s.type)
    bits, rest_bits = (f.cast("bitcast", number, whole) for number in (s, rest))
    below = f.sub(bits, f.lshr(f.xor(bits, rest_bits), 63))
    odd = f.cast("bitcast", f.either(below, 1), s.type)
    return f.select(f.fcmp("one", rest, 0.0), odd, s)


def _size(f: Function, x: Value) -> Value:
    """Append |x|."""
    return f.cast("bitcast", f.both(f.cast("bitcast", x, f.lanes.whole), (1 << 63) - 1), f.vector)


def _any(f: Function, conditions: Value) -> Value:
    """Append whether a condition holds on any lane."""
    return f.icmp("ne", f.cast("bitcast", conditions, f"i{f.lanes.width}"), 0)
