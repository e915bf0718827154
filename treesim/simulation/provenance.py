"""Provenance of a trajectory: arguments and versions of the simulation, from which `treesim.replay` repeats it."""

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
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from .. import plugins
from ..engine.call.generic import runs_compiled
from ..engine.llvm.machine_code import processor
from ..errors import ArgumentError, TreesimError, UnsupportedError, reason_of, shortened
from ..validation.schema import LARGEST, fits, parsed, record_of
from ..validation.values import short_repr
from .control import Controller
from .serialization import plain, restored
from .trajectory import Trajectory
from .world import World
from .wrapped_controllers import controller_name

if TYPE_CHECKING:
    from .continuation import RunStart

FORMAT = 1
SETTINGS = (  # arguments of `Simulation` besides world and controller
    "backend", "integrator", "dt", "gravity", "engine", "substeps", "contact_solver", "external_forces",
    "contact_points", "seed",
)  # fmt: skip
ROBOT = "robot"  # name of the world's robot, with its free bodies, in a serialized controller
ALONE = "robot alone"  # and without free bodies
WORLD = "world"


# arrays
STORED = ("start", "end", "start_readings", "end_readings", "start_actuators", "end_actuators")


@dataclass(frozen=True)
class Provenance:
    """Arguments of a simulation and the software that ran it, in serialized form.

    world, controller: as `treesim.simulation.serialization` writes them. settings: the other arguments of
    `treesim.Simulation`, by name. surroundings: versions and processor, see `surroundings`. missing: reasons
    why parts could not be serialized, by name. start, end: contact impulses (R,) in the steps before the first
    and the last state, None without contact. start_readings, end_readings: memory of sensors whose readings depend on
    earlier steps, None without. start_actuators, end_actuators: memory of actuators, None without.
    """

    world: Any
    controller: Any
    settings: Mapping[str, Any]
    surroundings: Mapping[str, str]
    missing: Mapping[str, str]
    start: Any = None
    end: Any = None
    start_readings: Any = None
    end_readings: Any = None
    start_actuators: Any = None
    end_actuators: Any = None
    format: int = FORMAT


class DeferredProvenance:
    """Provenance of a simulation; the immutable world is serialized on demand, the controller at once.

    begin: state before the first step. end, end_readings, end_actuators: contact impulses (R,) and memory of sensors
    and actuators after the last step, set after the run.
    """

    def __init__(self, world: World, controller: Controller, settings: Mapping[str, Any], begin: RunStart) -> None:
        self.world = world
        self.start, self.start_readings, self.start_actuators = begin.impulses, begin.readings, begin.actuators
        self.end: np.ndarray | None = None
        self.end_readings, self.end_actuators = begin.readings, begin.actuators
        self.missing: dict[str, str] = {}
        self.settings = {name: self._by_name(name, value) for name, value in settings.items()}
        self.controller = self._described("controller", controller, controller_name(controller), _named(world))

    def _by_name(self, label: str, value: Any) -> Any:
        """Return the registered name of a backend or contact solver, or any other value in serialized form."""
        group = {"backend": "dynamics", "contact_solver": "contact_solvers"}.get(label)
        if label == "external_forces" and callable(value):
            return self._described(label, value, controller_name(value), {})
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
            self.missing[label] = f"the {label} {name!r} cannot be stored: {error}"
            return None

    def __call__(self) -> str:
        """Return the provenance as one line of text."""
        world = None if "world" in self.missing else self._described("world", self.world, self.world.robot.name, {})
        parts = world, self.controller, self.settings, surroundings(), self.missing
        keys = ("world", "controller", "settings", "surroundings", "missing")
        stored = {name: getattr(self, name) for name in STORED}
        known = {name: plain(values) for name, values in stored.items() if values is not None}
        text = json.dumps({"format": FORMAT, **dict(zip(keys, parts, strict=True)), **known})
        if world is not None and not fits(text):
            self.missing["world"] = f"the world {self.world.robot.name!r} is too large for a recording"
            return self()
        return base64.b64encode(zlib.compress(text.encode())).decode()


