"""Cycles among names of which each leads to at most one other, as links do to parents and mimics to masters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping


def cycles(next_of: Mapping[str, str]) -> Iterator[list[str]]:
    """Yield each cycle once: its names, each followed by the one that it leads to. O(N)."""
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
