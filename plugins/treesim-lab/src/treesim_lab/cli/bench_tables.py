"""Printed tables of `treesim bench`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from treesim.compare.cases import DOUBLE, OURS
from treesim.errors import named

from ..bench.measure import UNITS
from .tables import add_groups, new_table

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

START_COLUMNS = {
    "python": "python_s",
    "import": "import_s",
    "load": "load_s",
    "first step": "first_step_s",
    "from start to first step": "to_first_step_s",
    "first batch": "first_batch_s",
    "first plain call": "first_call_s",
}


def timing_table(title: str, rows: Sequence[dict[str, Any]], unit: str) -> Table:
    """Return the table of rows of `measured`, in "us" or "ns", with a section for each quantity."""
    others = list(dict.fromkeys(row["engine"] for row in rows if row["engine"] != OURS))
    kinds = {row["numbers"] for row in rows}
    details = f"; how many times longer {', '.join(others)} take" if others else ""
    table = new_table(f"{title}, times in {unit}{details}", "computes")
    for heading in ("call", "by", *(["numbers"] if len(kinds) > 1 else [])):
        table.add_column(heading, no_wrap=True)
    for heading in ("min", "median", "error", *others):
        table.add_column(heading, justify="right")
    lines = []
    for row in rows:
        times = [f"{UNITS[unit] * row[key]:.{_digits(unit)}f}" for key in ("min_s", "median_s")]
        error = "" if row["error"] is None else f"{row['error']:.0e}"
        faster = row.get("times_faster_than", {})
        ratios = [f"{faster[engine]:.2f}x" if engine in faster else "" for engine in others]
        by = row["engine"] if row["served_by"] is None else f"{row['engine']}, {row['served_by']}"
        numbers = [row["numbers"]] if len(kinds) > 1 else []
        lines.append([row["quantity"], row["call"], by, *numbers, *times, error, *ratios])
    add_groups(table, lines)
    return table


CONTACT_COLUMNS = {
    "drift_m": "drift [m]",
    "energy_gain": "energy gain [J]",
    "overlap_m": "overlap [m]",
    "residual": "residual [m/s]",
}
INCLINE_COLUMNS = {"stick_error": "stick error [m/s]", "slip_error": "slip error [m/s]"}


def contact_table(title: str, rows: Sequence[dict[str, Any]]) -> Table:
    """Return the table of times of steps by scene, with drift, gain of energy, overlap and residual."""
    return _scene_table(f"{title}, times in us", rows, CONTACT_COLUMNS)


def contact_rollout_table(title: str, rows: Sequence[dict[str, Any]]) -> Table:
    """Return the table of times per state and step of rollouts by scene."""
    return _scene_table(f"{title}, us for a state and step, one thread", rows, {})


def request_table(title: str, rows: Sequence[dict[str, Any]]) -> Table:
    """Return the table of times per state and step of rollouts by request, and their ratios to plain rollouts."""
    table = new_table(f"{title}, us for a state and step", "with", numbers=("min", "median", "factor"))
    for row in rows:
        times = [f"{1e6 * row[key]:.1f}" for key in ("min_s", "median_s")]
        table.add_row(row["request"], *times, f"{row['factor']:.2f}")
    return table


def world_table(title: str, rows: Sequence[dict[str, Any]]) -> Table:
    """Return the table of solves, times and residuals of worlds of many bodies by scene and integrator."""
    others = list(dict.fromkeys(name for row in rows for name in row["others"]))
    solves, times = ("solves", "90 %", "most"), ("min", "mean", "longest", "rollout", "steps of the same")
    title = f"{title}, times in us"
    headings = ("contacts", "components", *solves, *times, *others, "ratio", "residual [m/s]")
    table, lines = new_table(title, "scene", "integrator", numbers=headings), []
    for row in rows:
        cells = [str(row["contacts"]), str(row["components"] or "")]
        cells += [f"{row['iterations_mean']:.1f}", f"{row['iterations_90']:.0f}", str(row["iterations_max"])]
        cells += [f"{1e6 * row[key]:.1f}" for key in ("min_s", "mean_s", "longest_s", "rollout_s", "steps_s")]
        cells += [f"{1e6 * row['others'][name]:.1f}" if name in row["others"] else "" for name in others]
        ratio = "" if row["ratio"] is None else f"{row['ratio']:.2f}"
        lines.append([row["scene"], row["call"], *cells, ratio, f"{row['residual']:.0e}"])
    add_groups(table, lines)
    return table


def incline_table(rows: Sequence[dict[str, Any]]) -> Table:
    """Return the table of the errors of a box's speed on an incline."""
    title = "a box on an incline of slope 0.5 with friction 0.501 and 0.499, after 1 s"
    table = new_table(title, "by", "call", numbers=INCLINE_COLUMNS.values())
    for row in rows:
        table.add_row(row["engine"], row["call"], *_exponents(row, INCLINE_COLUMNS))
    return table


