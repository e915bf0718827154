"""Draw the thumbnails of the gallery: run each example, and draw its robot or its numbers.

    python docs/gallery/draw.py            # all
    python docs/gallery/draw.py 04 live_g1

The files are docs/gallery/NAME.jpg. It needs Chromium, playwright and the meshcat plugin; example 19 also needs pink.
"""

from __future__ import annotations

import base64
import io
import runpy
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from PIL import Image
from playwright.sync_api import sync_playwright
from treesim_meshcat.film import DRAWN, FLAGS, installed_browser
from treesim_meshcat.recording import write_recording

import treesim

sys.path.insert(0, str(Path(__file__).parents[1] / "_extensions"))
from gallery import EXAMPLES, FOLDER, LIVE, write_live

SIZE = 480, 300  # pixels of a thumbnail
QUALITY = 80  # percent
ZOOM = "zoom => { stage.viewer.camera.zoom = zoom; stage.viewer.camera.updateProjectionMatrix(); }"
LIVE_FOR = 1.0  # s: simulated before a live page is drawn
MOVED = f"window.treesim && treesim.state() && treesim.state().t > {LIVE_FOR}"
Names = Mapping[str, Any]  # what an example defines


class Scene(NamedTuple):
    """Robot and motion to draw, the time [s], and the zoom."""

    robot: treesim.Tree
    run: treesim.Trajectory
    time: float
    zoom: float = 2.0


# ---- scenes


def _hands_on_circles(names: Names) -> Scene:
    return Scene(names["robot"], names["trajectory"], 0.8, 1.05)


def _tower(names: Names) -> Scene:
    world, q = names["tower"]((1.0, 1.0, 1000.0))
    return Scene(world.robot, treesim.Simulation(world).run(0.1, q), 0.0, 0.75)


def _reaching(names: Names) -> Scene:
    robot = names["robot"]
    return Scene(robot, treesim.Simulation(robot).run(0.01, names["result"].q), 0.0, 1.1)


def _last_run(time: float, zoom: float = 2.0) -> Callable[[Names], Scene]:
    return lambda names: Scene(names["robot"], names["run"], time, zoom)


def _trajectory(time: float, zoom: float) -> Callable[[Names], Scene]:
    return lambda names: Scene(names["robot"], names["trajectory"], time, zoom)


SCENES: dict[str, Callable[[Names], Scene]] = {
    "01_first_light": _trajectory(0.7, 2.2),
    "02_tree_by_hand": _trajectory(0.9, 1.8),
    "04_operational_space_control": _hands_on_circles,
    "05_standing_on_two_feet": _last_run(3.0, 1.05),
    "08_pushed_humanoid": _last_run(0.95, 1.6),
    "10_standing_robots": _last_run(1.0, 1.3),
    "11_tower_and_grasp": _tower,
    "12_trotting_on_bumps": _last_run(4.0, 2.6),
    "13_loop_and_mimic": lambda names: Scene(names["linkage"], names["coarse"], 0.3, 2.0),
    "17_inverse_kinematics": _reaching,
    "18_whole_body_control": _last_run(2.4, 1.1),
    "19_whole_body_control_with_pink": _last_run(1.5, 1.1),
}


# ---- plots


def _backends(names: Names, axes: Axes) -> None:
    state = names["q"], names["v"], names["tau"]
    errors = {
        name: abs(treesim.forward_dynamics(names["robot"], *state, backend=name) - names["wanted"]).max()
        for name in treesim.available("dynamics")
    }
    axes.barh(list(errors), list(errors.values()))
    axes.set(xscale="log", xlabel="error [rad/s², m/s²]")
    axes.invert_yaxis()
    axes.tick_params(axis="y", labelsize=5)


def _pattern(names: Names, axes: Axes) -> None:
    robot = treesim.load("simple_humanoid", base="floating")
    axes.spy(treesim.mass_matrix(robot, robot.random(0)), markersize=3)
    axes.set(xlabel="mass matrix of a humanoid")


def _closed_forms(names: Names, axes: Axes) -> None:
    for name, exact, found in names["cases"]("implicit_midpoint"):
        if exact:
            axes.loglog(exact, found, "o", color="C3" if "second top" in name else "C0")
    axes.loglog([5e-3, 50], [5e-3, 50], color="0.7", zorder=0)
    axes.set(xlabel="closed form", ylabel="simulation")


