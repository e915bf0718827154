"""Built-in functions that call an entry's machine code with next to no overhead, for single states.

Looking up the type of every argument and wrapping every array takes longer than the arithmetic of a small robot. Here
an entry gets a fast call of its own: a built-in function of CPython's fast calling convention, a kernel itself
(`fast_text`), that reads each array's address and size straight from the numpy object. It takes exact, aligned,
writable, C-contiguous float64 arrays of one state's shapes only, a result that shares no memory with the arguments, and
turns everything else down with BAD_LAYOUT, so nothing unsafe gets through; the caller then coerces, or explains.

The layouts relied on are the public C structures of CPython (PyObject, PyMethodDef, METH_FASTCALL) and numpy
(PyArrayObject_fields), which both keep stable; `layout_is_known` checks numpy's at run time.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from functools import lru_cache
from types import FunctionType
from typing import Any

import numpy as np

from ...kernels.algebra.tables import NNZ, NQ, NV
from ...kernels.entries.entry import Array, Signature, made_function
from ...kernels.entries.status import WRONG_SIZE
from .memory import reals_at, unchanged, words_at

BAD_LAYOUT = WRONG_SIZE + 1  # an argument is not such an array
METH_FASTCALL = 0x0080
TYPE, DATA, DIMENSIONS_COUNT, DIMENSIONS, DESCRIPTOR, FLAGS = 1, 2, 3, 4, 7, 8  # words of PyArrayObject_fields
CONTIGUOUS, ALIGNED, WRITEABLE = 0x0001, 0x0100, 0x0400  # NPY_ARRAY_C_CONTIGUOUS, ...
BEHAVED = CONTIGUOUS | ALIGNED | WRITEABLE
HALF = 0xFFFFFFFF  # nd and flags are 32 bits wide

# what the compiled fast call is told at run time, since addresses differ from process to process
ARRAY_TYPE, NUMBER_TYPE, NEW_REFERENCE, FIRST_STATUS = 0, 1, 2, 3
WORDS_KNOWN = FIRST_STATUS + BAD_LAYOUT + 1


def is_row(words, known, size):
    """Whether a numpy object is an exact ndarray of float64 with one axis of this size, to be read and written in
    place."""
    return is_reals(words, known, 1) and words_at(words[DIMENSIONS], 1)[0] == size


def is_matrix(words, known, rows, columns):
    """Whether a numpy object is such an ndarray of this many rows and columns."""
    if not is_reals(words, known, 2):
        return False
    shape = words_at(words[DIMENSIONS], 2)
    return shape[0] == rows and shape[1] == columns


def is_block(words, known, blocks, rows, columns):
    """Whether a numpy object is such an ndarray of this many matrices, of so many rows and columns."""
    if not is_reals(words, known, 3):
        return False
    shape = words_at(words[DIMENSIONS], 3)
    return shape[0] == blocks and shape[1] == rows and shape[2] == columns


def is_reals(words, known, dimensions):
    """Whether a numpy object is an exact ndarray of float64, of so many dimensions, to be read and written in place."""
    return (
        words[TYPE] == known[ARRAY_TYPE]
        and words[DESCRIPTOR] == known[NUMBER_TYPE]
        and words[FLAGS] & BEHAVED == BEHAVED
        and words[DIMENSIONS_COUNT] & HALF == dimensions
    )


def apart(words, size, result, result_size):
    """Whether an argument and the result share no memory: a kernel writes before it has read all."""
    start, first = words[DATA], result[DATA]
    return start + 8 * size <= first or first + 8 * result_size <= start


def boxed(known, status):
    """The Python integer of a status, with one more reference to it where small integers count references."""
    number = known[FIRST_STATUS + status]
    words_at(number, 1)[0] += known[NEW_REFERENCE]
    return number


def table(words):
    """One of the robot's own read-only integer tables."""
    return unchanged(words_at(words[DATA], words_at(words[DIMENSIONS], 1)[0]))


def numbers(words):
    """One of the robot's own tables of numbers."""
    return unchanged(reals_at(words[DATA], words_at(words[DIMENSIONS], 1)[0]))


def row(words):
    """A table of integers that may be written to."""
    return words_at(words[DATA], words_at(words[DIMENSIONS], 1)[0])


