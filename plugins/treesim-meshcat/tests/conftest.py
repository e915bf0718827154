"""Fixtures of the meshcat viewer's tests: robots, trajectories, the scene of a page, a browser, a live page."""

from __future__ import annotations

import base64
import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

import treesim
from tests.waiting import PATIENCE, wait_until
from treesim import Body, CollisionShape, Frame, Inertia, Joint, Placement, Tree, Visual
from treesim.simulation.player import Player
from treesim.simulation.trajectory import Trajectory
from treesim.urdf.findings import Finding
from treesim.viewing.live import LiveSession
from treesim.viewing.live.physics import Scene
from treesim.viewing.live.settings import Settings

ARRAY_TYPES = {"Float32Array": "<f4", "Uint8Array": "u1", "Uint16Array": "<u2", "Uint32Array": "<u4"}
LENGTH = 0.5  # m, of each link of the arm
CORNERS = np.array(np.meshgrid([-0.1, 0.1], [-0.1, 0.1], [-0.1, 0.1])).reshape(3, 8).T
SETTINGS = Settings(gravity=(0.0, 0.0, 0.0), controller="hold", kp=50.0, kd=10.0)
POSES = "stage.bodies.map((body) => [...body.position.toArray(), ...body.quaternion.toArray()])"


def _decode(value: dict[str, Any]) -> Any:
    if "base64" in value:
        return np.frombuffer(base64.b64decode(value["base64"]), ARRAY_TYPES[value["type"]])
    return value


def decode_scene(text: str) -> dict[str, Any]:
    """Return the scene in JSON `text`, typed arrays as numpy arrays."""
    return json.loads(text, object_hook=_decode)


@pytest.fixture
def scene_in():
    """Return a function from the HTML of a page to its scene."""

    def scene(html: str) -> dict[str, Any]:
        (text,) = re.findall(r'<script type="application/json" id="scene">(.*?)</script>', html, re.DOTALL)
        return decode_scene(text)

    return scene


@pytest.fixture
def robot() -> Tree:
    """Return a floating box with a spherical and a revolute limb, and one visual of each plain kind."""
    limb = Placement.from_xyz_rpy((0, 0, -0.2))
    ball = Joint("ball", "spherical", placement=Placement.from_xyz_rpy((0.1, 0.2, 0.3), (0.3, -0.2, 0.1)))
    hinge = Joint("hinge", "revolute", placement=Placement.from_xyz_rpy((0, 0, -0.4)), axis=(0, 1, 0))
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
    """Return a function from a robot to a trajectory of random configurations, starting at t = 3 s."""

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
    """Return a function from a robot and q to its body poses (n_bodies + 1, 7), quaternions with w >= 0."""

    def rows(robot: Tree, q: np.ndarray) -> np.ndarray:
        from treesim_meshcat.encoding import pose_rows

        return same_sign(pose_rows(treesim.body_poses(robot, q)))

    return rows


def same_sign(rows: np.ndarray) -> np.ndarray:
    """Return pose rows (..., 7) with each quaternion's sign chosen so that w >= 0."""
    signs = np.where(rows[..., 6:] < 0, -1, 1)
    return np.concatenate([rows[..., :3], rows[..., 3:] * signs], axis=-1)


@dataclass
class Watched:
    """Page with a record of its errors and requests."""

    page: Any
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def poses(self) -> np.ndarray:
        """Return the poses of the bodies as drawn, (n_bodies + 1, 7), quaternions with w >= 0."""
        rows = np.array(self.page.evaluate(POSES))
        return rows * np.where(rows[:, 6:] < 0, [[1, 1, 1, -1, -1, -1, -1]], 1.0)

    def wait(self, condition: str, argument: Any = None) -> None:
        """Poll until the JavaScript `condition` holds: the pages forbid scripts to evaluate text."""
        wait_until(
            lambda: self.page.evaluate(condition, argument),
            lambda: f"{condition}; errors: {self.errors}",
            lambda: self.page.wait_for_timeout(20),
        )

    def draw(self) -> None:
        """Wait until a frame has been drawn that began after this call."""
        self.wait("(n) => stage.frames > n", self.page.evaluate("stage.frames"))

    def wait_for_poses(self, rows: np.ndarray, atol: float) -> None:
        """Wait until all bodies are drawn at the poses `rows`."""
        wait_until(
            lambda: self.n_bodies() == len(rows) and np.allclose(self.poses(), rows, rtol=0, atol=atol),
            lambda: f"poses\n{rows}\nbut are\n{self.poses()}",
            lambda: self.page.wait_for_timeout(20),
        )
        self.draw()

    def n_bodies(self) -> int:
        """Return the number of bodies on the page, including the base."""
        return int(self.page.evaluate("stage.bodies.length"))


