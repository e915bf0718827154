"""Data for a viewer's page: the available settings, and the state, sent twenty times a second."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeVar

import numpy as np

from ... import plugins
from ...dynamics.energy import energy, momentum
from ...dynamics.operational.frames import body_poses
from ...dynamics.operational.motion import center_of_mass
from ...errors import ArgumentError, TreesimError
from ...export.description import joints
from ...kernels.stepping.rules import IN_PYTHON
from ...model.tree import Tree
from ...simulation.control import CONTROLLERS
from ...simulation.readings import Readings, unit_of
from ...simulation.step import touches
from ...simulation.world import World
from ...states.arguments import short_repr
from ...validation.values import known_name
from .effective_mass import effective_mass

T = TypeVar("T")
POLICY: Final = "policy"  # name of the controller that evaluates a scene's policy
CAN = ("pull", "seek", "com", "momentum")
NO_FRAME = "none"
STATE_SECONDS = 0.05  # between two states sent to pages
MOST_WAITING = 1000  # requests of pages
TOO_MANY = "too many requests at once: this one is dropped"


def movable(robot: Tree) -> dict[str, int]:
    """Return the index in q of each joint that has a slider."""
    return {joint["name"]: joint["q"] for joint in joints(robot)}


def seen(robot: Tree) -> dict[str, Any]:
    """Return a robot's name, joints of one coordinate, bodies in the order of poses, and frames."""
    bodies, frames = ["base", *robot.body_names], [NO_FRAME, *robot.frames]
    return {"robot": robot.name, "joints": joints(robot), "bodies": bodies, "frames": frames}


def panel_of(world: World, scenes: dict[str, Any]) -> dict[str, Any]:
    """Return the available settings of a world: methods that support it, its robot, and actions of a page.

    scenes: further choices, such as `robots`, `bases` and `references`; with `commands`, a policy controls the robot.
    """
    robot = world.robot
    return {
        **scenes,
        **seen(robot),
        "backends": plugins.available("dynamics"),
        "integrators": [name for name in plugins.available("integrators") if _serves(world, name)],
        "solvers": plugins.available("contact_solvers") if world.touching.active else [],
        "controllers": [*CONTROLLERS, *([POLICY] if "commands" in scenes else [])],
        "can": [*CAN, *(["contact", "points"] if world.ground or world.bodies else [])],
        "sensors": columns_of({sensor.label: sensor._columns(robot) for sensor in world.sensors}),
    }


def columns_of(sensors: Mapping[str, Sequence[str]]) -> list[dict[str, Any]]:
    """Return name, columns and units of sensors, from the names of their columns."""
    return [
        {"name": name, "columns": list(columns), "units": [unit_of(column) for column in columns]}
        for name, columns in sensors.items()
    ]


def readings(found: Readings, k: int | None = None) -> dict[str, list[float | None]]:
    """Return the readings of a step by name, or those at state k of a run; none where they are too large."""
    rows = {name: _if_known(partial(found.__getitem__, name)) for name in found}
    return {
        name: [finite(x) for x in (row if k is None else row[k]).tolist()]
        for name, row in rows.items()
        if row is not None
    }


def points_of(points: np.ndarray) -> list[list[float]]:
    """Return position [m] and force [N] of contact points, one row of 6 numbers a point."""
    rows = np.concatenate([points["position"], points["force"]], axis=1)
    return rows[rows[:, 3:].any(axis=1) & np.isfinite(rows).all(axis=1)].tolist()


def touched(robot: Tree, q: np.ndarray, forces: np.ndarray) -> dict[str, Any]:
    """Return position [m] and contact force [N] of each body in contact; forces: (n_bodies, 3)."""
    touching = np.flatnonzero(forces.any(axis=1) & np.isfinite(forces).all(axis=1))
    if not len(touching):
        return {}
    places = body_poses(robot, q)[1:, :3, 3]
    names = robot.body_names
    return {names[i]: {"at": places[i].tolist(), "force": forces[i].tolist()} for i in touching}


def _serves(world: World, integrator: str) -> bool:
    """Return whether an integrator supports everything in the world."""
    rule = getattr(plugins.get("integrators", integrator), "rule", IN_PYTHON)
    return _if_known(lambda: touches(world, rule)) is not None


def _if_known(compute: Callable[[], T]) -> T | None:
    """Return a computed value; None if it cannot be computed."""
    try:
        return compute()
    except TreesimError:
        return None


def finite(value: float) -> float | None:
    """Return a finite number unchanged, None for NaN and infinity, which JSON does not have."""
    return float(value) if math.isfinite(value) else None


def is_number(value: Any) -> bool:
    """Return whether a value of a page is a finite number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def seconds_of(value: Any) -> float:
    """Return a time [s] of a page; raises ArgumentError for other values."""
    if not is_number(value):
        raise ArgumentError(f"t must be a number of seconds, got {short_repr(value)}")
    return float(value)


def total_energy(robot: Tree, q: np.ndarray, v: np.ndarray, gravity: np.ndarray) -> float | None:
    """Return the kinetic plus potential energy [J], None if it cannot be computed."""
    found = _if_known(lambda: energy(robot, q, v, gravity=gravity))
    return None if found is None else finite(float(found[0] + found[1]))


def momenta(robot: Tree, q: np.ndarray, v: np.ndarray) -> dict[str, Any] | None:
    """Return linear momentum (3,) [N s] and angular momentum (3,) [N m s] about the centre of mass, in world axes.

    None for a robot without mass, or if they cannot be computed.
    """
    found = _if_known(lambda: momentum(robot, q, v)) if robot.mass > 0 else None
    if found is None:
        return None
    p, angular = np.split(found, 2)
    return {"linear": p.tolist(), "angular": (angular - np.cross(center_of_mass(robot, q), p)).tolist()}


def effective_mass_at(robot: Tree, q: np.ndarray, frame: str) -> dict[str, Any] | None:
    """Return `effective_mass` at a frame; None for NO_FRAME, or if the mass matrix is singular."""
    return None if frame == NO_FRAME else _if_known(lambda: effective_mass(robot, q, frame))


def checked_frame(robot: Tree, value: Any) -> str:
    """Return the name of a frame, or NO_FRAME; raises UnknownNameError for others."""
    return known_name("frame", value, [NO_FRAME, *robot.frames], of=repr(robot.name))
