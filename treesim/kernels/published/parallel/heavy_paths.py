"""Decomposition of a tree into heavy paths: every body continues to its heaviest child; other children begin paths.

A path's level is one more than the highest level of the paths that hang on it: at most log2 N + 1 levels, unless paths
are cut. Bodies are ordered so that each path is contiguous, base to tip, and lower levels come first.
A *stage* is work that can be done for all places of a range of that order at once. Its row in the table of stages has
its kind, its round, and the range. Stages run one after the other.
"""

from typing import Any, NamedTuple

import numpy as np

from ...algebra.blocks import SIX, factor_inertia
from ...algebra.spatial import articulated
from ...algebra.tables import body_inertia

# what a stage does, in the order in which a level is worked off
TRANSFORMS, UP_SWEEP, DOWN_SWEEP, VELOCITIES, BIASES = 0, 1, 2, 3, 4
INERTIAS, EQUATIONS, ELIMINATION, HEADS = 5, 6, 7, 8
STARTS, SUBSTITUTION, ACCELERATIONS, JOINTS = 9, 10, 11, 12


class Paths(NamedTuple):
    """Paths of a tree; "place" is a position in `order`."""

    order: Any  # (N,) the body at each place
    start: Any  # (N,) the place of the first body of the path that contains this place
    stop: Any  # (N,) one past the place of the path's last body
    heavy: Any  # (N+1,) the child that continues body i's path, 0 if none does
    previous: Any  # (N+1,) the parent, if body i continues its path, else 0
    hanging: Any  # (N+1,) the first child of body i that begins a path, 0 if none does
    next_hanging: Any  # (N+1,) the next such child of the same parent, 0 after the last
    level_start: Any  # (N+1,) the first place of each level, N after the last
    longest: Any  # (N,) bodies of the longest path of each level
    sound: Any  # (N+1,) 1 for every body whose own inertia is positive definite; any other is a path by itself
    stages: Any  # (rows, 4) what, round, first place, end
    sizes: Any  # (2,) levels, stages


def bits(n):
    """Return the smallest k with 2^k >= n."""
    k = 0
    while 1 << k < n:
        k += 1
    return k


def neighbour(paths, place, h):
    """Return the body h places further on the same path, or 0; without a branch."""
    k = min(max(place + h, paths.start[place]), paths.stop[place] - 1)
    return paths.order[k] * (k == place + h)


def most_stages(N):
    """Return an upper bound of the number of stages of any method on N bodies.

    A level takes at most 8 + 3 bits(l) for a longest path of l, and the sweeps of velocities 2 bits(l) for the longest
    of all.
    """
    return 4 + 11 * N


def table_size(N):
    """Return the number of integers for the paths of N bodies."""
    return 4 * N + 6 * (N + 1) + 2 + 4 * most_stages(N)


def paths_in(N, table):
    """Return the paths in a flat table of integers."""
    B, a = N + 1, 3 * N
    b = a + 4 * B
    s = b + B + N
    c = s + B
    return Paths(
        table[:N], table[N : 2 * N], table[2 * N : a], table[a : a + B], table[a + B : a + 2 * B],
        table[a + 2 * B : a + 3 * B], table[a + 3 * B : b],
        table[b : b + B], table[b + B : s], table[s:c], table[c + 2 :].reshape((most_stages(N), 4)),
        table[c : c + 2],
    )  # fmt: skip


def find_sound(tree, q, sound):
    """sound[i] <- 1 for every body whose own inertia is positive definite, 0 for others."""
    block, factor = np.empty((SIX, SIX), q.dtype), np.empty((SIX, SIX), q.dtype)
    sound[0] = 0
    for i in range(1, tree.n_bodies + 1):
        sound[i] = 1 if factor_inertia(articulated(body_inertia(tree, i)), block, factor) else 0


def choose_heavy(parent, sound, heavy):
    """heavy[p] <- the sound child of p with the largest subtree, the first of equals.

    The base has none, nor has a body that is not sound, which is a path of its own.
    """
    N = parent.size - 1
    size = np.ones(N + 1, np.int64)
    for i in range(N, 0, -1):
        size[parent[i]] += size[i]
    heavy[:] = 0
    for i in range(1, N + 1):
        p = parent[i]
        if p > 0 and sound[p] == 1 and sound[i] == 1 and (heavy[p] == 0 or size[i] > size[heavy[p]]):
            heavy[p] = i


def keep_main(parent, heavy):
    """Keep only the paths that begin at the base: every other body becomes a path of its own."""
    on_main = np.zeros(parent.size, np.int64)
    for i in range(1, parent.size):
        p = parent[i]
        on_main[i] = 1 if p == 0 or (on_main[p] == 1 and heavy[p] == i) else 0
    for i in range(1, parent.size):
        if on_main[i] == 0:
            heavy[i] = 0


