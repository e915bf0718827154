"""All that a simulation was made from, in one text that a trajectory's file keeps: see `treesim.replay`."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np

from .. import plugins
from ..engine.call.generic import runs_compiled
from ..engine.llvm.machine_code import processor
from ..errors import ArgumentError, TreesimError, UnsupportedError, shortened
from ..validation.schema import LARGEST, fits, parsed, record_of
from ..validation.values import short_repr
from .control import Controller, controller_name
from .serialization import plain, restored
from .trajectory import Trajectory
from .world import World

FORMAT = 1
ROBOT = "robot"  # what stands for the world's robot in a controller, with its free bodies
ALONE = "robot alone"  # and without them


@dataclass(frozen=True)
class Recipe:
    """What a simulation was made from, in plain values.

    world, controller: as `treesim.simulation.serialization` writes them. settings: the other arguments of
    `treesim.Simulation`, by name. surroundings: versions and processor, as `surroundings` tells them. missing: what a
    file cannot hold, and why: a part by its name. start, end: impulses (R,) of contact in the steps before the first
    and the last state, None where there are none.
    """

    world: Any
    controller: Any
    settings: Mapping[str, Any]
    surroundings: Mapping[str, str]
    missing: Mapping[str, str]
    start: Any = None
    end: Any = None
    format: int = FORMAT


class PackedLater:
    """The recipe of a simulation that ran, whose world, which does not change, is written down when it is asked for.

    The controller, which may change, is written down at once. start: impulses (R,) of contact before the first step;
    `end`, those of the last one, are put in when the run has ended.
    """

    def __init__(
        self, world: World, controller: Controller, settings: Mapping[str, Any], start: np.ndarray | None = None
    ) -> None:
        self.world = world
        self.start = start
        self.end: np.ndarray | None = None
        self.missing: dict[str, str] = {}
        self.settings = {name: self._by_name(name, value) for name, value in settings.items()}
        self.controller = self._described("controller", controller, controller_name(controller), _named(world))

    def _by_name(self, label: str, value: Any) -> Any:
        """A backend or solver by its name, if it has one by which it is found; anything else as it is."""
        group = {"backend": "dynamics", "contact_solver": "contact_solvers"}.get(label)
        if group is None or isinstance(value, str):
            return plain(value)
        name = getattr(value, "name", "")
        if name not in plugins.available(group) or plugins.get(group, name) is not value:  # type: ignore[arg-type]
            self.missing[label] = f"the {label} {type(value).__name__} is registered under no name"
        return name

    def _described(self, label: str, value: Any, name: str, named: Mapping[str, Any]) -> Any:
        try:
            return plain(value, named)
        except (TreesimError, OSError) as error:
            self.missing[label] = f"the {label} {name!r} is Python's own: {error}"
            return None

    def __call__(self) -> str:
        """Return the recipe as one line of text."""
        world = None if "world" in self.missing else self._described("world", self.world, self.world.robot.name, {})
        parts = world, self.controller, self.settings, surroundings(), self.missing
        keys = ("world", "controller", "settings", "surroundings", "missing")
        impulses = {"start": self.start, "end": self.end}
        known = {name: plain(values) for name, values in impulses.items() if values is not None}
        text = json.dumps({"format": FORMAT, **dict(zip(keys, parts, strict=True)), **known})
        if world is not None and not fits(text):
            self.missing["world"] = f"the world {self.world.robot.name!r} is too large for a recording"
            return self()
        return base64.b64encode(zlib.compress(text.encode())).decode()


def unpacked(text: str) -> Recipe:
    """Return the recipe that a text holds; raises ArgumentError for one that treesim did not write, or that is of
    a later version's format."""
    try:
        opened = zlib.decompressobj()
        found = opened.decompress(base64.b64decode(text, validate=True), LARGEST)
        if not opened.eof:
            raise ValueError("it is cut short, or too large")
        values = parsed(found, "it")
        if isinstance(values, dict) and values.get("format") != FORMAT:
            raise ArgumentError(
                f"it is of format {short_repr(values.get('format'))}, but {FORMAT} is known: take a later version"
            )
        return record_of(Recipe, values, "it")
    except (ValueError, zlib.error, binascii.Error) as error:
        raise ArgumentError(f"the recording does not tell how it was made, or is damaged: {error}") from None


def world_of(recipe: Recipe) -> World:
    """Return the world that moved, with the same bits. Raises UnsupportedError where a file could not hold it,
    ArgumentError for one that is damaged."""
    if "world" in recipe.missing:
        raise UnsupportedError(f"it cannot be repeated: {recipe.missing['world']}")
    world = restored(recipe.world)
    if not isinstance(world, World):
        raise ArgumentError("the recording holds no world")
    return world


def controller_of(recipe: Recipe, world: World) -> Any:
    """Return the controller that drove a world's robot, None for none. Raises UnsupportedError naming a controller
    that a file cannot hold."""
    if "controller" in recipe.missing:
        reason = shortened(recipe.missing["controller"], 300)
        raise UnsupportedError(
            f"it cannot be repeated: {reason}: give treesim.replay(run, controller=...) an equal one"
        )
    return restored(recipe.controller, _named(world))


def _named(world: World) -> dict[str, Any]:
    """What a world's controller may be made of besides its numbers, by name."""
    return {ROBOT: world.robot, ALONE: world.alone}


def contact_impulses(trajectory: Trajectory, where: Literal["start", "end"]) -> np.ndarray | None:
    """Return the impulses (R,) of contact in the step before the first or the last state of a trajectory, None where
    they are not known, or there are none. Raises ArgumentError where a recording is damaged."""
    recipe = trajectory.recipe
    if recipe is None:
        return None
    if isinstance(recipe, PackedLater):
        known: np.ndarray | None = getattr(recipe, where)
        return known
    found = restored(getattr(unpacked(recipe() if callable(recipe) else recipe), where))
    if found is not None and not isinstance(found, np.ndarray):
        raise ArgumentError(f"the recording's impulses of contact are damaged: {short_repr(found)} is no array")
    return found


@cache
def _versions() -> dict[str, str]:
    from importlib.metadata import version
    from platform import python_version

    import llvmlite
    import numpy
    from llvmlite import binding

    llvm = ".".join(map(str, binding.llvm_version_info))
    return {
        "treesim": version("treesim"), "sources of treesim": _sources(Path(__file__).parents[1]),
        "numpy": numpy.__version__, "llvmlite": llvmlite.__version__, "LLVM": llvm, "Python": python_version(),
    }  # fmt: skip


def _sources(folder: Path) -> str:
    """A hash of all sources in a folder."""
    digested = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        digested.update(path.read_bytes())
    return digested.hexdigest()[:16]


def surroundings() -> dict[str, str]:
    """Return what a run's bits may depend on beside its arguments: versions, a hash of treesim's sources, the
    processor and its features as code is compiled for them, and whether kernels are compiled or interpreted."""
    here = processor()
    machine = {"target": here.triple, "processor": here.name, "features": here.features}
    return {**_versions(), **machine, "kernels are": "compiled" if runs_compiled() else "interpreted"}
