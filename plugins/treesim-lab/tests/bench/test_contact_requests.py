"""Benchmark of requests in contact: a row for each, with the ratio to plain rollouts."""

import pytest
from treesim_lab.bench import time_requests

import treesim


def test_each_request_is_compared_with_plain_rollouts():
    box = treesim.free_body("box", "box", (0.2, 0.3, 0.4), 2.0)
    found = time_requests(box, rounds=1, count=3, steps=2)
    plain, *others = found.rows
    assert plain["request"] == "nothing" and plain["factor"] == 1 and len(others) == 9
    for row in others:
        assert row["min_s"] > 0 and row["factor"] == pytest.approx(row["min_s"] / plain["min_s"])
    assert repr(found) == "<Benchmark of 'box': 10 requests of rollouts in contact>"
