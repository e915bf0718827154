"""Functions that are written instruction by instruction do, compiled, what Python and numpy do."""

import ctypes
from fractions import Fraction

import numpy as np
import pytest

from tests.engine.opcodes import opcodes
from treesim.engine.llvm import machine_code
from treesim.engine.llvm.builder import Module
from treesim.engine.llvm.elementary import write_helpers
from treesim.engine.llvm.lanes import Lanes
from treesim.engine.llvm.values import I8, I32, I64, PTR, constant, integers

pytestmark = pytest.mark.nojit
WIDE = Lanes(False, 8)
NUMBERS = [0.0, -0.0, 0.1, -1 / 3, 1e-310, 1.7976931348623157e308, float("inf"), 5e-324]


def compiled(module, *types, result=ctypes.c_int64):
    """The exported function `f` of a module, which takes such arguments."""
    from llvmlite import binding

    here = machine_code.processor()
    parsed = binding.parse_assembly(module.text())
    parsed.verify()
    engine = binding.create_mcjit_compiler(parsed, machine_code._target(here))
    engine.finalize_object()
    call = ctypes.CFUNCTYPE(result, *types)(engine.get_function_address("f"))
    call.engine = engine  # the code lives as long as its engine
    return call


def function(parameters, result=I64, lanes=WIDE, **kind):
    module = Module(lanes)
    return module, module.function("f", parameters, result, exported=True, **kind)


def on_arrays(write, *arrays, lanes=WIDE, **kind):
    """Let a function that `write` writes work on arrays."""
    module, f = function(", ".join(f"{PTR} x{k}" for k in range(len(arrays))), "void", lanes, **kind)
    write(f, *f.arguments)
    f.ret()
    write_helpers(module)
    call = compiled(module, *[ctypes.c_void_p] * len(arrays), result=None)
    call(*(x.ctypes.data for x in arrays))
    return arrays[-1]


