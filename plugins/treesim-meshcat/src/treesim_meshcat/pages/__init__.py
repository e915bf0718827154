"""The pages: plain HTML, CSS and JavaScript around meshcat's own viewer, each put together into one file."""

from __future__ import annotations

from functools import lru_cache
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template

_CONNECT = {"recording": "'none'", "live": "'self' ws: wss:"}  # whom the page may call, by kind


def page(kind: str, title: str, scene: str = "null") -> str:
    """Return the HTML of a page that needs no other file.

    kind: "recording" or "live", which names the page's own .html and .js beside this file. title: plain text.
    scene: JSON that is safe inside a `<script>` element (see encoding.to_json).
    """
    return Template(_own("page.html")).substitute(
        title=escape(title),
        connect=_CONNECT[kind],
        style=_own("style.css"),
        controls=_own(f"{kind}.html"),
        licenses=_meshcat("LICENSE") + _meshcat("dist/main.min.js.LICENSE.txt"),
        meshcat=_meshcat("dist/main.min.js"),
        stage=_own("stage.js"),
        script=_own(f"{kind}.js"),
        scene=scene,
    )


@lru_cache
def _own(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


@lru_cache
def _meshcat(name: str) -> str:
    import meshcat

    return Path(meshcat.viewer_assets_path(), name).read_text(encoding="utf-8")
