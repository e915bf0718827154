"""Counter-based random numbers of samples: they depend on the seed and the sample's number only.

The key of Philox is (seed, sample), so samples can be drawn in any order, on any machine, many at once.
"""

from __future__ import annotations

import hashlib

import numpy as np

from ..simulation.random_words import random_words

UNIT = 2.0**-52


def uniforms(seed: int, samples: np.ndarray, stream: str, count: int) -> np.ndarray:
    """Return `count` uniform numbers in the open interval (0, 1) for each of the samples (B,): (B, count).

    stream: a name; numbers of different streams are independent. They are the first 52 bits, plus half a unit,
    of the words of `numpy.random.Philox(key=[seed, sample], counter=[0, 0, stream_number(stream), 0])`. Cost
    0.2 us each.
    """
    keys = np.full(len(samples), seed, np.uint64), np.asarray(samples, np.uint64)
    numbers = random_words(count, *keys, stream_number(stream))
    return ((numbers >> np.uint64(12)).astype(float) + 0.5) * UNIT


def stream_number(name: str) -> int:
    """Return the number of a stream: a hash of its name."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "little")
