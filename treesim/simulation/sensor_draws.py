"""Random numbers of sensors: each depends on seed, rollout, sensor and sample number only, by Philox 4x64-10.

The key is (seed, rollout), the counter (block, kind of number, sensor, episode 2^32 + sample). So numbers do not depend
on threads, on the number of rollouts, on the division of a run into calls, or on other sensors.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from ..engine.reproducible_math import logarithm, polynomial
from .random_words import random_words

NOISE, WALK, DROP = range(3)  # kinds of numbers
EPISODE = 1 << 32  # samples of an episode
MOST_STEPS = float(1 << 48)
LARGEST_SEED = (1 << 64) - 1
HALF, TOP = np.uint64(32), 1 << 63
# Wichura 1988, "Algorithm AS 241", PPND7: quantiles of the normal distribution to 7 digits
CENTRE = (3.3871327179, 50.434271938, 159.29113202, 59.109374720), (1.0, 17.895169469, 78.757757664, 67.187563600)
TAIL = (1.4234372777, 2.7568153900, 1.3067284816, 0.17023821103), (1.0, 0.73700164250, 0.12021132975)


@cache
def sensor_number(label: str) -> int:
    """Return the number of a sensor in counters: the first 8 bytes of the SHA-256 of its label, with the top bit set.

    Streams of sweeps and environments have smaller numbers.
    """
    return int.from_bytes(hashlib.sha256(label.encode()).digest()[:8], "big") | TOP


def step_number(t: float, dt: float) -> int:
    """Return the number of the step that starts at a time [s]; of times with fewer digits than steps, the last one."""
    return round(min(max(t / dt, -MOST_STEPS), MOST_STEPS))


class Draws(NamedTuple):
    """Numbers of the rollouts whose steps sensors read.

    seed: one for all, or (B,). rollouts, episodes, first: integers (B,), of which the last is the number of the first
    step in its episode.
    """

    seed: int | np.ndarray
    rollouts: np.ndarray
    episodes: np.ndarray
    first: np.ndarray

    @staticmethod
    def of(seed: int, rollouts: np.ndarray, first: int) -> Draws:
        """Return the numbers of rollouts that begin the same step of their only episode."""
        none = np.zeros(len(rollouts), np.int64)
        return Draws(seed, np.asarray(rollouts), none, none + first)

    def words(self, label: str, kind: int, samples: np.ndarray, count: int) -> np.ndarray:
        """Return `count` random words for each of the samples (B, K): (B, K, count)."""
        fourth = (np.asarray(samples, np.int64) + self.episodes[:, None] * EPISODE).astype(np.uint64).ravel()
        rollout = np.repeat(self.rollouts.astype(np.uint64, copy=False), samples.shape[1])
        seed = np.broadcast_to(np.asarray(self.seed, np.uint64), len(self.rollouts)).repeat(samples.shape[1])
        return random_words(count, seed, rollout, sensor_number(label), fourth, kind).reshape(*samples.shape, count)

    def uniforms(self, label: str, samples: np.ndarray) -> np.ndarray:
        """Return a uniform number (B, K) in the open interval (0, 1) for each sample, which decides on its loss."""
        return _unit(self.words(label, DROP, samples, 1)[..., 0] >> HALF)

    def first_uniforms(self, labels: Sequence[str]) -> np.ndarray:
        """Return the number (B, n) of `uniforms` for each of n labels and sample 0."""
        count, n = len(self.rollouts), len(labels)
        sensors = np.tile(np.array([sensor_number(label) for label in labels], np.uint64), count)
        seed, rollout, episode = (
            np.broadcast_to(np.asarray(x).astype(np.uint64), count).repeat(n)
            for x in (self.seed, self.rollouts, self.episodes * EPISODE)
        )
        return _unit(random_words(1, seed, rollout, sensors, episode, DROP).reshape(count, n) >> HALF)

    def numbers(self, label: str, kind: int, samples: np.ndarray, count: int) -> np.ndarray:
        """Return `count` uniform numbers (B, K, count) in (0, 1) for each sample, two for each word."""
        words = self.words(label, kind, samples, (count + 1) // 2)
        halves = words.astype("<u8", copy=False).view("<u4")  # the low half of a word first
        return _unit(halves[..., :count])

    def normals(self, label: str, kind: int, samples: np.ndarray, count: int) -> np.ndarray:
        """Return `count` numbers (B, K, count) of the normal distribution for each sample."""
        return normal_quantiles(self.numbers(label, kind, samples, count))

    def walk(self, label: str, start: np.ndarray, count: int, columns: int) -> np.ndarray:
        """Return random walks (B, count, columns) of unit steps, 0 at sample 0, at samples from start (B,) on.

        They are refined by midpoints (Lévy's construction of Brownian motion), so that sample m costs O(log m) alone,
        and m samples in a row cost O(m). Each number of a walk belongs to one sample.
        """
        if not len(start):
            return np.empty((0, count, columns))
        top, sizes = int(start.max() + count).bit_length(), [count]
        for _ in range(top):
            sizes.append((sizes[-1] + 1) // 2 + 1)
        powers = 1 << np.arange(top + 2)
        at = [np.tile(powers, (len(start), 1))]  # samples whose numbers are drawn
        at += [((start >> k | 1)[:, None] + 2 * np.arange((sizes[k] + 1) // 2)) << k for k in range(top)]
        drawn = self.normals(label, WALK, np.concatenate(at, axis=1), columns)
        ends, *between = np.split(drawn, np.cumsum([x.shape[1] for x in at[:-1]]), axis=1)
        ends = np.cumsum(np.sqrt(np.append(1, powers[:-1]))[:, None] * ends, axis=1)  # at samples 1, 2, 4, ...
        values = np.concatenate([0 * ends[:, :1], ends[:, top:]], axis=1)  # at 0, 2^top, 2^(top + 1)
        for level in reversed(range(top)):
            k = (start >> level)[:, None, None] + np.arange(sizes[level])[:, None]
            values = _refined(values, k, np.sqrt((1 << level) / 2) * between[level], ends[:, level, None])
        return values


def _refined(coarse: np.ndarray, k: np.ndarray, drawn: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Return walks at samples 2^level k, k (B, c, 1) in a row, from those at even k, of which `coarse` begins below.

    drawn: deviations from the middle at odd k. end: walks at k = 1, which lies between no samples that are known.
    """
    first, odd = k[:, :1] >> 1, k[:, :1] | 1
    below, above = (np.take_along_axis(coarse, (x >> 1) - first, axis=1) for x in (k, k + 1))
    middle = (below + above) / 2 + np.take_along_axis(drawn, np.maximum(k - odd, 0) >> 1, axis=1)
    return np.where(k & 1, np.where(k == 1, end, middle), below)


def normal_quantiles(p: np.ndarray) -> np.ndarray:
    """Return the quantiles of the normal distribution at p, between 1e-11 and 1 - 1e-11.

    Examples
    --------
    >>> from treesim.simulation.sensor_draws import normal_quantiles
    >>> normal_quantiles(np.array([0.5, 0.975])).round(4)
    array([0.  , 1.96])
    """
    q = p - 0.5
    r = 0.180625 - q * q
    found: np.ndarray = q * polynomial(CENTRE[0], r) / polynomial(CENTRE[1], r)
    far = r < 0
    side = q[far]
    r = np.sqrt(-logarithm(0.5 - np.abs(side))) - 1.6
    found[far] = np.copysign(polynomial(TAIL[0], r) / polynomial(TAIL[1], r), side)
    return found


def _unit(words: np.ndarray) -> np.ndarray:
    """Return words of 32 bits as numbers in the open interval (0, 1)."""
    found: np.ndarray = words.astype(float)
    found += 0.5
    found *= 2.0**-32
    return found