@pytest.fixture
def watch(open_page) -> Callable[[str], Watched]:
    """Return a function that opens an address in a new watched page."""

    def opened(url: str) -> Watched:
        watched = Watched(open_page())
        watched.page.on("pageerror", lambda error: watched.errors.append(str(error)))
        watched.page.on("console", lambda line: watched.errors.append(line.text) if line.type == "error" else None)
        watched.page.on("request", lambda request: watched.requests.append(request.url))
        watched.page.goto(url)
        return watched

    return opened


def arm() -> Tree:
    """Return two links that hang one below the other; their hinges turn about y, the axis across the view."""
    inertia = Inertia(1.0, (0, 0, -LENGTH / 2), np.diag([0.02, 0.02, 0.002]))
    places = Placement(), Placement.from_xyz_rpy((0, 0, -LENGTH))
    bodies = [
        Body(name, i, Joint(joint, "revolute", placement=place, axis=(0, 1, 0), lower=-2, upper=2), inertia)
        for i, (name, joint, place) in enumerate(zip(("upper", "lower"), ("shoulder", "elbow"), places, strict=True))
    ]
    middle = Placement.from_xyz_rpy((0, 0, -LENGTH / 2))
    boxes = [Visual(i, middle, "box", (0.12, 0.12, LENGTH), color=(0.8, 0.2, 0.2, 1.0)) for i in (1, 2)]
    shapes = [
        CollisionShape(2, middle, "capsule", size=(0.07, 0.3)),
        CollisionShape(2, middle, "hull", vertices=CORNERS),
    ]
    hand = Frame("hand", 2, Placement.from_xyz_rpy((0, 0, -LENGTH)))
    notes = [Finding("U212", "info", "attribute 'colour' ignored", "arm.urdf", 7, link="hand")]
    return Tree("arm", bodies, frames=[hand], visuals=boxes, shapes=shapes, notes=notes)


class Live:
    """Session that plays in a thread of its own, with its page."""

    settings = SETTINGS

    def __init__(self, watch: Callable[[str], Any] | None, port: int = 0, policy: Any = None) -> None:
        from treesim_meshcat import MeshcatViewer

        self.robot, self.viewer = arm(), MeshcatViewer()
        self.viewer.port = port
        made = None if policy is None else treesim.policies.load(*policy, self.robot)
        sensors = [treesim.Imu(self.robot.body_names[-1]), treesim.JointTorque()]
        world = treesim.World(self.robot, sensors=sensors, actuators=made and made.actuators)
        scene = Scene(world, self.robot.neutral(), np.zeros(2), "fixed")
        if made is not None:
            scene = scene._replace(policy=made, command=np.zeros(len(made.command_names)))
        settings = replace(SETTINGS, controller="hold" if policy is None else "policy")
        self.session = LiveSession(scene, self.viewer, settings)
        self.session._compiled.warm_others = lambda physics: None  # type: ignore[method-assign]  # it would compile
        self.url = self.viewer.url
        self.thread = threading.Thread(target=self.play, daemon=True)
        self.thread.start()
        self.watched = watch(self.url) if watch else None
        if watch:
            self.watched.wait("stage.bodies.length === 3 && window.treesim.state() && window.treesim.state().t > 0")

    def play(self) -> None:
        with suppress(KeyboardInterrupt):
            self.session.run()

    def close(self) -> None:
        def end(player: Player) -> None:
            raise KeyboardInterrupt

        self.session.physics.player.post(end)
        self.thread.join(PATIENCE)
        assert not self.thread.is_alive()
        self.viewer.close()

    def wait(self, condition: str, argument: Any = None) -> None:
        self.watched.wait(condition, argument)

    def middle_of_lower(self) -> list[float]:
        """Return the position of the lower link's centre on the page [pixels]."""
        at: list[float] = self.watched.page.evaluate(
            """() => {
                const middle = new MeshCat.THREE.Vector3(0, 0, -0.25);
                const at = stage.bodies[2].localToWorld(middle).project(stage.viewer.camera);
                const box = element("meshcat-pane").getBoundingClientRect();
                return [box.left + (at.x + 1) / 2 * box.width, box.top + (1 - at.y) / 2 * box.height];
            }"""
        )
        return at

    def pause(self) -> None:
        self.watched.page.evaluate("treesim.set({running: false})")
        self.wait("!treesim.state().running")


@pytest.fixture
def open_live(watch) -> Callable[..., Live]:
    """Return a function that starts a session, at a port, and optionally opens its page."""
    return lambda port=0, seen=True, policy=None: Live(watch if seen else None, port, policy)


@pytest.fixture
def live(open_live) -> Iterator[Live]:
    playing = open_live()
    yield playing
    assert playing.watched.errors == []
    playing.close()