def _scene_table(title: str, rows: Sequence[dict[str, Any]], columns: dict[str, str]) -> Table:
    """Return a table with a section for each scene."""
    table, lines = new_table(title, "scene", "by", "call", numbers=("min", "median", *columns.values())), []
    for row in rows:
        times = [f"{1e6 * row[key]:.1f}" for key in ("min_s", "median_s")]
        lines.append([row["scene"], row["engine"], row["call"], *times, *_exponents(row, columns)])
    add_groups(table, lines)
    return table


def _exponents(row: dict[str, Any], columns: dict[str, str]) -> list[str]:
    return ["" if row[key] is None else f"{row[key]:.0e}" for key in columns]


def arithmetic_table(rows: Sequence[dict[str, Any]]) -> Table:
    """Return the table of the arithmetic of batches: operations, rate, peak, and the fraction that their mix allows."""
    title = "arithmetic of batches; peak: independent multiply-adds on the widest vectors"
    counts, times = ("threads", "add", "mul", "div", "other"), ("ns per state", "10⁹/s", "peak 10⁹/s")
    table = new_table(title, "kernel", "numbers", numbers=(*counts, *times, "of the peak", "mix allows"))
    for row in rows:
        counted = [str(count) for count in row["operations"].values()]
        rates = [f"{1e-9 * row[key]:.1f}" for key in ("per_s", "peak_per_s")]
        cells = [str(row["threads"]), *counted, f"{1e9 * row['min_s']:.0f}", *rates]
        shares = [f"{100 * row[key]:.0f} %" for key in ("share", "allowed")]
        table.add_row(row["kernel"], row["numbers"], *cells, *shares)
    return table


def start_table(starts: dict[str, dict[str, Any]], batch: str) -> Table:
    """Return the table of times of new processes; batch: description of the first batch."""
    title = (
        f"a new process, in seconds: steps by code of the robot's own where there is some, {batch}, plain calls generic"
    )
    table = new_table(title, "machine code", numbers=(*START_COLUMNS, "peak [MiB]"))
    for label, found in starts.items():
        cells = [f"{found[key]:.3f}" for key in START_COLUMNS.values()]
        table.add_row(label, *cells, _mebibytes(found["peak_bytes"]))
    return table


def size_table(title: str, rows: Sequence[dict[str, Any]]) -> Table:
    """Return the table of time and memory over the number of states."""
    table = new_table(f"{title}: forward dynamics of batches; memory in MiB")
    headings = ("states", "numbers", "engine", "ns per state", "call [s]", "arguments", "result", "beyond these")
    for heading in (*headings, "process at its peak"):
        table.add_column(heading, justify="left" if heading in ("numbers", "engine") else "right")
    for row in rows:
        sizes = [_mebibytes(row[f"{key}_bytes"]) for key in ("arguments", "result", "added", "process_peak")]
        times = [f"{1e9 * row['min_s']:.0f}", f"{row['call_s']:.3g}"]
        table.add_row(f"{row['states']:,}", row["numbers"], row["engine"], *times, *sizes)
    return table


def ratio_table(title: str, rows: Sequence[dict[str, Any]], robots: Sequence[str], unit: str) -> Table:
    """Return the table of treesim's time on each robot, and the speed ratios to the other engines."""
    engines = list(dict.fromkeys(name for row in rows for found in row["ratios"].values() for name in found))
    details = f": how many times longer {', '.join(engines)} take" if engines else ""
    table = new_table(f"{title}: our time [{unit}]{details}", "computes")
    table.add_column("call", overflow="fold")
    for robot in robots:
        table.add_column(named(robot), justify="right")
    lines = []
    for row in rows:
        cells = [_ratio_cell(row, robot, engines, unit) for robot in robots]
        name = row["call"] if row["numbers"] == DOUBLE else f"{row['call']}, {row['numbers']}"
        lines.append([row["quantity"], name, *cells])
    add_groups(table, lines)
    return table


def _ratio_cell(row: dict[str, Any], robot: str, engines: Sequence[str], unit: str) -> str:
    if robot not in row["min_s"]:
        return ""
    found = row["ratios"][robot]
    time = f"{UNITS[unit] * row['min_s'][robot]:.{_digits(unit)}f}"
    return f"{time}: " + " ".join(f"{found[name]:.1f}" if name in found else "-" for name in engines)


def _digits(unit: str) -> int:
    return 2 if unit == "us" else 0


def print_calls(console: Console, rows: Sequence[dict[str, Any]]) -> None:
    """Print what each call does, grouping equal descriptions."""
    by_words: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        names = by_words.setdefault((row["engine"], row["does"]), [])
        if row["call"] not in names:
            names.append(row["call"])
    for (engine, does), names in by_words.items():
        console.print(f"{engine}, {'; '.join(names)}: {does}", soft_wrap=True)


def _mebibytes(count: int | None) -> str:
    return "-" if count is None else f"{count / 2**20:.1f}"
