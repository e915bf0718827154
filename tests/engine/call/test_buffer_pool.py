"""Memory of large results: used again when nothing refers to it, and only then; never too much of it."""

import gc
import threading

import numpy as np
import pytest

import treesim
from tests import trees
from treesim.engine.call import buffer_pool
from treesim.engine.call.buffer_pool import LEAST, MOST, empty
from treesim.errors import ArgumentError

SHAPE = 2, LEAST // 16


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch):
    monkeypatch.setattr(buffer_pool, "_blocks", [])


def place(x):
    return x.__array_interface__["data"][0]


def test_memory_of_a_result_that_is_gone_serves_the_next():
    first = empty(SHAPE, float)
    assert first.shape == SHAPE and first.dtype == float and first.flags.carray
    before = place(first)
    del first
    assert place(empty((LEAST // 8,), np.int64)) == before


@pytest.mark.parametrize("hold", [
    lambda x: x, lambda x: x[1:, ::3], lambda x: x.T, lambda x: x.view(np.uint8), lambda x: memoryview(x),
    lambda x: np.asarray(memoryview(x)), lambda x: iter(x), lambda x: x.flat, lambda x: (lambda: x),
])  # fmt: skip
def test_memory_that_anything_refers_to_is_left_alone(hold):
    first = empty(SHAPE, float)
    before, holder = place(first), hold(first)
    del first
    second = empty(SHAPE, float)
    assert place(second) != before
    del holder
    gc.collect()
    assert place(empty(SHAPE, float)) == before


def test_small_results_and_those_beyond_the_limit_are_not_kept(monkeypatch):
    assert empty((10,), float).base is None
    monkeypatch.setenv("TREESIM_KEEP_MIB", "15")
    assert empty((1 << 24,), np.uint8).base is None
    monkeypatch.setenv("TREESIM_KEEP_MIB", "0")
    assert empty(SHAPE, float).base is None
    assert not buffer_pool._blocks


def test_no_more_than_the_limit_is_kept(monkeypatch):
    monkeypatch.setenv("TREESIM_KEEP_MIB", "50")
    results = [empty((size << 20,), np.uint8) for size in (16, 17, 18, 30, 40, 20, 50)]
    for k, x in enumerate(results):
        x[...] = k
        assert sum(block.nbytes for block in buffer_pool._blocks) <= 50 << 20
    assert all((x == k).all() for k, x in enumerate(results))


def test_no_more_blocks_are_kept_than_a_call_searches():
    results = [empty((LEAST + k,), np.uint8) for k in range(MOST + 5)]
    assert len(buffer_pool._blocks) == MOST
    assert len({place(x) for x in results}) == MOST + 5
    before = place(results.pop())
    assert place(empty((LEAST,), np.uint8)) == before


def test_a_call_that_interrupts_another_one_gets_memory_of_its_own(monkeypatch):
    found = []

    def limit():  # as a signal handler, or a finalizer, that runs while the pool is in use
        found.append(empty(SHAPE, float))
        return 1 << 30

    monkeypatch.setattr(buffer_pool, "limit", limit)
    first = empty(SHAPE, float)
    assert found[0].base is None and first.base is not None


def test_a_block_much_larger_than_a_result_does_not_serve_it():
    empty((3 * LEAST,), np.uint8)
    assert empty((LEAST,), np.uint8).base.nbytes == LEAST
    assert empty((int(2.5 * LEAST),), np.uint8).base.nbytes == 3 * LEAST


@pytest.mark.parametrize("details", ["a lot", "-1", "1.5", " ", "²"])
def test_a_limit_that_is_no_number_is_refused(monkeypatch, details):
    monkeypatch.setenv("TREESIM_KEEP_MIB", details)
    with pytest.raises(ArgumentError, match="TREESIM_KEEP_MIB"):
        empty(SHAPE, float)


def test_threads_never_share_memory():
    wrong = []

    def work(mark):
        for _ in range(60):
            x = empty(SHAPE, np.int64)
            x[:, ::4096] = mark
            if (x[:, ::4096] != mark).any():
                wrong.append(mark)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_results_of_a_batch_are_kept_apart_as_long_as_they_are_used():
    robot = trees.tree("random_14")
    count = LEAST // (8 * robot.nv**2) + 1
    rng = np.random.default_rng(0)
    q = [np.tile(robot.random(rng), (count, 1)) for _ in range(3)]
    results = [treesim.mass_matrix(robot, x) for x in q]
    for x, M in zip(q, results, strict=True):
        np.testing.assert_allclose(M[[0, -1]], treesim.mass_matrix(robot, x[[0, -1]]), rtol=1e-12, atol=1e-12)
    before = place(results.pop())
    del M
    assert place(treesim.mass_matrix(robot, q[0])) == before


@pytest.mark.nojit
def test_a_batch_of_some_states_has_no_page_fault_and_leaves_what_is_held():
    robot = treesim.load("g1_29dof_rev_1_0", base="floating")
    rng = np.random.default_rng(0)
    q = [np.array([robot.random(rng) for _ in range(64)]) for _ in range(4)]
    held = [treesim.mass_matrix(robot, x)[::2, 1:] for x in q]
    expected = [x.copy() for x in held]
    places = set()
    for _ in range(3):
        results = [
            treesim.mass_matrix(robot, x) for x in q
        ]  # released together: an allocator would return their memory
        places |= {place(x) for x in results}
        for x, M in zip(results, expected, strict=True):
            np.testing.assert_array_equal(x[::2, 1:], M)
    assert len(places) <= 2 * len(q) and not places & {place(x.base) for x in held}
    for x, M in zip(held, expected, strict=True):
        np.testing.assert_array_equal(x, M)
