"""Cycles in a graph whose nodes have at most one successor, such as links and parents, or mimic joints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping


def cycles(next_of: Mapping[str, str]) -> Iterator[list[str]]:
    """Yield each cycle once, as its names in order. O(N).

    next_of: successor of each name.
    """
    cleared: set[str] = set()
    for start in next_of:
        path: dict[str, None] = {}  # an ordered set
        name = start
        while name in next_of and name not in cleared and name not in path:
            path[name] = None
            name = next_of[name]
        if name in path:
            members = list(path)
            yield members[members.index(name) :]
        cleared.update(path)
