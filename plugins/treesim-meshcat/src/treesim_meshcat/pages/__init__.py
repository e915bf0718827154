"""Pages: plain HTML, CSS and JavaScript around meshcat's viewer, each assembled into one file."""

from __future__ import annotations

from functools import lru_cache
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import NamedTuple

_STAGE = ("stage.js", "detail.js", "view.js", "links.js")
_SESSION = (
    "session.js",
    "reference.js",
    "arrows.js",
    "twist.js",
    "grab.js",
    "overlays.js",
    "plot.js",
    "states.js",
    "panel.js",
    "inspect.js",
    "api.js",
)


class _Kind(NamedTuple):
    """Kind of page.

    Its class in style.css, the addresses it may connect to, its controls, its scripts after `_STAGE`, and those
    of a Worker with WebAssembly, if it has one.
    """

    layout: str
    connect: str
    controls: str
    scripts: tuple[str, ...]
    worker: tuple[str, ...] = ()


_KINDS = {
    "recording": _Kind("recording", "'none'", "recording.html", ("recording.js",)),
    "live": _Kind("live", "'self' ws: wss:", "panel.html", (*_SESSION, "program.js", "socket_link.js", "live.js")),
    "offline": _Kind(
        "live",
        "'none'",
        "panel.html",
        (*_SESSION, "worker_link.js", "offline.js"),
        (
            "kernel.js",
            "settings.js",
            "actuators.js",
            "contact.js",
            "policy.js",
            "effective_mass.js",
            "physics.js",
            "worker.js",
        ),
    ),
}


def page(kind: str, title: str, scene: str = "null") -> str:
    """Return the HTML of a page that needs no other file.

    kind: "recording", "live" or "offline", of `_KINDS`. title: plain text.
    scene: JSON that is safe inside a `<script>` element (see encoding.to_json).
    """
    parts = _KINDS[kind]
    return Template(_own("page.html")).substitute(
        title=escape(title),
        layout=parts.layout,
        connect=parts.connect,
        allowed=" 'wasm-unsafe-eval'; worker-src blob:" if parts.worker else "",
        style=_own("style.css"),
        controls=_own(parts.controls),
        licenses=_meshcat("LICENSE") + _meshcat("dist/main.min.js.LICENSE.txt"),
        meshcat=_meshcat("dist/main.min.js"),
        scripts="\n".join(_own(script) for script in (*_STAGE, *parts.scripts)),
        worker="\n".join(map(_own, parts.worker)),
        scene=scene,
    )


@lru_cache
def _own(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


@lru_cache
def _meshcat(name: str) -> str:
    import meshcat

    return Path(meshcat.viewer_assets_path(), name).read_text(encoding="utf-8")
