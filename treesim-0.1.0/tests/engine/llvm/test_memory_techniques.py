"""Techniques for large arrays can be turned off one by one, and no result depends on them."""

import numpy as np
import pytest

import treesim
from tests.engine.opcodes import opcodes
from treesim.engine.call import buffer_pool, specialized
from treesim.engine.call.generic import runs_compiled
from treesim.engine.llvm import memory_techniques, nontemporal_stores
from treesim.engine.llvm.memory_techniques import NONTEMPORAL, POOL, PREFETCH, TECHNIQUES, VARIABLE, used
from treesim.model import generators as make

ROBOT = make.chain(10)
STATES = 70


@pytest.mark.parametrize(
    ("details", "on"),
    [(None, TECHNIQUES), ("", TECHNIQUES), ("plain", ()), ("pool", (POOL,)), ("pool, prefetch", (POOL, PREFETCH))],
)
def test_the_variable_lists_what_is_used(details, on, monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    if details is not None:
        monkeypatch.setenv(VARIABLE, details)
    assert {technique for technique in TECHNIQUES if used(technique)} == set(on)


def test_anything_else_is_told(monkeypatch):
    monkeypatch.setenv(VARIABLE, "pool,teleport")
    with pytest.raises(treesim.ArgumentError, match="'pool,teleport', but must be plain, or some of prefetch, nontemp"):
        used(POOL)


@pytest.mark.skipif(not runs_compiled(), reason="kernels run as plain Python")
@pytest.mark.parametrize("strategy", ["straight", "looped"])
@pytest.mark.parametrize("off", [*TECHNIQUES, memory_techniques.PLAIN])
def test_results_are_the_same_to_the_bit(off, strategy, monkeypatch):
    """All of them on, for small results too, against one of them, or all, turned off."""
    monkeypatch.setenv("TREESIM_CODE", strategy)
    for module, bytes_of_it in ((nontemporal_stores, "LARGE"), (buffer_pool, "LEAST")):
        monkeypatch.setattr(module, bytes_of_it, 0)
    rng = np.random.default_rng(4)
    q = np.array([ROBOT.random(rng) for _ in range(STATES)])
    v, tau = rng.normal(size=(2, STATES, ROBOT.nv))

    def results():
        return (
            treesim.mass_matrix(ROBOT, q, engine="specialized"),
            treesim.forward_dynamics(ROBOT, q, v, tau, engine="specialized"),
            treesim.rollout(ROBOT, q, v, steps=3, engine="specialized").q,
        )

    expected = results()
    others = [technique for technique in TECHNIQUES if technique != off]
    monkeypatch.setenv(VARIABLE, "plain" if off == memory_techniques.PLAIN else ",".join(others))
    for found, known in zip(results(), expected, strict=True):
        np.testing.assert_array_equal(found, known)


def test_each_is_asked_before_it_is_used(monkeypatch):
    widest = specialized.Lanes(False, 8)
    assert nontemporal_stores.worth_it(widest)
    first = buffer_pool.empty((1 << 22,), np.float64)
    place = first.ctypes.data
    del first
    assert buffer_pool.empty((1 << 22,), np.float64).ctypes.data == place
    kept = len(buffer_pool._blocks)
    monkeypatch.setenv(VARIABLE, PREFETCH)
    assert not nontemporal_stores.worth_it(widest)
    assert buffer_pool.empty((1 << 23,), np.float64).base is None and len(buffer_pool._blocks) == kept


@pytest.mark.skipif(not runs_compiled(), reason="kernels run as plain Python")
def test_code_without_prefetches_is_other_code(monkeypatch):
    """So that neither a process nor the disk takes one for the other."""
    made = []
    monkeypatch.setattr(specialized.machine_code, "load", lambda name, key, write: made.append((key, write())))
    for details in (f"{NONTEMPORAL},{POOL}", PREFETCH):
        monkeypatch.setenv(VARIABLE, details)
        robot = make.chain(7)
        with pytest.raises(AttributeError):
            treesim.mass_matrix(robot, np.zeros((3, 7)), engine="specialized")
    (key, code), (other_key, other) = made
    assert key != other_key
    asked = [sum(counts["llvm.prefetch.p0"] for counts in opcodes(x.text).values()) for x in (code, other)]
    assert asked[0] == 0 < asked[1]
