"""Philox 4x64-10 (Salmon, Moraes, Dror, Shaw 2011): random words from counters and keys, for many at once.

The words are those of `numpy.random.Philox`, without an object for each key.
"""

from __future__ import annotations

import numpy as np

WORDS = 4  # of a counter, and of its result
ROUNDS = 10
M0, M1 = np.uint64(0xD2E7470EE14C6C93), np.uint64(0xCA5A826395121157)  # table 2
W0, W1 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBB67AE8584CAA73B)
HALF, LOW = np.uint64(32), np.uint64(0xFFFFFFFF)


def random_words(
    count: int, key0: np.ndarray, key1: np.ndarray, counter2: int = 0, counter3: object = 0, counter1: int = 0
) -> np.ndarray:
    """Return the first random words (n, count) of each of n keys.

    Parameters
    ----------
    count : int
        Number of words.
    key0, key1 : ndarray of uint64, shape (n,)
        The two words of each key.
    counter2, counter3 : int or ndarray of uint64, shape (n,)
        The last two words of the counters. The first one counts blocks of four words, from 1, as NumPy does.
    counter1 : int
        The second word of the counters.

    Returns
    -------
    ndarray of uint64, shape (n, count)
        Words of `numpy.random.Philox(key=[key0, key1], counter=[0, counter1, counter2, counter3])`.

    Examples
    --------
    >>> from treesim.system.philox import random_words
    >>> key = np.array([7], np.uint64)
    >>> generator = np.random.Philox(key=[7, 7])
    >>> bool((random_words(3, key, key)[0] == generator.random_raw(3)).all())
    True
    """
    blocks = -(-count // WORDS)
    counter = np.zeros((WORDS, len(key0), blocks), np.uint64)
    counter[0] = np.arange(1, blocks + 1)
    counter[1] = counter1
    counter[2], counter[3] = (np.asarray(word, np.uint64)[..., None] for word in (counter2, counter3))
    words = _blocks(counter, key0[:, None], key1[:, None])
    return np.moveaxis(words, 0, -1).reshape(len(key0), -1)[:, :count]


def _blocks(counter: np.ndarray, key0: np.ndarray, key1: np.ndarray) -> np.ndarray:
    """Return the random words (4, ...) of counters (4, ...)."""
    c0, c1, c2, c3 = counter
    for k in range(ROUNDS):
        if k:
            key0, key1 = key0 + W0, key1 + W1
        (high0, low0), (high1, low1) = _product(M0, c0), _product(M1, c2)
        c0, c1, c2, c3 = high1 ^ c1 ^ key0, low1, high0 ^ c3 ^ key1, low0
    return np.stack([c0, c1, c2, c3])


def _product(a: np.uint64, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the high and low 64 bits of a b, from products of halves."""
    a_high, a_low, b_high, b_low = a >> HALF, a & LOW, b >> HALF, b & LOW
    middle = a_high * b_low + (a_low * b_low >> HALF)
    carry = a_low * b_high + (middle & LOW)
    return a_high * b_high + (middle >> HALF) + (carry >> HALF), a * b
