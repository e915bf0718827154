"""Figures of Featherstone 2005 and 2010, drawn from computed data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from treesim.plotting.figures import require_matplotlib, save

from ..cost import paper_figures as computed
from ..cost.paper_figures import Bars

MARKERS = "os^D"


def save_figures(path: Path) -> None:
    """Draw Figures 5 and 7 of Featherstone 2005, and 7, 12 and 13 of 2010, into one file.

    Raises ArgumentError without matplotlib, or if the file cannot be written.
    """
    require_matplotlib()
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13, 12), layout="constrained")
    rows: list[Any] = [["growth", "dynamics"], ["operational", "operational"], ["inverse", "accessed"]]
    panels = figure.subplot_mosaic(rows, height_ratios=[1.2, 1.2, 0.8])
    _growth(panels["growth"], computed.factorization_costs())
    _stacked(panels["dynamics"], computed.forward_dynamics_costs(), "operations")
    _pairs(panels["operational"], computed.operation_counts())
    _stacked(panels["inverse"], computed.inverse_inertia_costs(), "operations")
    _stacked(panels["accessed"], computed.accessed_elements(), "elements of J read")
    for name, title in TITLES.items():
        panels[name].set_title(title, fontsize=10)
    save(figure, path)


TITLES = {
    "growth": "Featherstone 2005, Figure 5\ncost of LTDL, D1 + 2 D2, on the trees of Table 2",
    "dynamics": "Featherstone 2005, Figure 7\nforward dynamics of a humanoid and of a chain, n = 30",
    "operational": "Featherstone 2010, Figure 12\noperational-space dynamics of the ASIMO example (n = 40, m = 24), "
    "dense and sparse",
    "inverse": "Featherstone 2010, Figure 13\ninverse inertia Λ⁻¹ of the ASIMO example",
    "accessed": "Featherstone 2010, Figure 7, a listing, and Figures 5 and 6\nelements read by products with the "
    "ASIMO example's Jacobian",
}


def _growth(axis: Any, families: dict[str, list[tuple[int, int]]]) -> None:
    """Draw cost over n, both on logarithmic scales, a line for each family."""
    for k, (name, points) in enumerate(families.items()):
        sizes, costs = zip(*points, strict=True)
        style = {"marker": MARKERS[k], "markersize": 3, "markevery": max(1, len(sizes) // 12)}
        axis.loglog(sizes, costs, label=name, linewidth=1.3, **style)
    axis.set_xlabel("degrees of freedom n")
    axis.set_ylabel("operations")
    axis.grid(True, which="major", linewidth=0.4)
    axis.legend(fontsize=8)


def _stacked(axis: Any, bars: Bars, unit: str) -> None:
    """Draw a bar for each entry, its parts one after the other, with the total at its end."""
    parts = list(dict.fromkeys(part for bar in bars.values() for part in bar))
    left = [0] * len(bars)
    for k, part in enumerate(parts):
        lengths = [bar.get(part, 0) for bar in bars.values()]
        drawn = axis.barh(list(bars), lengths, 0.6, left=left, label=part, color=f"C{k}")
        axis.bar_label(drawn, [f"{length:,}" if length else "" for length in lengths], label_type="center", fontsize=7)
        left = [start + length for start, length in zip(left, lengths, strict=True)]
    for place, (total, bar) in enumerate(zip(left, bars.values(), strict=True)):
        if len(bar) > 1:
            axis.text(total, place, f" {total:,}", va="center", fontsize=8, weight="bold")
    axis.set_xlim(0, 1.14 * max(left))
    axis.invert_yaxis()
    axis.set_xlabel(unit)
    axis.legend(fontsize=8)


def _pairs(axis: Any, counts: dict[str, tuple[int, int]]) -> None:
    """Draw two bars for each operation: dense and sparse."""
    places = range(len(counts))
    for offset, name, k in ((-0.2, "dense", 0), (0.2, "sparse", 1)):
        lengths = [pair[k] for pair in counts.values()]
        drawn = axis.bar([place + offset for place in places], lengths, 0.4, label=name)
        axis.bar_label(drawn, [f"{length:,}" for length in lengths], fontsize=7)
    axis.set_xticks(places, counts)
    axis.set_ylabel("operations")
    axis.legend(fontsize=8)
