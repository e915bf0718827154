"""Page in Chromium: it finds its server behind the token, and text from files is shown literally."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest

import treesim
from tests.waiting import wait_until
from treesim import Body, Inertia, Joint, Tree
from treesim.viewing.live.panel import panel_of

pytest.importorskip("viser", reason="needs viser (pip install viser)")

from treesim_viser import ViserViewer

RUN = "(window.top.ran = (window.top.ran || 0) + 1)"
SCRIPTS = (
    f"<iframe srcdoc='<script>{RUN}</script>'></iframe>",
    f"<script>{RUN}</script>",
    f'<img src="http://evil.example/a" onerror="{RUN}">',
    f"<svg onload={RUN}></svg>",
    "![image](http://evil.example/b)",
    f"[link](javascript:{RUN})",
    "www.evil.example <http://evil.example/c>",
    f"`code` *stars* # title {{{RUN}}} ${{{RUN}}} {{{{{RUN}}}}}",
    f"\"'><object data='data:text/html,<script>{RUN}</script>'></object>&lt;&amp;\\",
)

# a reply disappears after some seconds, on a busy machine before the next command reaches the page
WATCH = """(text) => new MutationObserver(() => { window.appeared ||= document.body.textContent.includes(text); })
    .observe(document.body, { childList: true, subtree: true, characterData: true })"""

# the texts of an open list of choices, once all are there; closed lists stay in the document
CHOICES = """(count) => {
    const options = [...document.querySelectorAll('[role=option]')].filter((option) => option.checkVisibility());
    return options.length >= count && options.map((option) => option.textContent);
}"""


@pytest.fixture
def page(open_page) -> Iterator[Any]:
    """Yield a page that records its requests."""
    page = open_page()
    page.set_viewport_size({"width": 700, "height": 300})
    page.asked = []
    page.on("request", lambda request: page.asked.append(request.url))
    page.on("websocket", lambda socket: page.asked.append(socket.url))
    return page


def folder(page: Any, name: str) -> Any:
    """Wait until the panel has a folder."""
    found = page.get_by_text(name, exact=True)
    found.first.wait_for()
    return found


def hostile() -> Tree:
    """Return a chain whose every name is a script."""
    inertia = Inertia(1.0, np.array([0, 0, -0.3]), np.eye(3))
    bodies = [
        Body(f"link {text}", i, Joint(text, "revolute", axis=(0, 1, 0), lower=-1, upper=1), inertia)
        for i, text in enumerate(SCRIPTS)
    ]
    return Tree(SCRIPTS[0], bodies)


def choices(page: Any, field: Any, count: int) -> list[str]:
    """Open the list of a field, and return the texts of its options: a busy page may close the list at once."""
    texts = []

    def opens() -> list[str]:
        field.click()
        for _ in range(100):
            if found := page.evaluate(CHOICES, count):
                texts.extend(found)
                break
            page.wait_for_timeout(20)
        return texts

    wait_until(opens, lambda: f"a list of {count} options opens")
    return texts


@pytest.mark.slow
def test_the_page_joins_behind_its_token_and_again_when_it_is_loaded_again(page):
    robot, viewer = treesim.load("ur5"), ViserViewer()
    url = viewer.show(robot, robot.neutral())
    viewer.show_panel(panel_of(treesim.World(robot), {}))
    try:
        page.goto(url)
        folder(page, "joints")
        page.reload()
        folder(page, "joints")
        page.goto(url.replace("127.0.0.1", "localhost"))
        folder(page, "joints")
        netloc = urlsplit(url).netloc, urlsplit(url).netloc.replace("127.0.0.1", "localhost")
        assert all(urlsplit(asked).netloc in netloc or asked.startswith(("blob:", "data:")) for asked in page.asked)
    finally:
        viewer.close()


@pytest.mark.slow
def test_a_program_sees_what_the_page_chooses(page):
    robot = treesim.load("ur5")
    with treesim.viewer(robot, "viser" if "viser" in treesim.available("viewers") else ViserViewer()) as view:
        assert view.slider("gain", 0, 1, value=0.5) == 0.5
        page.goto(view.url)
        field = page.locator("input").last
        field.wait_for()
        field.fill("0.25")
        wait_until(lambda: view.slider("gain", 0, 1) == 0.25, between=lambda: page.wait_for_timeout(20))


@pytest.mark.slow
def test_texts_of_robots_and_runs_are_shown_as_they_are(page):
    robot, viewer = hostile(), ViserViewer()
    url = viewer.show(robot, robot.neutral())
    try:
        viewer.listen(lambda message, reply: reply("cannot " + "\n".join(SCRIPTS)))
        viewer.show_panel(panel_of(treesim.World(robot), {"robots": SCRIPTS, "bases": ["fixed"]}))
        for text in SCRIPTS:
            viewer.set_slider(f"slider {text}", -1.0, 1.0, 0.0, text, lambda value: None)
        page.goto(url)
        folder(page, "joints")
        shown = page.evaluate("document.body.textContent")
        for text in SCRIPTS:
            assert f"{text} [rad]" in shown and f"slider {text} [{text}]" in shown, text
        message = "about " + "\n".join(SCRIPTS)
        viewer.show_state({"t": 1.0, "running": True, "robot": SCRIPTS[-1], "message": message})
        page.wait_for_function(
            "(text) => [...document.querySelectorAll('textarea')].some((area) => area.value === text)", arg=message
        )
        page.evaluate(WATCH, "cannot " + "\n".join(SCRIPTS))
        page.get_by_role("button", name="step", exact=True).click()
        page.wait_for_function("window.appeared")
        robots = page.locator("input[value*=object]").first
        assert choices(page, robots, len(SCRIPTS)) == list(SCRIPTS)
        assert page.evaluate("window.ran") is None
        assert (
            page.locator("iframe, object, svg[onload], img[src*=evil], a[href*=evil], a[href^=javascript]").count() == 0
        )
        assert not [asked for asked in page.asked if "evil" in urlsplit(asked).netloc]
    finally:
        viewer.close()


@pytest.mark.slow
def test_the_command_shows_it(page):
    if "viser" not in treesim.available("viewers"):
        pytest.skip("treesim-viser is not installed")
    command = [sys.executable, "-m", "treesim", "view", "ur5", "--viewer", "viser", "--no-browser", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
        try:
            page.goto(json.loads(program.stdout.readline())["url"])
            folder(page, "physics")
            page.wait_for_function("[...document.querySelectorAll('textarea')].some((area) => / J$/.test(area.value))")
        finally:
            program.terminate()
