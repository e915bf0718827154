"""Plots of a trajectory: the joints that move most, the floating base, contact, the energy; or chosen quantities."""

from __future__ import annotations

import os
from collections.abc import Sequence
from fnmatch import fnmatchcase
from textwrap import fill
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..contact.unsolved import UNSOLVED, is_solved
from ..errors import ArgumentError, unknown_name
from ..simulation.readings import unit_of
from ..system.display import vector
from ..validation.values import checked_texts, finite_vector
from .figures import draw_curves, panels_of, save

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
OVERVIEW = ("position", "velocity", "base", "contact", "energy")
QUANTITIES = (*OVERVIEW, "torque")
ALIASES = {"q": "position", "v": "velocity", "tau": "torque"}
SAME_TIME = 1e-9  # [s] times of steps are products, and contain rounding errors


class _Curve(NamedTuple):
    """Plotted data of one joint: a label, and position, speed and torque (K,) each."""

    label: str
    position: np.ndarray
    speed: np.ndarray
    torque: np.ndarray


class _Panel(NamedTuple):
    """Curves over times t, with the label of their axis; a range below `still` is drawn as constant."""

    label: str
    t: np.ndarray
    curves: list[tuple[str, np.ndarray]]
    still: float = 0.0
    top: float | None = None  # of the axis, below the peaks of impacts
    missed: tuple[np.ndarray, str] | None = None  # times of unsolved steps, and their label


@np.errstate(over="ignore", invalid="ignore")  # states may be not finite
def draw(
    run: Trajectory,
    quantity: str | Sequence[str] | None = None,
    joints: str | Sequence[str] | None = None,
    t: Sequence[float] | None = None,
    axes: Any = None,
    path: str | os.PathLike[str] | None = None,
) -> Any:
    """Return the figure of `Trajectory.plot`.

    At most eight joints are drawn, those with the widest range of positions; a spherical joint shows its angle
    from the start. Values that are not finite leave a gap; huge values are drawn on a logarithmic axis. In
    contact, the largest forces on at most six bodies are drawn, or those of pairs if bodies touch each other.
    Peaks of impacts are cut off, and the axis label contains the largest.
    """
    if not len(run):
        raise ArgumentError("a trajectory without states cannot be drawn")
    curves = _joint_curves(run, joints)
    shown = sorted(curves, key=lambda curve: -_extent(curve.position))[:MOST_LINES] if joints is None else curves
    names = OVERVIEW if quantity is None else checked_texts("quantity", quantity)
    names = tuple(ALIASES.get(name, name) for name in names)
    found = {name: _panel(run, name, shown) for name in names}
    panels = [panel for panel in found.values() if panel is not None]
    if len(panels) < len(found) and quantity is not None:
        raise ArgumentError(f"the run has no {next(name for name in names if found[name] is None)} to plot")
    span = None if t is None else finite_vector("t", t, 2)
    if span is not None and not _within(run.t, span).any():
        where = f"{run.t[0]:g} ... {run.t[-1]:g} s"
        raise ArgumentError(f"t must be the first and the last time to draw: no state of {where} is in {vector(span)}")
    figure, drawn = panels_of(axes, len(panels), 10, 2.4)
    if axes is None:
        joints_of = (shown, len(curves)) if _OF_JOINTS.keys() & names else ([], 0)
        figure.suptitle(_title(run, *joints_of), fontsize=11)
    for each, panel in zip(drawn, panels, strict=True):
        _draw_panel(each, panel, span)
    drawn[-1].set_xlabel("time [s]")
    return save(figure, path)


def _panel(run: Trajectory, name: str, shown: Sequence[_Curve]) -> _Panel | None:
    """Return the panel of a quantity, or of a sensor; None if the run has none."""
    if name in run.sensors:
        columns = run.sensors.columns[name]
        units = ", ".join(dict.fromkeys(map(unit_of, columns)))
        return _Panel(f"{name} [{units}]", run.t, list(zip(columns, run.sensors[name].T, strict=True)))
    if name == "base":
        if run.joint_types[:1] != ("floating",):
            return None
        return _Panel("base position [m]", run.t, list(zip("xyz", run.q[:, :3].T, strict=True)), STILL)
    if name == "contact":
        return _contact_panel(run)
    if name == "energy":
        return _Panel("energy change [J]", run.t, _energy_lines(run))
    if name not in QUANTITIES:
        raise unknown_name("quantity", name, [*QUANTITIES, *run.sensors])
    label, attribute = _OF_JOINTS[name]
    still = STILL if name != "torque" else 0.0
    return _Panel(label, run.t, [(c.label, getattr(c, attribute)) for c in shown], still) if shown else None


