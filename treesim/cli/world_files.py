"""Worlds that Python files define: `treesim view world.py`."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import treesim

from ..errors import ArgumentError, TreesimError, listed

if TYPE_CHECKING:
    import numpy as np

    from ..policies import Policy
    from ..simulation.world import World
    from ..types import ControllerName
    from .simulation_options import ViewOptions

ROBOT_OPTIONS = {  # what the file defines instead, with the names on the command line
    "base": "--base", "mimic": "--mimic", "convex_parts": "--convex-parts", "ground": "--ground",
    "ground_friction": "--ground-friction", "terrain": "--terrain", "others": "--with",
}  # fmt: skip


class WorldStart(NamedTuple):
    """A world with its initial configuration (nq,) and velocity (nv,), and how it is controlled by default.

    policy: the network that controls the robot, if there is one.
    """

    world: World
    q: np.ndarray
    v: np.ndarray
    controller: ControllerName
    kp: float
    kd: float
    policy: Policy | None = None


def is_world_file(source: str) -> bool:
    """Return whether the source is a Python file rather than a robot."""
    return Path(source).suffix == ".py"


def load_world(path: str, options: ViewOptions) -> tuple[World, np.ndarray]:
    """Run a Python file, and return the world that it defines, and its initial configuration (nq,).

    The world is the variable `world`, or the only World among the variables. The configuration is the variable `q`; by
    default it is neutral, and a floating robot without other bodies stands on its ground. Raises ArgumentError for
    options of robots, for a file that cannot be run, and without a world.
    """
    from ..model.named_axes import coordinate_argument
    from ..validation.arrays import coerce
    from ..viewing.live.show import initial_configuration

    default = type(options)()
    given = [name for field, name in ROBOT_OPTIONS.items() if getattr(options, field) != getattr(default, field)]
    if given:
        raise ArgumentError(f"{listed(given)}: {path} defines robots and ground: change the file")
    found = _variables(path)
    worlds = {name: value for name, value in found.items() if isinstance(value, treesim.World)}
    world = worlds.get("world") or (next(iter(worlds.values())) if len(worlds) == 1 else None)
    if world is None:
        has = f"none of {listed(sorted(worlds))} is called world" if worlds else "no variable is a World"
        raise ArgumentError(f"{path} defines no world: {has}; write world = treesim.World(robot, ...)")
    if "q" not in found:
        return world, initial_configuration(world)
    try:
        return world, coerce(coordinate_argument(world.robot, "q", found["q"]))
    except TreesimError as error:
        raise ArgumentError(f"{path}: {error}") from error


def _variables(path: str) -> dict[str, Any]:
    if not Path(path).is_file():
        raise ArgumentError(f"{path}: there is no such file")
    try:
        return runpy.run_path(path)
    except (Exception, SystemExit) as error:  # whatever the file raises
        line = error.lineno if isinstance(error, SyntaxError) else _line_in(path, error)
        where = path if line is None else f"{path}:{line}"
        raise ArgumentError(f"{where}: {type(error).__name__}: {error}") from error


def _line_in(path: str, error: BaseException) -> int | None:
    """Return the last line of a file at which an exception passed; None if it did not."""
    line, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == path:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line
