"""JSON texts of users: how much of one is parsed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from treesim import ArgumentError
from treesim.validation.schema import MisfitError, fits, parsed, record_of


class Long(str):
    """A text that says how long it is, without taking as much memory."""

    def __len__(self):
        return 66_000_000 if self == "short" else 68_000_000


@pytest.mark.parametrize(
    ("accepted", "refused", "excess"),
    [
        (Long("short"), Long("long"), "68,000,000 bytes, of which at most 67,108,864 are read"),
        ("[" * 1_040_000, "[" * 1_060_000, "1,060,000 lists"),
        (b"[{" * 520_000, b"[{" * 530_000, "1,060,000 lists"),
        ("," * 4_150_000, "," * 4_240_000, "4,240,000 values"),
    ],
)
def test_texts_are_parsed_up_to_a_size(accepted, refused, excess):
    assert fits(accepted)
    assert not fits(refused)
    with pytest.raises(ArgumentError, match=f"a recipe has {excess}"):
        parsed(refused, "a recipe")


@dataclass(frozen=True)
class Recipe:
    """Fields of every type."""

    name: str
    count: int | None = None
    size: float = 1.0
    pair: tuple[int, str] = (1, "a")
    parts: tuple[float, ...] = ()
    limits: Mapping[str, float] = field(default_factory=dict)
    rest: Any = None


def test_values_become_those_of_the_fields():
    values = {"name": "r", "count": 3, "size": 2, "pair": [2, "b"], "parts": [1, 2.5], "limits": {"a": 1}, "rest": [1]}
    assert record_of(Recipe, values, "a recipe") == Recipe("r", 3, 2.0, (2, "b"), (1.0, 2.5), {"a": 1.0}, [1])
    assert record_of(Recipe, {"name": "r", "count": None, "later": 1}, "a recipe", extra=True) == Recipe("r")


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([], r"a recipe must be an object, got \[\]"),
        ({"name": "r", "later": 1}, "a recipe has 'later', which is not known: a later version of treesim wrote it"),
        ({}, "a recipe has no 'name'"),
        ({"name": 1}, "name of a recipe must be a text, got 1"),
        ({"name": "r", "count": 1.5}, "count of a recipe must be a whole number or null, got 1.5"),
        ({"name": "r", "count": True}, "count of a recipe must be a whole number or null, got True"),
        ({"name": "r", "size": float("nan")}, "size of a recipe must be a finite number, got nan"),
        ({"name": "r", "pair": [1]}, r"pair of a recipe must be a list of a whole number, a text, got \[1\]"),
        ({"name": "r", "pair": [1, 2]}, r"pair of a recipe\[1\] must be a text, got 2"),
        ({"name": "r", "parts": 1}, "parts of a recipe must be a list, each a finite number, got 1"),
        ({"name": "r", "limits": 1}, "limits of a recipe must be an object, each a finite number, got 1"),
        ({"name": "r", "limits": {"a": "b"}}, r"limits of a recipe\['a'\] must be a finite number, got 'b'"),
    ],
)
def test_values_of_other_types_are_refused(values, words):
    with pytest.raises(MisfitError, match=words):
        record_of(Recipe, values, "a recipe")


@pytest.mark.parametrize(
    ("text", "words"),
    [(None, "is no text, but None"), ("{", "is no text of JSON"), ("[" * 100_000, "is no text of JSON")],
)
def test_what_is_no_json_is_refused(text, words):
    with pytest.raises(ArgumentError, match=f"a recipe {words}"):
        parsed(text, "a recipe")
