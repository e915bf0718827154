"""What a live simulation can go back to."""

import numpy as np

from treesim.viewing.live import history
from treesim.viewing.live.history import FEWEST, History, Moment


def moment(t):
    return Moment(t, np.array([t]), np.zeros(1))


def test_the_last_state_that_is_not_later():
    kept = History()
    assert kept.at(1.0) is None and kept.span == (0.0, 0.0)
    for t in (0.0, 0.5, 1.0):
        kept.add(moment(t))
    assert [kept.at(t).t for t in (-1.0, 0.0, 0.7, 1.0, 9.0)] == [0.0, 0.0, 0.5, 1.0, 1.0]
    assert kept.span == (0.0, 1.0)


def test_time_that_goes_on_from_before_replaces_what_came_then():
    kept = History()
    for t in (0.0, 0.5, 1.0, 0.5):
        kept.add(moment(t))
    assert kept.span == (0.0, 0.5) and len(kept) == 2


def test_a_long_run_is_kept_whole_in_coarser_steps(monkeypatch):
    monkeypatch.setattr(history, "MOST_BYTES", 0)
    kept = History()
    for k in range(100 * FEWEST):
        kept.add(moment(float(k)))
    assert len(kept) <= FEWEST + 1
    assert kept.span == (0.0, 100 * FEWEST - 1)
    gaps = np.diff([m.t for m in kept._moments])
    assert (gaps > 0).all()
