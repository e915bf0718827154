"""Speed ratios of treesim to the other engines, on several robots."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from treesim.compare.cases import OURS


def ratios(robots: Sequence[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    """Return a row for each call of treesim, with its times and the speed ratios to other engines, by robot.

    robots: as `time_robots` returns them. kind: "calls" or "batches".
    """
    found: dict[tuple[str, ...], dict[str, Any]] = {}
    for robot in sorted(robots, key=lambda robot: -len(robot[kind])):  # in the order of the one with most rows
        for row in robot[kind]:
            if row["engine"] == OURS:
                words = {key: row[key] for key in ("quantity", "call", "numbers")}
                entry = found.setdefault(tuple(words.values()), {**words, "min_s": {}, "ratios": {}})
                entry["min_s"][robot["robot"]] = row["min_s"]
                entry["ratios"][robot["robot"]] = row["times_faster_than"]
    return list(found.values())
