"""`treesim.show`: live physics, states and replays on a page, and links of notebooks."""

import re
import urllib.error
import urllib.request

import numpy as np
import pytest

import treesim
from treesim.viewing.live import show as module

pytest.importorskip("treesim_meshcat")
ROBOT = treesim.load("go2", "floating")


def is_served(url):
    with urllib.request.urlopen(url) as page:
        return page.status == 200


@pytest.fixture(scope="module")
def run():
    return treesim.Simulation(treesim.load("ur5")).run(0.05)


def test_a_run_is_replayed_until_it_is_closed(run):
    with treesim.show(run, browser=False) as page:
        page.wait(0.1)
        assert is_served(page.url) and page.url in page._repr_html_() and "iframe" in page._repr_html_()
    assert repr(page) == "<Page: closed>" and "iframe" not in page._repr_html_()
    page.close()
    with pytest.raises(urllib.error.URLError):
        is_served(page.url)


@pytest.mark.parametrize(
    "what", [ROBOT, treesim.World(ROBOT, ground=treesim.Ground(height=1.0))], ids=["robot", "world"]
)
def test_a_floating_robot_stands_on_the_ground_with_live_physics(what):
    with treesim.show(what, browser=False) as page:
        physics = page._player.physics
        assert physics.world.ground and is_served(page.url)
        assert physics.settings.controller == "hold"
        page.wait(0.2)
        height = physics.world.ground[0].height
        assert treesim.lowest_point(ROBOT, physics.player.q).point[2] == pytest.approx(height, abs=2e-2)


def test_a_state_is_shown_without_physics():
    arm = treesim.load("ur5")
    state = treesim.Stepper(arm).reset(np.full(6, 0.1))
    for given in (state, state.q):
        with treesim.show(arm, given, browser=False) as view:
            assert isinstance(view, treesim.View) and is_served(view.url)


def test_the_browser_is_opened_but_in_a_notebook(run, monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    for name, count in (("other", 1), ("ipykernel", 1)):
        monkeypatch.setitem(module.sys.modules, name, module)
        treesim.show(run).close()
        assert len(opened) == count


def test_what_cannot_be_shown_is_refused(run):
    with pytest.raises(treesim.ArgumentError, match="a run is replayed as it is"):
        treesim.show(run, np.zeros(6))
    with pytest.raises(treesim.ArgumentError, match="robot must be a Tree"):
        treesim.show("ur5")
    with pytest.raises(treesim.ArgumentError, match="no record of how it was made"):
        treesim.show(treesim.Trajectory.of(treesim.load("ur5"), run.t, run.q, run.v, run.tau, run.energy))


def test_a_notebook_links_to_the_page_of_a_run_which_opens_at_a_click(run):
    pytest.importorskip("matplotlib")
    html = run._repr_html_()
    assert "data:image/png;base64," in html and "<details>" in html
    url = re.search(r'href="(http://127[^"]*)"', html)[1]
    assert not module._Runs.pages.get(url.rpartition("/")[2]), "nothing is opened before"
    for _ in range(2):
        assert is_served(url)
    module._Runs.pages.pop(url.rpartition("/")[2]).close()
    with pytest.raises(urllib.error.HTTPError, match="404"):
        is_served(url + "x")
