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
    short_repr,
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
