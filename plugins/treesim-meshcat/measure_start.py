"""Measure the time of `treesim view` from the start of its process to the first picture.

`python plugins/treesim-meshcat/measure_start.py ROBOT [options of treesim view]` starts `treesim view` a
few times, and opens its page in a running Chromium. For each start it prints seconds since the start of the
process and processor time (CPU) of the program, which is more meaningful on a busy computer.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, sync_playwright
from treesim_meshcat.film import installed_browser

STARTS = 3
FLAGS = ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
SIZE = {"width": 640, "height": 480}
SHOWN = "stage.bodies.length > 0 && stage.viewer.renderer.info.render.triangles > 0"
PLAYS = "window.treesim && treesim.state() !== null && treesim.state().t > 0"


def main() -> None:
    """Measure with the options of the command line."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=installed_browser(), args=FLAGS)
        events = "address", "picture", "motion"
        print("  ".join(["start", *(heading for event in events for heading in (f"{event} [s]", f"{event}, CPU [s]"))]))
        for number in range(STARTS):
            seconds = measure(browser, sys.argv[1:])
            rows = (f"{x:11.2f}  {y:16.2f}" for x, y in seconds)
            print("  ".join([f"{number + 1:5}", *rows]), flush=True)
        browser.close()


def measure(browser: Browser, options: list[str]) -> list[tuple[float, float]]:
    """Start `treesim view` once, and return elapsed and processor time [s] of each event."""
    page = browser.new_page(viewport=SIZE)  # type: ignore[arg-type]
    began = time.perf_counter()
    command = [sys.executable, "-m", "treesim", "view", *options, "--no-browser", "--json"]
    program = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    def now() -> tuple[float, float]:
        return time.perf_counter() - began, used(program.pid)

    try:
        assert program.stdout is not None
        url = json.loads(program.stdout.readline())["url"]
        seconds = [now()]
        page.goto(url, wait_until="commit")
        for condition in (SHOWN, PLAYS):  # a picture, and motion
            wait(page, condition)
            seconds.append(now())
        return seconds
    finally:
        program.terminate()
        program.communicate()
        page.close()


def wait(page: Any, condition: str) -> None:
    """Poll until a condition holds: the page forbids scripts to evaluate text."""
    while not page.evaluate(f"() => typeof stage !== 'undefined' && ({condition})"):
        page.wait_for_timeout(10)


def used(process: int) -> float:
    """Return the processor time of a process so far [s]."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
