"""What a live simulation can go back to."""

import numpy as np
import pytest

from treesim.viewing.live.history import History, Moment


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


def of_size(numbers, count):
    """A history of states with so many numbers, which take no memory here."""
    kept = History()
    for k in range(count):
        kept.add(Moment(float(k), np.broadcast_to(0.0, (numbers,)), np.zeros(0)))
    return kept


@pytest.mark.parametrize(("numbers", "most"), [(83_800, 100), (10**8, 16)], ids=["64 MiB", "few large states"])
def test_every_second_state_is_removed_beyond_the_limit(numbers, most):
    assert len(of_size(numbers, most)) == most
    assert len(of_size(numbers, most + 1)) == most // 2 + 1


def test_a_long_run_is_kept_whole_in_coarser_steps():
    kept = of_size(10**8, 1600)
    assert len(kept) <= 16 and kept.span == (0.0, 1599.0)
    gaps = np.diff([m.t for m in kept._moments])
    assert (gaps > 0).all()
