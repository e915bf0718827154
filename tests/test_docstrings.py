"""Public docstrings in numpydoc form: every parameter and result has its own entry."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from operator import attrgetter

import pytest
from numpydoc.validate import validate

import treesim

# missing or unknown parameters, their order, and missing results; the rest is ruff's
CHECKED = ("GL08", "PR01", "PR02", "PR03", "RT01", "SS01", "SS03", "SS06")
OTHERWISE = {"treesim.Report": "made by steppers alone: its constructor is not public"}


def public() -> Iterator[str]:
    """The names of `treesim.__all__` that are functions or classes, and those of the classes' public members."""
    for name in treesim.__all__:
        thing = getattr(treesim, name)
        if inspect.isfunction(thing) or inspect.isclass(thing):
            yield f"treesim.{name}"
        if inspect.isclass(thing):
            for member, value in vars(thing).items():
                if not member.startswith("_") and isinstance(
                    value, property | classmethod | staticmethod | type(public)
                ):
                    yield f"treesim.{name}.{member}"


def test_public_docstrings_name_pages_not_files():
    texts = {name: attrgetter(name.partition(".")[2])(treesim).__doc__ or "" for name in public()}
    assert [name for name, text in texts.items() if re.search(r"docs/|\.md\b", text)] == []


@pytest.mark.parametrize("name", [name for name in public() if name not in OTHERWISE])
def test_public_docstrings_name_parameters_and_results(name):
    assert [f"{code}: {text}" for code, text in validate(name)["errors"] if code in CHECKED] == []
