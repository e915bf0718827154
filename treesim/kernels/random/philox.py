"""Philox 4x64-10 (Salmon, Moraes, Dror, Shaw 2011): random words from counters and keys.

Words are 64 bits, which are stored as signed integers.
"""

from __future__ import annotations

from ..algebra.numbers import wide_product, wrapped_sum
from ..entries.annotations import Integers, TableOfIntegers
from ..entries.status import FINE

WORDS = 4  # of a counter, and of its result
ROUNDS = 10
KEY = 2  # words of a key
M0, M1 = 0xD2E7470EE14C6C93 - (1 << 64), 0xCA5A826395121157 - (1 << 64)  # table 2
W0, W1 = 0x9E3779B97F4A7C15 - (1 << 64), 0xBB67AE8584CAA73B - (1 << 64)


def philox_words(keys: TableOfIntegers, counters: TableOfIntegers, words: Integers) -> int:
    """Write the first words (n, 4 m) of keys (n, 2) and counters (n, 4), whose first word counts blocks of four."""
    n = keys.size // KEY
    blocks = words.size // (WORDS * n)
    for s in range(n):
        c = counters[WORDS * s : WORDS * (s + 1)]
        for b in range(blocks):
            at = WORDS * (s * blocks + b)
            x = block((c[0] + b, c[1], c[2], c[3]), keys[KEY * s], keys[KEY * s + 1])
            words[at], words[at + 1], words[at + 2], words[at + 3] = x
    return FINE


def block(counter, k0, k1):
    """Return the four words of a counter for a key."""
    x0, x1, x2, x3 = counter
    for _ in range(ROUNDS):
        h0, l0 = wide_product(M0, x0)
        h1, l1 = wide_product(M1, x2)
        x0, x1, x2, x3 = h1 ^ x1 ^ k0, l1, h0 ^ x3 ^ k1, l0
        k0, k1 = wrapped_sum(k0, W0), wrapped_sum(k1, W1)
    return x0, x1, x2, x3
