"""Take a picture of the live page: a standing robot, a mouse spring at a link, and the link's properties.

`python plugins/treesim-meshcat/take_picture.py FILE.jpg` starts `treesim view`, and opens its page in
Chromium.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from typing import Any

from playwright.sync_api import sync_playwright
from treesim_meshcat.film import installed_browser

ROBOT, LINK = "g1_29dof_rev_1_0", "right_wrist_yaw_link"
AWAY = [0.10, -0.20, 0.16]  # m, from the link to where it is pulled
STEPS = 150
SHOWN = ("com", "contacts")
SIZE = {"width": 1280, "height": 720}
QUALITY = 82  # percent
FLAGS = ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
THERE = "window.treesim && treesim.state() && treesim.state().t > 0 && stage.frames > 2"
MOTION = """([link, away, steps]) => {
    treesim.set({running: false});
    treesim.reset();
    treesim.pull(link, [0, 0, 0], treesim.bodyPose(link).slice(0, 3).map((x, i) => x + away[i]));
    for (let k = 0; k < steps; k++) treesim.step();
}"""


def main(path: str) -> None:
    """Write the picture to a JPEG file."""
    command = ["treesim", "view", ROBOT, "--base", "floating", "--no-browser", "--json"]
    program = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert program.stdout is not None
        _take(json.loads(program.stdout.readline())["url"], path)
    finally:
        program.send_signal(signal.SIGINT)
        program.wait()


def _take(url: str, path: str) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=installed_browser(), args=FLAGS)
        page = browser.new_page(viewport=SIZE, color_scheme="light")  # type: ignore[arg-type]
        page.goto(url)
        _wait(page, THERE)
        page.evaluate("(names) => names.forEach((name) => element(`show_${name}`).click())", list(SHOWN))
        page.evaluate(MOTION, [LINK, AWAY, STEPS])
        _wait(page, f"Math.round(treesim.state().t / treesim.state().dt) === {STEPS} && !treesim.state().message")
        page.evaluate("(link) => inspector.open(treesim.panel().bodies.indexOf(link))", LINK)
        page.wait_for_timeout(500)
        page.screenshot(path=path, type="jpeg", quality=QUALITY)
        browser.close()


def _wait(page: Any, condition: str) -> None:
    """Poll until a condition holds: the page forbids scripts to evaluate text."""
    while not page.evaluate(condition):
        page.wait_for_timeout(50)


if __name__ == "__main__":
    main(*sys.argv[1:])
