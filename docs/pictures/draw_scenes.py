"""Pictures of robots: a state of a run, a live page with overlays, and a film."""

from __future__ import annotations

import base64
import io
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image
from treesim_meshcat.film import DRAWN
from treesim_meshcat.recording import write_recording

import treesim

PIXELS = {"width": 1280, "height": 800}
ZOOM = "zoom => { stage.viewer.camera.zoom = zoom; stage.viewer.camera.updateProjectionMatrix(); }"
LIVE = """([shown, hidden]) => {
    treesim.set({running: false});
    treesim.reset();
    for (const name of [...shown, ...hidden]) element(`show_${name}`).click();
}"""


class Scene(NamedTuple):
    """Robot and motion to draw, the time [s], and the zoom."""

    robot: treesim.Tree
    run: treesim.Trajectory
    time: float = 0.0
    zoom: float = 1.5


class Live(NamedTuple):
    """Robot or world to draw in a configuration, what is shown with it or hidden, and the zoom."""

    world: treesim.World | treesim.Tree
    q: np.ndarray
    shown: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    zoom: float = 1.5


class Film(NamedTuple):
    """Robot and motion of a film, its pictures per second, the zoom, and the part of the page that is shown."""

    robot: treesim.Tree
    run: treesim.Trajectory
    rate: int = 20
    zoom: float = 1.5
    part: tuple[int, int, int, int] = (0, 0, 1280, 800)  # left, top, right, bottom


def _page(browser: Any, path: Path, zoom: float) -> Any:
    page = browser.new_page(viewport=PIXELS, color_scheme="light")
    page.goto(path.as_uri())
    page.evaluate(ZOOM, zoom)
    return page


def _frames(browser: Any, shown: Scene | Film, times: np.ndarray) -> Iterator[Image.Image]:
    with tempfile.TemporaryDirectory() as folder:
        page = _page(browser, write_recording(shown.robot, shown.run, Path(folder, "motion.html")), shown.zoom)
        for time in times:
            data = page.evaluate(DRAWN, [float(time), "image/png"])
            yield Image.open(io.BytesIO(base64.b64decode(data))).convert("RGB")
        page.close()


def photographed(browser: Any, scene: Scene) -> Image.Image:
    """Return a state of a run as an image."""
    (image,) = _frames(browser, scene, np.array([scene.time]))
    return image


def film(browser: Any, shown: Film) -> list[Image.Image]:
    """Return the images of a film."""
    times = np.arange(shown.run.t[0], shown.run.t[-1], 1 / shown.rate)
    return [image.crop(shown.part) for image in _frames(browser, shown, times)]


def live(browser: Any, shown: Live) -> Image.Image:
    """Return the page with physics as an image, with overlays, at rest."""
    viewer: Any = treesim.plugins.get("viewers", "meshcat")
    options = {"backends": ("aba",), "contact_solvers": ("pgs",)}
    with tempfile.TemporaryDirectory() as folder:
        path = viewer.write_page(shown.world, Path(folder, "page.html"), shown.q, **options)
        page = _page(browser, path, shown.zoom)
        while not page.evaluate("window.treesim && treesim.state() && stage.frames > 2"):
            page.wait_for_timeout(50)
        page.evaluate(LIVE, [list(shown.shown), list(shown.hidden)])
        page.evaluate(ZOOM, shown.zoom)
        page.wait_for_timeout(500)
        data = page.evaluate("() => { stage.viewer.render(); return stage.viewer.renderer.domElement.toDataURL(); }")
        page.close()
    return Image.open(io.BytesIO(base64.b64decode(data.split(",")[1])))
