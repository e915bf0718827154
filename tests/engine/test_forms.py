"""Rolled code that straight-line code takes the place of, once a thread has made it."""

import threading

import numpy as np
import pytest

import treesim
from tests import trees
from treesim.engine import disk_cache, forms, specialised

pytestmark = pytest.mark.skipif(not specialised.usable(), reason="kernels run as plain Python, or LLVM is too old")
COMPILER = "treesim compiler"


def batch(robot, count=80):
    each = [trees.random_state(robot, k) for k in range(count)]
    return [np.stack([getattr(state, name) for state in each]) for name in ("q", "v", "tau")]


def results(monkeypatch, form, robot, arrays):
    monkeypatch.setenv(forms.VARIABLE, form)
    return treesim.forward_dynamics(robot, *arrays)


def test_straight_line_code_takes_the_place_of_rolled_code(monkeypatch):
    robot = trees.random_tree(41)
    arrays = batch(robot)
    rolled, straight = (results(monkeypatch, form, robot, arrays) for form in (forms.ROLLED, forms.STRAIGHT))
    assert not np.array_equal(rolled, straight)  # else the rest would show nothing
    held = []

    class Held(threading.Thread):
        """A compiler that begins when it is told to."""

        def start(self):
            held.append(self)

    with monkeypatch.context() as patch:
        patch.setattr(specialised.threading, "Thread", Held)
        bound = treesim.Dynamics(robot)
        assert np.array_equal(results(monkeypatch, forms.SWAP, robot, arrays), rolled)
        assert np.array_equal(bound.forward_dynamics(*arrays), rolled)
    (compiler,) = held
    assert compiler.name == COMPILER
    threading.Thread.start(compiler)
    compiler.join()
    assert np.array_equal(treesim.forward_dynamics(robot, *arrays), straight)
    assert np.array_equal(bound.forward_dynamics(*arrays), straight)


def test_a_compiler_of_its_own_makes_it(monkeypatch):
    robot = trees.random_tree(42)
    arrays = batch(robot)
    straight = results(monkeypatch, forms.STRAIGHT, robot, arrays)
    results(monkeypatch, forms.SWAP, robot, arrays)
    for thread in threading.enumerate():
        if thread.name == COMPILER:
            thread.join()
    assert np.array_equal(treesim.forward_dynamics(robot, *arrays), straight)


def test_rolled_code_stays_where_there_is_no_other(monkeypatch, tmp_path):
    robot = trees.random_tree(43)
    arrays = batch(robot)
    rolled = results(monkeypatch, forms.ROLLED, robot, arrays)
    monkeypatch.setattr(disk_cache, "cache_directory", lambda: tmp_path)  # where the refusal is kept
    monkeypatch.setattr(forms, "Graph", lambda *limit: treesim.engine.trace.Graph(10))
    results(monkeypatch, forms.SWAP, robot, arrays)
    for thread in threading.enumerate():
        if thread.name == COMPILER:
            thread.join()
    assert np.array_equal(treesim.forward_dynamics(robot, *arrays), rolled)
