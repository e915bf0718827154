"""What the tests of the meshcat viewer share: robots, trajectories, and the scene inside a page."""

from __future__ import annotations

import base64
import json
import re
from typing import Any

import numpy as np
import pytest

import treesim
from treesim import Body, Inertia, Joint, Placement, Tree, Visual
from treesim.trajectory import Trajectory

ARRAY_TYPES = {"Float32Array": "<f4", "Uint8Array": "u1", "Uint16Array": "<u2", "Uint32Array": "<u4"}


def _decode(value: dict[str, Any]) -> Any:
    if "base64" in value:
        return np.frombuffer(base64.b64decode(value["base64"]), ARRAY_TYPES[value["type"]])
    return value


def decode_scene(text: str) -> dict[str, Any]:
    """Return the scene in JSON `text`, typed arrays as numpy arrays."""
    return json.loads(text, object_hook=_decode)


@pytest.fixture
def scene_in():
    """A function from the HTML of a page to the scene in it."""

    def scene(html: str) -> dict[str, Any]:
        (text,) = re.findall(r'<script type="application/json" id="scene">(.*?)</script>', html, re.DOTALL)
        return decode_scene(text)

    return scene


@pytest.fixture
def robot() -> Tree:
    """A floating box with a spherical and a revolute limb, one visual of each plain kind."""
    limb = Placement.from_xyz_rpy((0, 0, -0.2))
    ball = Joint("ball", "spherical", Placement.from_xyz_rpy((0.1, 0.2, 0.3), (0.3, -0.2, 0.1)))
    hinge = Joint("hinge", "revolute", Placement.from_xyz_rpy((0, 0, -0.4)), axis=(0, 1, 0))
    bodies = [
        Body("trunk", 0, Joint("root_joint", "floating"), Inertia(2.0, np.zeros(3), np.eye(3))),
        Body("upper/arm", 1, ball, Inertia(1.0, np.array([0, 0, -0.2]), np.eye(3))),
        Body("forearm", 2, hinge, Inertia(1.0, np.array([0, 0, -0.2]), np.eye(3))),
    ]
    visuals = [
        Visual(1, Placement(), "box", (0.3, 0.2, 0.6), color=(1.0, 0.0, 0.0, 1.0)),
        Visual(1, Placement.from_xyz_rpy((0, 0, 0.4)), "sphere", (0.1,)),
        Visual(2, limb, "cylinder", (0.05, 0.4), color=(0.0, 0.5, 1.0, 0.5)),
        Visual(3, limb, "capsule", (0.04, 0.4)),
    ]
    return Tree("two limbs", bodies, visuals=visuals)


@pytest.fixture
def motion():
    """A function from a robot to a trajectory of random configurations, starting at t = 3 s."""

    def trajectory(robot: Tree, duration: float = 1.0, dt: float = 0.01, seed: int = 0) -> Trajectory:
        t = 3.0 + np.arange(round(duration / dt) + 1) * dt
        rng = np.random.default_rng(seed)
        start, velocity = robot.neutral(), rng.normal(size=robot.nv)
        q = np.array([robot.integrate(start, velocity * (time - t[0])) for time in t])
        v = np.tile(velocity, (len(t), 1))
        return Trajectory.of(robot, t, q, v, np.zeros_like(v), np.zeros(len(t)))

    return trajectory


@pytest.fixture
def body_rows():
    """A function from a robot and q to the poses of its bodies (n_bodies + 1, 7), quaternions with w >= 0."""

    def rows(robot: Tree, q: np.ndarray) -> np.ndarray:
        from treesim_meshcat.encoding import pose_rows

        return same_sign(pose_rows(treesim.body_poses(robot, q)))

    return rows


def same_sign(rows: np.ndarray) -> np.ndarray:
    """Return pose rows (..., 7) with each quaternion's sign chosen so that w >= 0."""
    signs = np.where(rows[..., 6:] < 0, -1, 1)
    return np.concatenate([rows[..., :3], rows[..., 3:] * signs], axis=-1)
