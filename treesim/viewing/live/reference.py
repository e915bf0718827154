"""Overlay: a second run of the robot, by other methods or from a recording, shown for comparison."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...dynamics.operational.frames import body_poses
from ...errors import NonFiniteError
from ...model.tree import Tree
from ...simulation.trajectory import Trajectory
from ...types import IntegratorName
from ...validation.values import known_name
from .controller import LiveController
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
    """Settings of the reference run, which the viewer shows as an overlay.

    Parameters
    ----------
    of : str
        Content of the reference run: "none"; "simulation", which simulates the same world by other methods; or the name
        of a recording.
    backend : str
        Name of a backend, see `available("dynamics")`, or "same" for the backend of the robot's simulation.
    integrator : str
        Name of an integrator, see `available("integrators")`, or "same" for the integrator of the robot's simulation.
    solver : str
        Name of a contact solver, see `available("contact_solvers")`, or "same" for the solver of the robot's
        simulation.
    substeps : int, optional
        Number of equal parts of a step. By default that of the robot's simulation.

    Examples
    --------
    >>> reference = treesim.viewing.live.ReferenceSettings("simulation", integrator="rk4")
    >>> reference.over(treesim.viewing.live.Settings(backend="rjk")).backend
    'rjk'
    """

    of: str = NONE
    backend: str = SAME
    integrator: IntegratorName = SAME
    solver: str = SAME
    substeps: int | None = None

    def over(self, settings: Settings) -> Settings:
        """Return the simulation settings of the reference run.

        Parameters
        ----------
        settings : Settings
            Settings of the robot's simulation.

        Returns
        -------
        Settings
            Settings of the robot's simulation, with the methods of the reference run.
        """
        chosen = {name: getattr(self, name) for name in METHODS.values()}
        methods: dict[str, Any] = {name: method for name, method in chosen.items() if method != SAME}
        return replace(settings, substeps=self.substeps or settings.substeps, **methods)

    def changed(self, values: Mapping[str, Any], choices: list[str]) -> ReferenceSettings:
        """Return the settings with changes from a page; changing a numerical method also turns on the reference run.

        Parameters
        ----------
        values : mapping
            Changes by the names that pages use.
        choices : list of str
            Allowed values of `of`.

        Returns
        -------
        ReferenceSettings
            The changed settings.

        Raises
        ------
        UnknownNameError
            If a name is unknown.
        """
        found: dict[str, Any] = {name: _method(name, values[key]) for key, name in METHODS.items() if key in values}
        if "reference" in values:
            found["of"] = known_name("reference", values["reference"], choices)
        elif found:
            found["of"] = SIMULATION
        return replace(self, **found)

    def to_dict(self) -> dict[str, Any]:
        """Return the settings of the reference run as a dictionary, with the names that viewer pages use.

        Returns
        -------
        dict
            Values by name.
        """
        return {"reference": self.of, **{key: getattr(self, name) for key, name in METHODS.items()}}


def _method(name: str, value: Any) -> str:
    return SAME if value == SAME else str(CHECKS[name](name, value))


class RecordedReference:
    """Overlay that shows a recording at the robot's time; raises ArgumentError for a recording of another robot."""

    step_seconds = None

    def __init__(self, robot: Tree, trajectory: Trajectory, t: float) -> None:
        check_fits(robot, trajectory)
        self.trajectory = trajectory
        self.show(t)

    @property
    def q(self) -> np.ndarray:
        """Current configuration (nq,)."""
        return self.trajectory.q[self._k]

    def show(self, t: float) -> None:
        """Select the last state recorded at or before time t [s]."""
        self._k = state_at(self.trajectory, t)

    def begin(self, moment: Moment, robot: LiveController) -> None:
        """Select the recorded state at the moment's time, whatever the robot's state."""
        self.show(moment.t)

    seek = begin

    def advance(self, t: float, robot: LiveController) -> None:
        """Select the recorded state at time t [s]."""
        self.show(t)


class SimulatedReference:
    """Overlay that steps the robot's world by other methods, under the same targets, mouse spring and forces.

    simulation, drive: the reference run's own. moment: initial state, in general the robot's. robot: its drive.
    """

    def __init__(
        self, simulation: TimedSimulation, drive: LiveController, moment: Moment, robot: LiveController
    ) -> None:
        self.history = History()
        self.change(simulation, drive)
        self.begin(moment, robot)

    @property
    def q(self) -> np.ndarray:
        """Current configuration (nq,)."""
        return self.moment.q

    @property
    def step_seconds(self) -> float | None:
        """Recent time of a step [s]."""
        return self._simulation.step_seconds

    def change(self, simulation: TimedSimulation, drive: LiveController) -> None:
        """Continue from the same state with another simulation."""
        self._simulation, self._drive = simulation, drive

    def begin(self, moment: Moment, robot: LiveController) -> None:
        """Start at the robot's state, with the memory of its policy and an empty history."""
        self.history.clear()
        self._drive.go_on(robot)
        self._be(moment)
        self.history.add(moment)

    def seek(self, moment: Moment, robot: LiveController) -> None:
        """Return to the reference run's state at this time; before its first state, start at the robot's state."""
        before = self.history.at(moment.t) if self.history.span[0] <= moment.t else None
        if before is None:
            self.begin(moment, robot)
        else:
            self._be(before)

    def _be(self, moment: Moment) -> None:
        self.moment = moment
        self._simulation.system.forget()

    def advance(self, t: float, robot: LiveController) -> None:
        """Step to time t [s]; raises NonFiniteError, and what the simulation's step raises."""
        self._drive.share(robot)
        now, q, v = self.moment
        dt = self._simulation.dt
        for k in range(math.ceil((t - now) / dt - 0.5)):
            q, v = self._simulation.step(now + k * dt, q, v)
        if not (np.isfinite(q).all() and np.isfinite(v).all()):
            raise NonFiniteError(f"its state is no longer finite after t = {now:.6g} s")
        self.moment = Moment(t, q, v)
        self.history.add(self.moment)


Reference = RecordedReference | SimulatedReference


def apart(robot: Tree, q: np.ndarray, other: np.ndarray) -> dict[str, Any]:
    """Return the difference between two configurations q (nq,) of a robot.

    "distance": largest distance between the two positions of a body's origin [m]. "body": the body with this
    distance. "angle": largest angle between the two orientations of a body [rad].

    Examples
    --------
    >>> from treesim.viewing.live.reference import apart
    >>> robot = treesim.load("ur5")
    >>> round(apart(robot, np.zeros(6), np.array([0, 0, 0, 0, 0, 0.25]))["angle"], 12)
    0.25
    """
    if not robot.n_bodies:
        return {"distance": 0.0, "body": "base", "angle": 0.0}
    here, there = (body_poses(robot, x)[1:] for x in (q, other))
    distances = np.linalg.norm(here[:, :3, 3] - there[:, :3, 3], axis=1)
    chords = np.linalg.norm(here[:, :3, :3] - there[:, :3, :3], axis=(1, 2))  # 2 √2 sin(angle / 2)
    farthest = int(distances.argmax())
    angle = 2 * math.asin(min(float(chords.max()) / math.sqrt(8), 1.0))
    return {"distance": finite(float(distances[farthest])), "body": robot.body_names[farthest], "angle": angle}
