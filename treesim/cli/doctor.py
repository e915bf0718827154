"""`treesim doctor`: versions, processor, cache and plugins of this installation, for reports of faults."""

from __future__ import annotations

import os
import shutil
from importlib.util import find_spec
from typing import Any

from .. import plugins
from .common import JsonOption, examples, guarded, output, print_json

PACKAGES = ("coal", "matplotlib", "xarray", "pyarrow", "mcap", "zarr", "playwright")  # of optional features


@guarded
@examples(
    "treesim doctor",
    "treesim doctor --json",
)
def doctor(json: JsonOption = False) -> None:
    """Print what a bug report needs: versions, processor, threads, cache, plugins, and programs that are missing."""
    found = facts()
    if json:
        print_json(found)
        return
    from rich.table import Table

    table = Table(show_header=False)
    for name, value in found.items():
        table.add_row(
            name.replace("_", " "),
            "\n".join(f"{k}: {v}" for k, v in value.items()) if isinstance(value, dict) else str(value),
        )
    output().print(table)


def facts() -> dict[str, Any]:
    """Return the facts that the command prints, by name."""
    from platform import platform

    from ..engine.threads import thread_count
    from ..simulation.provenance import surroundings
    from .cache import usage

    here = surroundings()
    machine = {name: here.pop(name) for name in ("target", "processor", "kernels are")}
    features = [name[1:] for name in here.pop("features").split(",") if name.startswith("+")]
    return {
        "versions": here,
        "platform": platform(),
        "processor": {**machine, "features": " ".join(features), "cores": os.cpu_count()},
        "threads": thread_count(),
        "environment": {name: value for name, value in sorted(os.environ.items()) if name.startswith("TREESIM_")},
        "cache": usage(),
        "plugins": {
            f"{one.kind} {one.name}": one.problem or one.origin for one in plugins.listing() if one.origin != "treesim"
        },
        "programs": {name: shutil.which(name) or "not on the PATH" for name in ("ffmpeg", "chromium")},
        "packages": {name: "installed" if find_spec(name) else "not installed" for name in PACKAGES},
    }
