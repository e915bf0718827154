"""Start of a run that continues another run, or that begins at a given state."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..contact.stored_impulses import current_impulses
from ..errors import ArgumentError, ContinuationWarning, listed, quoted
from ..model.named_axes import coordinate_argument, velocity_argument
from ..model.quaternions import unit_quaternions
from ..model.tree import Tree
from ..system.user_warnings import warn
from ..validation.arrays import Argument, coerce
from ..validation.values import finite_seconds, parts_or_none, short_repr
from .provenance import stored_array
from .sensor_errors import WorldErrors
from .state import State
from .trajectory import Trajectory
from .world import World

Pair = tuple[np.ndarray, np.ndarray]  # q and v
NO_WORK = np.zeros(2)


class RunStart(NamedTuple):
    """State at which a run starts.

    q (nq,), v (nv,) at time t [s]. work (2,): work done before t [J], by the controller and by all passive
    forces. impulses (R,): those of contacts, joint limits and joint friction in the step before; None if there
    are none. readings: memory of sensors whose readings depend on earlier steps; None before the first step. actuators
    (na,): memory of actuators; None if nothing was commanded before.
    """

    q: np.ndarray
    v: np.ndarray
    t: float = 0.0
    work: np.ndarray = NO_WORK
    impulses: np.ndarray | None = None
    readings: np.ndarray | None = None
    actuators: np.ndarray | None = None


def initial_array(robot: Tree, label: str, value: Any, default: np.ndarray) -> np.ndarray:
    """Return the checked configuration "q0" or velocity "v0" at which a run starts; `default` if `value` is None."""
    if value is None:
        return default
    made = coordinate_argument if label == "q0" else velocity_argument
    array = _state(made(robot, label, value))
    return unit_quaternions(robot, label, array) if label == "q0" else array


def run_start(
    start: Trajectory | State | RunStart | Pair, world: World, has_contact: bool, errors: WorldErrors | None = None,
    actuators: int = 0,
) -> RunStart:  # fmt: skip
    """Return the start of a run from a trajectory's last state, a stepper's state, or (q, v) without contact before.

    has_contact: whether the run's steps solve contact, joint limits or joint friction. errors: of the world's sensors.
    actuators: size of the memory of the world's actuators. Raises ArgumentError if the start does not fit the world's
    robot. Warns with ContinuationWarning if impulses or the memory of sensors or actuators are needed and unknown.
    """
    robot, size, readings, memory = world.robot, 0 if errors is None else errors.size, None, None
    if isinstance(start, Trajectory):
        made = _end_of(start, robot)
        impulses = stored_array(start, "end")
        readings = stored_array(start, "end_readings") if size else None
        if size and len(start) > 1 and (readings is None or readings.shape != (size,)):
            readings = None
            warn(
                "start holds no last readings of this world's sensors, which have drop, delay or rate: they begin with "
                "the first step", ContinuationWarning,
            )  # fmt: skip
        memory, continues = stored_array(start, "end_actuators"), len(start) > 1
        if has_contact and impulses is None:
            _warn("holds no impulses of contact of its last step", "an older version, or no simulation, made it")
    elif isinstance(start, State):
        made, impulses = RunStart(start.q, start.v, start.t), start.contact
        memory, continues = start.actuators, True
    else:
        parts = parts_or_none(start)
        if parts is None or not (len(parts) == 2 or isinstance(start, RunStart)):
            raise ArgumentError(f"start must be a Trajectory, a State, or a pair (q, v), got {short_repr(start)}")
        made = RunStart(*parts)
        impulses, readings, memory, continues = made.impulses, made.readings, made.actuators, False
    if not has_contact:
        impulses = None
    elif impulses is not None:
        known = current_impulses(impulses, world.touching) if impulses.ndim == 1 else None
        if known is None:
            size = world.touching.warm_start_size
            reason = f"it has {impulses.size} where this world has {size}: another world made it"
            _warn("holds impulses of contact that do not fit", reason)
        impulses = known
    return made._replace(
        q=_state(coordinate_argument(robot, "start: q", made.q)),
        v=_state(velocity_argument(robot, "start: v", made.v)),
        t=finite_seconds("start: t", made.t),
        impulses=impulses,
        readings=readings,
        actuators=_fitting_memory(memory, actuators, continues),
    )


def _fitting_memory(memory: np.ndarray | None, size: int, continues: bool) -> np.ndarray | None:
    """Return the memory (size,) of actuators, None where it is unknown; warns if a run that continues needs it."""
    if not size or (memory is not None and memory.shape == (size,)):
        return memory if size else None
    if memory is not None or continues:
        warn(
            "start holds no memory of this world's actuators, which have delay, lag, rate limit, period or inductance: "
            "they begin as if nothing had been commanded before", ContinuationWarning,
        )  # fmt: skip
    return None


def first_state(run: Trajectory) -> RunStart:
    """Return the first state of a recorded run, from which the run can be repeated."""
    return RunStart(
        run.q[0].copy(), run.v[0].copy(), float(run.t[0]), run.work[0].copy(), stored_array(run, "start"),
        stored_array(run, "start_readings"), stored_array(run, "start_actuators"),
    )  # fmt: skip


def _end_of(run: Trajectory, robot: Tree) -> RunStart:
    """Return the last state of a trajectory; raises ArgumentError if its joints are not the robot's."""
    moving = tuple(body.joint.name for body in robot.bodies if body.joint.mimic is None)
    if run.joint_names != moving:
        raise ArgumentError(
            f"start: the trajectory of {quoted(run.robot_name)} has the joints {listed(run.joint_names, limit=3)}, but "
            f"{quoted(robot.name)} has {listed(moving, limit=3)}"
        )
    if not len(run):
        raise ArgumentError("start: the trajectory has no states, so there is nothing to go on from")
    return RunStart(run.q[-1], run.v[-1], float(run.t[-1]), _work(run, -1))


def _work(run: Trajectory, k: int) -> np.ndarray:
    """Return the work (2,) up to the k-th state [J]; 0 if unknown."""
    work: np.ndarray = run.work[k]
    return work.copy() if np.isfinite(work).all() else NO_WORK


def _state(argument: Argument) -> np.ndarray:
    """Return a checked copy of q or v."""
    label, array = argument.label, coerce(argument)
    if array.shape != argument.shape:
        raise ArgumentError(f"{label} must be one state of shape {argument.shape}, got {array.shape}")
    if not np.isfinite(array).all():
        raise ArgumentError(f"{label}[{int(np.flatnonzero(~np.isfinite(array))[0])}] is not a finite number")
    return array.astype(float)


def _warn(what: str, reason: str) -> None:
    warn(
        f"start {what} ({reason}): the contact solver begins without them, so the motion may differ in its last digits "
        "from that of one run",
        ContinuationWarning,
    )