def fast_text(signature: Signature) -> str:
    """Return the text of an entry's fast call: exact shapes of a state, results apart from all else, then the entry."""
    arrays, names = signature.arrays, ["ints", "reals", *signature.tables, *(x.name for x in signature.arrays)]
    words = [f"{name}_ = words_at(given[{k}], 9)" for k, name in enumerate(names)]
    tables = [f"{name} = {READ[kind]}({name}_)" for name, kind in signature.tables.items()]
    sizes = [f"{symbol} = {value}" for symbol, value in signature.sizes.items()]
    shapes = [_shape_test(x) for x in arrays]
    results = [x.name for x in arrays if x.result]
    pairs = [(x.name, y) for y in results for x in arrays if x.name not in results[results.index(y) :]]
    size = {x.name: "0" if x.optional else x.size for x in arrays}
    given = ["ints", "numbers(reals_)", *signature.tables]
    given += [f"reals_at({name}_[DATA], {count})" for name, count in size.items()]
    return "\n    ".join([
        "def fast(me, arguments, count):",
        "known = words_at(words_at(me, 9)[DATA], WORDS_KNOWN)",
        f"if count != {len(names)}:",
        "    return boxed(known, BAD_LAYOUT)",
        f"given = words_at(arguments, {len(names)})",
        *words,
        "ints = table(ints_)",
        f"N, nq, nv, nnz = ints[0], ints[{NQ}], ints[{NV}], ints[{NNZ}]",
        *tables,
        *(["nq, nv = mimic_ints[1], mimic_ints[2]"] if "mimic_ints" in signature.tables else []),
        *sizes,
        f"if not ({' and '.join(shapes)}):",
        "    return boxed(known, BAD_LAYOUT)",
        f"if not ({' and '.join(f'apart({x}_, {size[x]}, {y}_, {size[y]})' for x, y in pairs)}):",
        "    return boxed(known, BAD_LAYOUT)",
        f"return boxed(known, entry({', '.join(given)}))\n",
    ])  # fmt: skip


def has_fast_entry(entry: Any) -> bool:
    """Whether an entry can have a fast call: it is declared, all its tables are arrays, and numpy's layout is known."""
    signature = getattr(entry, "signature", None)
    return signature is not None and READ.keys() >= {*signature.tables.values()} and layout_is_known()


def fast_kernel(entry: Any, whole: FunctionType) -> FunctionType:
    """Return the kernel fast(me, arguments, count) of an entry, for the compiler. whole: the entry with its checks."""
    place, namespace = f"fast entry of {entry.__module__}.{entry.__name__}", globals() | {"entry": whole}
    return made_function(f"<{place}>", fast_text(entry.signature), "fast", namespace)


READ = {"TableOfIntegers": "table", "Integers": "row", "TableOfReals": "numbers"}


def _shape_test(x: Array) -> str:
    """The condition that an array has its shape; one that may be empty must be."""
    shape = ("0",) if x.optional else x.shape
    return f"{TESTS[len(shape)]}({x.name}_, known, {', '.join(shape)})"


TESTS = {1: "is_row", 2: "is_matrix", 3: "is_block"}


class _MethodDef(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


class _Known(np.ndarray):
    """What the code of a built-in function is told, and the function's `self`, so that it lives as long.

    method: the definition that CPython keeps a pointer to, and does not look at any more when it lets go of `self`
    (`meth_dealloc`). keep: what the code belongs to.
    """

    method: _MethodDef
    keep: Any


def builtin(name: str, address: int, number: type[np.floating], keep: Any) -> Callable[..., int]:
    """Return the built-in function whose code, for arrays of `number`, lies at an address; `keep` holds that code."""
    counts_references = int(sys.version_info < (3, 12))  # small integers are immortal since
    statuses = [id(status) for status in range(BAD_LAYOUT + 1)]
    words = np.array([id(np.ndarray), id(np.dtype(number)), counts_references, *statuses], dtype=np.int64)
    known = words.view(_Known)
    known.method, known.keep = _MethodDef(name.encode(), address, METH_FASTCALL, None), keep
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
    return make(ctypes.addressof(known.method), known, None)


@lru_cache(maxsize=1)
def layout_is_known() -> bool:
    """Whether numpy objects of this process look as expected: tried on two arrays of different kinds."""
    if ctypes.sizeof(ctypes.c_void_p) != 8:
        return False
    for array in (np.arange(5.0), np.zeros((2, 3))):
        words = (ctypes.c_int64 * 9).from_address(id(array))
        shape = (ctypes.c_int64 * array.ndim).from_address(words[DIMENSIONS])
        found = (words[TYPE], words[DATA], words[DIMENSIONS_COUNT] & HALF, words[DESCRIPTOR], tuple(shape))
        expected = (id(np.ndarray), array.ctypes.data, array.ndim, id(np.dtype(np.float64)), array.shape)
        if found != expected or words[FLAGS] & BEHAVED != BEHAVED:
            return False
    return True


def address(array: np.ndarray) -> int:
    """Return where an array's numbers begin. Cost 0.1 us, an eighth of what numpy's own ways take."""
    if layout_is_known():
        return int(ctypes.c_int64.from_address(id(array) + 8 * DATA).value)
    return int(array.ctypes.data)
