"""Arrays of users: what is refused, and by which words; what is taken without a copy."""

import numpy as np
import pytest

from treesim import ArgumentError, NonFiniteError
from treesim.validation.arrays import (
    Argument,
    batch_shape,
    check_out,
    coerce,
    precision,
    real_numbers,
    refuse_invalid,
    refuse_non_finite,
    result_rows,
    rows,
)

READ_ONLY = np.zeros(3)
READ_ONLY.setflags(write=False)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (["a"], "its numbers are of type <U1"),
        ([1j], "its numbers are of type complex128"),
        ([True], "its numbers are of type bool"),
        ([[1.0], [1.0, 2.0]], "inhomogeneous"),
        (np.ma.masked_array([1.0, 2.0], [False, True]), "some of them are masked"),
    ],
)
def test_what_is_no_array_of_real_numbers_is_refused(value, words):
    with pytest.raises(ArgumentError, match=f"q must be an array of real numbers: .*{words}"):
        real_numbers("q", value)


def test_numbers_are_not_copied_without_need_and_too_large_ones_become_infinite():
    given = np.zeros(3)
    assert real_numbers("q", given) is given
    assert real_numbers("q", [1e300], np.float32).tolist() == [np.inf]
    assert precision(np.zeros(1, np.float32)) is np.float32 and precision(np.zeros(1, np.float32), 1.0) is np.float64


@pytest.mark.parametrize("value", [np.zeros(2), np.zeros((3, 2)), 1.0])
def test_the_last_axes_have_the_size_of_one_state(value):
    with pytest.raises(ArgumentError, match=r"q has shape .*, but \(3\) or \(\.\.\., 3\) is needed"):
        coerce(Argument("q", value, (3,)))


def test_batch_axes_fit_together():
    q, v = Argument("q", None, (3,)), Argument("v", None, (2,))
    assert batch_shape([q, v], [np.zeros((4, 1, 3)), np.zeros((5, 2))]) == (4, 5)
    assert batch_shape([q, v], [None, None]) == ()
    with pytest.raises(ArgumentError, match=r"the batch axes do not fit together: q \(4,\), v \(5,\)"):
        batch_shape([q, v], [np.zeros((4, 3)), np.zeros((5, 2))])


@pytest.mark.parametrize(
    ("out", "words"),
    [
        ([0.0, 0.0, 0.0], ", got list"),
        (np.ma.zeros(3), ", got MaskedArray"),
        (np.zeros(3, np.float32), r", got float32 and shape \(3,\)"),
        (np.zeros(2), r", got float64 and shape \(2,\)"),
        (READ_ONLY, "; it is read-only, or some of its numbers share their place"),
        (np.lib.stride_tricks.as_strided(np.zeros(1), (3,), (0,)), "; it is read-only, or some of its numbers share"),
    ],
)
def test_results_are_written_only_to_arrays_that_can_hold_them(out, words):
    with pytest.raises(ArgumentError, match=rf"out must be a writable array of float64 and shape \(3,\){words}"):
        check_out(out, (3,), np.float64)
    good = np.zeros(3)
    assert check_out(good, (3,), np.float64) is good


def test_rows_are_views_where_they_can_be():
    one = np.arange(3.0)
    assert rows(one, (4,), (3,)).strides[0] == 0 and rows(None, (4,), (3,)).shape == (4, 0)
    odd = np.frombuffer(bytes(25), np.uint8)[1:].view(float)
    assert not odd.flags.aligned and rows(odd, (), (3,)).flags.aligned
    out = np.zeros((4, 3))
    assert np.shares_memory(result_rows(out, (4,), (3,), [one]), out)
    assert not np.shares_memory(result_rows(out, (4,), (3,), [out[0]]), out)


def test_the_first_number_that_is_not_finite_is_named_before_other_checks_run():
    def never(array):
        raise AssertionError

    arguments = [Argument("q", None, (3,), refuse=never), Argument("v", None, (2,))]
    with pytest.raises(NonFiniteError, match=r"v\[1, 0\] is nan, not a finite number"):
        refuse_invalid(arguments, [np.zeros((2, 3)), np.array([[0.0, 1.0], [np.nan, 0.0]])])
    with pytest.raises(AssertionError):
        refuse_invalid(arguments, [np.zeros((2, 3)), None])


def test_numbers_that_states_share_are_looked_at_once():
    """A copy of these numbers, or the places of all of them, would not fit in memory."""
    shared = np.broadcast_to([[0.0, np.nan]], (10**12, 2))
    with pytest.raises(NonFiniteError, match=r"q\[0, 1\] is nan"):
        refuse_non_finite([Argument("q", shared, (2,))], [shared])
    refuse_non_finite([Argument("q", shared[:, :1], (1,))], [shared[:, :1]])
