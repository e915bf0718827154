"""Draw the pictures of the pages: run a program that a page shows, and draw what it computes.

    python docs/pictures/draw.py            # all
    python docs/pictures/draw.py change contact

The files are docs/pictures/NAME.jpg, .svg or .webp. It needs Chromium, playwright, and the plugins that the pages need.
The table PICTURES lists page, number of the program on the page, and how to draw it.
"""

from __future__ import annotations

import io
import os
import re
import runpy
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import chdir, contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from PIL import Image
from playwright.sync_api import sync_playwright
from rich.console import Console
from rich.text import Text
from treesim_meshcat.film import FLAGS, installed_browser

sys.path.insert(0, str(Path(__file__).parents[1] / "_extensions"))
from draw_scenes import Film, Scene, film, live, photographed
from pages import PICTURES, Picture, Terminal
from words import MARKDOWN

FOLDER = Path(__file__).parent
DOCS = FOLDER.parent
SIZE = 640, 400  # pixels of a picture of a robot
QUALITY = 80  # percent
STYLE = {
    "figure.figsize": (7, 3.2),
    "figure.constrained_layout.use": True,
    "font.size": 9,
    "svg.hashsalt": "treesim",  # the same file in each run
    "path.simplify_threshold": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
}
SVG = {"Date": None}
FONT = (  # of Rich's pictures of terminals, which would load it from another host
    '<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg"><style>'
    ".{unique_id}-matrix {{ font-family: monospace; font-size: {char_height}px; line-height: {line_height}px; }}"
    "{styles}</style><defs>"
    '<clipPath id="{unique_id}-clip-terminal"><rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/>'
    '</clipPath>{lines}</defs><rect width="{width}" height="{height}" rx="8" fill="#292929"/>'
    '<g transform="translate({terminal_x}, 16)" clip-path="url(#{unique_id}-clip-terminal)">{backgrounds}'
    '<g class="{unique_id}-matrix">{matrix}</g></g></svg>'
)


def programs(page: str) -> list[str]:
    """Return the blocks of Python of a page."""
    tokens = MARKDOWN.parse((DOCS / f"{page}.md").read_text(encoding="utf-8"))
    return [t.content for t in tokens if t.type == "fence" and t.info in ("python", "{code-block} python")]


@contextmanager
def reader() -> Iterator[Path]:
    """Enter a new folder that contains the assets of the sources and a robot, as tests of pages do."""
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        Path("assets").symlink_to(DOCS.parent / "assets")
        shutil.copy(DOCS.parent / "assets" / "double_pendulum.urdf", "robot.urdf")
        yield Path(folder)


def names_of(picture: Picture) -> dict[str, Any]:
    """Return what a program of a page defines."""
    program = Path("program.py")
    program.write_text("import numpy as np\nimport treesim\n" + programs(picture.page)[picture.program], "utf-8")
    with redirect_stdout(io.StringIO()):
        return runpy.run_path(str(program), run_name="__main__")


def terminal(shown: Terminal) -> str:
    """Return a terminal with the output of commands, as SVG."""
    environment = os.environ | {"FORCE_COLOR": "1", "COLUMNS": str(shown.width), "TERM": "xterm-256color"}
    console = Console(record=True, width=shown.width, file=io.StringIO(), force_terminal=True)
    for command in shown.commands:
        line = f"{sys.executable} -m {command}"
        done = subprocess.run(line, shell=True, capture_output=True, text=True, check=True, env=environment)
        console.print(Text(f"$ {command}", style="bold"))
        lines = re.sub(r"python \S*-m\S* treesim", "treesim", done.stdout).rstrip().splitlines()[: shown.lines]
        console.print(Text.from_ansi("\n".join(lines)), no_wrap=True, crop=True)
    return console.export_svg(code_format=FONT, unique_id="terminal")


def save(picture: Picture, made: Any, browser: Any) -> Path:
    """Write a picture to its file; return the file."""
    path = FOLDER / picture.name
    if isinstance(made, Figure):
        made.savefig(path.with_suffix(".svg"), metadata=SVG)
        plt.close("all")
        return path.with_suffix(".svg")
    if isinstance(made, Terminal):
        path.with_suffix(".svg").write_text(terminal(made), encoding="utf-8")
        return path.with_suffix(".svg")
    if isinstance(made, Film):
        first, *others = (image.resize((400, 250), Image.Resampling.LANCZOS) for image in film(browser, made))
        path = path.with_suffix(".webp")
        first.save(path, save_all=True, append_images=others, duration=1000 // made.rate, loop=0, quality=50, method=6)
        return path
    image = photographed(browser, made) if isinstance(made, Scene) else live(browser, made)
    image = image.convert("RGB").resize(SIZE, Image.Resampling.LANCZOS)
    image.save(path.with_suffix(".jpg"), quality=QUALITY, optimize=True)
    return path.with_suffix(".jpg")


def main(chosen: list[str]) -> None:
    """Write the pictures whose names begin with one of `chosen`, or all."""
    mpl.use("svg")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=installed_browser(), args=[*FLAGS, "--no-sandbox"])
        for picture in PICTURES:
            if not chosen or picture.name.startswith(tuple(chosen)):
                with reader(), mpl.rc_context(STYLE):
                    names = {} if picture.program is None else names_of(picture)
                    path = save(picture, picture.draw(names), browser)
                print(path.name, f"{path.stat().st_size / 1000:.0f} kB", flush=True)
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