def levels_of(parent, heavy):
    """Return, for every body i, the level of the path of which it would be the head."""
    level = np.zeros(parent.size, np.int64)
    for i in range(parent.size - 1, 0, -1):
        p = parent[i]
        level[p] = max(level[p], level[i] + (0 if heavy[p] == i else 1))
    return level


def lay_out(parent, paths):
    """Compute order, starts, stops, hanging children and levels from `paths.heavy`."""
    N = parent.size - 1
    heavy, level = paths.heavy, levels_of(parent, paths.heavy)
    paths.hanging[:] = 0
    paths.level_start[:] = 0
    paths.longest[:] = 0
    for i in range(N, 0, -1):
        p = parent[i]
        paths.previous[i] = p if heavy[p] == i else 0
        if p > 0 and heavy[p] != i:
            paths.next_hanging[i] = paths.hanging[p]
            paths.hanging[p] = i
        else:
            paths.next_hanging[i] = 0
    length = np.ones(N + 1, np.int64)
    for i in range(N, 0, -1):
        if heavy[i] > 0:
            length[i] += length[heavy[i]]
    for i in range(1, N + 1):
        if parent[i] == 0 or heavy[parent[i]] != i:
            paths.level_start[level[i] + 1] += length[i]
            paths.longest[level[i]] = max(paths.longest[level[i]], length[i])
    paths.sizes[0] = 0
    for e in range(N):
        if paths.longest[e] > 0:
            paths.sizes[0] = e + 1
        paths.level_start[e + 1] += paths.level_start[e]
    place = paths.level_start[:N].copy()
    for i in range(1, N + 1):
        if parent[i] == 0 or heavy[parent[i]] != i:
            begin = place[level[i]]
            place[level[i]] += length[i]
            body = i
            for k in range(begin, begin + length[i]):
                paths.order[k], paths.start[k], paths.stop[k] = body, begin, begin + length[i]
                body = heavy[body]


def add_stage(paths, what, turn, first, end):
    """Add a row to the table of stages."""
    row = paths.stages[paths.sizes[1]]
    row[0], row[1], row[2], row[3] = what, turn, first, end
    paths.sizes[1] += 1


def list_velocity_stages(paths):
    """Add the velocity stages: up-sweeps and down-sweeps along all paths at once, then levels downward."""
    N, longest, turns = paths.order.size, 1, 0
    for e in range(paths.sizes[0]):
        longest = max(longest, paths.longest[e])
    while 2 << turns <= longest:
        add_stage(paths, UP_SWEEP, turns, 0, N)
        turns += 1
    for turn in range(turns - 1, -1, -1):
        if 3 << turn <= longest:
            add_stage(paths, DOWN_SWEEP, turn, 0, N)
    for e in range(paths.sizes[0] - 1, -1, -1):
        add_stage(paths, VELOCITIES, 0, paths.level_start[e], paths.level_start[e + 1])


def list_stages(paths, solver):
    """Add the stages of the constraint-force method: levels upward, then levels downward.

    The number of rounds of a level follows from its longest path; substitution is in reverse order.
    """
    N = paths.order.size
    paths.sizes[1] = 0
    add_stage(paths, TRANSFORMS, 0, 0, N)
    list_velocity_stages(paths)
    add_stage(paths, BIASES, 0, 0, N)
    for e in range(paths.sizes[0]):
        first, end = paths.level_start[e], paths.level_start[e + 1]
        add_stage(paths, INERTIAS, 0, first, end)
        add_stage(paths, EQUATIONS, 0, first, end)
        for turn in range(solver.elimination_rounds(paths.longest[e])):
            add_stage(paths, ELIMINATION, turn, first, end)
        add_stage(paths, HEADS, 0, first, end)
    for e in range(paths.sizes[0] - 1, -1, -1):
        first, end = paths.level_start[e], paths.level_start[e + 1]
        add_stage(paths, STARTS, 0, first, end)
        for turn in range(solver.substitution_rounds(paths.longest[e]) - 1, -1, -1):
            add_stage(paths, SUBSTITUTION, turn, first, end)
        add_stage(paths, ACCELERATIONS, 0, first, end)
    add_stage(paths, JOINTS, 0, 0, N)


def heavy_paths(tree, q, paths, solver):
    """Compute the heavy paths of a tree and their stages, O(N); q: any array of the number type to use."""
    find_sound(tree, q, paths.sound)
    choose_heavy(tree.parent, paths.sound, paths.heavy)
    lay_out(tree.parent, paths)
    list_stages(paths, solver)
