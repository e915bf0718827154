"""What code on lanes asks for ahead: every cache line of a group, in time, and not too many at once."""

import ctypes

import numpy as np
import pytest

from treesim.engine.call import specialized
from treesim.engine.call.generic import runs_compiled
from treesim.engine.llvm import machine_code
from treesim.engine.llvm.builder import Module
from treesim.engine.llvm.lanes import Lanes
from treesim.engine.llvm.prefetch import EVERY, LINE, Prefetched, Prefetches
from treesim.engine.llvm.straight_line import Code

pytestmark = pytest.mark.skipif(not runs_compiled(), reason="kernels run as plain Python")

SIZES = 1, 7, 35, 300
WIDE = Lanes(False, 8)


def requests(sizes, lanes):
    asked = [Prefetched(k, size, False) for k, size in enumerate(sizes)]
    return Prefetches(asked, lanes)


def table_of(wanted, arrays, group, step, lanes):
    """The table that compiled code makes for a group of states at a step."""
    module = Module(lanes)
    share = module.function("share", "ptr table, ptr tables, i64 group, i64 step", exported=True)
    table, tables, *read = share.arguments
    wanted.fill_table(share, table, tables, tuple(reversed(read)), None)
    share.ret()
    code = machine_code.load("requests", module.text().encode(), lambda: Code(module.text(), 0))
    unit = lanes.unit
    rows = np.array(
        [[x.ctypes.data, x.strides[2] // unit if x.shape[2] > 1 else 1, x.strides[0] // unit, x.strides[1] // unit]
         for x in arrays], np.int64,
    )  # fmt: skip
    table = np.zeros(wanted.vectors * lanes.bytes // 8, np.int64)
    run = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(code.share)
    run(table.ctypes.data, rows.ctypes.data, group, step)
    return table


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("order", ["rows", "columns"])
def test_the_requests_reach_every_cache_line_of_a_group(single, order):
    lanes = specialized.lanes(single)
    number, states, steps = (np.float32 if single else np.float64), 8 * lanes.width, 3
    if order == "rows":
        arrays = [np.zeros((states, steps, size), number) for size in SIZES]
    else:
        arrays = [np.zeros((steps, size, states), number).transpose(2, 0, 1) for size in SIZES]
    wanted = requests(SIZES, lanes)
    group, step = 4 * lanes.width, 1
    asked = {  # for this group, and for those and the step before, which reach the lines at its start
        (int(table[start]) + along * int(table[stride])) // LINE
        for table in (
            table_of(wanted, arrays, g, t, lanes) for g in range(0, group + 1, lanes.width) for t in (0, step)
        )
        for start, stride, along in wanted.places(10**9, 1)
    }
    for x in arrays:
        lines = -(-x[0, 0].nbytes // LINE)  # as many requests for a lane as lines in a row
        own = x[group : group + lanes.width, step, : None if order == "rows" else lines * lanes.width]
        offsets = np.add.outer(np.arange(own.shape[0]) * own.strides[0], np.arange(own.shape[1]) * own.strides[1])
        assert set(((own.ctypes.data + offsets) // LINE).ravel().tolist()) <= asked


def test_requests_are_spread_over_the_operations():
    wanted = requests(SIZES, WIDE)
    spread = wanted.spread(24_000)
    assert list(spread) == sorted(spread)
    assert np.diff(list(spread)).min() >= EVERY
    assert max(spread) > 0.9 * 24_000
    few = wanted.spread(10 * EVERY)
    assert len(few) == 10
    assert [request.array for request in few.values()] == sorted(request.array for request in few.values())
    assert not wanted.spread(EVERY - 1)
    assert not requests([], WIDE).spread(10**6)


def test_parts_of_a_program_share_the_requests():
    wanted = requests(SIZES, WIDE)
    every = wanted.places(10**9, 1)
    assert len(wanted.places(100 * EVERY, 10)) == 100
    assert wanted.places(100 * EVERY, 10) == every[:100]
    assert len(wanted.places(10, 7)) == 7  # one at least
    repeated = wanted.places(10**6, len(every) * 2)
    assert len(repeated) % (len(every) * 2) == 0
    assert list(dict.fromkeys(repeated)) == every


def test_a_function_computes_each_distance_once():
    wanted = requests(SIZES, WIDE)
    f = Module(WIDE).function("ask", "ptr table")
    distances = {}
    every = wanted.spread(10**9).values()
    for request in every:
        wanted.ask(f, f.arguments[0], request, distances)
    assert f.text().count("prefetch") == len(every)
    assert f.text().count(" mul ") == len({(request.array, request.along) for request in every}) < len(every) // 4
