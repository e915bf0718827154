"""Which blocks of Omega the low-order algorithm RJK needs, and what each is made from (F10 Figure 15, corrected).

Figure 15 looks at all pairs of bodies. But a block has one source (Figure 14): of Omega_ij it is Omega_iλ(j) if i is an
ancestor of j, else Omega_λ(i)λ(j). So the blocks that two tasks need are one sequence: both bodies go to their parents
until one is their nearest common ancestor and stays, while the other follows; from there on they are diagonal blocks.
The order of every index pair is corrected: λ(i) > λ(j) may be although i < j, and then the mirror image is meant.

Chang and Khatib's recursion hands on one body at a time: Omega_ij comes from Omega_iλ(j), where RJK takes
Omega_λ(i)λ(j) for bodies on different branches; F10 describes it in a sentence, and leaves open whether the symmetry of
Omega is used. Here it is: of two bodies the one with the larger number, which is no ancestor of the other, goes to its
parent. That takes more blocks, each for one transform where RJK's may take two, and on most robots fewer transforms in
all, since the blocks of several tasks with one body share their sources.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from ...kernels.dynamics.rjk import Needed


class Blocks(NamedTuple):
    """Blocks of Omega: their bodies i <= j, and whether i stays where it is while j comes from its parent."""

    i: np.ndarray
    j: np.ndarray
    stays: np.ndarray


Between = Callable[[np.ndarray, np.ndarray], Blocks]


def needed_table(parent: Sequence[int], bodies: Sequence[int], between: Between | None = None) -> np.ndarray:
    """Return the blocks that tasks on `bodies` need, as the table that `kernels.rjk.needed_in` reads.

    parent: λ of the bodies 1 ... N, in any regular numbering. between: gives the blocks beside the diagonal that two
    paths need, `blocks_between` by default, for RJK. Blocks are numbered by i, then by j, so that none comes
    before its source, as in the loops of Figure 14. Cost O(N + k^2 d), and sorting the blocks, for k tasks at depth d.
    """
    up = np.array([0, *parent])
    i, j, stays = needed_blocks(up, bodies, between or blocks_between)
    p, q = np.where(stays, i, up[i]), up[j]  # the source is Omega_pq
    numbers = Numbers(i, j, up.size)
    blocks = Needed(i, j, numbers.of(p, q), p > q, stays, numbers.of(*np.meshgrid(bodies, bodies)))
    rows = np.stack(blocks[:-1], axis=1)
    table = np.concatenate([blocks.of_pair.ravel(), rows.ravel()]).astype(np.int64)
    table.setflags(write=False)
    return table


def needed_blocks(up: np.ndarray, bodies: Sequence[int], between: Between) -> Blocks:
    """Return the needed blocks of tasks on `bodies`, each once, by i, then by j; up: λ, with the base's at index 0."""
    above = up.tolist()
    paths = {body: path(above, body) for body in sorted(set(bodies))}
    i = np.unique(np.concatenate([np.zeros(0, np.int64), *paths.values()]))
    diagonal = Blocks(i, i, np.zeros(i.size, bool))
    several = [diagonal, *(between(paths[p], paths[q]) for p, q in combinations(paths, 2))]
    i, j, stays = (np.concatenate(column) for column in zip(*several, strict=True))
    _, first = np.unique(i * up.size + j, return_index=True)
    return Blocks(i[first], j[first], stays[first])


def path(above: Sequence[int], body: int) -> np.ndarray:
    """Return the bodies from the base, which is left out, to `body`."""
    bodies = []
    while body:
        bodies.append(body)
        body = above[body]
    return np.array(bodies[::-1], np.int64)


def blocks_between(p: np.ndarray, q: np.ndarray) -> Blocks:
    """Return the blocks beside the diagonal that the last bodies of two paths need, none if no joint moves both."""
    length = min(p.size, q.size)
    shared = int(np.count_nonzero(p[:length] == q[:length]))
    steps = max(p.size, q.size) - shared if shared else 0
    i, j = (_inward(along, shared, steps) for along in (p, q))
    i, j = np.minimum(i, j), np.maximum(i, j)
    return Blocks(i, j, i == p[shared - 1] if shared else i > 0)


def _inward(along: np.ndarray, shared: int, steps: int) -> np.ndarray:
    """The bodies of a path from its end to the last of those shared, where it stays for the rest of the steps."""
    return along[np.maximum(along.size - 1 - np.arange(steps), shared - 1)]


def blocks_one_at_a_time(p: np.ndarray, q: np.ndarray) -> Blocks:
    """Return the blocks beside the diagonal that the last bodies of two paths need where the larger goes to its parent,
    and the other stays: Chang and Khatib's; none if no joint moves both."""
    common, pairs = np.intersect1d(p, q), []
    one, other = p.tolist(), q.tolist()
    while common.size and one[-1] != other[-1]:
        pairs.append(sorted((one[-1], other[-1])))
        (one if one[-1] > other[-1] else other).pop()
    i, j = np.array(pairs, np.int64).reshape(-1, 2).T
    return Blocks(i, j, i > 0)


class Numbers:
    """The numbers 1, 2, ... of blocks that are sorted by i, then by j."""

    def __init__(self, i: np.ndarray, j: np.ndarray, size: int) -> None:
        self.keys, self.size = i * size + j, size

    def of(self, p: np.ndarray, q: np.ndarray) -> np.ndarray:
        """Return the numbers of the blocks pq or qp, 0 for those that are not listed: they are zero."""
        keys = np.minimum(p, q) * self.size + np.maximum(p, q)
        places = np.searchsorted(self.keys, keys)
        known = np.append(self.keys, -1)[places] == keys
        return np.where(known, places + 1, 0)
