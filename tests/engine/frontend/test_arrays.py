"""Arrays in compiled kernels are NumPy's."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from treesim.engine.call import generic
from treesim.errors import UnsupportedError
from treesim.kernels.entries.annotations import Integer, Reals, TableOfReals
from treesim.kernels.entries.status import FINE

from .support import agree, compiled_only, no_disk  # noqa: F401

pytestmark = compiled_only
NUMBERS = np.arange(1.0, 25.0)


def put(out, n, array):
    """Append a matrix."""
    for i in range(array.shape[0]):
        for j in range(array.shape[1]):
            out[n + i * array.shape[1] + j] = array[i, j]
    return n + array.size


def parts(x: TableOfReals, out: Reals) -> int:
    A = x.reshape((4, 6))
    B = x.reshape((2, 3, -1))
    n = put(out, 0, A[1:3])
    n = put(out, n, A[:, 2:4])
    n = put(out, n, A.T)
    n = put(out, n, A[1:, :-1].T)
    n = put(out, n, B[1])
    n = put(out, n, B[:, 2])
    n = put(out, n, B[:, :, 1])
    n = put(out, n, B[0, 1:].T[1:3])
    n = put(out, n, A[2, 1:5].reshape((2, 2)))
    n = put(out, n, A[:, 1].copy().reshape((-1, 1)))
    n = put(out, n, x[3 : 3 - 2].reshape((0, 1)))  # empty, as in NumPy
    out[n], out[n + 1], out[n + 2] = A[-1, -2], x[-1], B[-1, -1, -1]
    return n


def test_parts_of_arrays():
    agree(parts, NUMBERS, np.zeros(200))


def assignments(x: TableOfReals, out: Reals) -> int:
    A = x.reshape((4, 6))
    M = out.reshape((4, 6))
    M[:] = 7
    M[0, :] = A[1]
    M[1:3, 2:4] = A[2:, :2]
    M[3, :2] = A[:2, 0]
    M.T[5] = A[:, 3]
    M[2, 5] += A[0, 1]
    M[2, 4] *= 2
    M[3][4] = -1
    return FINE


def test_assignments_to_parts():
    agree(assignments, NUMBERS, np.zeros(24))


def fresh(x: TableOfReals, out: Reals) -> int:
    zeros, ones, whole = np.zeros((2, 3), x.dtype), np.ones(4), np.zeros(3, np.int64)
    large = np.zeros((10, x.size))
    copy = x.copy()
    whole[1] = 5
    zeros[1, 2], large[9, 3] = x[0], x[1]
    for value in ones:
        out[0] += value
    out[1], out[2], out[3] = zeros[1, 2] + zeros[0, 0], large[9, 3] + large[0, 0], copy[5]
    out[4], out[5], out[6] = whole[1] // 2, large.shape[1], len(whole) + large.size
    return FINE


def test_new_arrays():
    agree(fresh, NUMBERS, np.zeros(7))


def unwritten(out: Reals) -> int:
    small, large, number = np.empty(3), np.empty((10, 20)), np.empty(2, np.int64)
    for k in range(2):
        out[k], out[2 + k], out[4 + k] = small[k], large[9 * k, 19 * k], number[k]
    return FINE


@pytest.mark.parametrize("byte", ["0", "127", "255"])
def test_new_arrays_are_filled_with_the_byte_that_is_wanted(monkeypatch, byte):
    """A number whose bytes are all 0 is 0, one whose bytes are all 255 is NaN or -1."""
    monkeypatch.setenv("TREESIM_FILL", byte)
    out = np.full(6, 3.0)
    assert generic.compiled(unwritten)(out) == FINE
    expected = np.full(2, int(byte), np.uint8).repeat(8)
    np.testing.assert_array_equal(out[:4], np.resize(expected.view(float), 4))
    np.testing.assert_array_equal(out[4:], expected.view(np.int64).astype(float))


def pair(x):
    """Two new arrays, which outlive the call."""
    a, b = np.zeros(3), np.empty((2, x.size))
    a[0], b[1, 1] = x[0], x[1]
    return a, b


def kept(x: TableOfReals, out: Reals) -> int:
    a, b = pair(x)
    c, d = pair(x[2:])
    for k in range(5):
        row = np.zeros(2)
        row[0] = k
        if k == 0:
            previous = row
    out[0], out[1], out[2], out[3], out[4] = a[0], b[1, 1], c[0], d[1, 1], previous[0]
    return FINE


def test_arrays_outlive_the_function_that_made_them_and_do_not_share_memory():
    assert list(agree(kept, NUMBERS, np.zeros(5))[1]) == [1, 2, 3, 4, 0]


def hungry(count: Integer, out: Reals) -> int:
    for _ in range(count):
        a, _ = pair(out)
        large = scratch(out)
        out[0] = a[0] + large[0]
    return FINE


def scratch(x):
    """A megabyte, of which a view is returned."""
    large = np.zeros(1 << 17)
    large[5] = x[1]
    return large[5:]


LEAKS = """
import resource, sys
import numpy as np
from tests.engine.frontend.test_arrays import hungry
from treesim.engine.call import generic
code = generic.compiled(hungry)
code(20, np.zeros(100))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for _ in range(100):
    code(20, np.zeros(100))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="memory is measured in Linux's units")
def test_memory_is_given_back():
    """Two gigabytes are asked for in all."""
    said = subprocess.run([sys.executable, "-c", LEAKS], capture_output=True, text=True, check=True)
    assert int(said.stdout) < 10_000


def wrong_rank(x: TableOfReals, out: Reals) -> int:
    out[0] = x[0, 1]
    return FINE


def writes_a_table(x: TableOfReals, out: Reals) -> int:
    x[0] = 1.0
    return FINE


def reshapes_columns(x: TableOfReals, out: Reals) -> int:
    out[0] = x.reshape((2, -1)).T.reshape(-1)[0]
    return FINE


def steps(x: TableOfReals, out: Reals) -> int:
    out[0] = x[::2][1]
    return FINE


def sums_arrays(x: TableOfReals, out: Reals) -> int:
    out[:] = x + x
    return FINE


@pytest.mark.parametrize(
    ("kernel", "reason"),
    [
        (wrong_rank, "2 indices are too many for an array of reals with 1 axes"),
        (writes_a_table, "a table of the robot's is read only"),
        (reshapes_columns, "copy it first"),
        (steps, "slices with steps"),
        (sums_arrays, "an array of reals with 1 axes stands where a number is wanted"),
    ],
)
def test_what_there_is_not_is_told(kernel, reason):
    with pytest.raises(UnsupportedError, match=reason):
        generic.compiled(kernel)
