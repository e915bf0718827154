"""Calls of compiled entries with next to no overhead, for single states.

numba's dispatcher looks up the type of every argument and wraps every array, which takes longer than the arithmetic of
a small robot. Here an entry gets a door of its own: a built-in function of CPython's fast calling convention, itself
compiled by numba, that reads each array's address and size straight from the numpy object. It takes exact, aligned,
writable, C-contiguous float64 arrays of one state's shapes only, a result that shares no memory with the arguments, and
turns everything else down with MISFIT, so nothing unsafe gets through; the caller then takes the way that coerces and
explains.

The layouts relied on are the public C structures of CPython (PyObject, PyMethodDef, METH_FASTCALL) and numpy
(PyArrayObject_fields), which both keep stable; `layout_is_known` checks numpy's at run time.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

import numpy as np

from ..kernels.status import WRONG_SIZE
from ..kernels.tables import NNZ, NQ, NV
from .ctrl_c import ctrl_c_later
from .generic import compile_callback, runs_compiled

MISFIT = WRONG_SIZE + 1  # an argument is not such an array
METH_FASTCALL = 0x0080
TYPE, DATA, DIMENSIONS_COUNT, DIMENSIONS, DESCRIPTOR, FLAGS = 1, 2, 3, 4, 7, 8  # words of PyArrayObject_fields
CONTIGUOUS, ALIGNED, WRITEABLE = 0x0001, 0x0100, 0x0400  # NPY_ARRAY_C_CONTIGUOUS, ...
BEHAVED = CONTIGUOUS | ALIGNED | WRITEABLE
HALF = 0xFFFFFFFF  # nd and flags are 32 bits wide

# what the compiled door is told at run time, since addresses differ from process to process
ARRAY_TYPE, NUMBER_TYPE, NEW_REFERENCE, FIRST_STATUS = 0, 1, 2, 3
WORDS_KNOWN = FIRST_STATUS + MISFIT + 1


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


def is_reals(words, known, dimensions):
    """Whether a numpy object is an exact ndarray of float64, of so many dimensions, to be read and written in place."""
    return (
        words[TYPE] == known[ARRAY_TYPE]
        and words[DESCRIPTOR] == known[NUMBER_TYPE]
        and words[FLAGS] & BEHAVED == BEHAVED
        and words[DIMENSIONS_COUNT] & HALF == dimensions
    )


def size_of(words):
    """Number of elements of an array of one or two dimensions."""
    shape = words_at(words[DIMENSIONS], 2)
    return shape[0] * shape[1] if words[DIMENSIONS_COUNT] & HALF == 2 else shape[0]


def apart(words, result):
    """Whether an argument and the result share no memory: a kernel writes before it has read all."""
    start, first = words[DATA], result[DATA]
    return start + 8 * size_of(words) <= first or first + 8 * size_of(result) <= start


def words_at(address, count):
    """Memory as integers; replaced by compiled code."""
    raise NotImplementedError


def reals_at(address, count):
    """Memory as float64; replaced by compiled code."""
    raise NotImplementedError


def entry(*arguments):
    """The entry behind a door; replaced by compiled code."""
    raise NotImplementedError


def boxed(known, status):
    """The Python integer of a status, with one more reference to it where small integers count references."""
    number = known[FIRST_STATUS + status]
    words_at(number, 1)[0] += known[NEW_REFERENCE]
    return number


def table(words):
    """One of the robot's own read-only integer tables."""
    return words_at(words[DATA], words_at(words[DIMENSIONS], 1)[0])


def numbers(words):
    """The elements of an array, in a row."""
    return reals_at(words[DATA], size_of(words))


def door_4(me, arguments, count):
    """(ints, reals, q, result), the result a matrix (nv, nv)."""
    known = words_at(words_at(me, 9)[DATA], WORDS_KNOWN)
    if count != 4:
        return boxed(known, MISFIT)
    given = words_at(arguments, 4)
    a, b, c, d = words_at(given[0], 9), words_at(given[1], 9), words_at(given[2], 9), words_at(given[3], 9)
    ints = table(a)
    if not (is_row(c, known, ints[NQ]) and is_matrix(d, known, ints[NV], ints[NV]) and apart(c, d)):
        return boxed(known, MISFIT)
    return boxed(known, entry(ints, numbers(b), numbers(c), numbers(d)))


def door_4_row(me, arguments, count):
    """(ints, reals, q, result), the result a packed matrix (nnz,)."""
    known = words_at(words_at(me, 9)[DATA], WORDS_KNOWN)
    if count != 4:
        return boxed(known, MISFIT)
    given = words_at(arguments, 4)
    a, b, c, d = words_at(given[0], 9), words_at(given[1], 9), words_at(given[2], 9), words_at(given[3], 9)
    ints = table(a)
    if not (is_row(c, known, ints[NQ]) and is_row(d, known, ints[NNZ]) and apart(c, d)):
        return boxed(known, MISFIT)
    return boxed(known, entry(ints, numbers(b), numbers(c), numbers(d)))


def door_5(me, arguments, count):
    """(ints, reals, q, x, result), x and the result rows (nv,)."""
    known = words_at(words_at(me, 9)[DATA], WORDS_KNOWN)
    if count != 5:
        return boxed(known, MISFIT)
    given = words_at(arguments, 5)
    a, b, c = words_at(given[0], 9), words_at(given[1], 9), words_at(given[2], 9)
    d, e = words_at(given[3], 9), words_at(given[4], 9)
    ints = table(a)
    if not (is_row(c, known, ints[NQ]) and is_row(d, known, ints[NV]) and is_row(e, known, ints[NV])):
        return boxed(known, MISFIT)
    if not (apart(c, e) and apart(d, e)):
        return boxed(known, MISFIT)
    return boxed(known, entry(ints, numbers(b), numbers(c), numbers(d), numbers(e)))


