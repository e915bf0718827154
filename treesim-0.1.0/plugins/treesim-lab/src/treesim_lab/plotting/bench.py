"""Plots of `treesim bench`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

from treesim.compare.cases import DOUBLE, OURS
from treesim.plotting.figures import new_figure, save

from ..bench.batches import FILL
from ..bench.measure import UNITS

COLORS = {OURS: "C0", "Pinocchio": "C1", "MuJoCo": "C2", "PyBullet": "C3"}


def save_timings(path: Path, title: str, rows: Sequence[dict[str, Any]], unit: str) -> None:
    """Draw a bar for each row of `measured`, in "us" or "ns", grouped by quantity."""
    changes = [after["quantity"] != before["quantity"] for before, after in pairwise(rows)]
    places = [k + gap for k, gap in enumerate(accumulate(changes, initial=0))]
    figure, (axis,) = new_figure(1, 10, 1.2 + 0.24 * (places[-1] + 1))
    for engine in dict.fromkeys(row["engine"] for row in rows):
        mine = [(place, row) for place, row in zip(places, rows, strict=True) if row["engine"] == engine]
        times = [UNITS[unit] * row["min_s"] for _, row in mine]
        bars = axis.barh([place for place, _ in mine], times, color=COLORS.get(engine, "C4"), label=engine)
        axis.bar_label(bars, fmt="%.3g", padding=2, fontsize=7)
    axis.set_yticks(places, [_bar_name(row) for row in rows], fontsize=7)
    axis.invert_yaxis()
    axis.set_xscale("log")
    axis.xaxis.set_minor_formatter("")
    axis.margins(x=0.1, y=0.01)
    axis.set_xlabel(f"fastest turn [{unit}]")
    axis.set_title(title)
    axis.legend()
    save(figure, path)


def _bar_name(row: dict[str, Any]) -> str:
    numbers = "" if row["numbers"] == DOUBLE else f", {row['numbers']}"
    return f"{row['quantity']}: {row['call']}{numbers}"


def save_sizes(path: Path, title: str, rows: Sequence[dict[str, Any]]) -> None:
    """Draw time per state and memory over the number of states."""
    figure, (times, memory) = new_figure(2, 10, 4.4)
    states = [row["states"] for row in rows]
    times.loglog(states, [1e9 * row["min_s"] for row in rows], "o-")
    times.set_ylabel("ns per state")
    for label, key in (("arguments", "arguments"), ("result", "result"), ("beyond these", "added")):
        memory.loglog(states, [max(row[f"{key}_bytes"], 1) / 2**20 for row in rows], "o-", label=label)
    memory.set_ylabel("MiB")
    memory.legend()
    for axis in (times, memory):
        axis.set_xlabel("states")
        axis.grid(True, which="major", linewidth=0.4)
    figure.suptitle(title)
    save(figure, path)


def save_ratios(path: Path, tables: dict[str, Sequence[dict[str, Any]]], robots: Sequence[str]) -> None:
    """Draw the speed ratios of treesim's fastest calls to the other engines.

    There are axes for each table, groups of bars for each quantity and engine, and a bar for each robot.
    tables: by title, rows of `bench.ratios`.
    """
    best = {title: _best_ratios(rows) for title, rows in tables.items()}
    bars = len(robots) * max(map(len, best.values()))
    figure, axes = new_figure(len(tables), 7.5 * len(tables), 1.5 + 0.1 * bars)
    for axis, (title, groups) in zip(axes, best.items(), strict=True):
        height = 0.8 / len(robots)
        for k, robot in enumerate(robots):
            places = [i + height * (k - (len(robots) - 1) / 2) for i in range(len(groups))]
            lengths = [found.get(robot, 0.0) for found in groups.values()]
            axis.barh(places, lengths, height, color=f"C{k}", label=robot)
        axis.set_yticks(range(len(groups)), groups, fontsize=8)
        axis.invert_yaxis()
        axis.axvline(1.0, color="black", linewidth=0.8)
        axis.set_xlabel("how many times longer the other engine takes than our fastest call")
        axis.set_title(title)
        axis.legend(fontsize=8)
    save(figure, path)


def _best_ratios(rows: Sequence[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Return for each quantity and engine the largest ratio of treesim's calls by robot, without memory filling."""
    best: dict[str, dict[str, float]] = {}
    for row in rows:
        if row["call"] == FILL:
            continue
        numbers = "" if row["numbers"] == DOUBLE else f", {row['numbers']}"
        for robot, found in row["ratios"].items():
            for engine, ratio in found.items():
                group = best.setdefault(f"{row['quantity']}{numbers}: {engine}", {})
                group[robot] = max(ratio, group.get(robot, 0.0))
    return best
