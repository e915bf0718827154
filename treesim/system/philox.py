"""Philox 4x64-10 (Salmon, Moraes, Dror, Shaw 2011): random words from counters and keys, for many at once.

The words are those of `numpy.random.Philox`, without an object for each key.
"""

from __future__ import annotations

import numpy as np

WORDS = 4  # of a counter, and of its result
ROUNDS = 10
M = np.array([0xD2E7470EE14C6C93, 0xCA5A826395121157], np.uint64)  # table 2
W = np.array([0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B], np.uint64)
HALF, LOW = np.uint64(32), np.uint64(0xFFFFFFFF)


def random_words(
    count: int, key0: np.ndarray, key1: np.ndarray, counter2: object = 0, counter3: object = 0, counter1: int = 0
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
    counter = np.zeros((WORDS, blocks, len(key0)), np.uint64)  # keys last: NumPy's inner loops are long
    counter[0] = np.arange(1, blocks + 1)[:, None]
    counter[1] = counter1
    counter[2], counter[3] = (np.asarray(word, np.uint64) for word in (counter2, counter3))
    words = _blocks(counter, key0[None], key1[None])
    return words.transpose(2, 1, 0).reshape(len(key0), -1)[:, :count]


def _blocks(counter: np.ndarray, key0: np.ndarray, key1: np.ndarray) -> np.ndarray:
    """Return the random words (4, ...) of counters (4, ...)."""
    x, y = counter[::2], counter[1::2]  # words that are multiplied, and that are not
    axes = (slice(None), *(None,) * (counter.ndim - 1))
    factor, weyl, keys = M[axes], W[axes], np.stack([key0, key1])
    for k in range(ROUNDS):
        if k:
            keys = keys + weyl
        high, low = _product(factor, x)
        x, y = high[::-1] ^ y ^ keys, low[::-1]
    return np.stack([x[0], y[0], x[1], y[1]])


def _product(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the high and low 64 bits of a b, from products of halves."""
    a_high, a_low, b_high, b_low = a >> HALF, a & LOW, b >> HALF, b & LOW
    middle = a_low * b_low
    middle >>= HALF
    middle += a_high * b_low
    carry = a_low * b_high
    carry += middle & LOW
    carry >>= HALF
    middle >>= HALF
    high = a_high * b_high
    high += middle
    high += carry
    return high, a * b
