"""`treesim simulate`: results that reach the disk, an honest account, and mistakes that cost no time."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from treesim import Simulation, StaticMesh, momentum, plugins
from treesim import load as load_robot
from treesim.formats import load

FIXED = ("--base", "fixed")  # the toy's root link has two joints, and would float
QUICK = ("--duration", 0.1, *FIXED)


def test_outputs_agree(treesim: Callable[..., Any], robot: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    files = [tmp_path / name for name in ("run.npz", "run.csv", "run.png")]
    for out in files[:2]:
        result = treesim("simulate", robot, *QUICK, "--q0", "hip=0.5", "--out", out, "--plot", files[2])
        assert result.exit_code == 0, result.stderr
        assert "wrote" in result.stdout
    one, two = load(files[0]), load(files[1])
    for name in ("t", "q", "v", "tau", "energy"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
    assert len(one) == 101 and one.t[-1] == pytest.approx(0.1)
    np.testing.assert_array_equal(one.q[0], [0.5, 0, 0])
    assert one.metadata["backend"] == "aba" and one.metadata["base"] == "fixed" and one.stopped is None
    assert files[2].read_bytes().startswith(b"\x89PNG")


def test_a_mesh_that_cannot_be_drawn_is_told_before_the_run(
    treesim: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here the run is interrupted at once."""
    pytest.importorskip("treesim_meshcat")
    (tmp_path / "m.obj").write_text("v 0 0 0\nv nan 0 0\nv 0 1 0\nf 1 2 3\n")
    visual = '<visual><geometry><mesh filename="m.obj"/></geometry></visual>'
    inertial = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    (tmp_path / "ball.urdf").write_text(f'<robot name="ball"><link name="b">{inertial}{visual}</link></robot>')

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Simulation, "run", interrupted)
    result = treesim("simulate", tmp_path / "ball.urdf", "--base", "floating", "--html", tmp_path / "run.html")
    assert result.exit_code == 130
    assert "m.obj" in result.stderr and "vertex 1 is [nan" in result.stderr and "sticks" in result.stderr


def test_account_of_a_free_swing(answer: Callable[..., Any], robot: str) -> None:
    account = answer("simulate", robot, *QUICK, "--q0", "hip=0.5", "--integrator", "rk4")
    assert (account["steps"], account["dt"], account["stopped"]) == (100, 1e-3, None)
    assert account["steps_per_s"] > 0 and account["real_time_factor"] > 0
    energy = account["energy"]
    assert abs(energy["change"]) < 1e-9 and energy["error"] == energy["change"] and energy["relative_error"] < 1e-8
    assert account["momentum"]["linear_drift"] is None and "fixed to the world" in account["momentum"]["note"]


def test_account_of_free_flight(answer: Callable[..., Any], robot: str) -> None:
    flight = ("simulate", robot, *QUICK, "--base", "floating", "--v0", "hip=3,knee=-2", "--integrator", "rk4")
    weightless = answer(*flight, "--gravity", "0")["momentum"]
    assert weightless["linear_drift"] < 1e-9 and weightless["angular_drift"] < 1e-9
    falling = answer(*flight)["momentum"]
    assert falling["linear_drift"] < 1e-9 and falling["angular_drift"] is None


SOLE = (
    '<collision><origin xyz="0 0 -0.45"/><geometry><box size="0.4 0.4 0.1"/></geometry></collision></link>'
    '<link name="thigh">'
)


def standing(robot: str) -> str:
    """The toy robot with a box that its trunk stands on."""
    path = Path(robot)
    text = path.read_text().replace('</link>\n  <link name="thigh">', SOLE)
    assert SOLE in text
    path.write_text(text)
    return robot


