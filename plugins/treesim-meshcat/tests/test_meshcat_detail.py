"""Meshes that move have few triangles where pictures take long, and are whole at rest."""

from __future__ import annotations

import pytest
import trimesh
from treesim_meshcat import MeshcatViewer

from treesim import Body, Inertia, Joint, Placement, Tree, Visual

MOST = 10_000
TRIANGLES = """() => {
    const seen = [];
    stage.viewer.scene.traverseVisible((o) => { if (o.isMesh && o.material.lights !== false) seen.push(o.geometry); });
    return seen.reduce((sum, {index, attributes}) => sum + (index || attributes.position).count / 3, 0);
}"""
OPEN_EDGES = """() => {
    const {index, attributes: {position}} = stage.detail.meshes.find(({whole}) => triangleCount(whole) > 1000).copy;
    const at = (k) => [0, 1, 2].map((i) => position.array[3 * index.array[k] + i]).join(), edges = new Map();
    for (let k = 0; k < index.count; k += 3) {
        for (const [a, b] of [[0, 1], [1, 2], [2, 0]]) {
            const edge = [at(k + a), at(k + b)].sort().join("|");
            edges.set(edge, (edges.get(edge) || 0) + 1);
        }
    }
    return [...edges.values()].filter((count) => count % 2).length;
}"""
SLOWED = """() => {
    const render = stage.viewer.render.bind(stage.viewer);
    stage.viewer.render = () => { const end = performance.now() + 60; while (performance.now() < end); render(); };
}"""


@pytest.fixture
def ball(tmp_path):
    """Return a robot that is a ball of 81,920 triangles on a rail."""
    trimesh.creation.icosphere(subdivisions=6, radius=0.3).export(tmp_path / "ball.stl")
    visual = Visual(1, Placement(), "mesh", (1.0, 1.0, 1.0), file=str(tmp_path / "ball.stl"))
    return Tree("ball", [Body("ball", 0, Joint("j", "prismatic"), Inertia(1.0))], visuals=[visual])


@pytest.mark.slow
def test_slow_pictures_have_few_triangles_until_nothing_moves(ball, motion, tmp_path, watch):
    watched = watch(MeshcatViewer().record(ball, motion(ball, duration=1.0), tmp_path / "ball.html").as_uri())
    watched.wait("stage.viewer.animator.playing && stage.bodies.length === 2")
    watched.page.evaluate(SLOWED)
    watched.wait("stage.detail.few")
    assert 1_000 < watched.page.evaluate(TRIANGLES) <= MOST
    assert watched.page.evaluate(OPEN_EDGES) == 0
    watched.page.evaluate("stage.bodies[1].traverse((o) => { if (o.isMesh) o.material.opacity = 0.5; })")
    watched.page.evaluate("stage.viewer.animator.pause()")
    watched.wait("!stage.detail.few")
    assert watched.page.evaluate(TRIANGLES) >= 81_920
    assert watched.page.evaluate("stage.detail.meshes.some(({fine}) => fine.opacity === 0.5)")
    assert watched.errors == []


ATTRIBUTES = "stage.viewer.renderer.getContext().getContextAttributes().antialias"
PIXELS = "stage.viewer.renderer.domElement.width / element('meshcat-pane').offsetWidth"


@pytest.mark.parametrize("film", [False, True])
def test_pictures_at_rest_have_more_pixels_where_none_is_multisampled(film, ball, motion, tmp_path, watch):
    page = MeshcatViewer().record(ball, motion(ball, duration=1.0), tmp_path / "ball.html").as_uri()
    watched = watch(page + "#film" * film)
    watched.wait("stage.bodies.length === 2")
    watched.page.evaluate("stage.viewer.animator.pause()")
    assert watched.page.evaluate(ATTRIBUTES) == film
    watched.wait(f"{PIXELS} === {1 if film else 2}")
    watched.page.evaluate("stage.detail.show(false)")
    assert watched.page.evaluate(PIXELS) == 1


def test_slow_pages_write_the_last_state(live):
    live.watched.page.evaluate("stage.detail.choose = () => {}; stage.detail.few = true")
    live.watched.page.evaluate("session.set({running: true})")
    live.watched.wait("session.busy")
    live.watched.page.evaluate("session.set({running: false})")
    live.watched.wait("element('clock').textContent === `${session.state.t.toFixed(3)} s` && !session.state.running")


@pytest.mark.slow
def test_films_show_whole_meshes(ball, tmp_path, watch, motion):
    from treesim_meshcat.film import DRAWN

    watched = watch(MeshcatViewer().record(ball, motion(ball, duration=1.0), tmp_path / "ball.html").as_uri())
    watched.wait("stage.bodies.length === 2")
    watched.page.evaluate("stage.detail.show(true)")
    drawn = f"async (given) => {{ await ({DRAWN})(given); return stage.viewer.renderer.info.render.triangles; }}"
    assert watched.page.evaluate(drawn, [0.0, "image/png"]) >= 81_920  # before the page draws its next picture