_OF_JOINTS = {
    "position": ("position [rad, m]", "position"),
    "velocity": ("velocity [rad/s, m/s]", "speed"),
    "torque": ("torque [N m, N]", "torque"),
}


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


def _contact_panel(run: Trajectory) -> _Panel | None:
    """Return the forces at the start of each step, with peaks cut off, and the steps whose contact solve failed."""
    forces = _contact_forces(run)
    if not forces or run.contact is None:
        return None
    t, missed = run.t[:-1], ~is_solved(run.contact.solver_info[:-1])
    largest = np.max([np.where(force < FARTHEST, force, 0.0) for _, force in forces], axis=0)
    peak, usual = largest.max(), HEADROOM * np.percentile(largest[largest > 0], USUAL)
    cut = peak > HEADROOM * usual
    label = f"contact force [N]\n(impacts to {peak:,.4g} N)" if cut else "contact force [N]"
    marks = f"residual above {UNSOLVED:g} m/s\nin {missed.sum()} of {len(t)} steps"
    top = usual if cut else HEADROOM * peak
    return _Panel(label, t, forces, top=top, missed=(t[missed], marks) if missed.any() else None)


def _title(trajectory: Trajectory, shown: list[_Curve], joints: int) -> str:
    made = trajectory.metadata
    how = ", ".join(str(made[key]) for key in ("backend", "integrator") if key in made)
    title = f"{trajectory.robot_name}: {how}" if how else trajectory.robot_name
    if shown and max(_extent(curve.position) for curve in shown) < STILL:
        title += f"  (no joint moves; {len(shown)} of {joints} are shown)"
    elif len(shown) < joints:
        title += f"  (the {len(shown)} joints of {joints} that move most)"
    return title if trajectory.stopped is None else f"{title}\n{fill(f'stopped: {trajectory.stopped}', TITLE_WIDTH)}"


def _within(t: np.ndarray, span: np.ndarray) -> np.ndarray:
    """Return which times are in a span."""
    inside: np.ndarray = (t >= span[0] - SAME_TIME) & (t <= span[1] + SAME_TIME)
    return inside


def _draw_panel(axes: Any, panel: _Panel, span: np.ndarray | None) -> None:
    """Draw the curves of a panel over a span of time, by default all."""
    t, curves = panel.t, [(name, np.where(np.abs(x) < FARTHEST, x, np.nan)) for name, x in panel.curves]
    if span is not None:
        inside = _within(t, span)
        t, curves = t[inside], [(name, x[inside]) for name, x in curves]
    finite = np.concatenate([x[np.isfinite(x)] for _, x in curves])
    _scale(axes, finite, panel.still)
    if panel.missed is not None:
        times, label = panel.missed
        place = np.full(len(times), 0.03)
        axes.plot(times, place, "r|", transform=axes.get_xaxis_transform(), label=label)
    draw_curves(axes, t, curves, panel.top or 0.0)
    axes.set_ylabel(panel.label)
    axes.grid(alpha=0.3)
    if len(t) and t[0] < t[-1]:
        axes.set_xlim(t[0], t[-1])
    if panel.top is not None:
        axes.set_ylim(-0.07 * panel.top, panel.top)
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


def _joint_curves(run: Trajectory, joints: str | Sequence[str] | None) -> list[_Curve]:
    """Return the curves of joints with one coordinate and of spherical ones, or those of names and patterns."""
    known = dict(zip(run.joint_names, run.joint_types, strict=True)) | dict.fromkeys(run.mimic_joints, "revolute")
    wanted = list(run.joint_names)
    if joints is not None:
        wanted = []
        for pattern in checked_texts("joints", joints):
            found = [name for name in known if fnmatchcase(name, pattern)]
            if not found:
                raise unknown_name("joint", pattern, known, of=repr(run.robot_name))
            wanted += [name for name in found if name not in wanted]
    curves = []
    for name in wanted:
        joint, kind = run[name], known[name]
        if joint.q.ndim == 1:
            label = f"{name} [m]" if kind == "prismatic" else name
            curves.append(_Curve(label, joint.q, joint.v, joint.tau))
        elif kind == "spherical":
            of = _angle_from_start(joint.q), *(np.linalg.norm(x, axis=1) for x in (joint.v, joint.tau))
            curves.append(_Curve(f"{name} (angle)", *of))
    return curves


def _extent(values: np.ndarray) -> float:
    """Return the range of values; infinite if they are not finite."""
    return float(np.ptp(values)) if np.isfinite(values).all() else np.inf


def _angle_from_start(quaternions: np.ndarray) -> np.ndarray:
    """Return the rotation angle (K,) [rad] between the first of the unit quaternions (K, 4) and each."""
    return np.asarray(2 * np.arccos(np.clip(np.abs(quaternions @ quaternions[0]), 0.0, 1.0)))
