"""Warnings point at the line of the user, wherever in treesim they are issued."""

import warnings

import pytest

import treesim
from treesim.system import user_warnings

CODE = "def issue(message, *how):\n    inner(message, *how)\ndef inner(message, *how):\n    warn(message, *how)\n"


def issuing(module):
    """A function that issues a warning two calls deep, of a module of some name."""
    names = {"__name__": module, "warn": user_warnings.warn}
    exec(CODE, names)
    return names["issue"]


@pytest.mark.parametrize("module", ["treesim.simulation.somewhere", "treesim"])
def test_a_warning_points_at_the_last_call_from_outside(module):
    with pytest.warns(treesim.LimitWarning, match="too far") as caught:
        issuing(module)("too far", treesim.LimitWarning)
    assert [one.filename for one in caught] == [__file__]


def test_another_package_whose_name_begins_alike_is_outside():
    with pytest.warns(UserWarning, match="too far") as caught:
        issuing("treesim_mujoco.contact")("too far")
    assert [one.filename for one in caught] == ["<string>"]


def test_a_warning_can_be_issued_again_as_it_is():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        issuing("treesim")(treesim.SlowWarning("late"))
    assert [(one.category, str(one.message)) for one in caught] == [(treesim.SlowWarning, "late")]
