"""Memory and code whose addresses machine code is given have an owner as long as the code may run."""

import gc
import weakref

import numpy as np
import pytest

from treesim.engine.call import generic, specialized
from treesim.engine.call.bound_entry import BoundEntry
from treesim.engine.call.call_sequence import Place, call_sequence
from treesim.engine.call.generic import runs_compiled
from treesim.engine.call.specialized import Job
from treesim.kernels.entries.status import FINE, status_of

pytestmark = pytest.mark.skipif(not runs_compiled(), reason="kernels run as plain Python")
COUNT = 1000


def scaled(factor, x, result):
    for k in range(8):
        result[k] = factor * x[k]
    return FINE


def batch(factor=3.0, count=COUNT, size=8):
    """Return an entry's SIMD code, inputs, and memory of results that holds no results."""
    code = specialized.batch_code(scaled, (factor,), [size], [size], single=False)
    x = np.random.default_rng(0).normal(size=(count, size))
    return code, x, np.full_like(x, np.nan)


class Interrupted:
    """Calls `between` in the middle of calls of machine code, as signal handlers and finalizers may be called."""

    def __init__(self, monkeypatch):
        self.between, self.workspaces = lambda: None, []
        self.together = specialized.together
        monkeypatch.setattr(specialized, "together", self)

    def __call__(self, function, job, count):
        between, self.between = self.between, lambda: None
        words = Job.from_address(job) if isinstance(job, int) else job
        first = words.workspaces
        self.workspaces.append(range(first, first + words.bytes * count))
        between()
        gc.collect()
        self.together(function, job, count)


@pytest.fixture
def interrupted(monkeypatch):
    return Interrupted(monkeypatch)


def has_owner(blocks, addresses):
    """Return whether one of the living arrays of weak references contains all of some addresses."""
    arrays = [array for array in (block() for block in blocks) if array is not None]
    return any(x.ctypes.data <= addresses.start and addresses.stop <= x.ctypes.data + x.nbytes for x in arrays)


@pytest.fixture
def blocks(monkeypatch):
    """Weak references to all arrays that numpy's `empty` returns."""
    made, empty = [], np.empty

    def watched(*arguments, **options):
        array = empty(*arguments, **options)
        made.append(weakref.ref(array))
        return array

    monkeypatch.setattr(np, "empty", watched)
    return made


@pytest.mark.parametrize("count", [COUNT, 40 * COUNT])
def test_a_call_in_the_middle_of_a_call_gets_a_workspace_of_its_own(count, interrupted, blocks, monkeypatch):
    """The inner one needs as much memory, or more since it uses more threads."""
    monkeypatch.setattr(specialized, "_workspaces", type(specialized._workspaces)())
    monkeypatch.setattr(specialized, "thread_count", lambda: 16)
    code, x, result = batch()
    inner, y, other = batch(count=count)
    owned = []

    def between():
        assert inner.run([y, other], count) == FINE
        gc.collect()
        owned.append(has_owner(blocks, interrupted.workspaces[0]))

    with monkeypatch.context() as few:
        few.setattr(specialized, "thread_count", lambda: 2)
        call = code.bound([x, result], COUNT)
    interrupted.between = between
    assert call() == FINE and owned == [True]
    assert np.array_equal(result, 3.0 * x) and np.array_equal(other, 3.0 * y)
    outer, inside = interrupted.workspaces
    assert outer.stop <= inside.start or inside.stop <= outer.start


def test_workspaces_are_reused(interrupted):
    code, x, result = batch()
    for _ in range(3):
        code.run([x, result], COUNT)
    assert len({*interrupted.workspaces}) == 1


def test_a_call_within_the_same_call_leaves_it_all_its_states(interrupted):
    """Counters of states and threads belong to a call, not to the function that is called."""
    code, x, result = batch()
    call = code.bound([x, result], COUNT)

    def between():
        assert call() == FINE
        result[...] = np.nan

    interrupted.between = between
    assert call() == FINE and np.array_equal(result, 3.0 * x)


def test_bound_calls_keep_their_arrays():
    code, x, result = batch()
    arrays, expected, memory = [x, result], 3.0 * x, weakref.ref(result)
    call = code.bound(arrays, COUNT)
    arrays.clear()
    del x, result
    gc.collect()
    assert call() == FINE and np.array_equal(memory(), expected)


def test_bound_calls_of_the_generic_engine_keep_their_code_and_arrays():
    whole = generic._checked(status_of)
    code, x = generic.EntryCode(status_of, whole), np.ones(3)
    engine, memory = (weakref.ref(owner) for owner in (code._keep[0].engine, x))
    call = code.bound_to(x)
    del code, x
    gc.collect()
    assert engine() is not None and memory() is not None
    assert call() == FINE
    memory()[1] = np.nan
    assert call() != FINE
    del call
    gc.collect()
    assert engine() is None and memory() is None


def test_sequences_keep_code_and_arrays_of_their_calls():
    bound = BoundEntry(scaled, (5.0,), [(8,)], [(8,)], engine="specialized")
    x = np.ones(8)
    call = call_sequence([8], [bound.call_of([x, Place(0, 0, 8)])])
    memory, code = weakref.ref(x), weakref.ref(bound.call)
    del x, bound
    specialized._functions._recent.clear()
    gc.collect()
    result = np.zeros(8)
    assert memory() is not None and call(result) == FINE and np.all(result == 5.0)
    del call
    gc.collect()
    assert memory() is None and code() is None
