"""Ctrl-C is held back while kernels are compiled, and not lost."""

import os
import signal
import threading

import numpy as np
import pytest

import treesim
from treesim.engine.call.defer_interrupt import ctrl_c_later
from treesim.engine.call.generic import compiled
from treesim.model import generators

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for one process")


def press():
    os.kill(os.getpid(), signal.SIGINT)


def test_ctrl_c_comes_when_the_block_is_done():
    before, done = signal.getsignal(signal.SIGINT), []
    with pytest.raises(KeyboardInterrupt), ctrl_c_later(), ctrl_c_later():
        press()
        done.append("inner")
    assert done == ["inner"] and signal.getsignal(signal.SIGINT) is before


def test_a_second_ctrl_c_comes_at_once():
    with pytest.raises(KeyboardInterrupt), ctrl_c_later():
        press()
        press()
        pytest.fail("it was held back")


def test_an_error_of_the_block_is_raised():
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(ZeroDivisionError), ctrl_c_later():
        raise ZeroDivisionError
    assert signal.getsignal(signal.SIGINT) is before


def test_other_threads_and_ignored_signals_pass():
    passed = []

    def other():
        with ctrl_c_later():
            passed.append(1)

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with ctrl_c_later():
            press()
            passed.append(2)
    finally:
        signal.signal(signal.SIGINT, before)
    assert passed == [1, 2]


def test_a_kernel_is_compiled_whole(monkeypatch):
    """Ctrl-C in the middle of it, and the run that asked for it ends as after any other step."""
    from treesim.engine.call import generic

    entry = generic.compiled  # any function will do: nothing is compiled here
    monkeypatch.setattr(generic, "runs_compiled", lambda: bool(press()))
    with pytest.raises(KeyboardInterrupt):
        compiled(entry)
    assert generic._entries.pop(entry) is entry


def test_a_run_that_was_interrupted_while_compiling_can_be_repeated(monkeypatch):
    robot = generators.chain(3)
    simulation = treesim.Simulation(robot)
    first = simulation.step

    def step(*state):
        with ctrl_c_later():
            press()
        return first(*state)

    monkeypatch.setattr(simulation, "step", step)
    run = simulation.run(0.01, q0=[0.1, 0.2, 0.3])
    assert run.stopped == "interrupted" and np.array_equal(run.q, [[0.1, 0.2, 0.3]])
    monkeypatch.setattr(simulation, "step", first)
    assert simulation.run(0.01).stopped is None
