"""Stages on threads: every share of every stage once, no stage before the one before it has ended."""

import threading

import numpy as np
import pytest

from treesim.engine.call import stages


@pytest.mark.nojit
@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("widths", [[1], [40, 1, 1, 7, 100, 3], [9, 10, 11] * 4])
def test_every_share_runs_once_and_in_its_turn(threads, widths, monkeypatch):
    monkeypatch.setattr(stages, "thread_count", lambda: threads)
    lock, done, running = threading.Lock(), [], set()

    def part(first, last, share, shares):
        with lock:
            assert all(other[0] == first for other in running), "two stages run at the same time"
            running.add((first, share))
        with lock:
            running.remove((first, share))
            done.extend((stage, share, shares) for stage in range(first, last + 1))
        return share

    worst = stages.run_stages(part, widths, least=10)
    assert [stage for stage, *_ in done] == sorted(stage for stage, *_ in done)
    expected = {stage: max(1, min(threads, width // 10)) for stage, width in enumerate(widths)}
    assert sorted(done) == [(s, share, shares) for s, shares in expected.items() for share in range(shares)]
    assert worst == max(expected.values()) - 1


@pytest.mark.nojit
def test_every_state_is_cut_out_and_many_states_run_side_by_side(monkeypatch):
    monkeypatch.setattr(stages, "thread_count", lambda: 2)
    calls = []

    def code(constant, table, memory, first, last, share, shares, given, result):
        calls.append((first, last, share, shares))
        assert (constant, table, memory.size) == ("constant", "table", 5)
        half = given.size * share // shares, given.size * (share + 1) // shares
        result[slice(*half)] = given[slice(*half)] ** 2
        return 0

    runner = stages.staged(code, ("table",), 5, [1, 20], 10)
    given, result = np.arange(12.0).reshape(3, 4), np.full((3, 4), np.nan)
    assert runner(None, ("constant",), [given], [result], "auto") == 0
    assert (result == given**2).all() and len(calls) == 3 * 3
    monkeypatch.setattr(stages, "STATES_PER_TASK", 1)
    monkeypatch.setattr(stages, "run_states", lambda *call: 7)
    assert runner(None, ("constant",), [given], [result], "auto") == 7
