"""Registered engines: find their adapters, and read a robot in several of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from .. import plugins
from ..errors import PluginError, UnsupportedError, quoted
from ..model.tree import Tree
from ..system.installation import installed_by
from ..validation.values import checked_parts
from .adapter import EngineAdapter
from .engine_model import EngineModel
from .results import EngineError

# titles of the engines for which this repository has plugins, treesim-{name}
PUBLISHED = {"pinocchio": "Pinocchio", "mujoco": "MuJoCo", "pybullet": "PyBullet"}
UNTIMED = {"drake": "Drake"}  # not benchmarked


def find_engine(name: str) -> EngineAdapter:
    """Return the engine adapter that is registered under a name.

    Parameters
    ----------
    name : str
        Registered name.

    Returns
    -------
    EngineAdapter
        The adapter.

    Raises
    ------
    PluginError
        If no adapter is registered under the name; the message contains the install command.

    Examples
    --------
    >>> from treesim.compare import find_engine
    >>> find_engine("pinocchio").title
    'Pinocchio'
    """
    known = plugins.available("engines")
    if name not in known:
        titles = PUBLISHED | UNTIMED
        offered = name if name in titles else "pybullet"
        raise PluginError(
            f"no engine called {quoted(name)} is installed; known are: {', '.join(known) or 'none'}; "
            f"{titles[offered]} is one: {installed_by(f'./plugins/treesim-{offered}')}"
        )
    return cast(EngineAdapter, plugins.get("engines", name))


def chosen_engines(label: str, given: object) -> list[EngineAdapter]:
    """Return the adapters of an argument: one adapter or name, or several.

    Raises ArgumentError for other types, PluginError for a name that is not registered.
    """
    chosen: tuple[Any, ...] = checked_parts(label, given, (str, EngineAdapter))
    return [find_engine(each) if isinstance(each, str) else each for each in chosen]


def installed_engines(notes: list[str]) -> list[EngineAdapter]:
    """Return the installed engine adapters; adapters of treesim's own plugins come first.

    Parameters
    ----------
    notes : list of str
        List to which messages about missing or broken plugins are appended.

    Returns
    -------
    list of EngineAdapter
        Installed adapters.
    """
    known = plugins.available("engines")
    found = []
    for name in dict.fromkeys([*PUBLISHED, *known]):
        try:
            if name in known:
                found.append(find_engine(name))
                continue
            how = installed_by(f"./plugins/treesim-{name}")
            notes.append(f"{PUBLISHED[name]}'s plugin treesim-{name} is not installed ({how}): no comparison")
        except PluginError as error:
            notes.append(f"{error}: no comparison")
    return found


def read_by_engines(
    adapters: Sequence[EngineAdapter], robot: Tree, text: Callable[[str], str], notes: list[str]
) -> list[EngineModel]:
    """Return the models of a robot in each engine, prepared for timing.

    text: returns the robot's URDF text at a level. notes: reasons why engines do not support the robot are appended.
    """
    found = []
    for adapter in adapters:
        try:
            if reason := adapter.refuses(robot):
                raise UnsupportedError(reason)
            model = adapter.read(robot, text(adapter.timed), adapter.timed)
            model.prepare_timing()
        except (UnsupportedError, EngineError) as error:
            notes.append(f"{error}: no comparison")
        else:
            found.append(model)
    return found
