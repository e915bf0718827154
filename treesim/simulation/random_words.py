"""Random words of Philox 4x64-10 for many keys and counters: those of `numpy.random.Philox`."""

from __future__ import annotations

import numpy as np

from ..engine.call.generic import bound_call
from ..kernels.random.philox import KEY, WORDS, philox_words


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
    >>> from treesim.simulation.random_words import random_words
    >>> key = np.array([7], np.uint64)
    >>> generator = np.random.Philox(key=[7, 7])
    >>> bool((random_words(3, key, key)[0] == generator.random_raw(3)).all())
    True
    """
    n, blocks = len(key0), -(-count // WORDS)
    keys, counters = np.empty((n, KEY), np.uint64), np.empty((n, WORDS), np.uint64)
    keys[:, 0], keys[:, 1] = key0, key1
    counters[:, 0], counters[:, 1] = 1, counter1
    counters[:, 2], counters[:, 3] = (np.asarray(word, np.uint64) for word in (counter2, counter3))
    words = np.empty((n, WORDS * blocks), np.uint64)
    if words.size:
        bound_call(philox_words, *(x.view(np.int64).reshape(-1) for x in (keys, counters, words)))()
    return words[:, :count]
