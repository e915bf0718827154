"""Emulated fused multiply-adds, against sums and products of fractions, rounded once."""

import ctypes
import math
from fractions import Fraction

import numpy as np
import pytest

from treesim.engine.llvm import machine_code, object_code
from treesim.engine.llvm.builder import Module
from treesim.engine.llvm.fused_multiply_add import LEAST, emulated
from treesim.engine.llvm.lanes import Lanes
from treesim.engine.llvm.values import I64, PTR

pytestmark = pytest.mark.nojit
COUNT = 3000
LANES = [Lanes(single, width) for single in (False, True) for width in (1, 2, 4, 8, 16)]


def compiled(text):
    """The function `f` of a module in which the emulation stands for fused multiply-adds."""
    from llvmlite import binding

    own = emulated(text)
    here = machine_code.processor()
    code = object_code.object_code(object_code.CompileRequest(own, here.triple, here.name, here.features, True, False))
    engine = binding.create_mcjit_compiler(
        binding.parse_assembly(""), object_code.target_machine(here.triple, here.name, here.features)
    )
    engine.add_object_file(binding.object_file.ObjectFileRef.from_data(code))
    engine.finalize_object()
    call = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4, ctypes.c_int64)(engine.get_function_address("f"))
    call.engine = engine
    return call


def fused(lanes, *operands):
    """x y + z of arrays, by groups of lanes."""
    module = Module(lanes)
    f = module.function("f", ", ".join([*(f"{PTR} x{k}" for k in range(4)), f"{I64} count"]), exported=True)
    *places, out, count = f.arguments
    with f.loop(0, count) as loop:
        unit = lanes.unit
        given = [f.load(f.at(place, loop.k), align=unit) for place in places]
        f.store(f.multiply_add(*given), f.at(out, loop.k), align=unit)
    f.ret()
    return applied(compiled(module.text()), lanes, operands)


