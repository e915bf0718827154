"""Pictures of a trajectory: the joints that move most, the floating base, the energy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .errors import ArgumentError

if TYPE_CHECKING:
    from .trajectory import Trajectory

MOST_LINES = 8


class _Curve(NamedTuple):
    """What one joint shows: a label, its position (K,) and its speed (K,)."""

    label: str
    position: np.ndarray
    speed: np.ndarray


def draw(trajectory: Trajectory, stream: IO[bytes], picture_format: str) -> None:
    """Write the picture of `trajectory` to `stream` in matplotlib's `picture_format`.

    Joints of one coordinate show it; a spherical joint shows its angle from where it started; at most eight joints
    are drawn, those whose position spans the widest range. Raises ArgumentError if matplotlib is not installed.
    """
    require_matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    curves = sorted(_joint_curves(trajectory), key=lambda curve: -float(np.ptp(curve.position)))
    shown = curves[:MOST_LINES]
    base = _base_position(trajectory)
    rows = 1 + 2 * bool(shown) + (base is not None)
    figure = Figure(figsize=(10, 2.4 * rows + 0.8), layout="constrained")
    FigureCanvasAgg(figure)
    axes = iter(figure.subplots(rows, 1, sharex=True, squeeze=False)[:, 0])
    figure.suptitle(_title(trajectory, len(shown), len(curves)), fontsize=11)
    if shown:
        _panel(next(axes), trajectory.t, "position [rad, m]", [(c.label, c.position) for c in shown])
        _panel(next(axes), trajectory.t, "velocity [rad/s, m/s]", [(c.label, c.speed) for c in shown])
    if base is not None:
        _panel(next(axes), trajectory.t, "base position [m]", list(zip("xyz", base.T, strict=True)))
    last = next(axes)
    start = float(trajectory.energy[0])
    _panel(last, trajectory.t, "energy change [J]", [(f"E - E(0)\nE(0) = {start:.6g} J", trajectory.energy - start)])
    last.set_xlabel("time [s]")
    figure.savefig(stream, format=picture_format, dpi=110)


def require_matplotlib() -> None:
    """Raise ArgumentError, saying how to install it, if matplotlib is missing."""
    from importlib.util import find_spec

    if find_spec("matplotlib") is None:
        raise ArgumentError("plots need matplotlib: pip install 'treesim[plot]'")


def _title(trajectory: Trajectory, shown: int, moving: int) -> str:
    made = trajectory.metadata
    how = ", ".join(str(made[key]) for key in ("backend", "integrator") if key in made)
    title = f"{trajectory.robot_name}: {how}" if how else trajectory.robot_name
    if shown < moving:
        title += f"  (the {shown} joints of {moving} that move most)"
    return title if trajectory.stopped is None else f"{title}\nstopped: {trajectory.stopped}"


def _panel(axes: Any, t: np.ndarray, label: str, lines: list[tuple[str, np.ndarray]]) -> None:
    for name, values in lines:
        axes.plot(t, values, label=name, linewidth=1.2)
    axes.set_ylabel(label)
    axes.grid(alpha=0.3)
    axes.margins(x=0)
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize=8, frameon=False)


def _joint_curves(trajectory: Trajectory) -> Iterator[_Curve]:
    for name, kind in zip(trajectory.joint_names, trajectory.joint_types, strict=True):
        joint = trajectory[name]
        if joint.q.ndim == 1:
            yield _Curve(f"{name} [m]" if kind == "prismatic" else name, joint.q, joint.v)
        elif kind == "spherical":
            yield _Curve(f"{name} (angle)", _angle_from_start(joint.q), np.linalg.norm(joint.v, axis=1))


def _angle_from_start(quaternions: np.ndarray) -> np.ndarray:
    """Return the rotation angle (K,) [rad] between the first of the unit quaternions (K, 4) and each."""
    return np.asarray(2 * np.arccos(np.clip(np.abs(quaternions @ quaternions[0]), 0.0, 1.0)))


def _base_position(trajectory: Trajectory) -> np.ndarray | None:
    """Return the (K, 3) position of the floating base, or None; a floating base is always the first joint."""
    return trajectory.q[:, :3] if trajectory.joint_types[:1] == ("floating",) else None
