"""Draw the figures at the top of the pages of results, from the numbers on the pages.

    python docs/results/figures.py

The files are docs/results/PAGE.svg. Pages whose command has the option --plot have that figure instead.
`docs/regenerate.py` calls this program after it has changed results.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "_extensions"))
from result_tables import Table, parts

RESULTS = Path(__file__).parent
STYLE = {
    "figure.figsize": (8, 3.4),
    "figure.constrained_layout.use": True,
    "font.size": 9,
    "svg.hashsalt": "treesim",  # the same file in each run
    "axes.spines.top": False,
    "axes.spines.right": False,
}
OURS, THEIRS = "C0", "C1"
EPSILON = 1e-17  # what bars on a logarithmic axis show for 0


def outputs(page: str, command: str) -> Iterator[str]:
    """Yield the outputs of the commands of a page that begin with given words."""
    text = (RESULTS / f"{page}.md").read_text(encoding="utf-8")
    found = [part for part in re.findall(r"(?ms)^```text\n(.*?)^```", text) if part.startswith(f"$ {command}")]
    if not found:
        raise ValueError(f"{page}.md has no output of `{command}`")
    yield from found


def tables(page: str, command: str) -> list[Table]:
    """Return the tables of all outputs of a command on a page."""
    return [part for text in outputs(page, command) for kind, part in parts(text) if kind == "table"]


def rows(table: Table) -> Iterator[dict[str, str]]:
    """Yield the rows of a table by the names of columns; an empty first cell repeats that of the row above."""
    first = ""
    for group in table.groups:
        for row in group:
            first = row[0] or first
            yield dict(zip(table.heading, [first, *row[1:]], strict=True))


def dots(axes: Any, labels: list[str], series: dict[str, list[float]], xlabel: str) -> None:
    """Draw one row of dots on a logarithmic axis for each label, with a colour for each series."""
    for k, (name, values) in enumerate(series.items()):
        height = np.arange(len(labels)) + 0.18 * (k - (len(series) - 1) / 2)
        axes.plot(np.maximum(values, EPSILON), height, "o", ms=4, label=name)
    axes.set(xscale="log", xlabel=xlabel, yticks=range(len(labels)), yticklabels=labels)
    axes.invert_yaxis()
    axes.grid(axis="y", alpha=0.3)
    if len(series) > 1:
        axes.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, 1.12), ncols=len(series))


def accuracy() -> Any:
    """Draw the error of each method on one robot, and its bound."""
    found = [row for table in tables("accuracy", "treesim compare --high-precision")[:2] for row in named(table)]
    figure, axes = plt.subplots(figsize=(8, 5))
    errors, bounds = ([float(row[name]) for row in found] for name in ("error", "bound"))
    dots(axes, [row["method"] for row in found], {"error": errors, "bound": bounds}, "relative error")
    return figure


def named(table: Table) -> Iterator[dict[str, str]]:
    """Yield rows whose first column is called "method"."""
    for row in rows(table):
        yield {"method": row[table.heading[0]]} | row


def contact_accuracy() -> Any:
    """Draw the errors of single bodies in treesim and in Bullet."""
    (table,) = tables("contact_accuracy", "python -m treesim_pybullet.contact")
    found = list(rows(table))
    figure, axes = plt.subplots(figsize=(8, 0.8 + 0.23 * len(found)))
    series = {name: [abs(float(row[f"{name} off by"])) for row in found] for name in ("treesim", "Bullet")}
    dots(axes, [row[""] for row in found], series, "absolute error, in the unit of each row")
    return figure


def contact_robots() -> Any:
    """Draw the residuals and iterations of all robots, by scene."""
    found = [row for table in tables("contact_robots", "treesim bench energy --ground")[:2] for row in rows(table)]
    figure, (left, right) = plt.subplots(ncols=2)
    for scene in dict.fromkeys(row["scene"] for row in found):
        chosen = [row for row in found if row["scene"] == scene and row["residual"]]
        left.hist(
            np.log10([max(float(row["residual"]), 1e-17) for row in chosen]), bins=np.arange(-17, 0, 0.5), alpha=0.5
        )
        iterations = [float(row["iterations"].split()[0]) for row in chosen if row["iterations"].strip()]
        right.hist(np.log10(np.maximum(iterations, 0.1)), bins=np.arange(-1, 4, 0.2), alpha=0.5, label=scene)
    left.set(xlabel="log₁₀ of the largest residual [m/s, rad/s]", ylabel="robots")
    right.set(xlabel="log₁₀ of the mean number of iterations")
    right.legend(frameon=False)
    return figure


def contact_speed() -> Any:
    """Draw the times of a step and of a rollout, by scene."""
    steps, rollouts, _ = tables("contact_speed", "treesim bench g1_29dof_rev_1_0 --contact")
    figure, panels = plt.subplots(ncols=2, figsize=(8, 4))
    for axes, table, title in zip(panels, (steps, rollouts), ("one step, alone", "one step in a rollout"), strict=True):
        found = list(rows(table))
        scenes = list(dict.fromkeys(row["scene"] for row in found))
        calls = list(dict.fromkeys((row["by"], row["call"]) for row in found))
        calls = [each for each in calls if "noslip" not in each[1] and "mujoco.batch" not in each[1]]
        width = 1 / (len(calls) + 1)
        for k, (by, call) in enumerate(calls):
            values = [float(row["min"]) for row in found if (row["by"], row["call"]) == (by, call)]
            color = plt.get_cmap("Blues" if by == "treesim" else "Oranges")(0.85 - 0.12 * (k % 5))
            label = f"{by}: {call.split(', ', 1)[1]}"
            axes.bar(np.arange(len(scenes)) + k * width, values, width, color=color, label=label)
        axes.set(title=title, xticks=np.arange(len(scenes)) + 0.4, xticklabels=scenes)
        axes.legend(frameon=False, fontsize=6, loc="upper center", bbox_to_anchor=(0.5, -0.1), ncols=2)
    panels[0].set(ylabel="least time [µs]")
    return figure


def energy() -> Any:
    """Draw error over time of a step, for integrators of treesim and of MuJoCo."""
    (table,) = tables("energy", "treesim bench energy g1_29dof_rev_1_0 simple_humanoid --against mujoco")
    figure, axes = plt.subplots(figsize=(7, 3.4))
    for marker, (by, integrator) in zip(
        "osd^vP", dict.fromkeys((r["by"], r["integrator"]) for r in rows(table)), strict=False
    ):
        chosen = [r for r in rows(table) if (r["by"], r["integrator"]) == (by, integrator)]
        error = [max(float(r["gained [%]"]), float(r["lost [%]"])) if r["gained [%]"] else 100.0 for r in chosen]
        color = OURS if by == "treesim" else THEIRS
        axes.loglog(
            [float(r["us a step"]) for r in chosen], error, marker, color=color, ms=5, label=f"{by}: {integrator}"
        )
    axes.set(xlabel="time of a step [µs]", ylabel="energy error [%]; 100: not finite")
    axes.set(xlim=(4, 30), xticks=(5, 10, 20), xticklabels=("5", "10", "20"))
    axes.xaxis.set_minor_formatter("")
    axes.legend(frameon=False, fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def environments() -> Any:
    """Draw steps per second over the number of environments."""
    (table,) = tables("environments", "python plugins/treesim-gymnasium/measure.py")
    found = list(rows(table))
    figure, axes = plt.subplots(figsize=(8, 3.4))
    for name in dict.fromkeys(row["environments"] for row in found):
        chosen = [row for row in found if row["environments"] == name]
        points = [(int(row["number"]), float(row["steps per second"].replace(",", ""))) for row in chosen]
        label = name.replace("the same", "vector environment")
        axes.loglog(*np.transpose(points), "s" if "MuJoCo" in name else "o-", label=label)
    axes.set(xlabel="environments", ylabel="steps per second")
    axes.legend(frameon=False, fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def installed_robots() -> Any:
    """Draw the number of robots by outcome, in treesim and in Pinocchio."""
    (table,) = tables("installed_robots", "treesim survey")
    figure, panels = plt.subplots(ncols=2, figsize=(8, 2.4))
    for axes, engine, color in zip(panels, ("treesim", "Pinocchio"), (OURS, THEIRS), strict=True):
        counts = Counter[str]()
        for row in rows(table):
            outcome = re.sub(r" at step \d+", "", row[engine]) or "no result"
            counts[outcome] += 2 if row["base"] == "both" else 1
        names, numbers = zip(*counts.most_common(), strict=True)
        axes.bar_label(axes.barh(names, numbers, color=color), padding=3)
        axes.set(xlabel=f"{engine}: robots, on a fixed and a floating base", xlim=(0, 330))
        axes.invert_yaxis()
    return figure


def inverse_kinematics() -> Any:
    """Draw how many targets are reached, and the time of a target."""
    (table,) = tables("inverse_kinematics", "python examples/17_inverse_kinematics.py")
    ours, theirs = ([row for row in rows(table) if row["solver"] == solver] for solver in ("treesim", "pink"))
    figure, (left, right) = plt.subplots(ncols=2, figsize=(8, 2.8))
    at = np.arange(len(ours))
    left.bar(at - 0.2, [float(row["found [%]"]) for row in ours], 0.38, color=OURS, label="treesim")
    left.bar(at + 0.2, [float(row["found [%]"]) for row in theirs], 0.38, color=THEIRS, label="pink")
    for shift, found, key, label in (
        (-0.27, ours, "one of a batch [us]", "treesim, batch"), (0, ours, "alone [us]", "treesim, one"),
        (0.27, theirs, "alone [us]", "pink"),
    ):  # fmt: skip
        color = THEIRS if label == "pink" else OURS
        values = [float(row[key]) for row in found]
        right.bar(at + shift, values, 0.25, label=label, color=color, alpha=0.5 if "batch" in label else 1)
    left.set(ylabel="targets reached [%]", ylim=(60, 102))
    right.set(ylabel="time of a target [µs]", yscale="log")
    for axes in (left, right):
        axes.set(xticks=at, xticklabels=[row["robot"] for row in ours])
        axes.legend(frameon=False, fontsize=7, loc="upper center", bbox_to_anchor=(0.5, 1.18), ncols=3)
    return figure


def rollouts() -> Any:
    """Draw what each request costs, by robot."""
    figure, axes = plt.subplots(figsize=(8, 3.6))
    robots = "g1_29dof_rev_1_0", "hyq", "go2"
    labels: list[str] = []
    for k, robot in enumerate(robots):
        found = list(rows(tables("rollouts", f"treesim bench {robot} --requests")[0]))
        labels = [row["with"] for row in found]
        axes.barh(np.arange(len(labels)) + 0.27 * (k - 1), [float(row["factor"]) for row in found], 0.25, label=robot)
    axes.set(yticks=range(len(labels)), yticklabels=labels, xlim=(0.9, None), xlabel="time relative to plain rollouts")
    axes.invert_yaxis()
    axes.legend(frameon=False)
    return figure


def validation() -> Any:
    """Draw the largest differences from each engine, for ten robots."""
    table = tables("validation", "treesim compare --all ur5")[1]
    found = list(rows(table))
    name, *engines = table.heading
    series = {engine: [np.nan if row[engine] == "-" else float(row[engine]) for row in found] for engine in engines}
    figure, axes = plt.subplots(figsize=(8, 3.8))
    dots(axes, [row[name] for row in found], series, "largest error, relative to the largest entry")
    return figure


def viewer() -> Any:
    """Draw when a live page shows an address, a picture, and a motion."""
    figure, axes = plt.subplots(figsize=(7, 2.2))
    for k, robot in enumerate(("g1_29dof_rev_1_0", "talos")):
        command = f"python plugins/treesim-meshcat/measure_start.py {robot}"
        (table,), events = tables("viewer", command), ("address", "picture", "motion")
        times = np.median([[float(row[f"{event} [s]"]) for event in events] for row in rows(table)], axis=0)
        for event, end, start in zip(events, times, (0, *times[:-1]), strict=True):
            color = {"address": "C0", "picture": "C1", "motion": "C2"}[event]
            axes.barh(k, end - start, left=start, color=color, label=event if k == 0 else None)
    axes.set(yticks=(0, 1), yticklabels=("g1", "talos"), xlabel="time since the start of the process [s]")
    axes.legend(frameon=False, ncols=3, loc="upper center", bbox_to_anchor=(0.5, 1.3))
    return figure


FIGURES: tuple[Callable[[], Any], ...] = (
    accuracy, contact_accuracy, contact_robots, contact_speed, energy, environments, installed_robots,
    inverse_kinematics, rollouts, validation, viewer,
)  # fmt: skip


def main(folder: Path = RESULTS, chosen: Iterable[str] = ()) -> None:
    """Write the figures of the chosen pages, or all, into a folder, next to this program by default."""
    mpl.use("svg")
    for draw in FIGURES:
        if not chosen or draw.__name__ in chosen:
            with plt.rc_context(STYLE):
                figure = draw()
                figure.savefig(folder / f"{draw.__name__}.svg", metadata={"Date": None})
                plt.close(figure)


if __name__ == "__main__":
    main(chosen=sys.argv[1:])
