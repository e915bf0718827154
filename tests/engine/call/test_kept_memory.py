"""Scratch memory of kernels: large blocks are kept for the next call, and freed with the kernel."""

from __future__ import annotations

import subprocess
import sys
import threading

import numpy as np
import pytest

from tests.engine.frontend.support import compiled_only
from treesim.engine.call import generic
from treesim.kernels.entries.annotations import Integer, Reals
from treesim.kernels.entries.status import FINE

pytestmark = [compiled_only, pytest.mark.skipif(sys.platform != "linux", reason="pages are counted in Linux's way")]
PAGES = 2000  # of 512 numbers


def touching(pages: Integer, out: Reals) -> int:
    """Write to each page of some memory, and return how many numbers it has kept."""
    large = np.empty(512 * pages)
    for k in range(pages):
        large[512 * k] = k + out[0]
    out[1] = 0
    for k in range(pages):
        out[1] += large[512 * k] == k + out[0]
    return FINE


def growing(pages: Integer, out: Reals) -> int:
    """Need more and more memory in one call, in blocks that all stay in use."""
    first = np.empty(512)
    first[0] = out[0]
    out[1] = 0
    for k in range(1, pages):
        part = np.zeros(512 * k)
        part[511] = k
        out[1] += part[511] == k
    out[2] = first[0]
    return FINE


MEASURED = """
import resource, sys
import numpy as np
from tests.engine.call.test_kept_memory import touching
from treesim.engine.call import generic
code, out, used = generic.compiled(touching), np.zeros(2), resource.getrusage
def faults(pages, calls):
    before = used(resource.RUSAGE_SELF).ru_minflt
    for _ in range(calls):
        code(pages, out)
    return used(resource.RUSAGE_SELF).ru_minflt - before
def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1])
if sys.argv[1] == "again":
    faults(int(sys.argv[2]), 3)
    print(faults(int(sys.argv[2]), 20))
else:
    before = resident()
    code(int(sys.argv[2]), out)
    held = resident() - before
    generic._entries.clear()
    del code
    print(held, resident() - before)
"""


def measured(*arguments: object) -> list[int]:
    """Return the numbers that a new process prints."""
    command = [sys.executable, "-c", MEASURED, *map(str, arguments)]
    return [int(x) for x in subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()]


def test_the_next_call_uses_the_same_pages():
    """The C library would give two thousand pages back to the system at the end of each of the twenty calls."""
    assert measured("again", PAGES)[0] < PAGES


def test_largest_blocks_are_not_kept():
    held, _ = measured("end", 70_000)
    assert held < 10_000


def test_memory_is_freed_with_the_kernel():
    held, after = measured("end", PAGES)
    assert held >= PAGES
    assert after < PAGES / 2


@pytest.mark.parametrize("kernel", [touching, growing])
def test_calls_at_the_same_time_do_not_share_memory(kernel):
    """More threads than blocks that are kept."""
    code, results = generic.compiled(kernel), np.full((20, 3), -1.0)

    def call(k: int) -> None:
        results[k, 0] = k
        for _ in range(10):
            if code(50, results[k]) != FINE or results[k, 1] not in (49, 50):
                results[k, 1] = -1
                return

    threads = [threading.Thread(target=call, args=(k,)) for k in range(len(results))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (results[:, 1] == (50 if kernel is touching else 49)).all()
    assert kernel is touching or (results[:, 2] == np.arange(20)).all()
