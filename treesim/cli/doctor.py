"""`treesim doctor`: a check of this installation, and its versions, processor, cache and plugins for bug reports."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
import typer

from .. import plugins
from ..system.progress import counted, progress_bar
from ..system.subprocesses import program_path
from .common import JsonOption, examples, guarded, output, print_json

PACKAGES = ("coal", "coacd", "matplotlib", "xarray", "pyarrow", "mcap", "zarr", "playwright")  # of optional features
PASSED = "passed"
CHECK_TOLERANCE = 1e-10  # [N m], of torques of 2 N m: 1e5 roundings


@guarded
@examples(
    "treesim doctor",
    "treesim doctor --json",
)
def doctor(json: JsonOption = False) -> None:
    """Check that compiled dynamics work, and print data for a bug report.

    The data are versions, processor, threads, cache, plugins and missing programs. The exit code is 1 if the check
    fails.
    """
    with progress_bar("checking", not json):
        found = facts()
    if json:
        print_json(found)
    else:
        print_table(found)
    if not found["check"].startswith(PASSED):
        raise typer.Exit(1)


def print_table(found: dict[str, Any]) -> None:
    """Print the facts, one row for each name."""
    from rich.table import Table

    table = Table(show_header=False)
    for name, value in found.items():
        table.add_row(
            name.replace("_", " "),
            "\n".join(f"{k}: {v}" for k, v in value.items()) if isinstance(value, dict) else str(value),
        )
    output().print(table)


def check() -> str:
    """Return the result of compiling dynamics, and of comparing forward with inverse dynamics on a chain of rods."""
    from ..dynamics.forward_dynamics import forward_dynamics
    from ..dynamics.inverse_dynamics import inverse_dynamics
    from ..model.generators import chain

    robot = chain(4)
    q, v, tau = (np.linspace(-1.0, end, robot.nv) for end in (0.5, 1.0, 2.0))
    try:
        acceleration = forward_dynamics(robot, q, v, tau)
        error = abs(inverse_dynamics(robot, q, v, acceleration) - tau).max()
    except Exception as failure:  # whatever an incomplete installation raises is the answer
        return f"failed: {type(failure).__name__}: {failure}"
    result = PASSED if error < CHECK_TOLERANCE else "failed"
    return f"{result}: forward and inverse dynamics of a chain agree to {error:.0e} N m"


def facts() -> dict[str, Any]:
    """Return the facts that the command prints, by name."""
    from platform import platform

    from ..engine.threads import thread_count
    from ..simulation.provenance import surroundings
    from .cache import usage

    here = surroundings()
    machine = {name: here.pop(name) for name in ("target", "processor", "kernels are")}
    features = [name[1:] for name in here.pop("features").split(",") if name.startswith("+")]
    parts: dict[str, Callable[[], Any]] = {
        "check": check,
        "versions": lambda: here,
        "platform": platform,
        "processor": lambda: {**machine, "features": " ".join(features), "cores": os.cpu_count()},
        "threads": thread_count,
        "environment": lambda: {name: x for name, x in sorted(os.environ.items()) if name.startswith("TREESIM_")},
        "cache": usage,
        "plugins": lambda: {
            f"{one.kind} {one.name}": one.problem or one.origin for one in plugins.listing() if one.origin != "treesim"
        },
        "programs": lambda: {name: program_path(name) or "not on the PATH" for name in ("ffmpeg", "chromium")},
        "packages": lambda: {name: "installed" if find_spec(name) else "not installed" for name in PACKAGES},
    }
    return {name: parts[name]() for name in counted(list(parts))}
