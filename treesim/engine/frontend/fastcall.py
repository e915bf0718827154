"""Built-in functions that call an entry's machine code for single states with minimal overhead.

Type lookup and wrapping of every argument would take longer than the arithmetic of a small robot. An entry
therefore has a fast call: a built-in function with CPython's METH_FASTCALL convention. It is itself a
kernel (`fast_text`) that reads each array's address and size directly from the numpy object. It accepts
only exact, aligned, writable, C-contiguous float64 arrays of the shapes of one state, or of fewer than STATES with
an axis in front, and a result that overlaps no argument. For anything else it returns BAD_LAYOUT, and the caller
converts the arguments or raises an error.

It relies on public C structures of CPython (PyMethodDef, METH_FASTCALL) and on `object_layout`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

import numpy as np

from ...kernels.algebra.tables import NNZ, NQ, NV
from ...kernels.entries.entry import Array, Signature, made_function
from ...kernels.entries.status import WRONG_SIZE
from .memory import reals_at, unchanged, words_at
from .object_layout import (
    BEHAVED,
    DATA,
    DESCRIPTOR,
    DIMENSIONS,
    DIMENSIONS_COUNT,
    FLAGS,
    HALF,
    NEW_REFERENCE,
    TYPE,
    WORDS,
    layout_is_known,
)

BAD_LAYOUT = WRONG_SIZE + 1  # an argument is not a supported array
OUT_OF_BOUNDS = BAD_LAYOUT + 1  # a number is beyond its bound (`engine.call.call_sequence`)
METH_FASTCALL = 0x0080
STATES = 64  # in a batch that may have code of its own

# run-time addresses for the compiled fast call, which differ between processes
ARRAY_TYPE, NUMBER_TYPE, FIRST_STATUS = 0, 1, 2
WORDS_KNOWN = FIRST_STATUS + OUT_OF_BOUNDS + 1


# objects are of one state, or have an axis of `states` in front (more = 1)


def is_row(words, known, more, states, size):
    """Return whether a numpy object is an exact, writable float64 ndarray of shape (size,)."""
    if not is_reals(words, known, more + 1):
        return False
    shape = words_at(words[DIMENSIONS], more + 1)
    return shape[more] == size and (more == 0 or shape[0] == states)


def is_matrix(words, known, more, states, rows, columns):
    """Return whether a numpy object is an exact, writable float64 ndarray of shape (rows, columns)."""
    if not is_reals(words, known, more + 2):
        return False
    shape = words_at(words[DIMENSIONS], more + 2)
    return shape[more] == rows and shape[more + 1] == columns and (more == 0 or shape[0] == states)


def is_block(words, known, more, states, blocks, rows, columns):
    """Return whether a numpy object is an exact, writable float64 ndarray of shape (blocks, rows, columns)."""
    if not is_reals(words, known, more + 3):
        return False
    shape = words_at(words[DIMENSIONS], more + 3)
    fits = shape[more] == blocks and shape[more + 1] == rows and shape[more + 2] == columns
    return fits and (more == 0 or shape[0] == states)


def axes_before(words, known, axes):
    """Return how many axes a numpy object has before those of one state; -1 if it is none, or has fewer."""
    found = -1
    if words[TYPE] == known[ARRAY_TYPE]:
        found = (words[DIMENSIONS_COUNT] & HALF) - axes
    return found


def states_of(words, more):
    """Return the length of the first axis if it is one of states, else 1."""
    found = 1
    if more == 1:
        found = words_at(words[DIMENSIONS], 1)[0]
    return found


def is_reals(words, known, dimensions):
    """Return whether a numpy object is an exact, writable float64 ndarray with this number of dimensions."""
    return (
        words[TYPE] == known[ARRAY_TYPE]
        and words[DESCRIPTOR] == known[NUMBER_TYPE]
        and words[FLAGS] & BEHAVED == BEHAVED
        and words[DIMENSIONS_COUNT] & HALF == dimensions
    )


def apart(words, size, result, result_size):
    """Return whether an argument and the result do not overlap: a kernel writes before it has read everything."""
    start, first = words[DATA], result[DATA]
    return start + 8 * size <= first or first + 8 * result_size <= start


def boxed(known, status):
    """Return the Python integer of a status, with its reference count incremented where small integers have one."""
    number = known[FIRST_STATUS + status]
    words_at(number, 1)[0] += NEW_REFERENCE
    return number


def table(words):
    """Return one of the robot's read-only integer tables."""
    return unchanged(words_at(words[DATA], words_at(words[DIMENSIONS], 1)[0]))


def numbers(words):
    """Return one of the robot's tables of floats."""
    return unchanged(reals_at(words[DATA], words_at(words[DIMENSIONS], 1)[0]))


