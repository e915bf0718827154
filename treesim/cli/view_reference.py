"""`treesim view --reference`: what is shown beside the robot."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from ..errors import ArgumentError
from . import common

if TYPE_CHECKING:
    import numpy as np

    from ..model.tree import Tree
    from ..simulation.trajectory import Trajectory
    from ..viewing.live import ReferenceSettings

KEYS = ("backend", "integrator", "contact_solver", "substeps")  # of a reference by other methods
KINDS = {"backend": "dynamics", "integrator": "integrators", "contact_solver": "contact_solvers"}
ENGINE_SECONDS = 10.0  # of an engine's motion, which is made before it is shown

ReferenceOption = Annotated[
    str | None,
    typer.Option(
        metavar="GHOST",
        help="A second, translucent run to compare with: other methods, as in backend=rjk,integrator=rk4,substeps=10 "
        "(or contact_solver=admm); a trajectory (.npz, .mcap ...); or another engine's free motion of 10 s, by the "
        "engine's name (`treesim plugins` lists them).",
        show_default=False,
    ),
]


class ReferenceChoice(NamedTuple):
    """What --reference asks for, and the motions that it names."""

    settings: ReferenceSettings
    recordings: dict[str, Trajectory]


class Start(NamedTuple):
    """Where an engine's motion begins: q (nq,), v (nv,), time step dt [s], time t [s]."""

    q: np.ndarray
    v: np.ndarray
    dt: float
    t: float = 0.0


def reference_of(given: str, robot: Tree, start: Start) -> ReferenceChoice:
    """Return what --reference asks for; raises ArgumentError, PluginError and UnsupportedError."""
    from ..viewing.live import ReferenceSettings

    if "=" in given:
        return ReferenceChoice(ReferenceSettings("simulation", **_methods(given)), {})
    name, motion = recorded_reference(given, robot, start)
    return ReferenceChoice(ReferenceSettings(name), {name: motion})


def recorded_reference(given: str, robot: Tree, start: Start) -> tuple[str, Trajectory]:
    """Return the name and the motion of a reference that is a file or another engine's; raises ArgumentError for
    another robot's, and for methods, which a recording has not."""
    from ..formats import SUFFIXES
    from ..simulation.trajectory import Trajectory
    from ..viewing.live import engine_motion
    from ..viewing.live.recorded import check_fits

    if "=" in given:
        raise ArgumentError(
            f"--reference {given}: a recorded motion has no methods that could be others; give the .npz of a second "
            "`treesim simulate`"
        )
    path = Path(given)
    if path.suffix.lower() in SUFFIXES:
        motion = Trajectory.load(path)
        check_fits(robot, motion)
        return path.name, motion
    return given, engine_motion(given, robot, start.q, start.v, ENGINE_SECONDS, start.dt, start.t)


def _methods(given: str) -> dict[str, Any]:
    """Keys and values of methods, as ReferenceSettings calls them."""
    from .. import plugins

    found: dict[str, Any] = {}
    for part in given.split(","):
        key, separator, value = part.partition("=")
        if not separator or key not in KEYS or key in found:
            raise ArgumentError(
                f"--reference {given}: {part!r} is not one of {', '.join(f'{k}=...' for k in KEYS)}, each once"
            )
        if key in KINDS:
            found[key] = common.checked_name(f"{key} of --reference", value, plugins.available(KINDS[key]))  # type: ignore[arg-type]
        elif value.isdecimal() and int(value) > 0:
            found[key] = int(value)
        else:
            raise ArgumentError(f"--reference {given}: substeps must be a whole number from 1 on, got {value!r}")
    return {"solver" if key == "contact_solver" else key: value for key, value in found.items()}