@pytest.mark.slow
def test_the_ground_and_a_push_are_told_in_place_of_a_drift(answer: Callable[..., Any], robot: str) -> None:
    pushed = (
        "simulate",
        robot,
        *QUICK,
        "--base",
        "floating",
        "--push",
        "-2,1,3",
        "--push-at",
        0.02,
        "--push-for",
        0.05,
    )
    found = answer(*pushed, "--gravity", 0)["momentum"]
    assert found == {
        "linear_drift": None, "angular_drift": None, "note": "not conserved: the controller pushes the root link"
    }  # fmt: skip
    stood = answer("simulate", standing(robot), *QUICK, "--base", "floating", "--ground")
    assert stood["contact"]["most_contacts"] == 4
    assert stood["momentum"]["linear_drift"] is None and "the ground pushes" in stood["momentum"]["note"]


@pytest.mark.slow
def test_a_robot_stands_on_the_mesh_of_a_file(answer: Callable[..., Any], robot: str, tmp_path: Path) -> None:
    mesh, out = tmp_path / "slab.obj", tmp_path / "run.npz"
    corners = "".join(f"v {x} {y} 0.5\n" for x, y in ((-2, -2), (2, -2), (2, 2), (-2, 2)))
    mesh.write_text(f"{corners}f 1 2 3\nf 1 3 4\n", encoding="utf-8")
    terrain = ("--terrain", mesh, "--ground-friction", 0.3, "--out", out)
    found = answer("simulate", standing(robot), *QUICK, "--base", "floating", *terrain)
    assert found["contact"]["most_contacts"] == 4
    run = load(out)
    assert isinstance(run.ground[0], StaticMesh) and run.ground[0].friction == 0.3 and run.q[0, 2] > 0.5


def test_meshes_are_replaced_by_convex_parts(treesim: Callable[..., Any], robot: str, monkeypatch: Any) -> None:
    """Of simulations, sweeps and views alike, whose options are those."""
    asked = []
    monkeypatch.setattr("treesim.load", lambda source, **options: asked.append(options) or load_robot(source))
    assert treesim("simulate", robot, *QUICK, "--quiet", "--convex-parts").exit_code == 0
    assert treesim("simulate", robot, *QUICK, "--quiet").exit_code == 0
    assert [options["convex_parts"] for options in asked] == [True, False]


def test_a_push_gives_momentum(answer: Callable[..., Any], robot: str, tmp_path: Path) -> None:
    out = tmp_path / "run.npz"
    push = ("--push", "-2,1,3", "--push-at", 0.02, "--push-for", 0.05)
    answer("simulate", robot, *QUICK, "--base", "floating", "--gravity", 0, *push, "--out", out)
    run, tree = load(out), load_robot(robot, base="floating")
    linear = momentum(tree, run.q[-1], run.v[-1])[:3]
    turn = np.abs(run.v[:, 3:6]).max() * 5e-4  # the force turns with the link within half a step
    np.testing.assert_allclose(linear, [-0.1, 0.05, 0.15], rtol=0, atol=turn * 0.05 * np.sqrt(14))


def test_a_force_gives_momentum(answer: Callable[..., Any], robot: str, tmp_path: Path) -> None:
    out = tmp_path / "run.npz"
    link = load_robot(robot).body_names[0]
    force = ("--force", f"{link}:-2,1,3@0.02:0.07", "--base", "floating", "--gravity", 0, "--out", out)
    expected = answer("simulate", robot, *QUICK, *force)["momentum"]
    assert expected["linear_drift"] is None and "external forces act" in expected["note"]
    run, tree = load(out), load_robot(robot, base="floating")
    linear = momentum(tree, run.q[-1], run.v[-1])[:3]
    np.testing.assert_allclose(linear, [-0.1, 0.05, 0.15], rtol=0, atol=1e-6)
    assert run.metadata["external_forces"][0]["link"] == link


def test_damping_is_told(answer: Callable[..., Any], make_robot: Callable[..., str]) -> None:
    path = make_robot(more='<dynamics damping="0.5"/>')
    energy = answer("simulate", path, *QUICK, "--q0", "knee=1")["energy"]
    assert energy["change"] < 0 and energy["work_of_controls"] == 0
    assert energy["work_of_damping_and_friction"] == pytest.approx(energy["change"], rel=1e-6)
    assert energy["relative_error"] < 1e-6


