"""Films and pictures: selection of frames, errors for missing programs, and what Chromium draws."""

from __future__ import annotations

import base64
import shutil
import subprocess
import sys

import numpy as np
import pytest
from treesim_meshcat import MeshcatViewer, film

from tests.terminal import Terminal
from treesim.errors import ArgumentError, PluginError
from treesim.system.progress import progress_bar
from treesim.viewing.protocols import FormatRecorder

SMALL = {"width": 96, "height": 64}


class Page:
    """Page that records when it is drawn."""

    def __init__(self) -> None:
        self.times: list[float] = []

    def evaluate(self, drawn: str, asked: tuple[float, str]) -> str:
        self.times.append(asked[0])
        return base64.b64encode(f"{asked[1]} at {asked[0]:g} ".encode()).decode()


def test_frames_are_of_real_time_from_the_first_state_to_the_last():
    page = Page()
    frames = list(film._frames(page, 0.25, 10))
    assert page.times == [0, 0.1, 0.2, 0.25] and frames[2] == b"image/jpeg at 0.2 "
    assert len(list(film._frames(page, 0.3, 10))) == 4, "no frame more, by rounding"


def program(path, text: str) -> str:
    path.write_text(f"#!{sys.executable}\n{text}")
    path.chmod(0o755)
    return str(path)


def test_frames_go_to_ffmpeg_which_may_say_why_not(tmp_path):
    keeps = program(tmp_path / "keeps", "import sys\nopen(sys.argv[-1], 'wb').write(sys.stdin.buffer.read())")
    film._encode(keeps, iter([b"one", b"two"]), 30, tmp_path / "made")
    assert (tmp_path / "made").read_bytes() == b"onetwo"
    refuses = program(tmp_path / "refuses", "import sys\nsys.exit('Unknown encoder')")
    with pytest.raises(PluginError, match="Unknown encoder"):
        film._encode(refuses, iter([bytes(1 << 20)] * 3), 30, tmp_path / "made")


def test_what_is_missing_is_told_before_anything_is_simulated(tmp_path, monkeypatch):
    monkeypatch.setattr(film, "check_picture", lambda: None)
    monkeypatch.setattr(film, "program_path", lambda name: None)
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    viewer = MeshcatViewer()
    assert isinstance(viewer, FormatRecorder)
    with pytest.raises(PluginError, match=r"ffmpeg.*treesim-meshcat\[film\]"):
        viewer.check_record(tmp_path / "motion.mp4")
    monkeypatch.undo()
    monkeypatch.setitem(sys.modules, "playwright.sync_api", None)
    with pytest.raises(PluginError, match=r"playwright.*treesim-meshcat\[film\]"):
        viewer.check_record(tmp_path / "motion.png")
    with pytest.raises(ArgumentError, match=r"\.mp4, \.png, \.glb"):
        viewer.check_record(tmp_path / "motion.avi")
    viewer.check_record(tmp_path / "motion.glb")


@pytest.mark.slow
def test_a_picture_shows_the_last_state_and_a_film_all_of_them(browser, robot, motion, tmp_path, monkeypatch):
    image = pytest.importorskip("PIL.Image")
    monkeypatch.setattr(film, "SIZE", SMALL)
    trajectory, viewer = motion(robot, duration=0.2), MeshcatViewer()
    picture = np.asarray(image.open(viewer.record(robot, trajectory, tmp_path / "motion.png")).convert("RGB"), float)
    assert picture.shape == (64, 96, 3)
    middle = picture[22:42, 38:58]
    assert (middle[..., 0] > 1.5 * middle[..., 2]).any(), "the red trunk is not in the middle"
    try:
        ffmpeg = film.check_film()
    except PluginError as error:
        pytest.skip(str(error))
    made = viewer.record(robot, trajectory, tmp_path / "motion.mp4", fps=20)
    details = subprocess.run([ffmpeg, "-i", str(made), "-f", "null", "-"], capture_output=True, text=True)
    assert "frame=    5" in details.stderr and "96x64" in details.stderr and "20 fps" in details.stderr
    assert shutil.which("ffmpeg") or "imageio_ffmpeg" in sys.modules


def test_pictures_of_a_film_are_counted_on_a_terminal(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with progress_bar("recording"):
        assert len(film._alone(lambda: list(film._frames(Page(), 1.0, 10)))) == 11
    assert "10/11" in terminal.getvalue() and "pictures" in terminal.getvalue()
