"""LLVM IR of a kernel entry for one state, called by a built-in function of CPython with minimal overhead, or by code.

The straight-line code is that of batches with one lane. Sine and cosine of joint angles, and the check for
NaN and infinity, use whole vectors. Quaternions are checked as in batches. The built-in function takes
the nonempty inputs and then the results, each an aligned, C-contiguous numpy array of exactly the right
type and shape. For anything else it returns BAD_LAYOUT, as `fastcall` does; otherwise the status.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from functools import reduce

from ...kernels.entries.status import FINE, NOT_FINITE
from ..frontend.fastcall import ARRAY_TYPE, BAD_LAYOUT, FIRST_STATUS, NUMBER_TYPE
from ..frontend.object_layout import (
    ALIGNED,
    CONTIGUOUS,
    DATA,
    DESCRIPTOR,
    DIMENSIONS,
    DIMENSIONS_COUNT,
    FLAGS,
    HALF,
    NEW_REFERENCE,
    TYPE,
    WRITEABLE,
)
from ..graph.fusion import fuse
from ..graph.trace import Trace
from ..graph.twins import twins
from .batch_loop import rotations
from .builder import Function, Module
from .chunks import Chunks, chunk_calls, chunk_functions
from .lanes import Lanes
from .straight_line import Code, whole_code, with_turned_inputs
from .values import I1, I64, PTR, VOID, Value, constant

Shape = tuple[int, ...]


def single_state(
    traced: Trace,
    inputs: Sequence[Shape],
    results: Sequence[Shape],
    wide: Lanes,
    quaternions: Sequence[int] = (),
    unchecked: Collection[int] = (),
    twin: Sequence[tuple[int, int]] = (),
) -> Code:
    """Return the code of the functions `fast` and `run` for one state of a trace.

    wide: the processor's vector type. quaternions: inputs at which they begin. unchecked: indices of the results
    whose numbers are not checked. twin: pairs of inputs of equal subtrees (`graph.twins`).
    """
    module, apart = (Module(wide, fuses=traced.graph.fuses) for _ in range(2))
    one = Lanes(wide.single, 1)
    before, angles = with_turned_inputs(traced, wide.width)
    fuse(before)
    pairs = twins(before, [*twin, *_turned(twin, angles, traced.inputs, wide.width)])
    chunks = chunk_functions(module, before, one, apart=apart, pairs=pairs)
    shapes = [shape for shape in inputs if math.prod(shape)]
    single = _single(
        module, traced.inputs, angles, chunks, rotations(module, quaternions, one),
        [math.prod(shape) for shape in shapes], [math.prod(shape) for shape in results], unchecked,
    )  # fmt: skip
    _fast(module, single, [*((shape, False) for shape in shapes), *((shape, True) for shape in results)])
    _run(module, single, len(shapes) + len(results))
    return whole_code(module, apart, 0)


def _turned(
    twin: Sequence[tuple[int, int]], angles: Sequence[int], inputs: int, width: int
) -> Iterator[tuple[int, int]]:
    """Yield the pairs of inputs that are sines and cosines of pairs of inputs (`with_turned_inputs`)."""
    place = {angle: inputs + 2 * width * (j // width) + j % width for j, angle in enumerate(angles)}
    for pair in twin:
        if all(k in place for k in pair):
            first, second = (place[k] for k in pair)
            yield from ((first, second), (first + width, second + width))


def _single(
    module: Module,
    inputs: int,
    angles: Sequence[int],
    chunks: Chunks,
    check_rotations: Function,
    sizes: Sequence[int],
    results: Sequence[int],
    unchecked: Collection[int],
) -> Function:
    """Write the function for one state, of the addresses of inputs and results.

    It returns a value other than 0 if a number is NaN or infinite, or a quaternion is not of length 1.
    """
    arrays = [*(f"a{k}" for k in range(len(sizes))), *(f"r{k}" for k in range(len(results)))]
    turn, check = _turn(module, angles), _non_finite_check(module)
    f = module.function("single", ", ".join(f"{PTR} {name}" for name in arrays), I64)
    given, wanted = f.arguments[: len(sizes)], f.arguments[len(sizes) :]
    crossing = inputs + 2 * f.lanes.width * -(-len(angles) // f.lanes.width)
    behind = crossing + chunks.slots
    own = sum(results) if len(results) > 1 else 0  # a single result is written in place
    memory = f.make(f"alloca [{behind + own} x {f.number}], align 64", PTR)
    for array, size, place in zip(given, sizes, _places(f, memory, sizes), strict=True):
        _copy(f, place, array, size)
    invalid = f.either(f.call(check, memory, inputs), f.call(check_rotations, memory))
    f.call(turn, memory, f.at(memory, inputs, f.number))
    buffer = f.at(memory, behind, f.number) if own else wanted[0]
    chunk_calls(f, chunks, memory, f.at(memory, crossing, f.number), buffer)
    if own:
        for array, size, place in zip(wanted, results, _places(f, buffer, results), strict=True):
            _copy(f, array, place, size)
    for k, (array, size) in enumerate(zip(wanted, results, strict=True)):
        if k not in unchecked:
            invalid = f.either(invalid, f.call(check, array, size))
    f.ret(invalid)
    return f


def _places(f: Function, buffer: Value, sizes: Sequence[int]) -> list[Value]:
    """Append the addresses of consecutive arrays."""
    return [f.at(buffer, sum(sizes[:k]), f.number) for k in range(len(sizes))]


def _copy(f: Function, target: Value, source: Value, size: int) -> None:
    whole, volatile = constant(size * f.lanes.unit, I64), constant(0, I1)
    f.library("llvm.memcpy.p0.p0.i64", VOID, target, source, whole, volatile)


def _turn(module: Module, angles: Sequence[int]) -> Function:
    """Write a function for sines and cosines of all angles, a vector at a time; the last vector repeats its angle."""
    f = module.function("turn", f"{PTR} noalias in, {PTR} noalias turned")
    numbers, turned = f.arguments
    for group in range(0, len(angles), f.lanes.width):
        some = [*angles[group : group + f.lanes.width]]
        some += [some[-1]] * (f.lanes.width - len(some))
        x = f.vector_of([f.load_at(numbers, angle, f.number) for angle in some])
        for part, value in enumerate(f.helper_pair("sine_and_cosine", x)):
            f.store(value, f.at(turned, 2 * group + part * f.lanes.width, f.number), align=f.lanes.unit)
    f.ret()
    return f


def _non_finite_check(module: Module) -> Function:
    """Write a function that returns 1 if one of `count` numbers is NaN or infinite, else 0; the last vector overlaps.

    x * 0 is 0 only for finite x.
    """
    f = module.function("non_finite_check", f"{PTR} x, {I64} count", I64)
    x, count = f.arguments
    room = f.sub(count, f.lanes.width)
    with f.when(f.icmp("sge", room, 0)):
        with f.loop(0, count, f.lanes.width, carried=[constant(0.0, f.vector)], begins=True) as loop:
            start = f.select(f.icmp("slt", loop.k, room), loop.k, room)
            values = f.load(f.at(x, start, f.number), align=f.lanes.unit)
            loop.values = [f.fadd(loop.values[0], f.fmul(values, 0.0))]
        f.ret(f.cast("zext", f.any(f.fcmp("uno", loop.values[0], 0.0)), I64))
    with f.loop(0, count, carried=[constant(0.0, f.number)]) as loop:
        loop.values = [f.fadd(loop.values[0], f.fmul(f.load_at(x, loop.k, f.number), 0.0))]
    f.ret(f.cast("zext", f.fcmp("uno", loop.values[0], 0.0), I64))
    return f


def _fast(module: Module, single: Function, arrays: Sequence[tuple[Shape, bool]]) -> None:
    """Write the function that CPython calls; arrays: shapes, and whether they are written to."""
    f = module.function("fast", f"{PTR} me, {PTR} arguments, {I64} count", PTR, exported=True)
    me, arguments, count = f.arguments
    bad_layout, data = f.label(), []
    known = f.load_at(me, DATA, PTR)
    f.go_on_if(f.icmp("eq", count, len(arrays)), otherwise=bad_layout)
    for k, (shape, written) in enumerate(arrays):
        array = f.load_at(arguments, k, PTR)
        f.go_on_if(_fits(f, known, array, len(shape), written), otherwise=bad_layout)
        lengths = f.load_at(array, DIMENSIONS, PTR)
        data.append(f.load_at(array, DATA, PTR))
        fits = [f.icmp("eq", f.load_at(lengths, d, I64), length) for d, length in enumerate(shape)]
        f.go_on_if(reduce(f.both, fits), otherwise=bad_layout)
    failed = f.icmp("ne", f.call(single, *data), 0)
    f.ret(_boxed(f, known, f.select(failed, constant(NOT_FINITE, I64), FINE)))
    f.begin(bad_layout)
    f.ret(_boxed(f, known, constant(BAD_LAYOUT, I64)))


def _run(module: Module, single: Function, arrays: int) -> None:
    """Write the function `run(job)` of the address and size of each array, which returns the status."""
    f = module.function("run", f"{PTR} job", I64, exported=True)
    (job,) = f.arguments
    failed = f.icmp("ne", f.call(single, *(f.load_at(job, 2 * k, PTR) for k in range(arrays))), 0)
    f.ret(f.select(failed, constant(NOT_FINITE, I64), FINE))


def _fits(f: Function, known: Value, array: Value, dimensions: int, written: bool) -> Value:
    """Append whether an object is an array of the right type, number type, flags and number of dimensions."""

    def word(place: int) -> Value:
        return f.load_at(array, place, I64)

    flags = CONTIGUOUS | ALIGNED | (WRITEABLE if written else 0)
    conditions = (
        f.icmp("eq", word(TYPE), f.load_at(known, ARRAY_TYPE, I64)),
        f.icmp("eq", word(DESCRIPTOR), f.load_at(known, NUMBER_TYPE, I64)),
        f.icmp("eq", f.both(word(FLAGS), flags), flags),
        f.icmp("eq", f.both(word(DIMENSIONS_COUNT), HALF), dimensions),
    )
    return reduce(f.both, conditions)


def _boxed(f: Function, known: Value, status: Value) -> Value:
    """Append the Python integer of a status, with its reference count incremented where small integers have one."""
    number = f.load_at(known, f.add(status, FIRST_STATUS), PTR)
    if NEW_REFERENCE:
        f.store(f.add(f.load(number, I64), NEW_REFERENCE), number)
    return number