def unpacked(text: str) -> Provenance:
    """Parse the text of a provenance; raises ArgumentError if it is damaged or of a newer format."""
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
        return record_of(Provenance, values, "it")
    except (ValueError, zlib.error, binascii.Error) as error:
        raise ArgumentError(
            f"the recording has no record of how it was made, or is damaged: {reason_of(error)}"
        ) from None


def world_of(provenance: Provenance) -> World:
    """Return the world of the run, equal to the bit.

    Raises UnsupportedError if the world was not serialized, ArgumentError if it is damaged.
    """
    if "world" in provenance.missing:
        raise UnsupportedError(f"it cannot be repeated: {provenance.missing['world']}")
    world = restored(provenance.world)
    if not isinstance(world, World):
        raise ArgumentError("the recording holds no world")
    return world


def recorded_provenance(trajectory: Trajectory) -> Provenance:
    """Return the provenance of a trajectory; raises ArgumentError if there is none, or it is damaged."""
    if trajectory.provenance is None:
        raise ArgumentError(
            "the recording has no record of how it was made: an older version of treesim wrote it, or it is no "
            "simulation's"
        )
    return unpacked(trajectory.provenance() if callable(trajectory.provenance) else trajectory.provenance)


def recorded_world(trajectory: Trajectory) -> World:
    """Return the world of a simulation's trajectory; read from a file, its robot has no mesh visuals.

    Raises ArgumentError and UnsupportedError as `recorded_provenance` and `world_of`.
    """
    if isinstance(trajectory.provenance, DeferredProvenance):
        return trajectory.provenance.world
    return world_of(recorded_provenance(trajectory))


def recorded_forces(trajectory: Trajectory) -> Any:
    """Return the `external_forces` of a simulation; raises UnsupportedError if they could not be serialized."""
    source: Any = trajectory.provenance
    found = source if isinstance(source, DeferredProvenance) else recorded_provenance(trajectory)
    if "external_forces" in found.missing:
        raise UnsupportedError(found.missing["external_forces"])
    return restored(found.settings.get("external_forces", ()))


def controller_of(provenance: Provenance, world: World) -> Any:
    """Return the controller of the run, None for none; raises UnsupportedError if it was not serialized."""
    if "controller" in provenance.missing:
        reason = shortened(provenance.missing["controller"], 300)
        raise UnsupportedError(
            f"it cannot be repeated: {reason}: give treesim.replay(run, controller=...) an equal one"
        )
    return restored(provenance.controller, _named(world))


def _named(world: World) -> dict[str, Any]:
    """Return the objects that a serialized controller refers to by name: the world and its robot, also alone."""
    return {ROBOT: world.robot, ALONE: world.alone, WORLD: world}


def stored_array(
    trajectory: Trajectory,
    where: Literal["start", "end", "start_readings", "end_readings", "start_actuators", "end_actuators"],
) -> np.ndarray | None:
    """Return the contact impulses (R,) or the memory of sensors or actuators at a trajectory's first or last state.

    None if they are unknown or there are none. Raises ArgumentError if the recording is damaged.
    """
    provenance = trajectory.provenance
    if provenance is None:
        return None
    if isinstance(provenance, DeferredProvenance):
        return getattr(provenance, where)
    found = restored(getattr(unpacked(provenance() if callable(provenance) else provenance), where))
    if found is not None and not isinstance(found, np.ndarray):
        _, _, kind = where.partition("_")
        what = {"readings": "memory of sensors", "actuators": "memory of actuators"}.get(kind, "impulses of contact")
        raise ArgumentError(f"the recording's {what} are damaged: {short_repr(found)} is no array")
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
    """Return a hash of all Python sources in a folder."""
    digested = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        digested.update(path.read_bytes())
    return digested.hexdigest()[:16]


def surroundings() -> dict[str, str]:
    """Return everything besides the arguments that can change a run's last bits.

    Versions, a hash of treesim's sources, the processor and its features, and whether kernels are compiled.
    """
    here = processor()
    machine = {"target": here.triple, "processor": here.name, "features": here.features}
    return {**_versions(), **machine, "kernels are": "compiled" if runs_compiled() else "interpreted"}
