"""The command line in this process, and robots small enough to run in a blink."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from treesim import plugins
from treesim.cli.main import app
from treesim.cli.plugin_commands import COMMANDS_OF

LINK = """
  <link name="{name}"><inertial><origin xyz="0 0 -0.2"/><mass value="{mass}"/>
    <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
JOINT = """
  <joint name="{name}" type="{type}"><parent link="{parent}"/><child link="{child}"/><origin xyz="0 0 -0.4"/>
    <axis xyz="0 1 0"/><limit lower="{lower}" upper="2" effort="{effort}" velocity="9"/>{more}</joint>"""


def urdf(effort: float = 50.0, more: str = "", mass: float = 1.0, shoulder: str = "revolute") -> str:
    """A trunk with two limbs; the knee holds `more`, the shoulder is of type `shoulder`."""
    links = "".join(LINK.format(name=name, mass=mass) for name in ("trunk", "thigh", "shank", "arm"))
    common = {"lower": -2, "effort": effort}
    joints = (
        JOINT.format(name="hip", parent="trunk", child="thigh", type="revolute", more="", **common),
        JOINT.format(name="knee", parent="thigh", child="shank", type="revolute", more=more, **common),
        JOINT.format(name="shoulder", parent="trunk", child="arm", type=shoulder, more="", **common),
    )
    return f'<robot name="toy">{links}{"".join(joints)}\n</robot>\n'


def need_command(name: object) -> None:
    """Skip a test of a plugin's command where the plugin is not installed."""
    known = {name: package for package, names in COMMANDS_OF.items() for name in names}
    if name in known and name not in plugins.available("commands"):
        pytest.skip(f"needs {known[name]}")


@pytest.fixture
def make_robot(tmp_path: Path) -> Callable[..., str]:
    """Write the toy robot, with another effort limit or more inside its knee, and return the file's path."""

    def make(name: str = "toy", **changes: Any) -> str:
        path = tmp_path / f"{name}.urdf"
        path.write_text(urdf(**changes))
        return str(path)

    return make


@pytest.fixture
def robot(make_robot: Callable[..., str]) -> str:
    """The path of a URDF with three joints that nothing damps."""
    return make_robot()


@pytest.fixture
def treesim() -> Callable[..., Result]:
    """Run the program in this process: `treesim("info", path)`; the result has exit_code, stdout and stderr."""

    def run(*arguments: object) -> Result:
        need_command(arguments[0])
        result = CliRunner().invoke(app, [str(argument) for argument in arguments])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return run


@pytest.fixture
def answer(treesim: Callable[..., Result]) -> Callable[..., Any]:
    """Run a command with --json and return what it printed, which must be JSON and nothing else."""

    def run(*arguments: object) -> Any:
        result = treesim(*arguments, "--json")
        assert result.exit_code == 0, result.stderr
        return json.loads(result.stdout)

    return run
