"""Pages of functions and classes, which autosummary generates from the lists in docs/api."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any


def listed(page: Path) -> list[str]:
    """Return the full names that a page lists."""
    return re.findall(r"^   (treesim\.[\w.]+)$", page.read_text(encoding="utf-8"), re.MULTILINE)


def remove_stale(app: Any) -> None:
    """Remove generated pages of names that are no longer listed, which Sphinx would report as unreachable."""
    folder = Path(app.srcdir, "api")
    names = {name for page in folder.glob("*.md") for name in listed(page)}
    names |= set(app.config.autosummary_filename_map.values())
    for page in folder.glob("generated/*.rst"):
        if page.stem not in names:
            page.unlink()


def is_left_out(app: Any, what: str, name: str, thing: Any, skip: bool, options: Any) -> bool | None:
    """Leave out the fields of NamedTuples, which docstrings of their classes describe; None for other members."""
    return True if type(thing).__name__ == "_tuplegetter" else None


def setup(app: Any) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("builder-inited", remove_stale, priority=100)  # before autosummary
    app.connect("autodoc-skip-member", is_left_out)
    return {"parallel_read_safe": True}
