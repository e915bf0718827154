"""LLVM IR of a kernel entry for one state, called by a built-in function of CPython with minimal overhead, or by code.

The straight-line code is that of batches with one lane. Sine and cosine of joint angles, and the check for
NaN and infinity, use whole vectors. Quaternions are checked as in batches. The built-in function takes
the nonempty inputs and then the results, each an aligned, C-contiguous numpy array of exactly the right
type and shape. All may have an axis in front, of a few states. For anything else it returns BAD_LAYOUT, as `fastcall`
does; otherwise the status.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from functools import reduce
from itertools import combinations

from ...kernels.entries.status import FINE, NOT_FINITE
from ..frontend.fastcall import ARRAY_TYPE, BAD_LAYOUT, FIRST_STATUS, NUMBER_TYPE, WORDS_KNOWN
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
from .values import I1, I64, PTR, VOID, Operand, Value, constant

Shape = tuple[int, ...]
FEW = 8  # states: as many run faster by code of batches, on all processors
BATCHES = WORDS_KNOWN  # words that the built-in function knows of batches:
# states at most; states from which `share` runs; its address; that of its memory; those of CPython's functions that
# release and acquire the interpreter's lock
MOST, LEAST, SHARE, MEMORY, RELEASE, ACQUIRE = range(6)
NO_BATCHES = FEW - 1, FEW, 0, 0, 0, 0
LOCKED = 1024  # states at most that are computed without releasing the lock


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
    _fast(module, single, [*((shape, False) for shape in shapes), *((shape, True) for shape in results)], inputs)
    _run(module, single, len(shapes) + len(results))
    return whole_code(module, apart, 0)


def many_states(wide: Lanes, inputs: Sequence[Shape], results: Sequence[Shape]) -> Code:
    """Return the code of a function `fast` that only batches have; wide, inputs, results: as above."""
    module = Module(wide)
    arrays = [*((shape, False) for shape in inputs if math.prod(shape)), *((shape, True) for shape in results)]
    single = module.function("single", ", ".join(f"{PTR} a{k}" for k in range(len(arrays))), I64)
    single.ret(constant(1, I64))  # few states fail, and are computed by other code
    _fast(module, single, arrays, inputs)
    return Code(module.text(), 0)


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


def _fast(module: Module, single: Function, arrays: Sequence[tuple[Shape, bool]], inputs: Sequence[Shape]) -> None:
    """Write the function that CPython calls; arrays: shapes of one state, and whether they are written to.

    All arrays may have an axis of states in front. A few states run one after the other, more of them by code of
    batches if `engine.call.specialized.with_batches` has set it. inputs: shapes of all inputs, also of empty ones.
    """
    f = module.function("fast", f"{PTR} me, {PTR} arguments, {I64} count", PTR, exported=True)
    me, arguments, count = f.arguments
    bad_layout, data, sizes = f.label(), [], [math.prod(shape) for shape, _ in arrays]
    known = f.load_at(me, DATA, PTR)
    f.go_on_if(f.icmp("eq", count, len(arrays)), otherwise=bad_layout)
    objects = [f.load_at(arguments, k, PTR) for k in range(len(arrays))]
    f.go_on_if(_is_array(f, known, objects[0]), otherwise=bad_layout)  # before its axes are read
    axes = f.sub(f.both(f.load_at(objects[0], DIMENSIONS_COUNT, I64), HALF), len(arrays[0][0]))  # in front
    f.go_on_if(f.icmp("ult", axes, 2), otherwise=bad_layout)
    one = f.icmp("eq", axes, 0)
    states = f.select(one, constant(1, I64), f.load_at(f.load_at(objects[0], DIMENSIONS, PTR), 0, I64))
    most = f.load_at(known, BATCHES + MOST, I64)
    f.go_on_if(f.icmp("ult", f.sub(states, 1), most), otherwise=bad_layout)
    for array, (shape, written) in zip(objects, arrays, strict=True):
        f.go_on_if(_fits(f, known, array, f.add(axes, len(shape)), written), otherwise=bad_layout)
        lengths = f.load_at(array, DIMENSIONS, PTR)
        data.append(f.load_at(array, DATA, PTR))
        fits = [f.icmp("eq", f.load_at(lengths, f.add(axes, d), I64), length) for d, length in enumerate(shape)]
        alike = f.either(one, f.icmp("eq", f.load_at(lengths, 0, I64), states))
        f.go_on_if(reduce(f.both, [*fits, alike]), otherwise=bad_layout)
    with f.when(f.xor(one, constant(1, I1))):
        ends = [f.at(x, f.mul(states, size), f.number) for x, size in zip(data, sizes, strict=True)]
        for k, j in combinations(range(len(arrays)), 2):
            if arrays[j][1]:  # a result, which one argument of the same size may be
                apart = f.either(f.icmp("ule", ends[k], data[j]), f.icmp("ule", ends[j], data[k]))
                same = f.both(f.icmp("eq", data[k], data[j]), constant(sizes[k] == sizes[j] and not arrays[k][1], I1))
                f.go_on_if(f.either(apart, same), otherwise=bad_layout)
    with f.when(f.icmp("ult", states, f.load_at(known, BATCHES + LEAST, I64))):
        with f.loop(0, states, carried=[constant(0, I64)], begins=True) as loop:
            of_state = [f.at(x, f.mul(loop.k, size), f.number) for x, size in zip(data, sizes, strict=True)]
            loop.values = [f.either(loop.values[0], f.call(single, *of_state))]
        f.ret(_boxed(f, known, _status(f, loop.values[0])))
    workspace = f.atomic("xchg", f.at(known, BATCHES + MEMORY, I64), 0)  # 0 while another thread uses it
    f.go_on_if(f.icmp("ne", workspace, 0), otherwise=bad_layout)
    failed = _batch(f, known, workspace, states, data, sizes, inputs)
    f.store_at(workspace, known, BATCHES + MEMORY)
    f.ret(_boxed(f, known, _status(f, failed)))
    f.begin(bad_layout)
    f.ret(_boxed(f, known, constant(BAD_LAYOUT, I64)))


def _batch(
    f: Function,
    known: Value,
    workspace: Value,
    states: Value,
    data: Sequence[Value],
    sizes: Sequence[int],
    inputs: Sequence[Shape],
) -> Value:
    """Append the call of a batch's function `share` in one thread (`batch_loop`); return the status of its job.

    Other Python threads run during the call if there are more states than `LOCKED`.
    """
    given = iter(zip(data, sizes, strict=True))
    rows = [next(given) if math.prod(shape) else (data[0], 0) for shape in inputs]
    table = f.make(f"alloca [{4 * (len(data) + len(inputs))} x i64]", PTR)
    for k, (x, size) in enumerate([*rows, *given]):
        strides = 1, size, 0  # of a number, a state, a step
        for j, value in enumerate([f.cast("ptrtoint", x, I64), *(constant(n, I64) for n in strides)]):
            f.store_at(value, table, 4 * k + j)
    # as in `specialized.Job`: nothing is done yet; one block of all states, and one step
    words: list[Operand] = [0, 0, 0, states, states, 1, 1, 0, workspace, f.cast("ptrtoint", table, I64)]
    job = f.make(f"alloca [{len(words)} x i64]", PTR)
    for k, word in enumerate(words):
        f.store_at(constant(word, I64), job, k)
    share, release, acquire = (f.load_at(known, BATCHES + k, PTR) for k in (SHARE, RELEASE, ACQUIRE))
    several = f.icmp("ugt", states, LOCKED)
    with f.when(several):
        thread = f.call_at(release, result=PTR)
        f.call_at(share, job)
        f.call_at(acquire, thread)
    with f.when(f.xor(several, constant(1, I1))):
        f.call_at(share, job)
    return f.load_at(job, 2, I64)


def _status(f: Function, failed: Value) -> Value:
    """Append the status of states of which some failed, if a word is not 0."""
    return f.select(f.icmp("ne", failed, 0), constant(NOT_FINITE, I64), FINE)


def _run(module: Module, single: Function, arrays: int) -> None:
    """Write the function `run(job)` of the address and size of each array, which returns the status."""
    f = module.function("run", f"{PTR} job", I64, exported=True)
    (job,) = f.arguments
    f.ret(_status(f, f.call(single, *(f.load_at(job, 2 * k, PTR) for k in range(arrays)))))


def _fits(f: Function, known: Value, array: Value, dimensions: Value, written: bool) -> Value:
    """Append whether an object is an array of the right type, number type, flags and number of dimensions."""

    def word(place: int) -> Value:
        return f.load_at(array, place, I64)

    flags = CONTIGUOUS | ALIGNED | (WRITEABLE if written else 0)
    conditions = (
        _is_array(f, known, array),
        f.icmp("eq", word(DESCRIPTOR), f.load_at(known, NUMBER_TYPE, I64)),
        f.icmp("eq", f.both(word(FLAGS), flags), flags),
        f.icmp("eq", f.both(word(DIMENSIONS_COUNT), HALF), dimensions),
    )
    return reduce(f.both, conditions)


def _is_array(f: Function, known: Value, thing: Value) -> Value:
    """Append whether an object is an exact numpy array."""
    return f.icmp("eq", f.load_at(thing, TYPE, I64), f.load_at(known, ARRAY_TYPE, I64))


def _boxed(f: Function, known: Value, status: Value) -> Value:
    """Append the Python integer of a status, with its reference count incremented where small integers have one."""
    number = f.load_at(known, f.add(status, FIRST_STATUS), PTR)
    if NEW_REFERENCE:
        f.store(f.add(f.load(number, I64), NEW_REFERENCE), number)
    return number