def row(words):
    """Return a writable table of integers."""
    return words_at(words[DATA], words_at(words[DIMENSIONS], 1)[0])


def fast_text(signature: Signature) -> str:
    """Return the source of an entry's fast call: check shapes and overlap, then call the entry."""
    arrays, names = signature.arrays, ["ints", "reals", *signature.tables, *(x.name for x in signature.arrays)]
    words = [f"{name}_ = words_at(given[{k}], {WORDS})" for k, name in enumerate(names)]
    tables = [f"{name} = {READ[kind]}({name}_)" for name, kind in signature.tables.items()]
    sizes = [f"{symbol} = {value}" for symbol, value in signature.sizes.items()]
    shapes = [_shape_test(x) for x in arrays]
    results = [x.name for x in arrays if x.result]
    pairs = [(x.name, y) for y in results for x in arrays if x.name not in results[results.index(y) :]]
    size = {x.name: "0" if x.optional else f"states * {x.size}" for x in arrays}
    given = ["ints", "numbers(reals_)", *signature.tables]
    given += [f"reals_at({name}_[DATA], {count})" for name, count in size.items()]
    return "\n    ".join([
        "def fast(me, arguments, count):",
        f"known = words_at(words_at(me, {WORDS})[DATA], WORDS_KNOWN)",
        f"if count != {len(names)}:",
        "    return boxed(known, BAD_LAYOUT)",
        f"given = words_at(arguments, {len(names)})",
        *words,
        "ints = table(ints_)",
        f"N, nq, nv, nnz = ints[0], ints[{NQ}], ints[{NV}], ints[{NNZ}]",
        *tables,
        *(["nq, nv = mimic_ints[1], mimic_ints[2]"] if "mimic_ints" in signature.tables else []),
        *sizes,
        f"more = axes_before({arrays[0].name}_, known, {len(arrays[0].shape)})",
        "if not 0 <= more <= 1:",
        "    return boxed(known, BAD_LAYOUT)",
        f"states = states_of({arrays[0].name}_, more)",
        f"if not 0 < states < STATES or not ({' and '.join(shapes)}):",
        "    return boxed(known, BAD_LAYOUT)",
        f"if not ({' and '.join(f'apart({x}_, {size[x]}, {y}_, {size[y]})' for x, y in pairs)}):",
        "    return boxed(known, BAD_LAYOUT)",
        f"return boxed(known, entry({', '.join(given)}))\n",
    ])  # fmt: skip


def has_fast_entry(entry: Any) -> bool:
    """Return whether an entry can have a fast call: declared, all tables are arrays, numpy's layout is known."""
    signature = getattr(entry, "signature", None)
    return signature is not None and READ.keys() >= {*signature.tables.values()} and layout_is_known()


def fast_kernel(entry: Any, whole: FunctionType) -> FunctionType:
    """Return the kernel fast(me, arguments, count) of an entry, for the compiler; whole: the entry with its checks."""
    place, namespace = f"fast entry of {entry.__module__}.{entry.__name__}", globals() | {"entry": whole}
    return made_function(f"<{place}>", fast_text(entry.signature), "fast", namespace)


READ = {"TableOfIntegers": "table", "Integers": "row", "TableOfReals": "numbers"}


def _shape_test(x: Array) -> str:
    """Return the condition that an array has its shape; one that may be empty must be."""
    if x.optional:
        return f"is_row({x.name}_, known, 0, 1, 0)"
    return f"{TESTS[len(x.shape)]}({x.name}_, known, more, states, {', '.join(x.shape)})"


TESTS = {1: "is_row", 2: "is_matrix", 3: "is_block"}


class _MethodDef(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


class _Known(np.ndarray):
    """Addresses passed to a built-in function's code; it is the function's `self`, and so has the same lifetime.

    method: the definition to which CPython has a pointer, unused once `self` is released (`meth_dealloc`).
    keep: the owner of the code.
    """

    method: _MethodDef
    keep: Any


def builtin(
    name: str, address: int, number: type[np.floating], keep: Any, more: Sequence[int] = ()
) -> Callable[..., int]:
    """Return the built-in function for code at an address, for arrays of `number`; keep: the owner of the code.

    more: further words that the code reads.
    """
    statuses = [id(status) for status in range(OUT_OF_BOUNDS + 1)]
    words = np.array([id(np.ndarray), id(np.dtype(number)), *statuses, *more], dtype=np.int64)
    known = words.view(_Known)
    known.method, known.keep = _MethodDef(name.encode(), address, METH_FASTCALL, None), keep
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
    return make(ctypes.addressof(known.method), known, None)


def owner_of_code(function: Callable[..., int]) -> Any:
    """Return the owner of the code of a built-in function, with which it was made (`builtin`)."""
    known: Any = function.__self__  # type: ignore[attr-defined]
    return known.keep
