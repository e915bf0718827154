"""Pictures for files, by matplotlib."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ArgumentError
from ..plotting import require_matplotlib

if TYPE_CHECKING:
    from ..model.tree import Tree


def new_figure(columns: int, width: float, height: float) -> tuple[Any, Any]:
    """Return a figure of `columns` axes side by side, `width` x `height` inches, that no window shows.

    Raises ArgumentError without matplotlib.
    """
    require_matplotlib()
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(1, columns, squeeze=False)[0]


def save(figure: Any, path: Path) -> None:
    """Write a figure; raises ArgumentError naming the file if it cannot be written or its ending is unknown."""
    try:
        figure.savefig(path, dpi=150)
    except (OSError, ValueError) as error:
        raise ArgumentError(f"cannot write the plot {str(path)!r}: {error}") from None


def save_sparsity(path: Path, robot: Tree) -> None:
    """Draw where the mass matrix H and its factor L (of LTL and LTDL) can differ from zero."""
    import numpy as np

    pattern = robot.topology.sparsity()
    figure, axes = new_figure(2, 10, 5.4)
    for axis, name, where in zip(axes, ("H", "L"), (pattern, np.tril(pattern)), strict=True):
        axis.imshow(where, cmap="Greys", vmin=0, vmax=1.3, interpolation="nearest")
        axis.set_title(f"{name}: {int(where.sum())} of {where.size} entries")
        axis.set_xlabel("degree of freedom")
        _name_joints(axis, robot)
    figure.suptitle(robot.name)
    save(figure, path)


def _name_joints(axis: Any, robot: Tree, most: int = 64) -> None:
    """Name the rows by their joints, if there is room."""
    if robot.nv <= most:
        axis.set_yticks(range(robot.nv), [robot.dof_name(k) for k in range(robot.nv)], fontsize=220 / max(robot.nv, 36))
