"""`treesim view`: what it shows, how fast, and that it closes what it opened."""

from __future__ import annotations

import json
import os
import sys
import time
import webbrowser
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.waiting import Clock, wait_until
from treesim import Body, Ground, Inertia, Joint, Placement, Simulation, Tree, Visual, frame_pose, gravity_forces, load
from treesim.cli import common, view_robots
from treesim.cli.simulation_options import ViewOptions, build_simulation
from treesim.errors import ArgumentError
from treesim.simulation import player
from treesim.viewing.protocols import Viewer

FIXED = ("--base", "fixed")  # the toy's root link has two joints, and would float


class Screen:
    """A viewer that remembers."""

    url = "http://127.0.0.1:7000/"

    def __init__(self) -> None:
        self.shown: list[np.ndarray] = []
        self.closed = False

    def show(self, robot: Any, q: np.ndarray) -> None:
        self.shown.append(q)

    def update(self, q: np.ndarray) -> None:
        self.shown.append(q)

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Screen:
    """Stand in for the meshcat viewer, and open no browser."""
    stand_in = Screen()
    assert isinstance(stand_in, Viewer)
    monkeypatch.setattr(common, "get_viewer", lambda name: stand_in)
    monkeypatch.setattr(webbrowser, "open", lambda url: pytest.fail("opened a browser"))
    return stand_in


@pytest.fixture
def watch(treesim: Callable[..., Any]) -> Callable[..., tuple[dict[str, Any], dict[str, Any]]]:
    """Run `treesim view` with --json, and return what its first and its last line say."""

    def run(*arguments: object) -> tuple[dict[str, Any], dict[str, Any]]:
        result = treesim("view", *arguments, "--no-browser", "--json")
        assert result.exit_code == 0, result.stderr
        first, last = map(json.loads, result.stdout.splitlines())
        return first, last

    return run


def test_plays_at_the_pace_of_real_time(
    watch: Callable[..., Any], robot: str, screen: Screen, monkeypatch: pytest.MonkeyPatch
) -> None:
    began = time.perf_counter()
    watch(robot, "--duration", 0.1)
    assert time.perf_counter() - began >= 0.1
    screen.shown.clear()
    clock = Clock()
    monkeypatch.setattr(player, "Player", partial(player.Player, clock=clock, sleep=clock.sleep))
    first, last = watch(robot, "--duration", 0.5, "--q0", "hip=1", "--base", "fixed")
    assert first == {"url": screen.url} and last["simulated_s"] == clock.now == pytest.approx(0.5)
    assert len(screen.shown) == 1 + 15, "the start, and 30 frames in each second"
    assert screen.shown[0][0] == 1 and screen.shown[-1][0] < 1, "it falls"
    assert screen.closed


def test_prints_the_address(treesim: Callable[..., Any], robot: str, screen: Screen) -> None:
    assert screen.url in treesim("view", robot, *FIXED, "--no-browser", "--duration", 0.05).stdout


def test_a_floating_robot_without_collision_shapes_has_no_ground(robot: str) -> None:
    setup = build_simulation(robot, ViewOptions())
    assert setup.robot.base == "floating" and not setup.simulation.world.ground and setup.controller == "none"


def test_missing_viewer_is_named(treesim: Callable[..., Any], robot: str) -> None:
    result = treesim("view", robot, *FIXED, "--viewer", "nothing", "--no-browser")
    assert result.exit_code == 2 and "unknown viewer 'nothing'" in result.stderr


def test_divergence_ends_the_play(treesim: Callable[..., Any], robot: str, screen: Screen) -> None:
    wild = ("--dt", 0.5, "--integrator", "explicit_euler", "--v0", "hip=50,knee=-80", "--duration", 1000)
    result = treesim("view", robot, *FIXED, "--no-browser", *wild)
    assert result.exit_code == 1 and "after" in result.stderr and screen.closed


def test_a_robot_is_loaded_again_when_its_file_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view_robots, "LOOK_SECONDS", 0.01)
    path, asked = tmp_path / "robot.urdf", list[Any]()
    path.write_text("<robot/>")
    robot = SimpleNamespace(name="toy")
    session: Any = SimpleNamespace(
        receive=lambda message, reply: asked.append(message), physics=SimpleNamespace(robot=robot)
    )

    def change(time: int) -> None:
        before = len(asked)
        os.utime(path, (time, time))
        wait_until(lambda: len(asked) > before, lambda: "nothing was loaded")

    with view_robots.reloading(session, str(path), "toy"):
        change(1_000)
        change(2_000)
        path.unlink()
        time.sleep(0.1)
        path.write_text("<robot/>")
        wait_until(lambda: len(asked) == 3, lambda: "nothing was loaded")
        robot.name = "another"  # was chosen on the page
        os.utime(path, (3_000, 3_000))
        time.sleep(0.1)
    os.utime(path, (4_000, 4_000))
    time.sleep(0.1)
    assert asked == [{"set": {"robot": "toy"}}] * 3
    with view_robots.reloading(session, "ur5", "ur5"):
        pass  # an installed robot has no file here


