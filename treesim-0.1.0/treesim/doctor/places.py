"""File names of findings in the formats of other programs."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import quote


def relative_path(file: str) -> str:
    """Return a file's path relative to the current folder if it is below it, else unchanged."""
    absolute, here = os.path.abspath(file), os.path.join(os.getcwd(), "")
    return absolute.removeprefix(here) if absolute.startswith(here) else file


def uri_of(file: str) -> str:
    """Return the URI of a file: relative below the current folder, else absolute; sources other than files by name."""
    path = relative_path(file)
    return Path(path).as_uri() if os.path.isabs(path) else quote(Path(path).as_posix())