def test_hold_holds(answer: Callable[..., Any], robot: str, tmp_path: Path) -> None:
    out = tmp_path / "run.npz"
    answer(
        "simulate",
        robot,
        *FIXED,
        "--duration",
        1,
        "--seed",
        4,
        "--controller",
        "hold",
        "--kp",
        500,
        "--kd",
        20,
        "--out",
        out,
    )
    held = load(out)
    assert np.abs(held.q - held.q[0]).max() < 0.1
    assert np.abs(held.tau).max() > 0


def test_seed_is_repeatable(answer: Callable[..., Any], robot: str, tmp_path: Path) -> None:
    ends = []
    for name in ("a.npz", "b.npz"):
        answer("simulate", robot, *QUICK, "--seed", 7, "--out", tmp_path / name)
        ends.append(load(tmp_path / name).q[-1])
    np.testing.assert_array_equal(*ends)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--duration", 0), "--duration must be a number above zero, got 0"),
        (("--dt", 1, "--duration", 0.5), "--duration 0.5 s is shorter than one step, --dt 1 s"),
        (("--dt", "nan"), "--dt must be a number above zero, got nan"),
        (("--duration", 1e300), "--duration must be a number above zero and at most 1e+09, got 1e+300"),
        (("--dt", 1e300), "--dt must be a number above zero and at most 1e+09, got 1e+300"),
        (("--dt", 1e-300), "--duration 5 s would be 5e+300 steps of --dt 1e-300 s: far too many"),
        (("--dt", 0.3, "--duration", 1), "no whole number of steps of --dt 0.3 s: take --duration 0.9 or 1.2"),
        (("--duration", 1e8), "GiB are free: take a shorter --duration or a larger --dt ("),
        (("--out", "run.mat"), "'run.mat': it ends in '.mat', but one of .npz, .csv"),
        (("--plot", "/nowhere/run.png"), "cannot write /nowhere/run.png: there is no folder /nowhere"),
        (("--backend", "abba"), "unknown forward-dynamics backend 'abba': did you mean 'aba'"),
        (("--integrator", "rk5"), "unknown integrator 'rk5': did you mean 'rk4'"),
        (("--base", "floating?"), "unknown base 'floating?': did you mean 'floating'"),
        (("--controller", "lqr"), "unknown controller 'lqr'"),
        (("--kp", 50), "--kp is a gain of --controller hold or pd: take one of them, or leave it out"),
        (("--kd", 5, "--controller", "none"), "--kd is a gain of --controller hold or pd"),
        (("--kp", -1, "--controller", "hold"), "kp must be finite and not negative"),
        (("--q0", "hipp=1"), "did you mean 'hip'"),
        (("--gravity", "moon"), "--gravity: 'moon' is not a number"),
        (("--push", "1,0,0", *FIXED), "--push: 'toy' has several bodies on the world"),
        (("--push", "1,0", "--base", "floating"), "--push takes three numbers, a force in N along the world's axes"),
        (("--push", "1,x,0", "--base", "floating"), "--push: 'x' is not a number"),
        (("--push", "1,0,0", "--base", "floating", "--push-at", -1), "--push-at must be a number of seconds"),
        (("--push", "1,0,0", "--base", "floating", "--push-for", 0), "--push-for must be a number of seconds"),
        (("--force", "nobody:0,0,1"), "--force: unknown frame 'nobody' of 'toy'"),
        (("--force", "leg:0,1"), "--force takes a link, a force in N along the world's axes and its times"),
        (("--force", "leg:0,0,1@2:1"), "stop must be a time after start"),
        (("--push-for", 1), "--push-at and --push-for are times of a push: give its force, --push,"),
        (("--mimic", "drop"), "unknown way to treat mimic joints 'drop'"),
    ],
)
def test_mistakes_end_before_the_run(
    treesim: Callable[..., Any], robot: str, arguments: tuple[object, ...], message: str
) -> None:
    result = treesim("simulate", robot, *arguments)
    assert result.exit_code == 2
    assert result.stderr.startswith("error: ") and message in result.stderr
    assert "Traceback" not in result.stderr and not result.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ("simulate", "--backend", "abba"),
        ("simulate", "--integrator", "rk5"),
        ("simulate", "--controller", "lqr"),
        ("simulate", "--kp", 5),
        ("simulate", "--base", "flying"),
        ("view", "--viewer", "screen"),
        ("view", "--backend", "abba"),
        ("schedule", "--method", "abba"),
        ("schedule", "--method", "crba_ltdl"),
        ("compare", "--against", "bullets"),
        ("compare", "--base", "flying"),
    ],
    ids=lambda x: " ".join(map(str, x)),
)
def test_names_are_looked_up_before_the_robot_is_read(
    treesim: Callable[..., Any], robot: str, arguments: tuple[Any, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    import_module("treesim.compare")  # its modules would keep the functions below

    monkeypatch.setattr("treesim.urdf.open_source", lambda *_: pytest.fail("it was read"))
    monkeypatch.setattr("treesim.urdf.resolve.open_source", lambda *_: pytest.fail("it was read"))
    command, *options = arguments
    assert treesim(command, robot, *options).exit_code == 2


def test_unknown_robot_and_bad_file(treesim: Callable[..., Any], make_robot: Callable[..., str]) -> None:
    result = treesim("simulate", "no_such_robot_anywhere")
    assert result.exit_code == 2 and "no_such_robot_anywhere" in result.stderr
    result = treesim("simulate", make_robot("broken", mass=-1.0))
    assert result.exit_code == 2 and "broken.urdf:" in result.stderr and "mass" in result.stderr


def test_recording_needs_its_viewer(
    treesim: Callable[..., Any], robot: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plugins, "available", lambda kind: ())
    result = treesim("simulate", robot, *QUICK, "--html", tmp_path / "run.html")
    assert result.exit_code == 2 and '`python -m pip install "./plugins/treesim-meshcat"` brings it' in result.stderr


def test_failed_picture_does_not_cost_the_data(
    treesim: Callable[..., Any], robot: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib")

    def no_room(*_: object, **options: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", no_room)
    result = treesim("simulate", robot, *QUICK, "--out", tmp_path / "run.npz", "--plot", tmp_path / "run.png")
    assert result.exit_code == 1 and "run.png: No space left on device: it needs" in result.stderr
    assert len(load(tmp_path / "run.npz")) == 101 and "run.npz" in result.stdout


def test_no_effort_means_no_controller(treesim: Callable[..., Any], make_robot: Callable[..., str]) -> None:
    result = treesim("simulate", make_robot(effort=0.0), *QUICK, "--controller", "hold")
    assert result.exit_code == 2 and "every effort limit" in result.stderr


def test_divergence_keeps_what_was_finite(treesim: Callable[..., Any], robot: str, tmp_path: Path) -> None:
    out = tmp_path / "run.npz"
    wild = ("--dt", 0.5, "--duration", 500, "--integrator", "explicit_euler", "--v0", "hip=50,knee=-80")
    result = treesim("simulate", robot, *FIXED, *wild, "--out", out)
    assert result.exit_code == 1
    kept = load(out)
    assert kept.stopped and kept.stopped in " ".join(result.stderr.split()) and "dt" in kept.stopped
    assert 1 < len(kept) < 1001 and np.isfinite(kept.q).all() and np.isfinite(kept.v).all()


def test_quiet_says_nothing(treesim: Callable[..., Any], robot: str) -> None:
    result = treesim("simulate", robot, *QUICK, "--quiet")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for one process")
def test_interrupt_keeps_what_was_simulated(
    treesim: Callable[..., Any], robot: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real_step, calls = Simulation.step, itertools.count()

    def step(self: Simulation, t: float, q: np.ndarray, v: np.ndarray) -> Any:
        if next(calls) == 50:
            os.kill(os.getpid(), signal.SIGINT)
        return real_step(self, t, q, v)

    monkeypatch.setattr(Simulation, "step", step)
    out = tmp_path / "run.npz"
    result = treesim("simulate", robot, *FIXED, "--duration", 1, "--out", out, "--json")
    assert result.exit_code == 130, result.stderr
    account = json.loads(result.stdout)
    assert account["stopped"] == "interrupted" and account["files"] == [str(out)]
    assert 0 < account["steps"] == len(load(out)) - 1 < 1000


def test_a_start_that_overflows_at_once_is_kept(treesim: Callable[..., Any], robot: str, tmp_path: Path) -> None:
    out, html = tmp_path / "run.npz", tmp_path / "run.html"
    pytest.importorskip("treesim_meshcat")
    result = treesim("simulate", robot, *QUICK, "--v0", "1e200,0,0", "--out", out, "--html", html)
    assert result.exit_code == 1 and "no longer finite after t = 0 s" in result.stderr
    assert "too large for a number" in result.stdout and "nan" not in result.stdout
    assert "warning" not in result.stderr
    np.testing.assert_array_equal(load(out).v, [[1e200, 0, 0]])


@pytest.mark.skipif(os.name == "nt", reason="Windows knows no limit on files")
@pytest.mark.slow
def test_a_disk_without_room_costs_one_file(robot: str, tmp_path: Path) -> None:
    """In a process of its own, whose files may have 60 kB: the table of numbers fits, the archive does not."""
    resource = pytest.importorskip("resource")
    command = [sys.executable, "-m", "treesim", "simulate", robot, *FIXED, "--duration", "0.5", "--json"]
    files = [tmp_path / "run.npz", tmp_path / "run.svg"]
    result = subprocess.run(
        [*command, "--out", str(files[0]), "--plot", str(files[1])],
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, resource.RLIM_INFINITY)),
    )
    assert result.returncode == 1, result.stderr
    account = json.loads(result.stdout)
    assert account["steps"] == 500 and account["files"] == []
    assert "run.npz: File too large: it needs 52,104 bytes" in account["not_written"][0]
    assert "40,000 bytes at most (ulimit -f)" in result.stderr
    if np.lib.NumpyVersion(np.__version__) >= "2.0.0":  # before, an archive that cannot be closed complains of its own
        assert "Traceback" not in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["toy.urdf"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is always full")
@pytest.mark.parametrize("format", [pytest.param((), marks=pytest.mark.slow), ("--json",)])
def test_standard_output_without_room(robot: str, tmp_path: Path, format: tuple[str, ...]) -> None:
    out = tmp_path / "run.npz"
    command = [
        sys.executable,
        "-m",
        "treesim",
        "simulate",
        robot,
        *FIXED,
        "--duration",
        "0.1",
        "--out",
        str(out),
        *format,
    ]
    with open("/dev/full", "w") as full:
        result = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert result.returncode == 1 and len(load(out)) == 101
    assert result.stderr.strip().endswith("cannot write the result to standard output: No space left on device")


def test_an_exception_in_the_run_costs_no_states(
    treesim: Callable[..., Any], robot: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real_step, calls = Simulation.step, itertools.count()

    def step(self: Simulation, t: float, q: np.ndarray, v: np.ndarray) -> Any:
        if next(calls) == 31:
            raise LookupError("a plugin's fault")
        return real_step(self, t, q, v)

    monkeypatch.setattr(Simulation, "step", step)
    out = tmp_path / "run.npz"
    with pytest.raises(LookupError, match="a plugin's fault"):
        treesim("simulate", robot, *QUICK, "--out", out)
    kept = load(out)
    assert len(kept) == 31 and kept.stopped == "LookupError: a plugin's fault" and kept.metadata["base"] == "fixed"


def test_room_is_asked_for_before_anything_runs(
    treesim: Callable[..., Any], robot: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Simulation, "step", lambda *_: pytest.fail("it ran"))
    assert treesim("simulate", robot, "--duration", 1e8).exit_code == 2


class Recording:
    """Another package's viewer, which writes what it was given."""

    def record(self, robot, trajectory, path, fps=30):
        Path(path).write_text(f"{robot.name}: {len(trajectory.q)} states at {fps:g} Hz")
        return path


class Watching:
    """Another package's viewer, which records nothing."""


@pytest.fixture
def viewers(monkeypatch):
    """The viewers that are installed: those given, by name."""

    def install(**classes):
        found = {
            name: (SimpleNamespace(name=name, dist=None, load=lambda made=made: made),)
            for name, made in classes.items()
        }
        monkeypatch.setattr(plugins, "_entry_points", lambda kind: found if kind == "viewers" else {})
        plugins._found.cache_clear()

    yield install
    plugins._found.cache_clear()


def test_any_registered_recorder_records(treesim, robot, tmp_path, viewers):
    viewers(a_watcher=Watching, notes=Recording)
    html = tmp_path / "run.html"
    result = treesim("simulate", robot, *QUICK, "--html", html)
    assert result.exit_code == 0 and html.read_text().startswith("toy: ") and "at 30 Hz" in html.read_text()
    html.unlink()
    assert treesim("simulate", robot, *QUICK, "--html", html, "--viewer", "notes").exit_code == 0 and html.exists()
    result = treesim("simulate", robot, *QUICK, "--html", html, "--viewer", "a_watcher")
    assert result.exit_code == 2 and "'a_watcher' records no motions" in result.stderr
    result = treesim("simulate", robot, *QUICK, "--html", html, "--viewer", "note")
    assert result.exit_code == 2 and "did you mean 'notes'" in result.stderr
    result = treesim("simulate", robot, *QUICK, "--viewer", "notes")
    assert result.exit_code == 2 and "--html" in result.stderr
    html.unlink()
    assert treesim("simulate", robot, *QUICK, "--record", html, "--viewer", "notes").exit_code == 0 and html.exists()
    result = treesim("simulate", robot, *QUICK, "--record", tmp_path / "run.mp4", "--viewer", "notes")
    assert result.exit_code == 2 and ".html, .htm is needed" in result.stderr, "notes writes nothing else"


def test_without_a_recorder_it_says_how_to_get_one(treesim, robot, tmp_path, viewers):
    viewers(a_watcher=Watching)
    result = treesim("simulate", robot, *QUICK, "--html", tmp_path / "run.html")
    assert result.exit_code == 2 and "treesim-meshcat" in result.stderr


def test_errors_are_json_too(treesim: Callable[..., Any], robot: str, tmp_path: Path) -> None:
    for arguments, kind, code in (
        (("--backend", "abba"), "UnknownNameError", 2),
        (("-o", tmp_path / "none" / "run.npz"), "ArgumentError", 2),
    ):
        result = treesim("simulate", robot, *arguments, "--json")
        found = json.loads(result.stdout)["error"]
        assert (found["type"], found["exit_code"], result.exit_code) == (kind, code, code)
        assert " ".join(found["message"].split()) in " ".join(result.stderr.split())


WORLD = """
import treesim
robot = treesim.load({robot!r}, base="floating")
balls = [treesim.free_body(name, "sphere", (0.1,), 1.0) for name in ("low", "high")]
world = treesim.World({of})
q = world.robot.neutral()
{more}
"""


def test_a_python_file_defines_the_world(
    answer: Callable[..., Any], treesim: Callable[..., Any], tmp_path: Path
) -> None:
    file, out = tmp_path / "scene.py", tmp_path / "run.npz"
    places = "q[2], q[9] = 0.12, 0.33"
    file.write_text(WORLD.format(robot="cube", of="balls[0], ground=treesim.Ground(), bodies=balls[1:]", more=places))
    account = answer("simulate", file, "--duration", 1, "-o", out)
    run = load(out)
    assert account["controller"] == "none" and run.metadata["source"] == str(file) and len(run.metadata["sha256"]) == 64
    np.testing.assert_allclose(run.q[-1, [2, 9]], [0.1, 0.3], atol=1e-3)  # one lies on the other
    assert run.q.shape[1] == 14 and run.contact_wrench("high")[-2, 2] == pytest.approx(9.81, abs=0.1)
    assert "1001" in treesim("replay", out).stdout
    for text, options, reason in (
        (file.read_text(), ("--ground", "--base", "fixed"), "'--base', '--ground'"),
        (file.read_text(), ("--with", "ur5"), "'--with'"),
        ("x = 1 / 0", (), "scene.py:1: ZeroDivisionError"),
        ("x = 1", (), "defines no world"),
    ):
        file.write_text(text)
        result = treesim("simulate", file, "--duration", 1, *options)
        assert result.exit_code == 2 and reason in result.stderr, result.stderr


def test_actuators_of_a_file_hold_its_configuration(
    answer: Callable[..., Any], treesim: Callable[..., Any], robot: str, tmp_path: Path
) -> None:
    file, out = tmp_path / "scene.py", tmp_path / "run.npz"
    file.write_text(
        f"import treesim\nrobot = treesim.load({robot!r}, 'fixed')\nservo = treesim.PositionServo(2000, 100)\n"
        "world = treesim.World(robot, actuators={'*': servo})\nq = [0.5, -0.2, 0.1]\n"
    )
    assert answer("simulate", file, "--duration", 1, "-o", out)["controller"] == "hold"
    np.testing.assert_allclose(load(out).q[-1], [0.5, -0.2, 0.1], atol=0.02)
    assert "1001" in treesim("replay", out).stdout and "base" not in load(out).metadata
    assert answer("simulate", file, "--duration", 1, "--controller", "none", "-o", out)["controller"] == "none"
    np.testing.assert_allclose(load(out).q[-1], 0, atol=0.02)  # commands of servos are 0
    assert "the same bits" in treesim("replay", out).stdout


def test_bodies_that_hit_each_other_keep_their_momentum(answer: Callable[..., Any], tmp_path: Path) -> None:
    file, out = tmp_path / "scene.py", tmp_path / "run.npz"
    for floor, note in (("", "after subtracting m g t"), (", ground=treesim.Ground()", "the ground pushes")):
        world, places = f"balls[0], bodies=balls[1:]{floor}", "q[2], q[9] = 0.5, 0.9"
        file.write_text(WORLD.format(robot="cube", of=world, more=places))
        momentum = answer("simulate", file, "--duration", 0.4, "--v0", "high_joint.vz=-1", "-o", out)["momentum"]
        assert load(out).contact.of_body("low", "high").any() and note in momentum["note"]  # type: ignore[union-attr]
        assert floor or momentum["linear_drift"] < 1e-12


def test_what_pushes_from_outside_is_named(answer: Callable[..., Any], tmp_path: Path) -> None:
    file, lift = tmp_path / "scene.py", "kinematic={'high': treesim.Waypoints([0, 1], [(0, 0, 0.5), (0, 0, 0.6)])}"
    held = "[treesim.FrameConstraint('low', rows='linear')]"
    for of, note in (
        (f"balls[0], bodies=balls[1:], {lift}", "kinematic bodies push"),
        (f"balls[0], {held}, bodies=balls[1:]", "constraints hold frames in the world"),
    ):
        file.write_text(WORLD.format(robot="cube", of=of, more="q[9] = 0.5"))
        momentum = answer("simulate", file, "--duration", 0.01)["momentum"]
        assert momentum == {"linear_drift": None, "angular_drift": None, "note": f"not conserved: {note}"}


def test_hold_supports_a_floating_robot_on_a_ground(answer: Callable[..., Any], tmp_path: Path) -> None:
    out = tmp_path / "run.npz"
    for options, stands in (((), True), (("--kp", 100, "--kd", 10), False)):
        answer("simulate", "g1", "--ground", "--controller", "hold", "--duration", 2, *options, "-o", out)
        assert (load(out).q[-1, 2] > 0.78) == stands


def test_further_robots_are_in_the_world(answer: Callable[..., Any], robot: str, tmp_path: Path) -> None:
    out = tmp_path / "run.npz"
    account = answer("simulate", robot, *QUICK, "--with", f"{robot}@1,2,3", "-o", out)
    run = load(out)
    assert run.metadata["with"] == [f"{robot}@1,2,3"] and "a base is fixed" in account["momentum"]["note"]
    assert run.v.shape[1] > 3 and len(run) == 101 and account["stopped"] is None
