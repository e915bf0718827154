"""Plots of costs: sparsity of the mass matrix, and time over the number of bodies."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from treesim.model.tree import Tree
from treesim.plotting.figures import new_figure, save

MARKERS = "os^vDPX*"
PANELS = "family", "quantity", "method"


def save_sparsity(path: Path, robot: Tree) -> None:
    """Draw the sparsity patterns of the mass matrix H and its factor L (of LTL and LTDL)."""
    pattern, factor = robot.sparsity(), np.tril(robot.dof_topology.sparsity())
    figure, axes = new_figure(2, 10, 5.4)
    for axis, name, where in zip(axes, ("H", "L"), (pattern, factor), strict=True):
        axis.imshow(where, cmap="Greys", vmin=0, vmax=1.3, interpolation="nearest")
        axis.set_title(f"{name}: {int(where.sum())} of {where.size} entries")
        axis.set_xlabel("degree of freedom")
        _name_joints(axis, robot)
    figure.suptitle(robot.name)
    save(figure, path)


def save_scaling(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    """Draw seconds over bodies, both on logarithmic scales, one pair of axes per family.

    rows: as `treesim bench scaling --json` prints them under "times".
    """
    families = list(dict.fromkeys(row["family"] for row in rows))
    backends = list(dict.fromkeys(row["backend"] for row in rows))
    figure, axes = new_figure(len(families), 4.6 * len(families), 7.2)
    for axis, family in zip(axes, families, strict=True):
        for row in rows:
            if row["family"] == family and row["sizes"]:
                k = backends.index(row["backend"])
                style = {
                    "color": f"C{k % 10}",
                    "marker": MARKERS[k % len(MARKERS)],
                    "linestyle": "-" if k < 10 else "--",
                }
                axis.loglog(row["sizes"], row["seconds"], markersize=4, linewidth=1.2, **style, label=_legend(row))
        axis.set_title(family)
        axis.set_xlabel("bodies N")
        axis.grid(True, which="major", linewidth=0.4)
        below = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.12), "ncols": 2}
        axis.legend(fontsize=7, title="fitted / expected exponent", title_fontsize=7, **below)
    axes[0].set_ylabel("one forward dynamics [s]")
    _share_limits(axes)
    save(figure, path)


def save_depths(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    """Draw the depth of level-parallel methods over bodies, N on a logarithmic scale.

    A constant increase per doubling is a straight line. There is one pair of axes per family and quantity;
    serial methods leave it at the top. rows: as `treesim bench scaling --depth --json` prints them.
    """
    families, quantities, methods = (list(dict.fromkeys(row[key] for row in rows)) for key in PANELS)
    figure, axes = new_figure(len(families), 5.2 * len(families), 5.0 * len(quantities), len(quantities))
    for axis, (quantity, family) in zip(axes, product(quantities, families), strict=True):
        chosen = [row for row in rows if (row["family"], row["quantity"]) == (family, quantity)]
        for row in chosen:
            k = methods.index(row["method"])
            label = f"{row['method']}, {row['depth_per_doubling']:.0f} a doubling"
            axis.semilogx(row["bodies"], row["depth"], f"C{k}{MARKERS[k % len(MARKERS)]}-", label=label, base=2)
        axis.set_ylim(0, 2 * sorted(row["depth"][-1] for row in chosen)[len(chosen) // 2])
        axis.set_title(f"{family}, {quantity}")
        axis.set_xlabel("bodies N")
        axis.grid(True, which="major", linewidth=0.4)
        axis.legend(fontsize=7)
    for axis in axes[:: len(families)]:
        axis.set_ylabel("depth [operations]")
    save(figure, path)


def _legend(row: dict[str, Any]) -> str:
    fitted, expected = ("-" if row[key] is None else f"{row[key]:.2g}" for key in ("exponent", "expected"))
    return f"{row['backend']} {fitted} / {expected}"


def _share_limits(axes: Sequence[Any]) -> None:
    limits = [axis.get_ylim() for axis in axes]
    for axis in axes:
        axis.set_ylim(min(low for low, _ in limits), max(high for _, high in limits))


def _name_joints(axis: Any, robot: Tree, most: int = 64) -> None:
    """Label the rows with their joints, if there is room."""
    if robot.nv <= most:
        axis.set_yticks(range(robot.nv), [robot.dof_name(k) for k in range(robot.nv)], fontsize=220 / max(robot.nv, 36))
