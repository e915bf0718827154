"""Schedules of level-parallel methods for forward dynamics and for Λ^-1 of frames."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from ... import plugins
from ...engine.interpreter import Tally, run
from ...errors import UnsupportedError
from ...model.tree import Tree
from ...states.arguments import checked_frames, checked_robot
from ...states.states import serving
from ...types import Reference
from ..base import CompiledBackend
from ..operational.frames import frame_codes
from ..schedule import Schedule, Stage
from ..tables import NO_FORCES


def schedule(
    robot: Tree,
    method: str = "tree_contraction",
    *,
    frames: str | Sequence[str] | None = None,
    reference: Reference = "local_world_aligned",
) -> Schedule:
    """Return the schedule of a level-parallel method: its stages, each with blocks that can run in parallel.

    Parameters
    ----------
    robot : Tree
        Robot.
    method : str
        Name of a method, as `scheduled_methods(frames)` returns it.
    frames : str or sequence of str, optional
        Names of frames, for the schedule of their inverse operational-space inertia Λ^-1. Without frames, the schedule
        is that of forward dynamics.
    reference : str
        Axes of Λ^-1: "local_world_aligned" or "local".

    Returns
    -------
    Schedule
        All stages, from transforms to results.

    Raises
    ------
    UnknownNameError
        If the method or a frame is unknown.
    ArgumentError
        If the frames are not names.
    UnsupportedError
        If the method has no schedule.

    Notes
    -----
    Operations are counted by running the kernel with the robot's constants. Operations between constants are not
    counted, and blocks without operations are omitted. The number of operations and the length of the critical path are
    equal to those that `treesim cost` prints. For a robot with mimic joints, the stages are those of the spanning tree;
    a last stage adds the constraints of the mimic joints. A call takes some milliseconds for each body.

    Examples
    --------
    >>> from treesim.model import generators
    >>> treesim.schedule(generators.chain(8), "constraint_force_cr")
    <Schedule of 'constraint_force_cr': 22 stages, 6771 operations, 3418 on the critical path>
    >>> treesim.schedule(generators.chain(8), "aba")  # body after body
    <Schedule of 'aba': 24 stages, 1800 operations, 1800 on the critical path>
    >>> treesim.schedule(generators.chain(8), "constraint_force_cr", frames=["body_8"]).depth
    161
    """
    robot = checked_robot(robot)
    family = _family(frames)
    chosen = plugins.get(family, method)
    if not _has_schedule(chosen):
        known = ", ".join(scheduled_methods(frames))
        raise UnsupportedError(f"{method} has no schedule for {_what(frames)}; {known} have one")
    if frames is None:
        if robot.mimic_map is None:
            return chosen.schedule(robot)
        state = np.zeros((2, robot.nv))
        return _with_mimic_joints(
            robot, chosen.schedule(robot.with_shared_rotors()), chosen, chosen.constants(robot), state, robot.nv
        )
    names = (frames,) if isinstance(frames, str) else checked_frames(frames)
    frame_codes(robot, names, reference)  # raises, if a name is unknown
    if robot.mimic_map is None:
        return chosen.schedule(robot, names, reference)
    constants, free = (
        chosen.constants(robot, names, reference),
        chosen.schedule(robot.with_shared_rotors(), names, reference),
    )
    return _with_mimic_joints(robot, free, chosen, constants, (), (6 * len(names)) ** 2)


def _with_mimic_joints(robot: Tree, free: Schedule, method: Any, constants: Any, values: Any, size: int) -> Schedule:
    """Return the schedule of the spanning tree with an additional stage for the constraints of mimic joints.

    values: the method's arguments besides q. Sum and depth are those of the kernel variant for mimic joints.
    """
    counted = method.counted_entry() if isinstance(method, CompiledBackend) else type(method).entry
    entry, tables = serving(counted, robot, constants)
    tally, rng = Tally(), np.random.default_rng(0)
    state = [tally.variables(robot.random(rng)), *(tally.variables(rng.normal(size=len(x))) for x in values)]
    run(entry, tables, (*state, *([NO_FORCES] if len(values) else [])), [(size,)], tally.number)
    rows = Stage(
        "rows of mimic joints", (tuple(range(1, robot.n_bodies + 1)),), (tally.operations.total() - free.operations,)
    )
    return Schedule(free.method, (*free.stages, rows), tally.depth)


def scheduled_methods(frames: str | Sequence[str] | None = None) -> tuple[str, ...]:
    """Return the names of the methods that have a schedule: of forward dynamics, or of Λ^-1 if frames are given.

    Imports every method once.

    Examples
    --------
    >>> from treesim.dynamics.compiled.schedules import scheduled_methods
    >>> "tree_contraction" in scheduled_methods()
    True
    >>> scheduled_methods(["tool"])
    ('constraint_force', 'constraint_force_cr', 'constraint_force_pcr')
    """
    family = _family(frames)
    return tuple(name for name in plugins.available(family) if _has_schedule(plugins.get(family, name)))


def _family(frames: str | Sequence[str] | None) -> Literal["dynamics", "operational"]:
    return "dynamics" if frames is None else "operational"


def _what(frames: str | Sequence[str] | None) -> str:
    return "forward dynamics" if frames is None else "the inverse operational-space inertia"


def _has_schedule(backend: Any) -> bool:
    return callable(getattr(backend, "schedule", None))