def _bounces(names: Names, axes: Axes) -> None:
    for e in (1.0, 0.9, 0.7, 0.5):
        world = treesim.World(names["ball"], ground=treesim.Ground(restitution=e))
        run = treesim.Simulation(world).run(2.4, [0, 0, 1 + names["radius"], 0, 0, 0, 1])
        axes.plot(run.t, run.q[:, 2] - names["radius"], label=f"e = {e}")
    axes.set(xlabel="time [s]", ylabel="height [m]")
    axes.legend(loc="upper right", fontsize=6)


def _weight(names: Names, axes: Axes) -> None:
    run = names["run"]
    for side, force in zip(("left foot", "right foot"), names["push"], strict=True):
        axes.plot(run.t[:-1], force, label=side)
    axes.set(xlabel="time [s]", ylabel="force of the floor [N]")
    axes.legend(fontsize=6)


def _carried(names: Names, axes: Axes) -> None:
    run = names["run"]
    forces = {f"{other} on {one}": run.contact_wrench(one, other)[-2, 2] for one, other in run.contact.pairs}
    axes.bar(list(forces), [abs(force) for force in forces.values()])
    axes.set(ylabel="force [N]")


def _lengths(names: Names, axes: Axes) -> None:
    axes.hist(0.02 * names["lengths"], bins=np.arange(0.81, 1.17, 0.02))
    axes.set(xlabel="time to rest [s]", ylabel="arms")


PLOTS: dict[str, Callable[[Names, Axes], None]] = {
    "03_compare_backends": _backends,
    "06_four_papers": _pattern,
    "07_contact_cases": _closed_forms,
    "09_bouncing_balls": _bounces,
    "14_shifting_weight": _weight,
    "15_hulls_and_drums": _carried,
    "16_environments": _lengths,
}


# ---- drawing


def plotted(plot: Callable[[Names, Axes], None], names: Names) -> Image.Image:
    """Return a plot as an image."""
    figure, axes = plt.subplots(figsize=(SIZE[0] / 160, SIZE[1] / 160), dpi=320, layout="constrained")
    axes.tick_params(labelsize=6)
    axes.xaxis.label.set_size(7)
    axes.yaxis.label.set_size(7)
    plot(names, axes)
    stream = io.BytesIO()
    figure.savefig(stream, format="png")
    plt.close(figure)
    return Image.open(stream)


def drawn(browser: Any, scene: Scene) -> Image.Image:
    """Return a scene as an image."""
    with tempfile.TemporaryDirectory() as folder:
        recording = write_recording(scene.robot, scene.run, Path(folder, "motion.html"))
        page = _page(browser, recording)
        page.evaluate(ZOOM, scene.zoom)
        data = page.evaluate(DRAWN, [scene.time, "image/png"])
        page.close()
    return Image.open(io.BytesIO(base64.b64decode(data)))


def live(browser: Any, name: str) -> Image.Image:
    """Return a page with physics as an image, after it has run for a second."""
    with tempfile.TemporaryDirectory() as folder:
        page = _page(browser, write_live(LIVE[name], Path(folder, "page.html")))
        while not page.evaluate(MOVED):
            page.wait_for_timeout(50)
        data = page.screenshot(type="png")
        page.close()
    return Image.open(io.BytesIO(data))


def _page(browser: Any, path: Path) -> Any:
    page = browser.new_page(viewport={"width": 2 * SIZE[0], "height": 2 * SIZE[1]}, color_scheme="light")
    page.goto(path.as_uri())
    return page


def image_of(name: str, browser: Any) -> Image.Image:
    """Return the image of an example or of a live page."""
    if name.startswith("live_"):
        return live(browser, name.removeprefix("live_"))
    (path,) = (path for path in EXAMPLES if path.stem == name)
    names = runpy.run_path(str(path))
    return plotted(PLOTS[name], names) if name in PLOTS else drawn(browser, SCENES[name](names))


def main(chosen: list[str]) -> None:
    """Write the thumbnails whose names begin with one of `chosen`, or all."""
    names = [*(path.stem for path in EXAMPLES), *(f"live_{name}" for name in LIVE)]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=installed_browser(), args=[*FLAGS, "--no-sandbox"])
        for name in names:
            if not chosen or name.startswith(tuple(chosen)):
                image = image_of(name, browser).convert("RGB").resize(SIZE, Image.Resampling.LANCZOS)
                image.save(FOLDER / f"{name}.jpg", quality=QUALITY, optimize=True)
                print(name)
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
