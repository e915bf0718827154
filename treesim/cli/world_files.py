"""Worlds that Python files define: `treesim view world.py`, `treesim simulate world.py`."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from traceback import walk_tb
from typing import TYPE_CHECKING, Any, NamedTuple

import treesim

from ..errors import ArgumentError, TreesimError, listed, shortened, text_of
from ..system.files import name_in_message
from .common import option_name

if TYPE_CHECKING:
    import numpy as np

    from ..policies import Policy
    from ..simulation.world import World
    from ..types import ControllerName
    from .simulation_options import RunOptions

# options that the file defines instead
ROBOT_OPTIONS = ("base", "mimic", "convex_parts", "ground", "ground_friction", "terrain", "others")


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


def load_world(path: str, options: RunOptions) -> tuple[World, np.ndarray]:
    """Run a Python file, and return the world that it defines, and its initial configuration (nq,).

    The world is the variable `world`, or the only World among the variables. The configuration is the variable `q`; by
    default it is neutral, and a floating robot without other bodies stands on its ground. Raises ArgumentError for
    options of robots, for a file that cannot be run, and without a world.
    """
    from ..model.named_axes import coordinate_argument
    from ..validation.arrays import coerce
    from ..viewing.live.show import initial_configuration

    name, default = name_in_message(Path(path)), type(options)()
    given = [option_name(field) for field in ROBOT_OPTIONS if getattr(options, field) != getattr(default, field)]
    if given:
        raise ArgumentError(f"{listed(given)}: {name} defines robots and ground: change the file")
    found = _variables(path)
    worlds = {label: value for label, value in found.items() if isinstance(value, treesim.World)}
    world = worlds.get("world") or (next(iter(worlds.values())) if len(worlds) == 1 else None)
    if world is None:
        has = f"none of {listed(sorted(worlds))} is called world" if worlds else "no variable is a World"
        raise ArgumentError(f"{name} defines no world: {has}; write world = treesim.World(robot, ...)")
    if "q" not in found:
        return world, initial_configuration(world)
    try:
        return world, coerce(coordinate_argument(world.robot, "q", found["q"]))
    except TreesimError as error:
        raise ArgumentError(f"{name}: {error}") from error


def _variables(path: str) -> dict[str, Any]:
    """Return the variables of a file that is run as `python` runs it, with its folder to import from."""
    name, folder = name_in_message(Path(path)), str(Path(path).resolve().parent)
    if not Path(path).is_file():
        raise ArgumentError(f"{name}: there is no such file")
    sys.path.insert(0, folder)
    try:
        return runpy.run_path(path)
    except (Exception, SystemExit) as error:  # whatever the file raises
        line, text = _line_in(path, error), shortened(text_of(error, str))
        where = name if line is None else f"{name}:{line}"
        raise ArgumentError(f"{where}: {type(error).__name__}: {text}") from error
    finally:
        sys.path.remove(folder)


def _line_in(path: str, error: BaseException) -> int | None:
    """Return the last line of a file at which an exception passed; None if it did not."""
    if isinstance(error, SyntaxError) and error.filename == path:
        return error.lineno
    passed = [line for frame, line in walk_tb(error.__traceback__) if frame.f_code.co_filename == path]
    return passed[-1] if passed else None
