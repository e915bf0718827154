"""`treesim mass ROBOT`: the mass of a robot."""

from __future__ import annotations

import typer

import treesim
from treesim.cli.common import guarded


@guarded
def mass(robot: str) -> None:
    """Print the mass of ROBOT, a URDF file or the name of an installed robot."""
    typer.echo(f"{treesim.load(robot).mass:.6g} kg")
