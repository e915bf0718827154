"""Plots of rollouts, of results of inverse kinematics, and of diagnoses."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ArgumentError, unknown_name
from ..model.named_axes import coordinate_axis, velocity_axis
from ..urdf.findings import CODES
from ..validation.values import checked_texts
from .figures import draw_curves, panels_of, save

if TYPE_CHECKING:
    from ..doctor import Diagnosis
    from ..dynamics.operational.inverse_kinematics import IKResult
    from ..rollouts.rollouts import Rollouts

MOST_LINES = 4
BAND = (5, 95)  # percentiles of rollouts between which a band is drawn
LABELS = {"position": "position [rad, m]", "velocity": "velocity [rad/s, m/s]", "energy": "energy [J]"}
COLOURS = {"error": "tab:red", "warning": "tab:orange", "info": "tab:blue"}  # by severity
FEW = 30  # states of inverse kinematics that are drawn as dots
LEAST = 1e-17  # smaller errors are drawn here
File = str | os.PathLike[str] | None


@np.errstate(invalid="ignore")
def draw_rollouts(
    runs: Rollouts, quantity: str | Sequence[str] | None, joints: str | Sequence[str] | None, axes: Any, path: File
) -> Any:
    """Return the figure of `Rollouts.plot`."""
    names = ("position", "velocity") if quantity is None else checked_texts("quantity", quantity)
    known = [*LABELS, *runs.sensors]
    if wrong := [name for name in names if name not in known]:
        raise unknown_name("quantity", wrong[0], known)
    if not runs.q.size:
        raise ArgumentError("rollouts without states cannot be drawn")
    drawn = [_columns(runs, name, joints) for name in names]
    figure, panels = panels_of(axes, len(names), 9, 2.6)
    for each, name, columns in zip(panels, names, drawn, strict=True):
        bands = {column: np.nanpercentile(x, (BAND[0], 50, BAND[1]), axis=0) for column, x in columns.items()}
        shown = sorted(bands, key=lambda column: -float(np.ptp(bands[column])))[:MOST_LINES]
        draw_curves(each, runs.t, [(column, bands[column][1]) for column in shown])
        for line, column in zip(each.get_lines(), shown, strict=True):
            each.fill_between(runs.t, *bands[column][::2], color=line.get_color(), alpha=0.15, linewidth=0)
        each.set_ylabel(LABELS.get(name, name))
        each.grid(alpha=0.3)
        each.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize=8, frameon=False)
    panels[-1].set_xlabel("time [s]")
    if axes is None:
        robot = f" of {runs.robot.name}" if runs.robot is not None else ""
        figure.suptitle(f"{len(runs.q)} rollouts{robot}: median, and {BAND[0]} to {BAND[1]} %", fontsize=11)
    return save(figure, path)


def _columns(runs: Rollouts, name: str, joints: str | Sequence[str] | None) -> dict[str, np.ndarray]:
    """Return the arrays (B, K) of a quantity by name, of coordinates those of joints that names and patterns match."""
    if name == "energy":
        return {"energy": runs.energy}
    if name in runs.sensors:
        return dict(zip(runs.sensors.columns[name], np.moveaxis(runs.sensors[name], -1, 0), strict=True))
    array, axis = (runs.q, coordinate_axis) if name == "position" else (runs.v, velocity_axis)
    if runs.robot is not None:
        names = list(axis(runs.robot).names[0])
    else:
        names = [f"{name} {k}" for k in range(array.shape[-1])]
    columns = dict(zip(names, np.moveaxis(np.asarray(array, float), -1, 0), strict=True))
    if joints is None:
        return columns
    patterns = checked_texts("joints", joints)
    found: dict[str, np.ndarray] = {}
    for pattern in patterns:
        matched = [
            each for each in names if fnmatchcase(each, pattern) or fnmatchcase(each.rpartition(".")[0], pattern)
        ]
        if not matched:
            raise unknown_name("joint", pattern, names)
        found |= {x: columns[x] for x in matched}
    return found


def draw_inverse_kinematics(result: IKResult, axes: Any, path: File) -> Any:
    """Return the figure of `IKResult.plot`: sorted errors of each target, and the states that have not converged."""
    figure, (panel,) = panels_of(axes, 1, 7, 3.2)
    failed = ~result.converged.ravel()
    for name, error in result.error.items():
        order = np.argsort(error.ravel())
        values = np.maximum(error.ravel()[order], LEAST)
        (line,) = panel.plot(values, "o-" if len(values) <= FEW else "-", label=name, linewidth=1.4)
        missed = np.flatnonzero(failed[order])
        panel.plot(missed, values[missed], "x", color=line.get_color(), markersize=9)
    panel.set_yscale("log")
    panel.set(xlabel="state, by its error", ylabel="error [m, rad]")
    panel.set_title(f"{int((~failed).sum())} of {failed.size} converged; crosses have not", fontsize=11)
    panel.grid(alpha=0.3)
    panel.legend(fontsize=8, frameon=False)
    return save(figure, path)


def draw_diagnosis(found: Diagnosis, axes: Any, path: File) -> Any:
    """Return the figure of `Diagnosis.plot`: how often each finding occurs, coloured by severity."""
    counts = Counter((finding.severity, finding.code) for finding in found.findings)
    figure, (panel,) = panels_of(axes, 1, 8, 0.9 + 0.32 * len(counts))
    labels = [f"{code} {CODES[code].summary}" for _, code in counts]
    panel.barh(labels, list(counts.values()), color=[COLOURS[severity] for severity, _ in counts])
    panel.invert_yaxis()
    panel.set_xlabel("findings")
    panel.set_title(f"{Path(found.file).name}: {found.summary}", fontsize=11)
    if not counts:
        panel.text(0.5, 0.5, "no findings", transform=panel.transAxes, ha="center", va="center")
    return save(figure, path)
