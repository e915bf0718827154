"""How treesim was installed, and how to install its extras and plugins in the same way."""

from __future__ import annotations

import json
import re
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

HERE = Path(__file__).parents[2]  # the folder of the sources, or site-packages


@cache
def source_folder() -> Path | None:
    """Return the folder of the sources that treesim runs in, or was installed from; None for an installed package."""
    if (HERE / "pyproject.toml").is_file():  # metadata found here would be that of a build
        return HERE
    try:
        recorded = distribution("treesim").read_text("direct_url.json")
    except PackageNotFoundError:
        return None
    origin = json.loads(recorded or "{}")
    if "dir_info" not in origin:
        return None
    return Path(url2pathname(urlsplit(origin["url"]).path))


def installed_by(what: str) -> str:
    """Return how to install a part of treesim: an extra of the sources such as ".[plot]", or a plugin's folder.

    The command is that for the folder of the sources if treesim was installed from it, and otherwise that for a
    package index.
    """
    folder = source_folder()
    if folder is None:
        return f'`python -m pip install "{_on_an_index(what)}"` brings it'
    return f'from the folder {folder}, `python -m pip install "{what}"` brings it'


def _on_an_index(what: str) -> str:
    """Return the requirement of a part: treesim with the extra, or the plugin by its name."""
    return re.sub(r"^\./plugins/", "", what) if what.startswith("./plugins/") else re.sub(r"^\.", "treesim", what)