class GroundScreen(Screen):
    """A viewer that draws the ground too."""

    def show_ground(self, ground: Any) -> None:
        assert self.shown, "before it, the robot is shown"
        self.ground = ground


@pytest.mark.slow
def test_the_ground_is_shown_to_viewers_that_draw_it(
    watch: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for window in (GroundScreen(), Screen()):
        monkeypatch.setattr(common, "get_viewer", lambda name, window=window: window)
        floor = ("--base", "floating", "--ground", "--ground-friction", 0.3)
        watch("simple_humanoid", *floor, "--duration", 0.01)
        assert window.closed and getattr(window, "ground", (Ground(friction=0.3),)) == (Ground(friction=0.3),)


class Steered(GroundScreen):
    """A viewer whose user presses pause, step, and then gives up."""

    def __init__(self) -> None:
        super().__init__()
        self.port, self.panels, self.states = -1, [], []

    def listen(self, receive: Any) -> None:
        receive({"set": {"running": False}}, pytest.fail)
        receive({"do": "step"}, pytest.fail)

    def show_panel(self, panel: Any) -> None:
        self.panels.append(panel)

    def show_state(self, state: Any) -> None:
        self.states.append(state)
        if state["t"] > 0:
            raise KeyboardInterrupt


def test_users_steer_what_an_interactive_viewer_shows(
    watch: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    window = Steered()
    monkeypatch.setattr(common, "get_viewer", lambda name: window)
    first, last = watch("simple_humanoid", "--base", "floating", "--port", 7000)
    assert first == {"url": window.url} and last["simulated_s"] == 1e-3
    assert window.port == 7000 and window.closed and len(window.ground) == 1
    assert window.states[-1]["controller"] == "hold" and not window.states[-1]["running"]
    assert "simple_humanoid" in window.panels[0]["robots"] and window.panels[0]["bases"] == ["fixed", "floating"]


class Early(Steered):
    """A viewer whose page can be opened before there is a robot."""

    def __init__(self) -> None:
        super().__init__()
        self.opened: list[int] = []

    def open(self) -> str:
        self.opened.append(len(self.shown))
        return self.url


def test_a_page_is_opened_before_the_robot_is_shown_but_not_for_what_is_wrong(
    watch: Callable[..., Any], treesim: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    window = Early()
    monkeypatch.setattr(common, "get_viewer", lambda name: window)
    assert watch("simple_humanoid")[0] == {"url": window.url}
    assert window.opened == [0] and window.shown
    window.shown.clear()
    refused, torn = tmp_path / "refused.urdf", tmp_path / "torn.urdf"
    refused.write_text("<robot name='r'><link/></robot>")
    torn.write_text("<robot name='r'><link name='a'>")
    files = (refused,), (torn,), (tmp_path,), ("no_such_robot",), (tmp_path / "missing.urdf",)
    options = ("--backend", "abacus"), ("--push-at", 1), ("--q0", "nowhere=1"), ("--kp", -1), ("--reference", "wings=2")
    for wrong in (*files, *(("ur5", *option) for option in options)):
        result = treesim("view", *wrong, "--no-browser", "--json")
        assert result.exit_code == 2 and set(json.loads(result.stdout)) == {"error"}, wrong
    assert window.opened == [0] and not window.shown


def test_a_port_needs_a_viewer_with_pages(treesim: Callable[..., Any], robot: str, screen: Screen) -> None:
    result = treesim("view", robot, *FIXED, "--port", 7000, "--no-browser")
    assert result.exit_code == 2 and "serves no page" in result.stderr


def test_the_end_with_the_last_page_needs_a_viewer_that_tells_of_it(
    treesim: Callable[..., Any], robot: str, screen: Screen
) -> None:
    result = treesim("view", robot, *FIXED, "--until-closed", "--no-browser")
    assert result.exit_code == 2 and "when its pages are closed" in result.stderr


def test_a_recording_is_replayed(
    treesim: Callable[..., Any], watch: Callable[..., Any], robot: str, screen: Screen, tmp_path: Any
) -> None:
    recording = tmp_path / "run.npz"
    treesim("simulate", robot, *FIXED, "--duration", 0.2, "--q0", "hip=1", "--out", recording)
    first, last = watch(recording)
    assert first == {"url": screen.url} and last["replayed_s"] == pytest.approx(0.2)
    assert screen.shown[0][0] == 1 and screen.shown[-1][0] < 1 and screen.closed, "it falls again"
    assert watch(recording, "--duration", 0.1, "--speed", 5)[1]["replayed_s"] == pytest.approx(0.1)


def test_a_recording_that_was_saved_from_python_is_replayed(
    treesim: Callable[..., Any], watch: Callable[..., Any], robot: str, screen: Screen, tmp_path: Any
) -> None:
    Simulation(load(robot)).run(0.1).save(tmp_path / "run.npz")
    assert watch(tmp_path / "run.npz")[1]["replayed_s"] == pytest.approx(0.1)


def test_a_recording_that_was_saved_from_python_becomes_a_file(
    treesim: Callable[..., Any], robot: str, tmp_path: Any
) -> None:
    """Visuals are those of the recording, or of an installed robot if it is the same."""
    recording, scene, other = tmp_path / "run.npz", tmp_path / "run.glb", tmp_path / "run.mcap"
    Simulation(load(robot)).run(0.1).save(recording)
    result = treesim("view", recording, "--record", scene)
    assert result.exit_code == 0 and "no installed robot of that name is the same" in result.stderr, result.stderr
    assert "viewer.record(robot, run, path)" in result.stderr
    assert scene.read_bytes().startswith(b"glTF")
    assert treesim("convert", recording, other).exit_code == 0 and other.exists()
    pole = Body("pole", 0, Joint("hinge", "revolute"), Inertia(1.0, rotational=np.eye(3)))
    drawn = Tree("drawn", [pole], visuals=[Visual(1, Placement(), "box", (1, 1, 1))])
    Simulation(drawn).run(0.01).save(recording)
    result = treesim("view", recording, "--record", scene)
    assert result.exit_code == 0 and "does not contain visuals" not in result.stderr
    Simulation(load("ur5")).run(0.01).save(recording)
    result = treesim("view", recording, "--record", scene)
    assert result.exit_code == 0 and "does not contain visuals" not in result.stderr
    Simulation(load("ur5", base="floating")).run(0.01).save(recording)
    result = treesim("view", recording, "--record", scene)
    assert result.exit_code == 0 and "does not contain visuals" not in result.stderr


def test_a_recording_becomes_a_file(treesim: Callable[..., Any], robot: str, tmp_path: Any) -> None:
    pytest.importorskip("treesim_meshcat")
    recording, scene = tmp_path / "run.npz", tmp_path / "run.glb"
    treesim("simulate", robot, *FIXED, "--duration", 0.1, "--out", recording)
    result = treesim("view", recording, "--record", scene, "--json")
    assert json.loads(result.stdout) == {"robot": "toy", "record": str(scene), "bytes": scene.stat().st_size}
    assert scene.read_bytes().startswith(b"glTF")
    for source, file, why in (
        (robot, scene, "name the .npz file"),
        (recording, tmp_path / "run.txt", "format"),
        (recording, tmp_path / "none" / "run.glb", "no folder"),
    ):
        result = treesim("view", source, "--record", file)
        assert result.exit_code == 2 and why in result.stderr, result.stderr


def test_what_a_recording_has_not_is_refused(
    treesim: Callable[..., Any], robot: str, screen: Screen, tmp_path: Any
) -> None:
    recording = tmp_path / "run.npz"
    treesim("simulate", robot, *FIXED, "--duration", 0.01, "--out", recording)
    for options, why in (
        (("--dt", 0.1, "--html", "a.html"), "'--dt', '--html': a recorded motion"),
        (("--with", "ur5"), "'--with': a recorded motion"),
        (("--base", "floating"), "does not fit"),
        (("--port", 7000), "serves no page"),
    ):
        result = treesim("view", recording, "--no-browser", *options)
        assert result.exit_code == 2 and why in result.stderr, result.stderr
    assert "cannot read" in treesim("view", tmp_path / "none.npz", "--no-browser").stderr


class Haunted(Steered):
    """A viewer that shows two robots, and is closed after a tenth of a second."""

    def __init__(self) -> None:
        super().__init__()
        self.references: list[Any] = []

    def listen(self, receive: Any) -> None:
        pass

    def set_reference(self, q: Any) -> None:
        self.references.append(q)

    def show_state(self, state: Any) -> None:
        self.states.append(state)
        if state["t"] > 0.1:
            raise KeyboardInterrupt


@pytest.fixture
def haunted(monkeypatch: pytest.MonkeyPatch) -> Haunted:
    """Stand in for the meshcat viewer."""
    window = Haunted()
    monkeypatch.setattr(common, "get_viewer", lambda name: window)
    return window


@pytest.mark.slow
def test_a_reference_by_other_methods_is_shown_beside_the_robot(
    watch: Callable[..., Any], robot: str, haunted: Haunted
) -> None:
    watch(robot, *FIXED, "--q0", "hip=1", "--reference", "integrator=semi_implicit_euler,substeps=2")
    state = haunted.states[-1]
    assert state["reference"] == "simulation" and state["referenceIntegrator"] == "semi_implicit_euler"
    assert 0 < abs(haunted.references[-1][0] - haunted.shown[-1][0]) < 0.01


def test_a_reference_may_be_a_recording_beside_a_simulation_and_beside_another(
    treesim: Callable[..., Any], watch: Callable[..., Any], robot: str, haunted: Haunted, tmp_path: Any
) -> None:
    for name, angle in (("one", 1), ("two", 0.5)):
        treesim("simulate", robot, *FIXED, "--duration", 0.2, "--q0", f"hip={angle}", "--out", tmp_path / f"{name}.npz")
    watch(robot, *FIXED, "--reference", tmp_path / "two.npz")
    assert haunted.states[-1]["reference"] == "two.npz"
    recorded = np.load(tmp_path / "two.npz")["q"][:, 0]
    assert recorded.min() <= haunted.references[-1][0] <= recorded.max() <= 0.5, "anywhere, if the page is late"
    haunted.states.clear()
    watch(tmp_path / "one.npz", "--reference", tmp_path / "two.npz")
    assert haunted.panels[-1]["references"] == ["none", "two.npz"] and haunted.states[-1]["apart"]["angle"] > 0.3


@pytest.mark.parametrize(
    ("reference", "why"),
    [
        ("wings=2", "'wings=2' is not one of backend="),
        ("backend=aba,backend=rjk", "each once"),
        ("backend=magic", "unknown backend of --reference 'magic'"),
        ("substeps=0", "whole number from 1 on"),
        ("nobody", "no engine called 'nobody'"),
        ("none.npz", "cannot read"),
    ],
)
def test_a_reference_that_cannot_be_is_refused(
    treesim: Callable[..., Any], robot: str, haunted: Haunted, reference: str, why: str
) -> None:
    result = treesim("view", robot, *FIXED, "--no-browser", "--reference", reference)
    assert result.exit_code == 2 and why in result.stderr, result.stderr


def test_a_reference_needs_a_viewer_that_shows_two_robots_and_a_recording_has_no_methods(
    treesim: Callable[..., Any], robot: str, screen: Screen, haunted: Haunted, monkeypatch: Any, tmp_path: Any
) -> None:
    recording = tmp_path / "run.npz"
    treesim("simulate", robot, *FIXED, "--duration", 0.01, "--out", recording)
    result = treesim("view", recording, "--no-browser", "--reference", "backend=rjk")
    assert result.exit_code == 2 and "has no methods" in result.stderr, result.stderr
    result = treesim("view", robot, *FIXED, "--html", tmp_path / "a.html", "--reference", "backend=rjk")
    assert result.exit_code == 2 and "does not go with --html" in result.stderr
    monkeypatch.setattr(common, "get_viewer", lambda name: screen)
    result = treesim("view", robot, *FIXED, "--no-browser", "--reference", "backend=rjk")
    assert result.exit_code == 2 and "shows no second robot" in result.stderr


def test_further_robots_stand_in_the_world(make_robot: Callable[..., str], treesim: Callable[..., Any]) -> None:
    first, second = make_robot("first"), make_robot("second")
    setup = build_simulation(first, ViewOptions(base="fixed", others=[f"{second}@1,2,3", "ur5"]))
    one, arm = load(first, base="fixed"), load("ur5")
    floating = load(second, base="floating")
    assert (setup.robot.nq, len(setup.q), len(setup.v)) == (
        one.nq + floating.nq + 6,
        one.nq + floating.nq + 6,
        setup.robot.nv,
    )
    np.testing.assert_array_equal(setup.q[one.nq : one.nq + 3], [1, 2, 3])
    pose = frame_pose(setup.robot, setup.q, "wrist_3_link")
    expected = frame_pose(arm, arm.neutral(), "wrist_3_link")
    np.testing.assert_allclose(pose[:3, 3] - expected[:3, 3], [0, 2, 0], atol=1e-12)
    for words, reason in (
        (("--with", "ur5@1,2"), "ROBOT@x,y,z"),
        (("--with", "ur5", "--html", "x.html"), "--with does not go"),
    ):
        assert reason in treesim("view", first, *FIXED, "--no-browser", *words).stderr


WORLD = """
import treesim
robot = treesim.load("go2", base="floating")
box = treesim.free_body("crate", "box", (0.2, 0.2, 0.2), 1.0)
{name} = treesim.World(robot, ground=treesim.Ground(), bodies=box)
{more}
"""


def test_a_python_file_defines_the_world(tmp_path: Path, treesim: Callable[..., Any]) -> None:
    file = tmp_path / "scene.py"
    placed = "q = world.robot.neutral(); q[2] = 0.5; q[-5] = 3.0"
    file.write_text(WORLD.format(name="world", more=placed))
    setup = build_simulation(str(file), ViewOptions(dt=0.002))
    assert setup.robot is setup.simulation.world.robot and setup.robot.nv == 18 + 6 and setup.simulation.dt == 0.002
    assert (setup.q[2], setup.q[-5], setup.controller) == (0.5, 3.0, "hold") and setup.simulation.world.ground
    file.write_text(WORLD.format(name="anything", more=""))
    setup = build_simulation(str(file), ViewOptions(q0="root_joint.z=0.7"))
    assert setup.q[setup.robot.q_index["root_joint"]][2] == 0.7
    library = view_robots.InstalledRobots("scene", str(file), ViewOptions())
    assert library.load("scene", "floating")[0].world.bodies
    with pytest.raises(ArgumentError, match="defines the base"):
        library.load("scene", "fixed")
    for text, words, reason in (
        (WORLD.format(name="world", more=""), ("--ground",), "'--ground': "),
        (WORLD.format(name="world", more=""), ("--with", "ur5"), "'--with': "),
        (WORLD.format(name="world", more="q = [1, 2]"), (), "q has"),
        (WORLD.format(name="one", more="two = one"), (), "is called world"),
        ("robot = 1", (), "no variable is a World"),
        ("x = 1\nx = x / 0", (), "scene.py:2: ZeroDivisionError"),
        ("x = = 1", (), "scene.py:1: SyntaxError"),
        ("raise SystemExit(3)", (), "scene.py:1: SystemExit"),
        ("class E(Exception):\n    def __str__(self):\n        return 1 / 0\nraise E", (), "scene.py:4: E: <an object"),
    ):
        file.write_text(text)
        assert reason in treesim("view", str(file), "--no-browser", *words).stderr
    assert "no such file" in treesim("view", str(tmp_path / "none.py"), "--no-browser").stderr


def test_servos_in_the_world_of_a_file_hold_its_configuration(tmp_path: Path) -> None:
    """The file imports one next to it, as `python scene.py` would."""
    (tmp_path / "gains_of_scene.py").write_text("kp, kd = 5000, 200")
    (tmp_path / "scene.py").write_text(
        "import treesim\nfrom gains_of_scene import kp, kd\nrobot = treesim.load('ur5')\n"
        "servos = {name: treesim.PositionServo(kp=kp, kd=kd) for name in robot.v_index}\n"
        "world = treesim.World(robot, actuators=servos)\nq = robot.neutral()\nq[1] = -1.0\n"
    )
    setup = build_simulation(str(tmp_path / "scene.py"), ViewOptions())
    run = setup.simulation.run(1.0, setup.q, setup.v)
    weight = np.abs(gravity_forces(setup.robot, setup.q)).max()
    np.testing.assert_allclose(run.q[-1], setup.q, atol=2 * weight / 5000)  # at rest, a servo gives way by tau / kp
    assert str(tmp_path) not in sys.path


@pytest.mark.slow
def test_further_robots_are_placed_on_the_ground() -> None:
    setup = build_simulation("go2", ViewOptions(base="floating", others=["go2@1,0,0.5"]))
    run = setup.simulation.run(0.2, setup.q, setup.v)
    assert setup.controller == "hold" and setup.simulation.world.ground
    for place, x in ((run.q[-1, :3], 0), (run.q[-1, 19:22], 1)):
        np.testing.assert_allclose(place, [x, 0, setup.q[2]], atol=0.05)
