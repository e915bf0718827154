"""Large results, written past the caches: the same numbers in the same places, and nothing beside them."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import treesim
from tests import trees
from treesim.engine.call import specialized
from treesim.engine.call.generic import runs_compiled
from treesim.engine.graph.trace import trace
from treesim.engine.llvm import machine_code
from treesim.engine.llvm import straight_line as writer
from treesim.engine.llvm.builder import Module
from treesim.engine.llvm.chunks import CHUNK
from treesim.engine.llvm.lanes import Lanes
from treesim.engine.llvm.nontemporal_stores import LEAST, schedule, worth_it
from treesim.errors import NonFiniteError
from treesim.kernels.dynamics import crba
from treesim.kernels.entries.status import FINE
from treesim.model import generators as make

compiled = pytest.mark.skipif(not runs_compiled(), reason="kernels run as plain Python")
COUNT = 70  # states: whole groups and some left over, of 8 and of 16
AROUND = 40  # numbers in front of a result and behind it
ROBOTS = {
    "chain": lambda: make.chain(30),
    "branches": lambda: trees.random_tree(7, 22),
    "floating": lambda: trees.on_floating_base(trees.random_tree(8, 14)),
}


@pytest.fixture(scope="module", params=ROBOTS)
def robot(request):
    return ROBOTS[request.param]()


@pytest.fixture
def always_nontemporal(monkeypatch):
    """Small results go past the caches too, from when this is called on."""
    monkeypatch.setenv("TREESIM_CODE", "straight")

    def on():
        monkeypatch.setattr(specialized, "worth_it", lambda lanes: True)
        monkeypatch.setattr(specialized, "LARGE", 0)

    return on


def states(robot, number):
    rng = np.random.default_rng(3)
    return np.array([robot.random(rng) for _ in range(COUNT)]).astype(number)


def result(like, first, between):
    """Memory of zeros, and an array in it that begins `first` numbers behind a cache line and has so many numbers
    between one state's and the next."""
    unit, size = like.itemsize, like[0].size
    memory = np.zeros(AROUND + COUNT * (size + between) + AROUND, like.dtype)
    start = AROUND // 2 + (first - (memory.ctypes.data // unit + AROUND // 2)) % 16
    strides = (size + between) * unit, *like.strides[1:]
    return memory, np.lib.stride_tricks.as_strided(memory[start:], like.shape, strides)


@compiled
@pytest.mark.parametrize("number", [np.float64, np.float32])
@pytest.mark.parametrize("packed", [False, True])
def test_nontemporal_results_are_the_same_wherever_they_begin(robot, number, packed, always_nontemporal):
    q = states(robot, number)
    expected = treesim.mass_matrix(robot, q, packed=packed, engine="specialized")
    assert expected[0].size >= LEAST
    always_nontemporal()
    for first, between in product((0, 1, 15), (0, 1, 8)):
        memory, out = result(expected, first, between)
        treesim.mass_matrix(robot, q, packed=packed, engine="specialized", out=out)
        assert np.array_equal(out, expected)
        out[...] = 0.0
        assert not memory.any()


@compiled
def test_nontemporal_results_do_not_depend_on_the_number_of_threads(robot, always_nontemporal, monkeypatch):
    q = np.tile(states(robot, np.float64), (9, 1))
    expected = treesim.mass_matrix(robot, q, engine="specialized")
    always_nontemporal()
    for threads in (1, 2, 3):
        monkeypatch.setattr(specialized, "thread_count", lambda threads=threads: threads)
        assert np.array_equal(treesim.mass_matrix(robot, q, engine="specialized"), expected)


@compiled
@pytest.mark.parametrize("order", ["columns", "unaligned"])
def test_other_orders_of_memory_are_written_as_usual(robot, order, always_nontemporal):
    q = states(robot, np.float64)
    expected = treesim.mass_matrix(robot, q, engine="specialized")
    always_nontemporal()
    if order == "columns":
        out = np.zeros(expected.shape, order="F")
    else:
        out = np.zeros(expected.nbytes + 1, np.uint8)[1:].view(float).reshape(expected.shape)
    treesim.mass_matrix(robot, q, engine="specialized", out=out)
    assert np.array_equal(out, expected)


@compiled
def test_what_is_not_finite_is_told_of_nontemporal_results_too(robot, always_nontemporal):
    q = states(robot, np.float64)
    q[13, 0] = np.nan
    always_nontemporal()
    with pytest.raises(NonFiniteError):
        treesim.mass_matrix(robot, q, engine="specialized")


@compiled
@pytest.mark.parametrize("past", [False, True])
def test_lines_are_written_once_by_one_of_the_two(past, monkeypatch):
    """Code that lacks the nontemporal stores leaves such a result, and no other, as it was."""
    monkeypatch.setattr(writer, "nontemporal_writes", lambda module, results: {})
    robot, lanes = ROBOTS["chain"](), specialized.lanes(False)
    sizes, results = [robot.nq], [robot.nnz]
    traced = trace(crba.mass_matrix_packed_states, (robot.ints, robot.reals), sizes, results)
    silent = writer.straight_line(Module(lanes), traced, sizes, results)
    assert len(traced.graph.needed(traced.results)) > 2 * CHUNK  # in parts
    q, out = states(robot, np.float64), np.full((COUNT, robot.nnz), 7.0)
    loaded = machine_code.load("streams", silent.text.encode(), lambda: silent)
    if past:
        monkeypatch.setattr(specialized, "worth_it", lambda lanes: True)
        monkeypatch.setattr(specialized, "LARGE", 0)
    assert specialized.BatchCode(loaded, lanes).run([q, out], COUNT) == FINE
    assert (out == 7.0).all() == past


@pytest.mark.parametrize(("bytes_of_a_vector", "worth"), [(64, True), (32, False)])
def test_only_whole_lines_go_past_the_caches(bytes_of_a_vector, worth):
    for single, unit in ((False, 8), (True, 4)):
        assert worth_it(Lanes(single, bytes_of_a_vector // unit)) == worth


@pytest.mark.parametrize("size", [16, 17])
def test_only_large_results_go_past_the_caches(size, monkeypatch):
    lanes = specialized.lanes(False)
    monkeypatch.setattr(specialized, "worth_it", lambda lanes: True)
    monkeypatch.setattr(specialized, "LARGE", 8 * 17)
    array = np.empty((1, size))
    assert specialized.BatchCode(machine_code.Loaded(0, 0, None), lanes)._table([array])[-1] == (size == 17)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=60), st.sampled_from([2, 4, 8, 16]))
def test_every_line_is_written_once_when_its_numbers_are_there(done, width):
    behind = dict.fromkeys(range(1 - width, len(done)))
    for chunk, low, high in schedule(done, width):
        assert low < high
        for place in range(low, high):
            assert behind[place] is None
            behind[place] = chunk
    for place, chunk in behind.items():
        assert chunk >= max(done[max(place, 0) : place + width])
        assert chunk <= max(done)


def test_results_that_are_made_in_order_go_at_once():
    """Forwards or backwards, a chunk's numbers are written behind it, but for lines that it shares with the next."""
    upwards = sorted(k // 20 for k in range(100))
    assert list(schedule(upwards, 8)) == [(0, -7, 13), (1, 13, 33), (2, 33, 53), (3, 53, 73), (4, 73, 100)]
    assert list(schedule(upwards[::-1], 8)) == [(4, -7, 20), (3, 20, 40), (2, 40, 60), (1, 60, 80), (0, 80, 100)]
