"""Plots of a comparison as SVG text; lines and text use the colours of the page's theme."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..figures import new_figure, panels_of, save

if TYPE_CHECKING:
    from ...compare import Comparison, Report
    from ...compare.report import Conservation, Curve

WIDTH, HEIGHT = 4.6, 3.2  # [inches], fit for a phone
THEMED = "#010203"  # drawn with; then replaced by the theme's colour of text
COLOURS = ("#2f7fd6", "#e07b20", "#2e9e5b", "#b558c9", "#c94a4a")  # readable on light and on dark
RAW = "raw"
MARKS = {RAW: "o", "canonical": "s", "scene": "^", "renumbered": "D", "numbered": "v"}  # of levels
LEAST = 1e-17  # errors below it, 0 too, are drawn here


def trajectory(report: Report) -> str:
    """Return the plot of e(t), the perturbed run's g(t), and the tolerance, on a logarithmic axis."""
    found = report.trajectory
    assert found is not None
    figure, axes = _axes("time [s]", "distance")
    axes.semilogy(found.t, _shown(found.apart), color=COLOURS[0], label=f"e(t): treesim from {report.engine}")
    axes.semilogy(found.t, _shown(found.divergence), color=COLOURS[1], label="g(t): treesim from its perturbed run")
    axes.semilogy(found.t, _shown(found.allowed), color=COLOURS[4], linestyle=":", label="tolerance of e(t)")
    if found.valid < len(found.t):
        axes.axvline(found.t[found.valid], color=THEMED, linewidth=0.8, linestyle="--", label="chaotic from here")
    return _svg(figure, axes, f"trajectory-{report.engine}")


def convergence(report: Report) -> str:
    """Return the plot of the errors over dt, both logarithmic, with the fitted slopes."""
    found = report.convergence
    assert found is not None
    figure, axes = _axes("dt [ms]", "error at the end")
    ms = 1e3 * np.array(found.dt)
    axes.loglog(ms, _shown(found.errors), "o-", color=COLOURS[0], label=f"as it is: order {found.slope:.3f}")
    label = f"extrapolated: order {found.extrapolated_slope:.3f}"
    axes.loglog(ms[1:], _shown(found.extrapolated), "s-", color=COLOURS[2], label=label)
    axes.set_xticks(ms, [f"{each:g}" for each in ms])
    axes.minorticks_off()
    return _svg(figure, axes, f"convergence-{report.engine}")


def conservation(runs: Sequence[Conservation], what: str, name: str) -> str:
    """Return the plot of the errors of a conserved quantity of several runs over time.

    what: "energy", "linear_momentum" or "angular_momentum". name: makes the plot's identifiers unique on the
    page.
    """
    figure, axes = _axes("time [s]", f"error of {what.replace('_', ' ')}")
    for run, colour, style in zip(runs, COLOURS, ("-", "--", ":"), strict=False):
        errors = np.abs(getattr(run, what))
        axes.semilogy(run.t[: len(errors)], _shown(errors), color=colour, linestyle=style, label=run.run)
    return _svg(figure, axes, f"{what}-{name}")


def overview(found: Comparison) -> str:
    """Return the plot of the largest errors of all quantities over their tolerances, by engine and level."""
    figure, axes = _axes("", "", height=0.32 * len(_quantities(found)) + 1.6)
    _draw_overview(found, axes)
    return _svg(figure, axes, "overview")


def draw(found: Comparison, axes: Any, path: str | os.PathLike[str] | None) -> Any:
    """Return the figure of `Comparison.plot`."""
    figure, (panel,) = panels_of(axes, 1, 8, 0.32 * len(_quantities(found)) + 0.8)
    _draw_overview(found, panel)
    panel.legend(fontsize=8)
    return save(figure, path)


def _quantities(found: Comparison) -> list[str]:
    return list(dict.fromkeys(row.quantity for report in found.reports for row in report.rows))


def _draw_overview(found: Comparison, axes: Any) -> None:
    names = _quantities(found)
    for report, colour in zip(found.reports, COLOURS, strict=False):
        for level in dict.fromkeys(row.level for row in report.rows):
            own, mark = [row for row in report.rows if row.level == level], MARKS.get(level, "X")
            shares = _shown([row.largest / row.tolerance for row in own], least=1e-6)
            places = [names.index(row.quantity) for row in own]
            face = "none" if level == RAW else colour
            axes.scatter(shares, places, marker=mark, s=26, facecolors=face, edgecolors=colour,
                         label=f"{report.engine}, {level}")  # fmt: skip
    axes.set_xscale("log")
    axes.set_xlabel("largest error / tolerance")
    axes.axvline(1.0, color=COLOURS[4], linewidth=1.2, linestyle="--")
    axes.set_yticks(range(len(names)), [name.replace("_", " ") for name in names])
    axes.set_ylim(len(names) - 0.5, -0.5)


def _axes(x: str, y: str, height: float = HEIGHT) -> tuple[Any, Any]:
    figure, (axes,) = new_figure(1, WIDTH, height)
    figure.patch.set_alpha(0.0)
    axes.patch.set_alpha(0.0)
    axes.set_xlabel(x, color=THEMED)
    axes.set_ylabel(y, color=THEMED)
    axes.tick_params(which="both", colors=THEMED, labelsize=8)
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(THEMED)
    axes.grid(True, color="#888888", alpha=0.25, linewidth=0.6)
    return figure, axes


def _shown(values: Sequence[float] | np.ndarray | Curve, least: float = LEAST) -> np.ndarray:
    return np.maximum(np.asarray(values, dtype=float), least)  # NaN stays, and is not drawn


def _svg(figure: Any, axes: Any, name: str) -> str:
    """Return the figure as an <svg> element whose identifiers begin with its name."""
    import matplotlib

    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=2 if name == "overview" else 1,
                  fontsize=8, frameon=False, labelcolor=THEMED)  # fmt: skip
    stream = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": name, "font.family": "sans-serif"}):
        figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    text = stream.getvalue()
    own = re.sub(r"\W", "-", name)
    text = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{own}-", text[text.index("<svg") :])
    return text.replace(THEMED, "currentColor")
