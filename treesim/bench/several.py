"""Several robots in one run: how many times faster than the others on each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..compare.cases import OURS
from ..compare.engines import installed_engines, read_by_engines
from .batches import batch_rows
from .robots import CHAIN, bench_robot, random_states
from .single import call_rows

BATCH, BATCH_ROUNDS = 4096, 8


def summary_rows(
    names: Sequence[str],
    base: str,
    mimic: str | None,
    batch: int,
    rounds: int,
    batch_rounds: int,
    seed: int,
    tell: Callable[[str], None],
) -> list[dict[str, Any]]:
    """Return for each robot what single calls and batches of it gave: its name, base, nv, notes, "calls" and "batches",
    rows as `measured` returns them. Chains stand on a fixed base whatever `base` says. tell: is told what is timed."""
    return [_robot(name, base, mimic, batch, rounds, batch_rounds, seed, tell) for name in names]


def _robot(
    name: str, base: str, mimic: str | None, batch: int, rounds: int, batch_rounds: int, seed: int,
    tell: Callable[[str], None],
) -> dict[str, Any]:  # fmt: skip
    notes: list[str] = []
    tell(f"{name}: loading")
    robot = bench_robot(name, "fixed" if CHAIN.fullmatch(name) else base, mimic, notes)
    models = read_by_engines(installed_engines(notes), robot.tree, robot.text, notes)
    tell(f"{name}: single calls")
    calls = call_rows(robot.tree, models, random_states(robot.tree, seed), rounds, False, notes)
    tell(f"{name}: batches")
    batches = batch_rows(robot.tree, models, random_states(robot.tree, seed, batch), batch_rounds, notes)
    return {
        "robot": robot.tree.name, "base": robot.base, "nv": robot.tree.nv, "states": batch,
        "calls": calls, "batches": batches, "notes": notes,
    }  # fmt: skip


def ratios(robots: Sequence[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    """Return a row for each of our calls: quantity, call, numbers, and by robot our seconds and, by engine, how many
    times longer that takes.

    robots: as `summary_rows` returns them. kind: "calls" or "batches".
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
