"""Required Omega blocks of the low-order algorithm RJK, and their sources (F10 Figure 15, corrected).

Figure 15 loops over all pairs of bodies. But a block has one source (Figure 14): Omega_ij follows from Omega_iλ(j) if i
is an ancestor of j, else from Omega_λ(i)λ(j). So the blocks that two tasks need form one sequence. Both bodies go to
their parents until one is their nearest common ancestor; that one stays, while the other goes on. From there on the
blocks are diagonal ones. The order of every index pair is corrected: λ(i) > λ(j) is possible although i < j, and then
the transposed block is used.

Chang and Khatib's recursion advances one body at a time: Omega_ij follows from Omega_iλ(j), where RJK uses
Omega_λ(i)λ(j) for bodies on different branches. F10 describes it in a sentence, and does not state whether the symmetry
of Omega is used. Here it is: the body with the larger number, which is no ancestor of the other, goes to its parent.
That takes more blocks, each with one transform where RJK's may take two. On most robots it takes fewer transforms in
all, since the blocks of several tasks with one body share their sources.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from ...kernels.dynamics.rjk import RequiredBlocks
from ...model.frozen import frozen


class Blocks(NamedTuple):
    """Blocks of Omega: their bodies i <= j, and whether the source is Omega_iλ(j), with i unchanged."""

    i: np.ndarray
    j: np.ndarray
    stays: np.ndarray


Between = Callable[[np.ndarray, np.ndarray], Blocks]


def required_table(parent: Sequence[int], bodies: Sequence[int], between: Between | None = None) -> np.ndarray:
    """Return the required blocks of tasks on `bodies`, as the table that `kernels.dynamics.rjk.required_in` reads.

    parent: λ of the bodies 1 ... N, in any regular numbering. between: function that returns the off-diagonal blocks
    that two paths require; `blocks_between`, for RJK, by default. Blocks are ordered by i, then by j, so that none
    comes before its source, as in the loops of Figure 14. Cost O(N + k^2 d), and sorting the blocks, for k tasks at
    depth d.
    """
    up = np.array([0, *parent])
    i, j, stays = required_blocks(up, bodies, between or blocks_between)
    p, q = np.where(stays, i, up[i]), up[j]  # the source is Omega_pq
    numbers = Numbers(i, j, up.size)
    blocks = RequiredBlocks(i, j, numbers.of(p, q), p > q, stays, numbers.of(*np.meshgrid(bodies, bodies)))
    rows = np.stack(blocks[:-1], axis=1)
    return frozen(np.concatenate([blocks.of_pair.ravel(), rows.ravel()]), np.int64)


def required_blocks(up: np.ndarray, bodies: Sequence[int], between: Between) -> Blocks:
    """Return the required blocks of tasks on `bodies` without duplicates, ordered by i, then by j.

    up: λ, with the base's at index 0.
    """
    above = up.tolist()
    paths = {body: path(above, body) for body in sorted(set(bodies))}
    i = np.unique(np.concatenate([np.zeros(0, np.int64), *paths.values()]))
    diagonal = Blocks(i, i, np.zeros(i.size, bool))
    several = [diagonal, *(between(paths[p], paths[q]) for p, q in combinations(paths, 2))]
    i, j, stays = (np.concatenate(column) for column in zip(*several, strict=True))
    _, first = np.unique(i * up.size + j, return_index=True)
    return Blocks(i[first], j[first], stays[first])


def path(above: Sequence[int], body: int) -> np.ndarray:
    """Return the bodies on the path from the base, excluded, to `body`."""
    bodies = []
    while body:
        bodies.append(body)
        body = above[body]
    return np.array(bodies[::-1], np.int64)


def blocks_between(p: np.ndarray, q: np.ndarray) -> Blocks:
    """Return the off-diagonal blocks that the last bodies of two paths require, none if no joint moves both."""
    length = min(p.size, q.size)
    shared = int(np.count_nonzero(p[:length] == q[:length]))
    steps = max(p.size, q.size) - shared if shared else 0
    i, j = (_inward(along, shared, steps) for along in (p, q))
    i, j = np.minimum(i, j), np.maximum(i, j)
    return Blocks(i, j, i == p[shared - 1] if shared else i > 0)


def _inward(along: np.ndarray, shared: int, steps: int) -> np.ndarray:
    """Return `steps` bodies of a path, from its end inward to the last shared one, which is repeated."""
    return along[np.maximum(along.size - 1 - np.arange(steps), shared - 1)]


def blocks_one_at_a_time(p: np.ndarray, q: np.ndarray) -> Blocks:
    """Return the off-diagonal blocks that two paths require in Chang and Khatib's recursion.

    There are none if no joint moves both. The larger of two bodies goes to its parent, and the other stays.
    """
    common, pairs = np.intersect1d(p, q), []
    one, other = p.tolist(), q.tolist()
    while common.size and one[-1] != other[-1]:
        pairs.append(sorted((one[-1], other[-1])))
        (one if one[-1] > other[-1] else other).pop()
    i, j = np.array(pairs, np.int64).reshape(-1, 2).T
    return Blocks(i, j, i > 0)


class Numbers:
    """Numbers 1, 2, ... of blocks that are ordered by i, then by j."""

    def __init__(self, i: np.ndarray, j: np.ndarray, size: int) -> None:
        self.keys, self.size = i * size + j, size

    def of(self, p: np.ndarray, q: np.ndarray) -> np.ndarray:
        """Return the numbers of the blocks pq or qp; 0 for blocks that are not listed, which are zero."""
        keys = np.minimum(p, q) * self.size + np.maximum(p, q)
        places = np.searchsorted(self.keys, keys)
        known = np.append(self.keys, -1)[places] == keys
        return np.where(known, places + 1, 0)
