"""What a page may set, and what it is told where it sends nonsense."""

import math

import pytest

from treesim.errors import ArgumentError
from treesim.viewing.live.settings import CHECKS, Settings

GOOD = {
    "backend": "rjk",
    "integrator": "rk4",
    "solver": "admm",
    "gravity": [0, 0, -1.62],
    "dt": 2e-3,
    "controller": "hold",
    "kp": 0,
    "kd": 3,
    "speed": 0.5,
}


def test_every_setting_can_be_set():
    assert set(GOOD) == set(CHECKS)
    settings = Settings().changed(GOOD)
    for name, value in GOOD.items():
        details = getattr(settings, name)
        assert (list(details) if name == "gravity" else details) == value
    assert Settings().changed({}) == Settings()


NONSENSE = [None, "abc", [], {}, True, math.nan, math.inf, -1, 1e300, [1, 2], "9" * 100, [[1, 2, 3]], {"a": 1}]


@pytest.mark.parametrize("name", sorted(CHECKS))
@pytest.mark.parametrize("value", NONSENSE, ids=[repr(value)[:12] for value in NONSENSE])
def test_nonsense_is_refused_by_name(name, value):
    if name in ("kp", "kd") and value == 1e300:
        return
    with pytest.raises(ArgumentError, match=name):
        Settings().changed({name: value})


@pytest.mark.parametrize(
    ("name", "last", "beyond"),
    [
        ("dt", 0.1, 0.104),
        ("speed", 1000, 1040),
        ("speed", 0.001, 0.00096),
        ("gravity", [0, 0, -1e4], [0, 0, -1.04e4]),
    ],
)
def test_limits_of_settings(name, last, beyond):
    assert getattr(Settings().changed({name: last}), name) == (tuple(last) if name == "gravity" else last)
    with pytest.raises(ArgumentError, match=name):
        Settings().changed({name: beyond})