def aligned(values, number=np.float64):
    """An array that begins with a cache line."""
    memory = np.zeros(len(values) + 16, number)
    array = memory[-memory.ctypes.data % 64 // memory.itemsize :][: len(values)]
    array[:] = values
    return array


# ---- loops and branches


@pytest.mark.parametrize("step", [1, 3])
def test_a_loop_counts_as_range_does_and_carries_its_values(step):
    module, f = function(f"{I64} start, {I64} stop")
    with f.loop(*f.arguments, step, carried=[constant(7, I64), constant(1, I64)]) as loop:
        a, b = loop.values
        loop.values = [f.add(f.mul(a, 5), loop.k), a]
    f.ret(f.xor(*loop.values))
    call = compiled(module, ctypes.c_int64, ctypes.c_int64)
    for start, stop in [(0, 10), (-4, 3), (2, 3), (5, 5), (6, -6), (0, 9)]:
        a, b = 7, 1
        for k in range(start, stop, step):
            a, b = a * 5 + k, a
        assert call(start, stop) == a ^ b


def test_loops_stand_in_loops_and_conditions_in_both():
    module, f = function(f"{I64} rows")
    with f.loop(0, f.arguments[0], carried=[constant(0, I64)]) as row:
        with f.loop(row.k, 6, carried=row.values) as column:
            odd = f.icmp("eq", f.urem(f.add(row.k, column.k), 2), 1)
            column.values = [f.select(odd, f.add(column.values[0], f.mul(row.k, column.k)), column.values[0])]
        row.values = column.values
    with f.when(f.icmp("sgt", row.values[0], 30)):
        f.ret(constant(-1, I64))
    f.ret(row.values[0])
    call = compiled(module, ctypes.c_int64)
    for rows in range(9):
        total = sum(i * j for i in range(rows) for j in range(i, 6) if (i + j) % 2)
        assert call(rows) == (-1 if total > 30 else total)


def test_a_loop_that_is_known_to_begin_does_not_ask():
    for stop, begins, comparisons in ((5, False, 1), (None, False, 2), (None, True, 1)):
        module, f = function(f"{I64} stop")
        with f.loop(0, stop or f.arguments[0], begins=begins):
            pass
        f.ret(constant(0, I64))
        assert opcodes(module.text())["f"]["icmp"] == comparisons


def test_forever_ends_where_a_condition_fails():
    """How many steps Collatz's sequence takes to 1."""
    memory = np.array([0, 0])

    def write(f, x):
        with f.forever() as end:
            n, steps = (f.load_at(x, k, I64) for k in range(2))
            f.go_on_if(f.icmp("ne", n, 1), otherwise=end)
            odd = f.icmp("eq", f.both(n, 1), 1)
            f.store(f.select(odd, f.add(f.mul(n, 3), 1), f.udiv(n, 2)), x)
            f.store_at(f.add(steps, 1), x, 1)

    for n in (1, 2, 6, 27):
        memory[:] = n, 0
        on_arrays(write, memory)
        steps = 0
        while n != 1:
            n, steps = 3 * n + 1 if n % 2 else n // 2, steps + 1
        assert memory.tolist() == [1, steps]


# ---- numbers


@pytest.mark.parametrize("single", [False, True])
def test_constants_are_the_numbers_to_the_last_bit(single):
    number = np.float32 if single else np.float64
    lanes = Lanes(single, 4)
    values = np.array(NUMBERS, np.float64).clip(-1e38, 1e38) if single else np.array(NUMBERS)

    def write(f, x):
        for k, value in enumerate(values.tolist()):
            f.store_at(constant(value, f.vector), x, 2 * k)
            f.store(constant(value, f.number), f.at(x, 8 * k + 4, f.number))

    found = on_arrays(write, aligned(np.full(8 * len(values), 9), number), lanes=lanes).reshape(-1, 8)
    for row, value in zip(found, values, strict=True):
        assert {x.tobytes() for x in row[:5]} == {number(value).tobytes()}


def test_lists_of_constants():
    numbers, kinds = [3, -1, 2**31 - 1], (I32, "double", "float", I8)
    module, f = function(f"{I64} k")
    places = [module.array(f"numbers_{kind}", numbers, kind) for kind in kinds[:3]]
    places.append(module.array("bytes", [3, 255, 0], I8))
    module.array("nothing", [], I32)
    found = [f.load_at(place, f.arguments[0], kind) for place, kind in zip(places, kinds, strict=True)]
    whole = [f.cast("fptosi" if x.type in ("float", "double") else "sext", x, I64) for x in found]
    total = constant(0, I64)
    for x in whole:
        total = f.add(f.mul(total, 3), x)
    f.ret(total)
    call = compiled(module, ctypes.c_int64)
    rows = [(3, 3, 3, 3), (-1, -1, -1, -1), (2**31 - 1, 2**31 - 1, int(np.float32(2**31 - 1)), 0)]
    assert [call(k) for k in range(3)] == [27 * a + 9 * b + 3 * c + d for a, b, c, d in rows]


@pytest.mark.parametrize("lanes", [Lanes(False, 1), Lanes(False, 2), WIDE, Lanes(True, 4), Lanes(True, 16)])
def test_arithmetic_on_lanes(lanes):
    number = np.float32 if lanes.single else np.float64
    x, y = (aligned(v, number) for v in np.random.default_rng(0).normal(size=(2, lanes.width)))

    def write(f, x, y, out):
        a, b = f.load(x), f.load(y)
        less = f.fcmp("olt", a, b)
        shuffled = f.shuffle(a, b, [(3 * k + 1) % (2 * lanes.width) for k in range(lanes.width)])
        bits = f.cast("bitcast", a, lanes.whole)
        results = (
            f.fadd(a, b), f.fsub(1.0, b), f.fmul(a, 3.0), f.fdiv(a, b), f.fneg(a), f.select(less, a, 0.25),
            f.maximum(a, b), f.intrinsic("sqrt", f.fmul(a, a)), shuffled,
            f.broadcast(f.load_at(y, lanes.width - 1, f.number)),
            f.vector_of([f.load_at(x, lanes.width - 1 - k, f.number) for k in range(lanes.width)]),
            f.cast("bitcast", f.xor(bits, f.shl(constant(1, lanes.whole), 8 * lanes.unit - 1)), f.vector),
            f.broadcast(f.cast("uitofp", f.any(less), f.number)),
        )  # fmt: skip
        for k, result in enumerate(results):
            f.store_at(result, out, k)

    found = on_arrays(write, x, y, aligned(np.zeros(13 * lanes.width), number), lanes=lanes).reshape(13, -1)
    both, width = np.concatenate([x, y]), lanes.width
    expected = (
        x + y, 1 - y, x * 3, x / y, -x, np.where(x < y, x, 0.25), np.maximum(x, y), np.sqrt(x * x),
        both[(3 * np.arange(width) + 1) % (2 * width)], y[-1], x[::-1], -x, float((x < y).any()),
    )  # fmt: skip
    for row, value in zip(found, expected, strict=True):
        np.testing.assert_array_equal(row, np.broadcast_to(value, width).astype(number))


def test_addresses_of_several():
    width, rng = WIDE.width, np.random.default_rng(1)
    source, places = rng.normal(size=40), rng.permutation(width)

    def write(f, x, out):
        for k in range(2):
            where = f.at(f.at(x, f.add(constant(k, I64), k), f.number), integers([3 * p for p in places]), f.number)
            mask, nothing = constant(1, f.condition), constant(0.0, f.vector)
            name = f"llvm.masked.gather.{WIDE.suffix}.v{width}p0"
            f.store_at(f.library(name, f.vector, where, constant(8, I32), mask, nothing), out, k)

    found = on_arrays(write, source, aligned(np.zeros(2 * width))).reshape(2, width)
    np.testing.assert_array_equal(found, [source[3 * places], source[3 * places + 2]])


def test_products_are_fused_with_sums_only_where_that_is_written():
    a, b = 1 + 2.0**-30, 1 - 2.0**-30
    lanes, out = Lanes(False, 1), aligned(np.zeros(2))

    def write(f, x, out):
        one, other = (f.load_at(x, j) for j in range(2))
        f.store_at(f.multiply_add(one, other, -1.0), out, 0)
        f.store_at(f.fadd(f.fmul(one, other), -1.0), out, 1)

    fused, rounded = on_arrays(write, aligned([a, b]), out, lanes=lanes)
    assert rounded == 0.0  # a b, rounded, is 1
    assert fused == float(Fraction(a) * Fraction(b) - 1)  # on processors without such an instruction, too


# ---- calls


def test_functions_of_the_module_are_called_by_name_and_by_address():
    module = Module(WIDE)
    steps = [module.function(f"step{k}", f"{PTR} x, {I64} by") for k in range(3)]
    for k, step in enumerate(steps):
        x, by = step.arguments
        step.store(step.add(step.mul(step.load(x, I64), 10), step.add(by, k)), x)
        step.ret()
    f = module.function("f", f"{PTR} x", "void", exported=True)
    table, [x] = module.addresses("table", steps), f.arguments
    f.call(steps[2], x, 1)
    with f.loop(0, 3) as loop:
        f.call_at(f.load_at(table, loop.k, PTR), x, constant(4, I64))
    f.ret()
    memory = np.array([1])
    compiled(module, ctypes.c_void_p, result=None)(memory.ctypes.data)
    assert memory[0] == 13456
    with pytest.raises(ValueError, match="argument 2 is longer"):
        f.call(steps[0], x)


def test_what_is_called_is_declared_and_written_once_for_each_kind_of_lanes():
    module = Module(WIDE)
    for k, lanes in enumerate((WIDE, Lanes(False, 1))):
        f = module.function(f"f{k}", f"{PTR} x", lanes=lanes)
        x = f.load(f.arguments[0])
        for _ in range(2):
            sin, cos = f.helper_pair("sine_and_cosine", f.intrinsic("sqrt", x))
            x = f.fadd(f.helper("exponential", sin), cos)
        f.store(x, f.arguments[0])
        f.ret()
    write_helpers(module)
    found = opcodes(module.text())
    assert set(found) == {
        "f0", "f1", *(f"{name}.{kind}" for name in ("sine_and_cosine", "exponential") for kind in ("v8f64", "f64"))
    }  # fmt: skip
    assert (found["f0"]["sine_and_cosine.v8f64"], found["f1"]["exponential.f64"]) == (2, 2)


@pytest.mark.parametrize("prefetches", [True, False])
def test_requests_for_memory_are_left_out_where_they_are_not_wanted(prefetches):
    module = Module(WIDE, prefetches)
    f = module.function("f", f"{PTR} x", exported=True)
    for k in range(3):
        f.prefetch(f.at(f.arguments[0], k), writes=k == 1)
    f.ret()
    assert opcodes(module.text())["f"]["llvm.prefetch.p0"] == 3 * prefetches


def test_threads_share_integers():
    memory = np.array([5, 8])

    def write(f, x):
        before = f.atomic("add", x, 3)
        f.atomic("or", f.at(x, 1, I64), f.add(before, f.cast("zext", f.icmp("eq", before, 5), I64)))

    assert on_arrays(write, memory).tolist() == [8, 8 | 6]
