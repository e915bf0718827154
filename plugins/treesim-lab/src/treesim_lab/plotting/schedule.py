"""Plots of schedules: bodies from top to bottom, time from left to right, a bar for every block."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from treesim.dynamics.schedule import Schedule, Stage
from treesim.model.tree import Tree
from treesim.system.files import write_whole

MOST_NAMES = 60  # largest number of bodies with labels
WIDTH = 13.0  # of the picture [inches]
TALL = 0.7  # height of a body in a bar, of the distance of two
MOST_KINDS = 20  # colours of stages


def draw(tree: Tree, schedules: list[Schedule], path: Path) -> None:
    """Write the plot of one or more schedules of `tree` to `path`, in the format of its suffix.

    There is one panel below the other, all of the same scale. With a processor for every block, a stage takes
    as long as its longest block, in operations; bars are blocks, as long as they take. Bodies are listed
    depth-first, so that branches are contiguous; colours denote kinds of stages.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    order = depth_first(tree.parent.tolist())
    row = {body: place for place, body in enumerate(order)}
    ordered = sorted(schedules, key=lambda schedule: schedule.critical_path)
    colours = _colours(ordered)
    height = min(9.0, max(1.8, 0.13 * tree.n_bodies)) + 1.0
    figure = Figure(figsize=(WIDTH, height * len(ordered) + 1.0), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(f"{tree.name}: {tree.n_bodies} bodies, depth {tree.topology.depth}", fontsize=11)
    panels = figure.subplots(len(ordered), 1, sharex=True, squeeze=False)[:, 0]
    for axes, one in zip(panels, ordered, strict=True):
        _panel(axes, one, row, colours)
        _name_bodies(axes, tree, order)
    panels[-1].set_xlim(0, 1.01 * max(one.critical_path for one in ordered))
    panels[-1].set_xlabel("operations one after another, with a processor for every block")
    _legend(figure, colours)
    write_whole(path, lambda stream: figure.savefig(stream, format=path.suffix[1:].lower(), dpi=110))


def _kind(stage: Stage) -> str:
    """Return the kind of a stage, its name without number."""
    return stage.name.split(",")[0]


def _colours(schedules: list[Schedule]) -> dict[str, str]:
    """Return a colour for every kind of stage, in their order; the last one is for all further kinds."""
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    kinds = dict.fromkeys(_kind(stage) for one in schedules for stage in one.stages)
    palette = [to_hex(colour) for colour in colormaps["tab20"].colors]  # type: ignore[attr-defined]
    return {kind: palette[min(number, MOST_KINDS - 1)] for number, kind in enumerate(kinds)}


def _legend(figure: Any, colours: dict[str, str]) -> None:
    from matplotlib.patches import Patch

    handles = [Patch(color=colour, label=kind) for kind, colour in colours.items()]
    figure.legend(handles=handles, loc="outside lower center", ncols=6, fontsize=8, frameon=False)


def depth_first(parent: list[int]) -> list[int]:
    """Return the bodies 1 ... N depth-first; the sibling with the longest path to a leaf is first. O(N log N)."""
    children: list[list[int]] = [[] for _ in range(len(parent) + 1)]
    reach = [0] * (len(parent) + 1)
    for i in range(len(parent), 0, -1):
        children[parent[i - 1]].append(i)
        reach[parent[i - 1]] = max(reach[parent[i - 1]], reach[i] + 1)
    order, waiting = [], [0]
    while waiting:
        body = waiting.pop()
        order.append(body)
        waiting += sorted(children[body], key=lambda child: (reach[child], -child))
    return order[1:]


def _panel(axes: Any, schedule: Schedule, row: dict[int, int], colours: dict[str, str]) -> None:
    begin = 0
    for stage in schedule.stages:
        blocks = [sorted(row[body] for body in block) for block in stage.blocks]
        _bars(axes, begin, blocks, stage.operations, colours[_kind(stage)])
        begin += stage.longest_block
        axes.axvline(begin, color="0.9", linewidth=0.5, zorder=0)
    axes.set_ylim(len(row) - 0.4, -0.6)
    axes.set_title(
        f"{schedule.method}: {len(schedule.stages)} stages, {schedule.operations} operations, "
        f"{schedule.critical_path} on the critical path",
        fontsize=9, loc="left",
    )  # fmt: skip
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def _bars(axes: Any, begin: int, blocks: list[list[int]], operations: tuple[int, ...], colour: str) -> None:
    """Draw the blocks of one stage, each a list of rows, as bars in pieces joined by a line on the left."""
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Rectangle

    bars = []
    for rows, length in zip(blocks, operations, strict=True):
        pieces = _pieces(rows)
        bars += [Rectangle((begin, low - TALL / 2), length, high - low + TALL) for low, high in pieces]
        if len(pieces) > 1:
            axes.plot([begin, begin], [pieces[0][0], pieces[-1][1]], color=colour, linewidth=0.9)
    axes.add_collection(PatchCollection(bars, facecolor=colour, edgecolor="white", linewidth=0.3, zorder=2))


def _pieces(rows: list[int]) -> list[tuple[int, int]]:
    """Return first and last of each run of consecutive numbers in a sorted list."""
    pieces = [(rows[0], rows[0])]
    for r in rows[1:]:
        if r == pieces[-1][1] + 1:
            pieces[-1] = (pieces[-1][0], r)
        else:
            pieces.append((r, r))
    return pieces


def _name_bodies(axes: Any, tree: Tree, order: list[int]) -> None:
    if len(order) <= MOST_NAMES:
        axes.set_yticks(range(len(order)), [tree.body_names[body - 1] for body in order], fontsize=6)
    else:
        axes.set_yticks([])
        axes.set_ylabel(f"{len(order)} bodies, depth-first")