def applied(call, lanes, operands):
    number = np.float32 if lanes.single else np.float64
    size = -(-len(operands[0]) // lanes.width) * lanes.width
    arrays = [np.resize(np.asarray(x, number), size) for x in operands]
    out = np.empty(size, number)
    call(*(x.ctypes.data for x in (*arrays, out)), size // lanes.width)
    return out[: len(operands[0])]


def nearest(value, number):
    """A fraction rounded once, to nearest, ties to even; infinite where it is too large."""
    info = np.finfo(number)
    if value == 0:
        return number(0)
    size = abs(value)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent -= size < Fraction(2) ** exponent  # 2^exponent <= size
    unit = Fraction(2) ** (max(exponent, int(info.minexp)) - info.nmant)
    whole = round(value / unit)  # of ties, Python takes the even one
    if abs(whole * unit) > Fraction(float(info.max)):
        return number(math.inf if value > 0 else -math.inf)
    return number(float(whole * unit))


def assert_rounded_once(lanes, x, y, z):
    number = np.float32 if lanes.single else np.float64
    x, y, z = (np.asarray(a, number) for a in (x, y, z))
    found = fused(lanes, x, y, z)
    for a, b, c, result in zip(*(array.tolist() for array in (x, y, z)), found, strict=True):
        exact = nearest(Fraction(a) * Fraction(b) + Fraction(c), number)
        assert result == exact, (a.hex(), b.hex(), c.hex(), float(result).hex(), float(exact).hex())


def spread(rng, number, reach, size=COUNT):
    """Random numbers of all sizes up to 2^reach, and down to 2^-reach."""
    return np.ldexp(rng.uniform(-2, 2, size), rng.integers(-reach, reach, size)).astype(number)


def cases(number, seed=0):
    """Operands whose products and sums are of like sizes, cancel, or lie on or next to the middle between numbers."""
    rng, bits = np.random.default_rng(seed), np.finfo(number).nmant + 1
    x, y = (spread(rng, number, 20) for _ in range(2))
    few = [np.ldexp(rng.integers(-99, 99, COUNT), rng.integers(-bits, bits, COUNT)).astype(number) for _ in range(3)]
    product = (x * y).astype(number)
    half = np.ldexp(product, rng.integers(-bits - 3, 3, COUNT)).astype(number)
    near = product * (1 + np.finfo(number).eps * rng.integers(-3, 4, COUNT)).astype(number)
    return {
        "any": (x, y, spread(rng, number, 40)),
        "cancellation": (x, y, -product),
        "near cancellation": (x, y, -near),
        "ties of short numbers": tuple(few),
        "a tie beside the product": (x, y, half),
        "next to a tie": (
            1 + np.ldexp(1.0, -rng.integers(1, bits, COUNT)),
            1 - np.ldexp(1.0, -rng.integers(1, bits, COUNT)),
            np.ldexp(rng.choice([-1.0, 1.0], COUNT), rng.integers(-2 * bits, 2 * bits, COUNT)),
        ),
        "of all sizes": tuple(spread(rng, number, 1000 if number == np.float64 else 120) for _ in range(3)),
    }


@pytest.mark.parametrize("name", cases(np.float64))
@pytest.mark.parametrize("lanes", [LANES[1], LANES[7]], ids=str)
def test_results_are_rounded_once(lanes, name):
    assert_rounded_once(lanes, *cases(np.float32 if lanes.single else np.float64)[name])


@pytest.mark.parametrize("lanes", LANES, ids=str)
def test_lanes_of_all_widths_compute_the_same(lanes):
    number = np.float32 if lanes.single else np.float64
    for x, y, z in cases(number).values():
        few = [np.asarray(a, number)[:99] for a in (x, y, z)]
        np.testing.assert_array_equal(fused(lanes, *few), fused(Lanes(lanes.single, 2), *few))
    assert_rounded_once(lanes, *(a[:99] for a in cases(number)["any"]))


@pytest.mark.parametrize("lanes", [LANES[1], LANES[7]], ids=str)
def test_at_the_ends_of_the_range(lanes):
    """Where the algorithm does not hold: results below and next to normal numbers, and the largest."""
    number = np.float32 if lanes.single else np.float64
    info, root = np.finfo(number), math.sqrt(np.finfo(number).tiny)
    ends = [0.0, float(info.smallest_subnormal), float(info.tiny), root, 1.0, 3.0, float(info.max), float(info.max) / 3]
    ends += [1.5 * root, 2.0**-1000, LEAST, 1.1 * LEAST] if number == np.float64 else []
    operands = np.array(np.meshgrid(*[[*ends, *(-x for x in ends)]] * 3), number).reshape(3, -1)
    assert_rounded_once(lanes, *operands)
    rng = np.random.default_rng(1)
    x, y = (
        np.ldexp(rng.uniform(1, 2, COUNT), rng.integers(int(info.minexp) // 2 - 9, int(info.minexp) // 2 + 29, COUNT))
        for _ in "xy"
    )
    z = np.ldexp(rng.uniform(-2, 2, COUNT), rng.integers(int(info.minexp) - 9, int(info.minexp) + 99, COUNT))
    assert_rounded_once(lanes, x, y, z)


@pytest.mark.parametrize("lanes", [LANES[1], LANES[7]], ids=str)
def test_infinite_numbers_nan_and_the_signs_of_zeros(lanes):
    inf, nan = math.inf, math.nan
    zeros = [(0.0, -1.0, -0.0), (0.0, 1.0, -0.0), (-0.0, 1.0, -0.0), (1.0, 1.0, -1.0), (0.0, -1.0, 0.0)]
    others = [(inf, 1.0, 1.0), (inf, 1.0, -inf), (inf, 0.0, 1.0), (2.0, 3.0, -inf), (nan, 1.0, 0.0), (1.0, 1.0, nan)]
    found = fused(lanes, *zip(*zeros, *others, strict=True))
    np.testing.assert_array_equal(found, [-0.0, 0.0, -0.0, 0.0, 0.0, inf, nan, nan, -inf, nan, nan])
    assert [math.copysign(1, x) for x in found[:5]] == [-1, 1, -1, 1, 1]


def test_single_numbers_and_several_types_in_one_text():
    """As in the text of the engine for all robots: a number at a time, under flags."""
    text = "\n".join([
        "declare double @llvm.fma.f64(double, double, double)",
        "declare <8 x double> @llvm.fma.v8f64(<8 x double>, <8 x double>, <8 x double>)",
        "define void @f(ptr %x, ptr %y, ptr %z, ptr %out, i64 %count) {",
        *(f"  %{name} = load double, ptr %{place}" for name, place in zip("abc", "xyz", strict=True)),
        "  %r = call nsz nnan ninf double @llvm.fma.f64(double %a, double %b, double %c)",
        "  store double %r, ptr %out",
        "  ret void",
        "}",
    ])  # fmt: skip
    x, y = 1 + 2.0**-30, 1 - 2.0**-30
    assert applied(compiled(text), Lanes(False, 1), [[x], [y], [-1.0]]) == [-(2.0**-60)]


def test_other_text_stays():
    text = "define i64 @f() {\n  ret i64 1\n}"
    assert emulated(text) == text