def door_6(me, arguments, count):
    """(ints, reals, frames, offsets, q, result), the result a matrix of six rows a frame, of which the entry checks how
    long they are; frames: a reference's code, then bodies."""
    known = words_at(words_at(me, 9)[DATA], WORDS_KNOWN)
    if count != 6:
        return boxed(known, MISFIT)
    given = words_at(arguments, 6)
    a, b, c = words_at(given[0], 9), words_at(given[1], 9), words_at(given[2], 9)
    d, e, f = words_at(given[3], 9), words_at(given[4], 9), words_at(given[5], 9)
    ints, frames = table(a), table(c)
    if not (is_row(e, known, ints[NQ]) and is_reals(f, known, 2) and apart(e, f)):
        return boxed(known, MISFIT)
    if words_at(f[DIMENSIONS], 1)[0] != 6 * (frames.size - 1):
        return boxed(known, MISFIT)
    return boxed(known, entry(ints, numbers(b), frames[1:], numbers(d), frames[0], numbers(e), numbers(f)))


def door_7(me, arguments, count):
    """(ints, reals, q, v, tau or a, f_ext or armature, result); of f_ext or armature the entry checks the size."""
    known = words_at(words_at(me, 9)[DATA], WORDS_KNOWN)
    if count != 7:
        return boxed(known, MISFIT)
    given = words_at(arguments, 7)
    a, b, c, d = words_at(given[0], 9), words_at(given[1], 9), words_at(given[2], 9), words_at(given[3], 9)
    e, f, g = words_at(given[4], 9), words_at(given[5], 9), words_at(given[6], 9)
    ints = table(a)
    if not (is_row(c, known, ints[NQ]) and is_row(d, known, ints[NV]) and is_row(e, known, ints[NV])):
        return boxed(known, MISFIT)
    if not (is_reals(f, known, 1) and is_row(g, known, ints[NV])):
        return boxed(known, MISFIT)
    if not (apart(c, g) and apart(d, g) and apart(e, g) and apart(f, g)):
        return boxed(known, MISFIT)
    return boxed(known, entry(ints, numbers(b), numbers(c), numbers(d), numbers(e), numbers(f), numbers(g)))


DOORS = {4: door_4, 5: door_5, 6: door_6, 7: door_7}


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


class FastEntry:
    """An entry `(ints, reals, arrays...)` of 4 to 7 arguments with its door, which is compiled at the first call.

    call: the fast built-in function. It returns the entry's status, or MISFIT for arguments it does not take; tables
    must be a robot's and its frames'. Where kernels run as plain Python, or numpy's layout is not the known one, every
    call is a MISFIT. row: whether a result of four arguments is a row of numbers, not a matrix.
    """

    __slots__ = ("call", "entry", "row")

    def __init__(self, kernel_entry: Callable[..., int], row: bool = False) -> None:
        self.entry, self.row = kernel_entry, row
        self.call: Callable[..., int] = self._first_call

    def _first_call(self, *arguments: Any) -> int:
        """Open the door, and stay out of the way from then on."""
        self.call = door(self.entry, self.row)
        return self.call(*arguments)


@cache
def door(kernel_entry: Callable[..., int], row: bool) -> Callable[..., int]:
    """Return the fast built-in function of an entry, compiled: `FastEntry.call`."""
    if not (runs_compiled() and layout_is_known()):
        return lambda *arguments: MISFIT
    with ctrl_c_later():
        code = _compile_door(kernel_entry, door_4_row if row else DOORS[door_arity(kernel_entry)])
    return builtin(kernel_entry.__name__, code.address, np.float64, code)


def door_arity(kernel_entry: Callable[..., int]) -> int:
    """Return how many arguments the door of an entry takes: frames and their reference's code are one."""
    kinds = [kind for name, kind in kernel_entry.__annotations__.items() if name != "return"]
    return len(kinds) - ("Integer" in kinds)


def builtin(name: str, address: int, number: type[np.floating], keep: Any) -> Callable[..., int]:
    """Return the built-in function whose code, for arrays of `number`, lies at an address; `keep` holds that code."""
    counts_references = int(sys.version_info < (3, 12))  # small integers are immortal since
    statuses = [id(status) for status in range(MISFIT + 1)]
    words = np.array([id(np.ndarray), id(np.dtype(number)), counts_references, *statuses], dtype=np.int64)
    known = words.view(_Known)
    known.method, known.keep = _MethodDef(name.encode(), address, METH_FASTCALL, None), keep
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
    return make(ctypes.addressof(known.method), known, None)


def _compile_door(kernel_entry: Any, function: Any) -> Any:
    import numba

    words, reals = _memory_readers()
    replaced = {"words_at": words, "reals_at": reals}
    signature = numba.types.int64(numba.types.int64, numba.types.int64, numba.types.int64)
    return compile_callback(function, kernel_entry, replaced, signature)


@lru_cache(maxsize=1)
def _memory_readers() -> tuple[Any, Any]:
    """Compiled functions that see memory at an address as an array."""
    import numba
    from numba.core import cgutils
    from numba.extending import intrinsic

    @intrinsic
    def pointer(typing_context, address):
        def build(context, builder, signature, arguments):
            return builder.inttoptr(arguments[0], cgutils.voidptr_t)

        return numba.types.voidptr(numba.types.int64), build

    @numba.njit(forceinline=True)
    def words(address, count):
        return numba.carray(pointer(address), (count,), np.int64)

    @numba.njit(forceinline=True)
    def reals(address, count):
        return numba.carray(pointer(address), (count,), np.float64)

    return words, reals


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
