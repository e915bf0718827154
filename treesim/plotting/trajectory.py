"""Plots of a trajectory: the joints that move most, the floating base, contact, the energy."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import fill
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..contact.unsolved import UNSOLVED, is_solved
from ..errors import ArgumentError
from .figures import new_figure, require_matplotlib

if TYPE_CHECKING:
    from ..contact.history import ContactHistory
    from ..simulation.trajectory import Trajectory

MOST_LINES = 8
MOST_TICKS = 6  # of a logarithmic axis
STILL = 1e-9  # [rad, m, rad/s, m/s] smaller ranges are rounding and drawn as constant
STILL_SPAN = 0.1  # of the axis then
ABSURD = 1e12  # beyond any plausible value: larger ones are drawn on a logarithmic axis
FARTHEST = 1e290  # beyond, matplotlib cannot place ticks: not drawn
TITLE_WIDTH = 100  # characters of a line
MOST_BODIES = 6  # whose contact forces are drawn
USUAL = 98.0  # percentile of the largest force of a step; peaks far above it are impacts and cut off
HEADROOM = 1.5  # of the axis, over that


class _Curve(NamedTuple):
    """Plotted data of one joint: a label, its position (K,) and its speed (K,)."""

    label: str
    position: np.ndarray
    speed: np.ndarray


@np.errstate(over="ignore", invalid="ignore")  # states may be not finite
def draw(trajectory: Trajectory, stream: IO[bytes], picture_format: str) -> None:
    """Write the plot of `trajectory` to `stream` in matplotlib's `picture_format`.

    At most eight joints are drawn, those with the widest range of positions; a spherical joint shows its angle
    from the start. Values that are not finite leave a gap; huge values are drawn on a logarithmic axis. In
    contact, the largest forces on at most six bodies are drawn, or those of pairs if bodies touch each other.
    Peaks of impacts are cut off, and the axis label contains the largest. Raises ArgumentError if matplotlib is
    missing, or there is no state.
    """
    require_matplotlib()
    if not len(trajectory):
        raise ArgumentError("a trajectory without states cannot be drawn")
    curves = sorted(_joint_curves(trajectory), key=lambda curve: -_extent(curve.position))
    shown = curves[:MOST_LINES]
    base = trajectory.q[:, :3] if trajectory.joint_types[:1] == ("floating",) else None
    forces = _contact_forces(trajectory)
    rows = 1 + 2 * bool(shown) + (base is not None) + bool(forces)
    figure, panels = new_figure(1, 10, 2.4 * rows + 0.8, rows, sharex=True)
    axes = iter(panels)
    figure.suptitle(_title(trajectory, shown, len(curves)), fontsize=11)
    if shown:
        _panel(next(axes), trajectory.t, "position [rad, m]", [(c.label, c.position) for c in shown], STILL)
        _panel(next(axes), trajectory.t, "velocity [rad/s, m/s]", [(c.label, c.speed) for c in shown], STILL)
    if base is not None:
        _panel(next(axes), trajectory.t, "base position [m]", list(zip("xyz", base.T, strict=True)), STILL)
    if forces:
        _contact_panel(next(axes), trajectory, forces)
    last = next(axes)
    _panel(last, trajectory.t, "energy change [J]", _energy_lines(trajectory))
    last.set_xlabel("time [s]")
    figure.savefig(stream, format=picture_format, dpi=110)


def _energy_lines(trajectory: Trajectory) -> list[tuple[str, np.ndarray]]:
    """Return the change of energy and, if known, its parts: work of the control, of damping and friction, and error."""
    work = trajectory.work
    lines = [(f"E - E(0)\nE(0) = {trajectory.energy[0]:.6g} J", trajectory.energy - trajectory.energy[0])]
    known = [("work of the controls", work[:, 0]), ("work of damping\nand friction", work[:, 1])]
    lines += [(label, done) for label, done in known if np.nanmax(np.abs(done), initial=0.0) > 0]
    return lines if np.isnan(work).all() else [*lines, ("error", trajectory.energy_error)]


def _contact_forces(trajectory: Trajectory) -> list[tuple[str, np.ndarray]]:
    """Return the magnitudes (K - 1,) [N] of the largest contact forces in every step, by name.

    Names are bodies or, if bodies touch each other, pairs of them. Empty without contact.
    """
    if trajectory.contact is None:
        return []
    names, wrench = _touching(trajectory.contact)
    force = np.linalg.norm(wrench[:-1, :, :3], axis=2)
    carried = np.where(force < FARTHEST, force, 0.0).sum(axis=0)
    most = sorted(np.flatnonzero(carried), key=lambda b: -carried[b])[:MOST_BODIES]
    return [(names[b], force[:, b]) for b in most]


def _touching(contact: ContactHistory) -> tuple[list[str], np.ndarray]:
    """Return the names of touching bodies, and their wrenches (K, n, 6 or more); pairs if bodies touch each other."""
    if all(other in contact.surfaces for _, other in contact.pairs):
        return list(contact.bodies), contact.wrench_array
    return [" and ".join(pair) for pair in contact.pairs], contact.pair_wrench_array


def _contact_panel(axes: Any, trajectory: Trajectory, forces: list[tuple[str, np.ndarray]]) -> None:
    """Draw forces at the start of each step, with peaks cut off, and mark steps whose contact solve failed."""
    assert trajectory.contact is not None  # as there are forces
    t, missed = trajectory.t[:-1], ~is_solved(trajectory.contact.solver_info[:-1])
    largest = np.max([np.where(force < FARTHEST, force, 0.0) for _, force in forces], axis=0)
    peak, usual = largest.max(), HEADROOM * np.percentile(largest[largest > 0], USUAL)
    cut = peak > HEADROOM * usual
    top = usual if cut else HEADROOM * peak
    if missed.any():
        label = f"residual above {UNSOLVED:g} m/s\nin {missed.sum()} of {len(t)} steps"
        axes.plot(t[missed], np.full(missed.sum(), 0.03), "r|", transform=axes.get_xaxis_transform(), label=label)
    _panel(axes, t, f"contact force [N]\n(impacts to {peak:,.4g} N)" if cut else "contact force [N]", forces)
    axes.set_ylim(-0.07 * top, top)


def _title(trajectory: Trajectory, shown: list[_Curve], joints: int) -> str:
    made = trajectory.metadata
    how = ", ".join(str(made[key]) for key in ("backend", "integrator") if key in made)
    title = f"{trajectory.robot_name}: {how}" if how else trajectory.robot_name
    if shown and max(_extent(curve.position) for curve in shown) < STILL:
        title += f"  (no joint moves; {len(shown)} of {joints} are shown)"
    elif len(shown) < joints:
        title += f"  (the {len(shown)} joints of {joints} that move most)"
    return title if trajectory.stopped is None else f"{title}\n{fill(f'stopped: {trajectory.stopped}', TITLE_WIDTH)}"


def _panel(axes: Any, t: np.ndarray, label: str, lines: list[tuple[str, np.ndarray]], still: float = 0.0) -> None:
    """Draw lines over time; a range below `still` is drawn as constant."""
    drawn = [np.where(np.abs(values) < FARTHEST, values, np.nan) for _, values in lines]
    finite = np.concatenate([values[np.isfinite(values)] for values in drawn])
    _scale(axes, finite, still)
    for (name, _), values in zip(lines, drawn, strict=True):
        alone = np.isfinite(values).sum() == 1
        axes.plot(t, values, label=name, linewidth=1.2, marker="o" if alone else None)
    axes.set_ylabel(label)
    axes.grid(alpha=0.3)
    if t[0] < t[-1]:
        axes.set_xlim(t[0], t[-1])
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize=8, frameon=False)


def _scale(axes: Any, finite: np.ndarray, still: float) -> None:
    """Set up the vertical axis for finite values."""
    if not finite.size:
        axes.text(0.5, 0.5, "nothing finite to draw", transform=axes.transAxes, ha="center", va="center")
    elif np.abs(finite).max() > ABSURD:
        axes.set_yscale("symlog", linthresh=1.0, linscale=np.log10(np.abs(finite).max()) / 5)
        axes.yaxis.get_major_locator().set_params(numticks=MOST_TICKS)
    elif np.ptp(finite) < still:
        axes.set_ylim(finite.mean() - STILL_SPAN / 2, finite.mean() + STILL_SPAN / 2)


def _joint_curves(trajectory: Trajectory) -> Iterator[_Curve]:
    for name, kind in zip(trajectory.joint_names, trajectory.joint_types, strict=True):
        joint = trajectory[name]
        if joint.q.ndim == 1:
            yield _Curve(f"{name} [m]" if kind == "prismatic" else name, joint.q, joint.v)
        elif kind == "spherical":
            yield _Curve(f"{name} (angle)", _angle_from_start(joint.q), np.linalg.norm(joint.v, axis=1))


def _extent(values: np.ndarray) -> float:
    """Return the range of values; infinite if they are not finite."""
    return float(np.ptp(values)) if np.isfinite(values).all() else np.inf


def _angle_from_start(quaternions: np.ndarray) -> np.ndarray:
    """Return the rotation angle (K,) [rad] between the first of the unit quaternions (K, 4) and each."""
    return np.asarray(2 * np.arccos(np.clip(np.abs(quaternions @ quaternions[0]), 0.0, 1.0)))
