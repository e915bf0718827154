"""Kernels run compiled and as plain Python, on copies of the same arrays."""

import itertools

import numpy as np
import pytest

from treesim.engine.call import generic
from treesim.engine.llvm import object_cache

compiled_only = pytest.mark.skipif(
    not generic.runs_compiled(), reason="kernels run as plain Python: there is no compiler"
)


@pytest.fixture(autouse=True)
def no_disk(monkeypatch):
    """Code is compiled at every run, so that a mended compiler is what is tested."""
    monkeypatch.setattr(object_cache, "read", lambda name: None)
    monkeypatch.setattr(object_cache, "write", lambda name, content: None)
    monkeypatch.setattr(generic, "_entries", {})


def agree(kernel, *arrays, exact=True):
    """Run a kernel both ways; all arrays must then be equal, and the status too. Return Python's arrays."""
    python, machine = ([x.copy() if isinstance(x, np.ndarray) else x for x in arrays] for _ in range(2))
    status = kernel(*python)
    assert generic.compiled(kernel)(*machine) == status
    for x, y in zip(python, machine, strict=True):
        (np.testing.assert_array_equal if exact else np.testing.assert_allclose)(y, x)
    return python


def integers(*numbers):
    return np.array(numbers, dtype=np.int64)


def pairs(numbers):
    """All pairs of some numbers, as two arrays."""
    first, second = zip(*itertools.product(numbers, repeat=2), strict=True)
    return np.array(first), np.array(second)
