"""Counter-based random numbers of samples: they depend on the seed and the sample's number only.

Philox4x64-10 (Salmon, Moraes, Dror, Shaw 2011) maps a counter, under a key, to four random words. The key
is (seed, sample), so samples can be drawn in any order, on any machine, many at once.
"""

from __future__ import annotations

import hashlib

import numpy as np

M0, M1 = np.uint64(0xD2E7470EE14C6C93), np.uint64(0xCA5A826395121157)  # Salmon 2011, table 2
W0, W1 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBB67AE8584CAA73B)
ROUNDS = 10
HALF, LOW = np.uint64(32), np.uint64(0xFFFFFFFF)
WORDS = 4  # of a counter
UNIT = 2.0**-52


def uniforms(seed: int, samples: np.ndarray, stream: str, count: int) -> np.ndarray:
    """Return `count` uniform numbers in the open interval (0, 1) for each of the samples (B,): (B, count).

    stream: a name; numbers of different streams are independent. They are the first 52 bits, plus half a unit,
    of the words of `numpy.random.Philox(key=[seed, sample], counter=[0, 0, stream_number(stream), 0])`. Cost
    0.2 us each.
    """
    blocks = -(-count // WORDS)
    counter = np.zeros((WORDS, len(samples), blocks), np.uint64)
    counter[0] = np.arange(1, blocks + 1)
    counter[2] = stream_number(stream)
    words = philox(counter, np.asarray(seed, np.uint64), np.asarray(samples, np.uint64)[:, None])
    numbers = np.moveaxis(words, 0, -1).reshape(len(samples), -1)[:, :count]
    return ((numbers >> np.uint64(12)).astype(float) + 0.5) * UNIT


def stream_number(name: str) -> int:
    """Return the number of a stream: a hash of its name."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "little")


def philox(counter: np.ndarray, key0: np.ndarray, key1: np.ndarray) -> np.ndarray:
    """Return the random words (4, ...) of counters (4, ...); keys are broadcast."""
    c0, c1, c2, c3 = counter
    with np.errstate(over="ignore"):
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
    carried = a_low * b_high + (middle & LOW)
    return a_high * b_high + (middle >> HALF) + (carried >> HALF), a * b
