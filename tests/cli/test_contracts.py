"""`treesim simulate` with a network and its contract."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

CONTRACT = """
policy = 1
robot = "toy"
rate = 100
[joints]
order = ["knee", "hip"]
default = {hip = 0.5, knee = -0.25}
[observation]
terms = [{term = "command", names = ["a", "b"]}]
[action]
kind = "joint_position"
offset = "default"
[actuators]
"*" = {type = "PositionServo", kp = 2000, kd = 100, effort_limit = 50}
[hold]
shoulder = {kp = 10, kd = 1}
"""


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """A network whose actions are its two observations, and its contract."""
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("treesim_onnx")
    node = onnx.helper.make_node("Identity", ["obs"], ["actions"])
    ports = [onnx.helper.make_tensor_value_info(x, onnx.TensorProto.FLOAT, ["N", 2]) for x in ("obs", "actions")]
    graph = onnx.helper.make_graph([node], "policy", ports[:1], ports[1:])
    network, contract = tmp_path / "p.onnx", tmp_path / "p.toml"
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)]), network)
    contract.write_text(CONTRACT)
    return network, contract


def test_a_network_moves_the_robot(answer: Callable[..., Any], robot: str, tmp_path: Path, files: Any) -> None:
    from treesim.formats import load

    out = tmp_path / "run.npz"
    given = ("--policy", files[0], "--contract", files[1], "--base", "fixed", "--gravity", "0", "-o", out)
    account = answer("simulate", robot, *given, "--duration", 3, "--dt", 0.001, "--command", "0.125,-0.25")
    assert account["controller"] == "policy" and account["stopped"] is None
    run = load(out)
    np.testing.assert_array_equal(run.q[0], [0.5, -0.25, 0])
    np.testing.assert_allclose(run.q[-1], [0.25, -0.125, 0], atol=1e-3)
    files[1].write_text(CONTRACT.replace('["a", "b"]', '["a", "b"], noise = 0.1'))
    noisy, silent = (
        answer("simulate", robot, *given, "--duration", 0.1, *more)["energy"] for more in (("--noise", 3), ())
    )
    assert noisy != silent
    assert run.metadata["policy"] == str(files[0]) and run.metadata["command"] == "0.125,-0.25"


def test_the_step_is_that_of_the_contract(answer: Callable[..., Any], robot: str, files: Any) -> None:
    files[1].write_text(CONTRACT.replace("rate = 100", "rate = 100\nphysics = {dt = 0.005}"))
    given = ("--policy", files[0], "--contract", files[1], "--base", "fixed", "--duration", 0.1)
    for option, dt in (((), 0.005), (("--dt", 0.001), 0.001), (("--dt", 0.01), 0.01)):
        assert answer("simulate", robot, *given, *option)["dt"] == dt


def test_wrong_options_are_refused(treesim: Callable[..., Any], robot: str, files: Any) -> None:
    both = ("--policy", files[0], "--contract", files[1])
    for options, message in (
        (both[:2], "--policy needs both --policy FILE.onnx and --contract FILE.toml"),
        ((*both, "--controller", "hold"), "--policy computes the controls: leave out --controller hold"),
        ((*both, "--command", "1,x"), "--command takes numbers, such as 10,0.5, got '1,x'"),
        ((*both, "--command", "1"), "command (a, b) must be 2 finite numbers"),
        ((*both, "--dt", "0.003"), "the period of the policy, 100 Hz, is no whole multiple of dt = 0.003 s"),
        (("--noise", 3), "--noise needs both --policy FILE.onnx and --contract FILE.toml"),
        (("--policy", files[0], "--contract", "no.toml"), "cannot read 'no.toml': No such file or directory"),
    ):
        result = treesim("simulate", robot, "--base", "fixed", "--duration", "0.3", *options)
        assert result.exit_code != 0 and message in " ".join(result.stderr.split()), result.stderr


def test_the_viewer_is_steered_by_commands(
    treesim: Callable[..., Any], robot: str, files: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from tests.cli.test_view import Steered
    from treesim.cli import common

    window = Steered()
    monkeypatch.setattr(common, "get_viewer", lambda name: window)
    files[1].write_text(CONTRACT.replace("rate = 100", "rate = 100\nphysics = {dt = 0.005}"))
    given = ("--policy", files[0], "--contract", files[1], "--base", "fixed", "--no-browser", "--json")
    result = treesim("view", robot, *given, "--command", "0.125,-0.25")
    assert result.exit_code == 0, result.stderr
    state = window.states[-1]
    assert (state["controller"], state["dt"], state["t"]) == ("policy", 0.005, 0.005)
    assert state["command"] == {"a": 0.125, "b": -0.25} and state["q"][0] != 0.5 == window.shown[0][0]
    for options, message in (
        (("--html", tmp_path / "page.html", "--noise", 0), "--noise does not go with --html: observations on the page"),
        (("--controller", "hold"), "--policy computes the controls: leave out --controller hold"),
    ):
        result = treesim("view", robot, *given, *options)
        assert result.exit_code == 2 and message in result.stdout, result.stdout


def test_pages_without_python_get_the_policy(
    answer: Callable[..., Any], robot: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, files: Any
) -> None:
    from tests.cli.test_view_page import FIXED, Writer
    from treesim.cli import common

    writer = Writer()
    monkeypatch.setattr(common, "get_viewer", lambda name: writer)
    path, given = tmp_path / "robot.html", ("--policy", files[0], "--contract", files[1])
    answer("view", robot, *FIXED, "--html", path, *given, "--command", "0.1,-0.2")
    policy = writer.settings["policy"]
    assert policy.command_names == ("a", "b") and writer.settings["command"].tolist() == [0.1, -0.2]
    assert writer.world.actuators == policy.actuators and writer.q0.tolist() == policy.posture.tolist()


def test_sweeps_vary_the_command(answer: Callable[..., Any], robot: str, tmp_path: Path, files: Any) -> None:
    pytest.importorskip("zarr")
    out = tmp_path / "s.zarr"
    given = ("--policy", files[0], "--contract", files[1], "--parameters", "0.125,0", "--base", "fixed")
    size = ("--steps", 200, "--dt", 0.01, "--substeps", 10, "--samples", 3, "--workers", 1, "--out", out)
    varied = ("--gravity", 0, "--vary", "p[1]=-0.25,-0.2", "--measure", "hip=last(q[hip])")
    columns = answer("sweep", robot, *given, *size, *varied, "--measure", "knee=last(q[knee])")["columns"]
    found = [columns[name][end] for name in ("hip", "knee") for end in ("least", "greatest")]
    assert found == pytest.approx([0.25, 0.3, -0.125, -0.125], abs=2e-3)


def test_wrong_options_of_sweeps(treesim: Callable[..., Any], robot: str, tmp_path: Path, files: Any) -> None:
    given = ("--steps", 10, "--samples", 2, "--out", tmp_path / "s.zarr", "--base", "fixed")
    for options, message in (
        (("--contract", files[1]), "--contract needs both --policy FILE.onnx and --contract FILE.toml"),
        (("--policy", files[0]), "--policy is an ONNX file, which needs --contract FILE.toml"),
        (("--policy", files[0], "--contract", files[1]), "dt must be the period of the policy, 0.01 s, got 0.001"),
    ):
        result = treesim("sweep", robot, *given, *options)
        assert result.exit_code != 0 and message in " ".join(result.stderr.split()), result.stderr
