"""Pictures of schedules: bodies from top to bottom, stages from left to right, a bar for every block."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..files import write_whole

if TYPE_CHECKING:
    from ..model.schedule import Schedule
    from ..model.tree import Tree

MOST_NAMES = 60  # bodies; more are not named
WIDEST = 20.0  # line of panels [inches], unless one alone is wider
BAR = 0.56  # width of a bar, of a stage
LINK = 0.07  # distance of the lines beside it
TALL = 0.7  # height of a body in a bar, of the distance of two


def draw(tree: Tree, schedules: list[Schedule], path: Path) -> None:
    """Write the picture of one or more schedules of `tree` to `path`, in the format that its suffix names.

    Bodies are listed depth-first, so that a branch stands in one piece; a block is a bar over its bodies, and a line on
    its left joins its pieces. Above each stage stands its number of blocks.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    order = depth_first(tree.parent.tolist())
    row = {body: place for place, body in enumerate(order)}
    lines = _lines(schedules)
    height = min(14.0, max(3.6, 0.19 * tree.n_bodies)) + 1.2
    widest = max(sum(map(_width, line)) for line in lines)
    figure = Figure(figsize=(widest + 2.2, height * len(lines)), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(f"{tree.name}: {tree.n_bodies} bodies, depth {tree.topology.depth}", fontsize=11)
    for part, line in zip(figure.subfigures(len(lines), 1, squeeze=False)[:, 0], lines, strict=True):
        widths = [_width(one) for one in line]
        rest = max(1e-3, widest - sum(widths))  # stays empty, so that stages are equally wide everywhere
        *panels, empty = part.subplots(1, len(line) + 1, sharey=True, width_ratios=[*widths, rest])
        empty.set_visible(False)
        for axes, one in zip(panels, line, strict=True):
            _panel(axes, one, row)
        _name_bodies(panels[0], tree, order)
    write_whole(path, lambda stream: figure.savefig(stream, format=path.suffix[1:].lower(), dpi=110))


def _width(schedule: Schedule) -> float:
    """Width of a panel [inches]."""
    return max(3.2, 0.42 * schedule.critical_path)


def _lines(schedules: list[Schedule]) -> list[list[Schedule]]:
    """The schedules by number of stages, as many beside each other as are not too wide."""
    lines: list[list[Schedule]] = [[]]
    for one in sorted(schedules, key=lambda schedule: schedule.critical_path):
        if lines[-1] and sum(map(_width, lines[-1])) + _width(one) > WIDEST:
            lines.append([])
        lines[-1].append(one)
    return lines


def depth_first(parent: list[int]) -> list[int]:
    """Return the bodies 1 ... N depth-first, of siblings the one with the longest path to a leaf first. O(N log N)."""
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


def _panel(axes: Any, schedule: Schedule, row: dict[int, int]) -> None:
    for index, stage in enumerate(schedule.stages):
        _column(axes, index, sorted(sorted(row[body] for body in block) for block in stage.blocks))
    axes.set_xlim(-0.7, schedule.critical_path - 0.3)
    axes.set_ylim(len(row) - 0.4, -2.6)
    axes.set_xticks(range(schedule.critical_path), [stage.name for stage in schedule.stages], rotation=90, fontsize=8)
    axes.set_title(f"{schedule.method}\n{schedule.critical_path} stages, {schedule.blocks} blocks", fontsize=9)
    axes.grid(axis="y", color="0.92", linewidth=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def _column(axes: Any, index: int, blocks: list[list[int]]) -> None:
    """The blocks of one stage, each a list of rows: a bar for each, in pieces that a line on its left joins."""
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Rectangle

    bars, colors, links = [], [], 0
    for number, rows in enumerate(blocks):
        color = f"C{number % 10}"
        pieces = _pieces(rows)
        bars += [Rectangle((index - BAR / 2, low - TALL / 2), BAR, high - low + TALL) for low, high in pieces]
        colors += [color] * len(pieces)
        if len(pieces) > 1:
            x = index - BAR / 2 - LINK * (1 + links % 4)
            middles = [(low + high) / 2 for low, high in pieces]
            axes.plot([x, x], [middles[0], middles[-1]], color=color, linewidth=0.9)
            axes.hlines(middles, x, index, color=color, linewidth=0.9)
            links += 1
    axes.add_collection(PatchCollection(bars, facecolor=colors, edgecolor="none", zorder=2))
    axes.text(index, -1.1, str(len(blocks)), ha="center", va="bottom", fontsize=8, color="0.35")


def _pieces(rows: list[int]) -> list[tuple[int, int]]:
    """The runs of neighbouring numbers in a sorted list: first and last of each."""
    pieces = [(rows[0], rows[0])]
    for r in rows[1:]:
        if r == pieces[-1][1] + 1:
            pieces[-1] = (pieces[-1][0], r)
        else:
            pieces.append((r, r))
    return pieces


def _name_bodies(axes: Any, tree: Tree, order: list[int]) -> None:
    if len(order) <= MOST_NAMES:
        axes.set_yticks(range(len(order)), [tree.body_names[body - 1] for body in order], fontsize=8)
    else:
        axes.set_yticks([])
        axes.set_ylabel(f"{len(order)} bodies, depth-first")
