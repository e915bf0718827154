"""Measure how many pictures a second a page without Python shows, drawn without a graphics card.

`python plugins/treesim-meshcat/measure_frames.py ROBOT [options of treesim view]` opens the page in Chromium at 1280 x
720 pixels. It prints the median rate of pictures over 10 s, and how far the simulation came in this time.
"""

from __future__ import annotations

import itertools
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright
from treesim_meshcat.film import FLAGS, installed_browser

SIZE = {"width": 1280, "height": 720}
STARTED, MEASURED = 10_000, 10_000  # ms
TIMES = """(duration) => new Promise((done) => {
    const times = [], began = treesim.state().t;
    const next = (time) => {
        times.push(time);
        if (time - times[0] < duration) requestAnimationFrame(next); else done([times, treesim.state().t - began]);
    };
    requestAnimationFrame(next);
})"""


def main() -> None:
    """Measure with the options of the command line."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = Path(folder, "page.html")
        command = [sys.executable, "-m", "treesim", "view", *sys.argv[1:], "--html", str(path)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        browser = playwright.chromium.launch(executable_path=installed_browser(), args=["--no-sandbox", *FLAGS])
        page = browser.new_page(viewport=SIZE)  # type: ignore[arg-type]
        page.goto(path.as_uri())
        page.wait_for_timeout(STARTED)
        times, simulated = page.evaluate(TIMES, MEASURED)
        triangles = page.evaluate("stage.viewer.renderer.info.render.triangles")
        browser.close()
    rate = 1000 / statistics.median(after - before for before, after in itertools.pairwise(times))
    print(f"{f'in {MEASURED / 1000:g} s':15}  {'value':>8}  unit")
    for quantity, value, unit in (
        ("pictures", f"{rate:.0f}", "1/s"),
        ("triangles", f"{triangles}", "-"),
        ("simulated", f"{simulated:.1f}", "s"),
    ):
        print(f"{quantity:15}  {value:>8}  {unit}")


if __name__ == "__main__":
    main()
