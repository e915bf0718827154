"""Representation of a trajectory in a notebook: its plot, a link to its page in 3D, and its table."""

from __future__ import annotations

import base64
from contextlib import suppress
from html import escape
from importlib.util import find_spec
from typing import TYPE_CHECKING

from ..errors import TreesimError
from ..viewing.live.show import page_of

if TYPE_CHECKING:
    from ..simulation.trajectory import Trajectory


def with_plot(run: Trajectory, table: str) -> str:
    """Return HTML of a run's plot and the address of its page, above a table; the table alone without Matplotlib."""
    if not len(run) or find_spec("matplotlib") is None:
        return table
    picture = base64.b64encode(run.plot()._repr_png_()).decode()  # type: ignore[attr-defined]
    parts = [f'<img alt="{escape(repr(run))}" src="data:image/png;base64,{picture}"/>']
    with suppress(TreesimError):  # a run without its robot, or no viewer installed
        parts.append(f'<p><a href="{escape(page_of(run))}" target="_blank">show the motion in 3D</a></p>')
    return "\n".join([*parts, f"<details><summary>table</summary>{table}</details>"])
