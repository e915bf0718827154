"""`treesim view --reference`: reference run of a reference run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import ArgumentError, quoted
from . import common

if TYPE_CHECKING:
    import numpy as np

    from ..model.tree import Tree
    from ..simulation.trajectory import Trajectory
    from ..viewing.live import ReferenceSettings

KEYS = ("backend", "integrator", "contact_solver", "substeps")  # of a reference run with other methods
KINDS = {"backend": "dynamics", "integrator": "integrators", "contact_solver": "contact_solvers"}
ENGINE_SECONDS = 10.0  # duration of an engine's motion, computed before it is shown


class ReferenceChoice(NamedTuple):
    """Settings of the reference run, and the recorded motions that it names."""

    settings: ReferenceSettings
    recordings: dict[str, Trajectory]


class Start(NamedTuple):
    """Start of an engine's motion: q (nq,), v (nv,), time step dt [s], time t [s]."""

    q: np.ndarray
    v: np.ndarray
    dt: float
    t: float = 0.0


def reference_of(given: str, robot: Tree, start: Start) -> ReferenceChoice:
    """Return the reference run that --reference requests; raises ArgumentError, PluginError and UnsupportedError."""
    from ..viewing.live import ReferenceSettings

    if "=" in given:
        return ReferenceChoice(ReferenceSettings("simulation", **_methods(given)), {})
    name, motion = recorded_reference(given, robot, start)
    return ReferenceChoice(ReferenceSettings(name), {name: motion})


def recorded_reference(given: str, robot: Tree, start: Start) -> tuple[str, Trajectory]:
    """Return name and motion of a reference run from a file or another engine.

    Raises ArgumentError for another robot's motion, and for methods, which a recording cannot change.
    """
    from ..formats import suffixes
    from ..simulation.trajectory import Trajectory
    from ..viewing.live import engine_motion
    from ..viewing.live.recorded import check_fits

    if "=" in given:
        raise ArgumentError(
            f"--reference {given}: a recorded motion has no methods that could be others; give the .npz of a second "
            "`treesim simulate`"
        )
    path = Path(given)
    if path.suffix.lower() in suffixes():
        motion = Trajectory.load(path)
        check_fits(robot, motion)
        return path.name, motion
    return given, engine_motion(given, robot, start.q, start.v, ENGINE_SECONDS, start.dt, start.t)


def _methods(given: str) -> dict[str, Any]:
    """Return the methods in --reference as arguments of ReferenceSettings."""
    from .. import plugins

    found: dict[str, Any] = {}
    for part in given.split(","):
        key, separator, value = part.partition("=")
        if not separator or key not in KEYS or key in found:
            raise ArgumentError(
                f"--reference {given}: {quoted(part)} is not one of {', '.join(f'{k}=...' for k in KEYS)}, each once"
            )
        if key in KINDS:
            found[key] = common.checked_name(f"{key} of --reference", value, plugins.available(KINDS[key]))  # type: ignore[arg-type]
        elif value.isdecimal() and int(value) > 0:
            found[key] = int(value)
        else:
            raise ArgumentError(f"--reference {given}: substeps must be a whole number from 1 on, got {quoted(value)}")
    return {"solver" if key == "contact_solver" else key: value for key, value in found.items()}
