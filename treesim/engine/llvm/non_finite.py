"""LLVM IR that finds NaN and infinity in vectors: the sum of 0 times each of them is then NaN."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from .builder import Function, Module
from .values import I64, PTR, Value, constant

UNROLLED, SUMS = 8, 4  # vectors in an iteration, and independent sums, so that additions do not wait for each other


def non_finite_check(module: Module, count: int) -> Function:
    """Return a function of `count` vectors: 1 if one of them contains NaN or infinity, else 0."""
    f = module.function("non_finite_check", f"{PTR} noalias vectors", I64)
    [vectors], whole, sums = f.arguments, count // UNROLLED * UNROLLED, [constant(0.0, f.vector)] * SUMS
    if whole:
        with f.loop(0, whole, UNROLLED, carried=sums) as loop:
            loop.values = added(f, loop.values, _loaded(f, f.at(vectors, loop.k), range(UNROLLED)))
        sums = loop.values
    f.ret(non_finite(f, added(f, sums, _loaded(f, vectors, range(whole, count)))))
    return f


def _loaded(f: Function, vectors: Value, places: Sequence[int]) -> list[Value]:
    return [f.load_at(vectors, k) for k in places]


def added(f: Function, sums: Sequence[Value], vectors: Sequence[Value]) -> list[Value]:
    """Append the addition of 0 times each vector to one of the sums in turn; return the sums."""
    now = [*sums]
    for k, x in enumerate(vectors):
        now[k % SUMS] = f.fadd(now[k % SUMS], f.fmul(x, 0.0))
    return now


def non_finite(f: Function, sums: Sequence[Value]) -> Value:
    """Append 1 if one of the sums is NaN, else 0."""
    total = reduce(lambda x, y: f.fadd(x, y), sums)
    return f.cast("zext", f.any(f.fcmp("uno", total, 0.0)), I64)
