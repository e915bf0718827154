"""View of the page in a real browser: sides, opacity, shadows, pictures and films, on live pages and recordings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.filterwarnings("ignore::treesim.SlowWarning")

TOWARDS = {"front": (1, 0, 0), "side": (0, -1, 0), "top": (0, 0, 1), "isometric": (1, -1, 1)}
CAMERA = """() => {
    stage.viewer.camera.updateMatrixWorld();
    const {scene, camera, controls} = stage.viewer;
    return [camera.position, controls.target].map((place) => scene.worldToLocal(place.clone()).toArray());
}"""
CORNERS = """() => stage.bodies.slice(1).flatMap((body) => [-1, 1].map((z) => {
    const at = body.localToWorld(new MeshCat.THREE.Vector3(0, 0, 0.25 * (z - 1))).project(stage.viewer.camera);
    return [at.x, at.y];
})).flat()"""
INK = """() => {  // numbers of the picture, drawn anew
    stage.detail.show(false);
    const {renderer} = stage.viewer, {width, height} = renderer.domElement;
    stage.viewer.render();
    const pen = document.createElement("canvas").getContext("2d");
    [pen.canvas.width, pen.canvas.height] = [width, height];
    pen.drawImage(renderer.domElement, 0, 0);
    return [...pen.getImageData(0, 0, width, height).data];
}"""


def press(page: Any, name: str) -> None:
    """Press a button or a box by its id, wherever it is."""
    page.evaluate("(name) => element(name).click()", name)


def sees_from(page: Any, name: str) -> None:
    """Press a button, and check the direction of the camera, and that all ends of links are in the picture."""
    press(page, f"view_{name}")
    place, target = (np.array(each) for each in page.evaluate(CAMERA))
    direction, expected = place - target, np.array(TOWARDS[name], float)
    np.testing.assert_allclose(direction / np.linalg.norm(direction), expected / np.linalg.norm(expected), atol=1e-3)
    assert np.abs(page.evaluate(CORNERS)).max() < 1


def stored(page: Any, name: str, folder: Path) -> bytes:
    """Return the file that the page stores at a click."""
    with page.expect_download() as found:
        press(page, name)
    path = folder / found.value.suggested_filename
    found.value.save_as(path)
    return path.read_bytes()


def test_the_robot_is_seen_from_all_sides_and_through(live):
    page = live.watched.page
    page.set_viewport_size({"width": 1000, "height": 700})
    for name in TOWARDS:
        sees_from(page, name)
    opacity = "() => panel.overlays.layers.visual.map((part) => part.children[0].material.opacity)"
    own = page.evaluate(opacity)
    page.evaluate("element('opacity').value = 0.5; element('opacity').dispatchEvent(new Event('input'))")
    np.testing.assert_allclose(page.evaluate(opacity), np.array(own) / 2)
    press(page, "show_collision")
    assert max(page.evaluate(opacity)) < 0.2
    press(page, "show_collision")
    np.testing.assert_allclose(page.evaluate(opacity), np.array(own) / 2)


def test_shadows_darken_the_floor(live):
    page = live.watched.page
    page.set_viewport_size({"width": 600, "height": 400})
    press(page, "view_isometric")
    live.pause()
    live.watched.draw()
    light = np.array(page.evaluate(INK))
    press(page, "shadows")
    live.watched.draw()
    dark = np.array(page.evaluate(INK))
    assert (dark < light - 10).sum() > 100 and (dark > light + 10).sum() == 0
    press(page, "shadows")
    live.watched.draw()
    np.testing.assert_array_equal(page.evaluate(INK), light)


def test_pictures_and_films_are_stored(live, tmp_path):
    page = live.watched.page
    page.set_viewport_size({"width": 1000, "height": 700})
    assert stored(page, "view_picture", tmp_path)[:4] == b"\x89PNG"
    press(page, "view_film")
    page.wait_for_timeout(500)
    assert page.inner_text("#view_film") == "stop film"
    film = stored(page, "view_film", tmp_path)
    assert (film[:4] == b"\x1aE\xdf\xa3" or film[4:8] == b"ftyp") and len(film) > 1000
    live.wait("element('view_film').textContent === 'film'")


def test_a_recording_has_a_view_too(watch, robot, motion, tmp_path):
    from treesim_meshcat.recording import write_recording

    page = watch(write_recording(robot, motion(robot), tmp_path / "motion.html").as_uri()).page
    press(page, "view_top")
    place, target = (np.array(each) for each in page.evaluate(CAMERA))
    assert place[2] - target[2] > 10 * np.abs(place - target)[:2].max()
    assert stored(page, "view_picture", tmp_path)[:4] == b"\x89PNG"
    press(page, "link_1")
    page.locator("#tools summary").click()
    assert page.evaluate("stage.bodies.map(({visible}) => visible)") == [True, False, True, True]
    page.locator("#links button", has_text=robot.bodies[0].name).click()
    assert page.evaluate("stage.bodies.every(({visible}) => visible)")
