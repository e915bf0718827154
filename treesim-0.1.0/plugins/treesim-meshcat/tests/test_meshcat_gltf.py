"""Motions as glTF, read by three.js' own reader, which trimesh includes for notebooks."""

from __future__ import annotations

import base64

import numpy as np
from treesim_meshcat import MeshcatViewer

import treesim

LOAD = """(data) => new Promise((resolve, reject) => {
    const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
    new THREE.GLTFLoader().parse(bytes.buffer, "", (gltf) => resolve((window.gltf = gltf).animations.length), reject);
})"""
PLACES = """([t, names]) => {
    const {scene, animations} = window.gltf, mixer = new THREE.AnimationMixer(scene);
    mixer.clipAction(animations[0]).play();
    mixer.setTime(t);
    scene.updateMatrixWorld(true);
    const node = (name) => scene.getObjectByName(THREE.PropertyBinding.sanitizeNodeName(name));
    return names.map((name) => node(name).getWorldPosition(new THREE.Vector3()).toArray());
}"""


def empty_page() -> str:
    """Return a page with three.js and its glTF reader, which draws nothing."""
    from trimesh import resources, util

    archive = util.decompress(resources.get_bytes("templates/viewer.zip"), file_type="zip")
    text: str = archive["viewer.html.template"].read().decode()
    assert text.count("init();</script>") == 1
    return text.replace("init();</script>", "</script>")


def test_three_js_plays_the_motion(robot, motion, tmp_path, watch):
    trajectory = motion(robot, duration=0.5)
    data = MeshcatViewer().record(robot, trajectory, tmp_path / "motion.glb").read_bytes()
    (tmp_path / "page.html").write_text(empty_page())
    watched = watch((tmp_path / "page.html").as_uri())
    assert watched.page.evaluate(LOAD, base64.b64encode(data).decode()) == 1
    for k in (0, 20, 49):
        found = watched.page.evaluate(PLACES, [trajectory.t[k] - trajectory.t[0], list(robot.body_names)])
        x, y, z = treesim.body_poses(robot, trajectory.q[k])[1:, :3, 3].T
        np.testing.assert_allclose(found, np.stack([x, z, -y], axis=1), atol=2e-3)  # between the poses that are kept
    assert watched.errors == []
