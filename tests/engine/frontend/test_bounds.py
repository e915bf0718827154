"""With $TREESIM_BOUNDS, a compiled kernel ends the process where an index is outside its axis, and names its line."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from treesim.kernels.entries.annotations import Integer, Reals, TableOfReals
from treesim.kernels.entries.status import FINE

from .support import agree, compiled_only, no_disk  # noqa: F401

pytestmark = compiled_only


def read(x: TableOfReals, k: Integer, out: Reals) -> int:
    rows = x.reshape((2, 3))
    out[0] = rows[1, k]
    return FINE


def part(x: TableOfReals, k: Integer, out: Reals) -> int:
    out[0] = x[k:].shape[0]
    return FINE


def end(x: TableOfReals, k: Integer, out: Reals) -> int:
    out[0] = x[1:k].shape[0]
    return FINE


def write(x: TableOfReals, k: Integer, out: Reals) -> int:
    out[k - 2] = x[0]
    return FINE


CASES = [(read, 2, 3, 3), (read, 0, -1, 3), (part, 6, 7, 7), (end, 6, 7, 7), (write, 2, 3, 1)]
CODE = """import os, numpy as np
from tests.engine.frontend.test_bounds import CASES
from treesim.engine.call import generic
x = np.arange(6.0)
x.setflags(write=False)
for kernel, _, outside, _ in CASES:
    child = os.fork()
    if not child:
        generic.compiled(kernel)(x, outside, np.zeros(1))
        os._exit(0)
    assert os.waitpid(child, 0)[1], kernel
"""


@pytest.mark.parametrize(("kernel", "inside"), [case[:2] for case in CASES])
def test_indices_inside_their_axes_are_numpys(monkeypatch, kernel, inside):
    monkeypatch.setenv("TREESIM_BOUNDS", "1")
    x = np.arange(6.0)
    x.setflags(write=False)
    agree(kernel, x, inside, np.zeros(1))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a process for each index would take too long")
def test_an_index_outside_its_axis_ends_the_process(tmp_path):
    variables = {**os.environ, "TREESIM_BOUNDS": "1", "TREESIM_CACHE_DIR": str(tmp_path)}
    run = subprocess.run([sys.executable, "-c", CODE], env=variables, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    for (kernel, _, outside, length), message in zip(CASES, run.stderr.splitlines(), strict=True):
        line = kernel.__code__.co_firstlineno + (2 if kernel is read else 1)
        index = outside - 2 if kernel is write else outside
        assert message.endswith(f"test_bounds.py:{line}: index {index} is outside an axis of {length} elements")
