"""Single values of users: what is taken for one, and that messages about the rest are short, whatever they are."""

import os
from pathlib import Path

import numpy as np
import pytest

from treesim import ArgumentError
from treesim.errors import quoted, unknown_name
from treesim.validation.values import (
    checked_file,
    checked_flag,
    checked_parts,
    checked_text,
    finite_or_nan,
    finite_vector,
    positive_number,
    short_repr,
    whole_number,
)


class NoText:
    def __repr__(self):
        raise RuntimeError

    __str__ = __repr__


def test_what_has_no_text_is_called_by_its_type():
    assert short_repr(NoText()) == quoted(NoText()) == "<an object of type NoText>"
    assert short_repr(10**5000) == "<an object of type int>"
    assert "unknown thing <an object of type NoText>: known are: a" in str(unknown_name("thing", NoText(), ["a"]))


@pytest.mark.parametrize("value", [1, 1.0, np.float32(1), np.array(1), np.int8(1)])
def test_numbers_of_all_types_are_numbers(value):
    assert finite_or_nan(value) == 1.0 and type(finite_or_nan(value)) is float


@pytest.mark.parametrize("value", [True, "1", b"1", None, 1j, [1.0], np.inf, 10**400, NoText(), np.array("1", object)])
def test_what_is_no_number_is_nan(value):
    assert np.isnan(finite_or_nan(value))


def test_vectors_are_finite_and_within_bounds():
    assert finite_vector("size", (1, 2), 2).tolist() == [1.0, 2.0]
    for value in ((1, np.inf), (1,), [[1, 2]], (1, 11)):
        with pytest.raises(ArgumentError, match="size must be 2 finite numbers between -10 and 10, got"):
            finite_vector("size", value, 2, most=10)


@pytest.mark.parametrize("values", ["ab", b"ab", {}, {"a"}, None, 3])
def test_what_is_no_sequence_is_refused(values):
    with pytest.raises(ArgumentError, match="bodies must be a sequence of list objects"):
        checked_parts("bodies", values, list)


def test_one_alone_is_a_sequence_of_one():
    assert checked_parts("names", "ab", str) == ("ab",)
    assert checked_parts("names", ["ab", 3], (str, int)) == ("ab", 3)
    with pytest.raises(ArgumentError, match="whatever must be a sequence of object objects, got 'ab'"):
        checked_parts("whatever", "ab", object)


def test_a_wrong_part_is_named_by_its_number():
    assert checked_parts("names", (x for x in "ab"), str) == ("a", "b")
    with pytest.raises(ArgumentError, match=r"names\[1\] must be a str, got 3"):
        checked_parts("names", ["a", 3], str)


def test_flags_are_no_numbers():
    assert checked_flag("limits", np.True_) is True
    with pytest.raises(ArgumentError, match="limits must be True or False, got 1"):
        checked_flag("limits", 1)


def test_texts_hold_no_surrogates_and_files_may():
    assert checked_text("name", "Größe\U0001f916") == "Größe\U0001f916"
    with pytest.raises(ArgumentError, match="surrogates"):
        checked_text("name", "a\udcff")
    assert checked_file("file", Path("a.stl")) == "a.stl" and checked_file("file", os.fsdecode(b"\xff")) == "\udcff"


def test_counts_end_at_2_to_the_48():
    """Sizes in bytes of what is counted then stay below 2^63."""
    assert whole_number("steps", 280_000_000_000_000) == 280_000_000_000_000
    with pytest.raises(ArgumentError, match="steps must be a whole number from 0 on"):
        whole_number("steps", 283_000_000_000_000)


def test_durations_end_at_thirty_years():
    assert positive_number("duration", 0.99e9) == 0.99e9
    with pytest.raises(ArgumentError, match=r"duration must be .* at most 1e\+09, got 1010000000"):
        positive_number("duration", 1.01e9)


def test_80_characters_are_quoted():
    assert quoted("a" * 80) == repr("a" * 80)
    assert quoted("a" * 81) == repr("a" * 40 + " ... " + "a" * 40)


def test_of_more_than_1000_names_those_that_begin_alike_are_compared():
    others = [f"a{k:03}" for k in range(999)]
    assert "did you mean 'xbcdefgh'" in str(unknown_name("thing", "abcdefgh", [*others, "xbcdefgh"]))
    assert "did you mean" not in str(unknown_name("thing", "abcdefgh", [*others, "a999", "xbcdefgh"]))


@pytest.mark.parametrize("value", [True, np.True_, 1.0, "1", None, -1, 4])
def test_what_is_no_count_in_the_range_is_refused(value):
    with pytest.raises(ArgumentError, match="steps must be a whole number between 0 and 3, got"):
        whole_number("steps", value, most=3)


@pytest.mark.parametrize("value", [b"run.npz", 3])
def test_what_is_no_file_name_is_refused(value):
    with pytest.raises(ArgumentError, match="out must be the name of a file, or None"):
        checked_file("out", value)


def test_60_characters_of_a_value_are_shown():
    assert short_repr("a" * 58) == repr("a" * 58)
    assert short_repr("a" * 59) == "'" + "a" * 49 + "... (str)"
