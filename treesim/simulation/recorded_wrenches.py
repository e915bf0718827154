"""Wrenches across joints in the steps of a recorded simulation."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..contact.history import ContactHistory
from ..dynamics.joint_wrenches import rows_of
from ..errors import ArgumentError, UnsupportedError, quoted
from ..model.tree import Tree
from ..validation.values import checked_text
from .external_forces import wrench_table
from .provenance import recorded_forces, recorded_world
from .sensors import ForceTorque, Steps, read, readings_of
from .trajectory import Trajectory
from .transmitted_wrenches import carried_welds, contact_sides, wrench_across
from .world import World


def joint_wrench(trajectory: Trajectory, joint: str) -> np.ndarray:
    """Return the wrenches (K, 6) of `Trajectory.joint_wrench`."""
    joint = checked_text("joint", joint)
    remedy = f"give the World sensors=treesim.ForceTorque({quoted(joint)}), which records them"
    label = ForceTorque(joint).label
    try:
        world = recorded_world(trajectory)
    except (ArgumentError, UnsupportedError) as error:
        if label in trajectory.sensors:
            return trajectory.sensors[label]
        raise ArgumentError(f"the wrenches across {quoted(joint)} are not known ({error}): {remedy}") from error
    row = rows_of(world.robot, joint)
    points = trajectory.contact if row >= world.robot.n_bodies and _has_links(trajectory.contact) else None
    for sensor in world.sensors if points is None else ():
        if isinstance(sensor, ForceTorque) and sensor.is_exact and rows_of(world.robot, sensor.joint) == row:
            return _without_gaps(trajectory, world.robot, joint, trajectory.sensors[sensor.label])
    try:
        steps = _steps(trajectory, world)
    except UnsupportedError as error:
        raise ArgumentError(f"the wrenches across {quoted(joint)} are not known ({error}): {remedy}") from error
    if points is None:
        sensors = [ForceTorque(joint)]
        found = readings_of(sensors, world.robot, read(sensors, steps), len(trajectory))[label]
    else:
        found = np.full((len(trajectory), 6), np.nan)
        found[:-1] = wrench_across(steps, joint, points)
    return _without_gaps(trajectory, world.robot, joint, found)


def _has_links(contact: ContactHistory | None) -> bool:
    """Return whether contact points were recorded, with their links."""
    return contact is not None and contact.points is not None and "link" in (contact.points.dtype.names or ())


def _without_gaps(trajectory: Trajectory, robot: Tree, joint: str, found: np.ndarray) -> np.ndarray:
    """Return the wrenches; raises ArgumentError if those of a fixed joint are NaN because of contact on its body."""
    weld = int(rows_of(robot, joint)) - robot.n_bodies
    if weld >= 0 and contact_sides(robot, weld, carried_welds(robot, weld)):
        finite = np.isfinite(trajectory.q).all(axis=1) & np.isfinite(trajectory.v).all(axis=1)
        gaps = np.flatnonzero(np.isnan(found[:-1]).any(axis=1) & finite[:-1] & finite[1:])
        if len(gaps):
            body = robot.frames[robot.welds[weld].link].body
            name = robot.body_names[body - 1] if body else "the base"
            raise ArgumentError(
                f"contact forces on {name} cannot be divided between the two sides of the fixed joint {quoted(joint)}, "
                f"in {len(gaps)} steps from t = {trajectory.t[gaps[0]]:.6g} s on, as both may touch something: record "
                "them by treesim.Simulation(..., contact_points=True)"
            )
    return found


def _steps(trajectory: Trajectory, world: World) -> Steps:
    """Return the steps of a trajectory; raises UnsupportedError if its external forces are not known."""
    robot, K = world.robot, max(len(trajectory) - 1, 0)
    wrench = np.zeros((K, robot.n_bodies + 1, 6))
    if trajectory.contact is not None:
        for k, body in enumerate(trajectory.contact.bodies):
            wrench[:, robot.body_names.index(body) + 1] = trajectory.contact.wrench_array[:K, k]
    gravity = np.asarray(trajectory.metadata.get("gravity", robot.gravity), float)
    q, v, t = trajectory.q, trajectory.v, trajectory.t
    states = q[:K], v[:K], q[1:], v[1:], trajectory.tau[:K]
    return Steps(robot, gravity, np.diff(t), *states, wrench, *_tables(trajectory, robot, K))


def _tables(trajectory: Trajectory, robot: Tree, K: int) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Return the tables (K, 21 N) and (K, 21 W) of external forces on bodies, and on welded links; None for none."""
    forces: Any = recorded_forces(trajectory)
    if not callable(forces) and not forces:
        return None, None
    rows: list[list[np.ndarray]] = [[], []]
    for k in range(K):
        t = float(trajectory.t[k])
        acting = forces(t, trajectory.q[k].copy(), trajectory.v[k].copy()) if callable(forces) else forces
        for welds, made in enumerate(rows):
            made.append(wrench_table(robot, {} if acting is None else acting, t, welds=bool(welds)).ravel())
    external, on_welds = (np.array(made) for made in rows)
    return external, on_welds
