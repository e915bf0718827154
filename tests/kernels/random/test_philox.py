"""Philox: the words are those of NumPy's generator."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treesim.simulation.random_words import random_words

WORD = st.integers(0, 2**64 - 1)


@given(st.lists(st.tuples(WORD, WORD, WORD), min_size=1, max_size=3), WORD, st.integers(0, 9))
@settings(max_examples=30, deadline=None)
def test_words_are_those_of_numpy(rows, counter2, count):
    key0, key1, counter3 = np.array(rows, np.uint64).T
    found = random_words(count, key0, key1, counter2, counter3)
    for k, (first, second, third) in enumerate(rows):
        counter = np.array([0, 0, counter2, int(third)], np.uint64)
        own = np.random.Philox(key=np.array([first, second], np.uint64), counter=counter)
        assert found[k].tolist() == own.random_raw(count).tolist()


@pytest.mark.parametrize("count", [0, 1, 4, 5])
def test_shapes(count):
    assert random_words(count, np.zeros(2, np.uint64), np.ones(2, np.uint64)).shape == (2, count)
