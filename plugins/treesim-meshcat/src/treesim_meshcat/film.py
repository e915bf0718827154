"""Film (.mp4) or picture (.png) of a trajectory: its recording, drawn frame by frame in a browser."""

from __future__ import annotations

import base64
import math
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

from treesim import Tree
from treesim.errors import PluginError
from treesim.simulation.trajectory import Trajectory
from treesim.system.files import write_whole
from treesim.system.installation import installed_by
from treesim.system.progress import counted
from treesim.system.subprocesses import program_path

from .recording import write_recording

T = TypeVar("T")
SIZE = {"width": 1280, "height": 720}  # pixels
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--disable-dev-shm-usage",  # containers give it 64 MB, with which pages crash
)  # drawn without a graphics card, too
JPEG, PNG = "image/jpeg", "image/png"
RANGE = "scale=in_range=pc:out_range=tv,format=yuv420p"  # of colours, from that of JPEG to that of films
CODING = ("-c:v", "libx264", "-crf", "20", "-vf", RANGE, "-movflags", "+faststart", "-f", "mp4")
DRAWN = """async ([t, kind]) => {
    while (stage.loading) await new Promise((done) => setTimeout(done, 10));
    const {animator} = stage.viewer;
    if (animator.actions.length) {
        animator.pause();
        animator.seek(t);
    }
    stage.follow();
    stage.detail.show(false);
    stage.viewer.render();
    return stage.viewer.renderer.domElement.toDataURL(kind, 0.95).split(",")[1];
}"""
PLUGIN = "./plugins/treesim-meshcat[film]"


def write_film(robot: Tree, trajectory: Trajectory, path: Path, fps: float = 30) -> Path:
    """Write the motion to an H.264 file (.mp4), `fps` frames per second of real time; return its path.

    Raises PluginError if playwright, Chromium or ffmpeg is missing, and what `recording.write_recording`
    raises. Cost: a tenth of a second for each frame, without a graphics card.
    """
    ffmpeg = check_film()
    with tempfile.TemporaryDirectory() as folder:
        recording, made = write_recording(robot, trajectory, Path(folder, "motion.html"), fps), Path(folder, "film.mp4")
        duration = float(trajectory.t[-1] - trajectory.t[0])
        _alone(lambda: _drawn(recording, lambda page: _encode(ffmpeg, _frames(page, duration, fps), fps, made)))
        data = made.read_bytes()
    return write_whole(path, lambda stream: stream.write(data), len(data))


def write_picture(robot: Tree, trajectory: Trajectory, path: Path) -> Path:
    """Write a picture of the last state to a file (.png); return its path.

    Raises as `write_film`; needs no ffmpeg.
    """
    check_picture()
    with tempfile.TemporaryDirectory() as folder:
        recording = write_recording(robot, trajectory, Path(folder, "motion.html"))
        end = float(trajectory.t[-1] - trajectory.t[0])
        data = _alone(lambda: _drawn(recording, lambda page: _picture(page, end, PNG)))
    return write_whole(path, lambda stream: stream.write(data), len(data))


def check_film() -> str:
    """Return the path of ffmpeg; raises PluginError for anything that is missing to make films."""
    check_picture()
    found = program_path("ffmpeg")
    if found is not None:
        return found
    try:
        from imageio_ffmpeg import get_ffmpeg_exe
    except ImportError:
        raise PluginError(
            f"films need ffmpeg, which is not on the PATH: install it; or {installed_by(PLUGIN)}"
        ) from None
    return str(get_ffmpeg_exe())


def check_picture() -> None:
    """Raise PluginError for anything that is missing to draw pictures."""
    try:
        import_module("playwright.sync_api")
    except ImportError:
        raise PluginError(
            f"pictures are drawn in a browser by playwright, which is not installed: {installed_by(PLUGIN)}"
        ) from None
    if installed_browser() is None and not os.path.isfile(_alone(_own_browser)):
        raise PluginError("pictures are drawn in Chromium, which is missing: run `playwright install chromium`")


def _own_browser() -> str:
    """Return the path where playwright installs Chromium."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        return playwright.chromium.executable_path


def installed_browser() -> str | None:
    """Return the path of this computer's Chromium; None for playwright's own, which may be missing."""
    return next(filter(None, map(program_path, BROWSERS)), None)


def _alone(work: Callable[[], T]) -> T:
    """Return work(), run in a thread of its own: playwright does not run in one with an event loop, as a notebook's."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(copy_context().run, work).result()  # also shows progress


def _drawn(recording: Path, work: Callable[[Any], T]) -> T:
    """Return work(page), with a page that shows a recording."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=installed_browser(), args=FLAGS)
        page = browser.new_page(viewport=SIZE, color_scheme="light")  # type: ignore[arg-type] # of its own kind of dict
        page.goto(f"{recording.as_uri()}#film")
        result = work(page)
        browser.close()
    return result


def _frames(page: Any, duration: float, fps: float) -> Iterator[bytes]:
    """Yield pictures (JPEG) of a motion, from its first state to its last."""
    for k in counted(range(math.ceil(duration * fps - 1e-9) + 1), lambda k: "pictures"):
        yield _picture(page, min(k / fps, duration), JPEG)


def _picture(page: Any, t: float, kind: str) -> bytes:
    return base64.b64decode(page.evaluate(DRAWN, [t, kind]))


def _encode(ffmpeg: str, frames: Iterator[bytes], fps: float, path: Path) -> None:
    """Encode pictures as a film; raises PluginError with ffmpeg's message if that fails."""
    asked = (ffmpeg, "-y", "-loglevel", "error", "-f", "image2pipe", "-framerate", str(fps), "-c:v", "mjpeg", "-i", "-")
    process = subprocess.Popen((*asked, *CODING, str(path)), stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdin is not None
    try:
        for frame in frames:
            process.stdin.write(frame)
    except BrokenPipeError:
        pass  # it has ended with a message
    _, said = process.communicate()
    if process.returncode:
        raise PluginError(f"ffmpeg made no film: {said.decode(errors='replace').strip()}")
