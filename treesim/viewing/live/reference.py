"""The reference: a second run of a robot beside the first, by other methods or from a recording, to compare the two
by."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from ...dynamics.operational.frames import body_poses
from ...errors import NonFiniteError, unknown_name
from ...model.tree import Tree
from ...simulation.trajectory import Trajectory
from .controller import Drive
from .history import History, Moment
from .panel import finite
from .recorded import check_fits, state_at
from .settings import CHECKS, Settings
from .timed import TimedSimulation

NONE, SIMULATION, SAME = "none", "simulation", "same"
METHODS = {
    "referenceBackend": "backend",
    "referenceIntegrator": "integrator",
    "referenceSolver": "solver",
}  # as pages call them


@dataclass(frozen=True)
class ReferenceSettings:
    """of: "none"; "simulation", the same world by other methods; or the name of a recording. backend, integrator,
    solver: names of `available(...)`, or "same", as the robot has it. substeps: None for those of the robot.

    Example:
        >>> reference = treesim.viewing.live.ReferenceSettings("simulation", integrator="rk4")
        >>> reference.over(treesim.viewing.live.Settings(backend="rjk")).backend
        'rjk'
    """

    of: str = NONE
    backend: str = SAME
    integrator: str = SAME
    solver: str = SAME
    substeps: int | None = None

    def over(self, settings: Settings) -> Settings:
        """Return the settings of the reference of a robot with these."""
        chosen = {name: getattr(self, name) for name in METHODS.values()}
        methods: dict[str, Any] = {name: method for name, method in chosen.items() if method != SAME}
        return replace(settings, substeps=self.substeps or settings.substeps, **methods)

    def changed(self, values: Mapping[str, Any], choices: list[str]) -> ReferenceSettings:
        """Return these settings with what a page sets, of choices for `of`; raises UnknownNameError. Whoever chooses a
        method wants to see it."""
        found: dict[str, Any] = {name: _method(name, values[key]) for key, name in METHODS.items() if key in values}
        if "reference" in values:
            found["of"] = _choice(values["reference"], choices)
        elif found:
            found["of"] = SIMULATION
        return replace(self, **found)

    def to_dict(self) -> dict[str, Any]:
        """Return what a page is told of them."""
        return {"reference": self.of, **{key: getattr(self, name) for key, name in METHODS.items()}}


def _method(name: str, value: Any) -> str:
    return SAME if value == SAME else str(CHECKS[name](name, value))


def _choice(value: Any, choices: list[str]) -> str:
    if not isinstance(value, str) or value not in choices:
        raise unknown_name("reference", value, choices)
    return value


class Reference(Protocol):
    """What is shown beside the robot."""

    @property
    def q(self) -> np.ndarray:
        """Where it is now (nq,)."""

    @property
    def step_seconds(self) -> float | None:
        """What a step took lately [s], None where nothing is stepped."""

    def begin(self, moment: Moment) -> None:
        """Be where the robot is put."""

    def seek(self, moment: Moment) -> None:
        """Be where the reference was when the robot was at this moment."""

    def advance(self, t: float, robot: Drive) -> None:
        """Go on to a time [s], driven as the robot is."""


class RecordedReference:
    """The reference of a recorded motion, by the clock of the robot. Raises ArgumentError for one of another robot."""

    step_seconds = None

    def __init__(self, robot: Tree, trajectory: Trajectory, t: float) -> None:
        check_fits(robot, trajectory)
        self.trajectory = trajectory
        self.show(t)

    @property
    def q(self) -> np.ndarray:
        """Where it is now (nq,)."""
        return self.trajectory.q[self._k]

    def show(self, t: float) -> None:
        """Be in the state that was recorded last at or before a time [s]."""
        self._k = state_at(self.trajectory, t)

    def begin(self, moment: Moment) -> None:
        """Show what was recorded at its time: a recording cannot be put elsewhere."""
        self.show(moment.t)

    def seek(self, moment: Moment) -> None:
        """Show what was recorded at its time."""
        self.show(moment.t)

    def advance(self, t: float, robot: Drive) -> None:
        """Show what was recorded at a time [s]."""
        self.show(t)


class SimulatedReference:
    """The robot's world stepped by methods of its own, under the same targets, pull and forces.

    simulation, drive: of the reference alone. moment: where it begins, in general where the robot is.
    """

    def __init__(self, simulation: TimedSimulation, drive: Drive, moment: Moment) -> None:
        self.history = History()
        self.change(simulation, drive)
        self.begin(moment)

    @property
    def q(self) -> np.ndarray:
        """Where it is now (nq,)."""
        return self.moment.q

    @property
    def step_seconds(self) -> float | None:
        """What a step took lately [s]."""
        return self._simulation.step_seconds

    def change(self, simulation: TimedSimulation, drive: Drive) -> None:
        """Go on from the same state by other methods."""
        self._simulation, self._drive = simulation, drive

    def begin(self, moment: Moment) -> None:
        """Be where the robot is put, and forget what was."""
        self.history.clear()
        self._be(moment)
        self.history.add(moment)

    def seek(self, moment: Moment) -> None:
        """Be where the reference was at this moment; before there was one, it is where the robot was."""
        before = self.history.at(moment.t) if self.history.span[0] <= moment.t else None
        if before is None:
            self.begin(moment)
        else:
            self._be(before)

    def _be(self, moment: Moment) -> None:
        self.moment = moment
        self._simulation.system.forget()

    def advance(self, t: float, robot: Drive) -> None:
        """Step on to a time [s]. Raises NonFiniteError, and what the simulation's step raises."""
        self._drive.share(robot)
        now, q, v = self.moment
        dt = self._simulation.dt
        for k in range(math.ceil((t - now) / dt - 0.5)):
            q, v = self._simulation.step(now + k * dt, q, v)
        if not (np.isfinite(q).all() and np.isfinite(v).all()):
            raise NonFiniteError(f"its state is no longer finite after t = {now:.6g} s")
        self.moment = Moment(t, q, v)
        self.history.add(self.moment)


def apart(robot: Tree, q: np.ndarray, other: np.ndarray) -> dict[str, Any]:
    """Return how far a robot at q (nq,) is from itself at another configuration (nq,).

    {"distance": the largest between the two places of a body's origin [m], "body": of which, "angle": the largest
    between two attitudes of a body [rad]}.

    Example:
        >>> from treesim.viewing.live.reference import apart
        >>> robot = treesim.load("ur5")
        >>> apart(robot, np.zeros(6), np.array([0, 0, 0, 0, 0, 0.25]))
        {'distance': 0.0, 'body': 'shoulder_link', 'angle': 0.25}
    """
    if not robot.n_bodies:
        return {"distance": 0.0, "body": "base", "angle": 0.0}
    here, there = (body_poses(robot, x)[1:] for x in (q, other))
    distances = np.linalg.norm(here[:, :3, 3] - there[:, :3, 3], axis=1)
    chords = np.linalg.norm(here[:, :3, :3] - there[:, :3, :3], axis=(1, 2))  # 2 √2 sin(angle / 2)
    farthest = int(distances.argmax())
    angle = 2 * math.asin(min(float(chords.max()) / math.sqrt(8), 1.0))
    return {"distance": finite(float(distances[farthest])), "body": robot.body_names[farthest], "angle": angle}
