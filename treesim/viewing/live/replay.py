"""Playback of a recorded motion, controlled from a viewer's page: play, pause, seek, speed."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from ...errors import ArgumentError, TreesimError
from ...model.tree import Tree
from ...simulation.trajectory import Trajectory
from ...states.arguments import checked_robot, short_repr
from ...system.events import EventQueue
from ..protocols import InteractiveViewer, Message, Reply, Viewer
from .panel import (
    MOST_WAITING,
    NO_FRAME,
    TOO_MANY,
    checked_frame,
    columns_of,
    finite,
    movable,
    points_of,
    readings,
    seconds_of,
    seen,
)  # fmt: skip
from .recorded import check_fits, state_at
from .reference import NONE, RecordedReference, ReferenceSettings
from .screen import Screen, motion_state
from .settings import check_speed

FPS = 60.0
PLOTTED = 300  # states that plots of the whole recording show, at most


class Replay:
    """Real-time playback of a recorded motion, which users control from a viewer's web pages.

    The shown state is the last one that was recorded at or before the time of the playback.

    Parameters
    ----------
    robot : Tree
        The robot.
    trajectory : Trajectory
        Motion of the robot, with at least one state.
    viewer : Viewer
        The viewer, which the playback does not close. A viewer that is not an InteractiveViewer plays the motion once.
    speed : float
        Speed of the motion as a multiple of real time.
    clock : callable
        Function that returns the wall-clock time [s]; tests replace it.
    references : mapping of str to Trajectory, optional
        Other motions of the robot, which the reference run can show. The first motion is shown at the start.

    Raises
    ------
    ArgumentError
        If the trajectory belongs to another robot, or has no states.

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> with treesim.viewer(robot) as view:
    ...     treesim.viewing.live.Replay(robot, treesim.Simulation(robot).run(0.1), view.viewer).run(0.05)
    0.05
    """

    def __init__(
        self,
        robot: Tree,
        trajectory: Trajectory,
        viewer: Viewer,
        speed: float = 1.0,
        clock: Callable[[], float] = time.perf_counter,
        references: Mapping[str, Trajectory] | None = None,
    ) -> None:
        check_fits(checked_robot(robot), trajectory)
        self.robot, self.trajectory, self._screen, self._clock = robot, trajectory, Screen(viewer, clock), clock
        self.t, self.running, self.speed = float(trajectory.t[0]), True, check_speed("speed", speed)
        self._joints, self._forces = movable(robot), _contact_forces(robot, trajectory)
        self._events = EventQueue(clock)
        self.frame = NO_FRAME  # whose effective mass is sent to pages
        self._references = {
            name: RecordedReference(robot, motion, self.t) for name, motion in (references or {}).items()
        }
        self.reference_settings = ReferenceSettings(next(iter(self._references), NONE))
        self._show()

    @property
    def span(self) -> tuple[float, float]:
        """First and last time of the recorded motion [s]."""
        return float(self.trajectory.t[0]), float(self.trajectory.t[-1])

    def run(self, duration: float | None = None) -> float:
        """Play the recorded motion; playback pauses after the last recorded state.

        If a duration is given or the viewer is not interactive, the call ends at this pause. Otherwise users may play
        the motion again, and the call does not return.

        Parameters
        ----------
        duration : float, optional
            Time of the motion to play [s].

        Returns
        -------
        float
            Time of the last shown state [s].
        """
        end = math.inf if duration is None else self.t + duration
        steered = duration is None and self._screen.is_interactive
        before = self._clock()
        self._ended = False
        while self.t < end and (self.running or steered) and not self._ended:
            self._events.wait(before + 1 / FPS - self._clock())
            now = self._clock()
            if self.running:
                self._go_on(min(self.t + self.speed * (now - before), end))
            before = now
        return self.t

    def end(self) -> None:
        """End the method `run` before the next frame; any thread may call this method."""
        self._events.post(partial(setattr, self, "_ended", True))

    def receive(self, message: Message, reply: Reply) -> None:
        """Queue a request from a page for the playback; any thread may call this method.

        Parameters
        ----------
        message : mapping
            Request of the page.
        reply : callable
            Function that is called as reply(text), with an error for the page.
        """
        if not self._events.post(partial(self._handle, message, reply), MOST_WAITING):
            reply(TOO_MANY)

    # ---- in the playing thread ----

    def _show(self) -> None:
        self._screen.show(self.robot, self._q, self.trajectory.ground, self._panel())
        if isinstance(self._screen.viewer, InteractiveViewer):
            self._screen.viewer.listen(self.receive)
        self._update()
        self._send_state()

    def _update(self) -> None:
        """Show the robot and its reference run."""
        if self.reference is not None:
            self.reference.show(self.t)
        self._screen.move(self._q, self.reference)

    def _handle(self, message: Message, reply: Reply) -> None:
        """Process a page's request; errors are sent to the page."""
        try:
            self._do(message)
        except TreesimError as error:
            reply(str(error))
        self._update()
        self._send_state()

    def _do(self, message: Message) -> None:
        start, end = self.span
        if "set" in message:
            self._set(message["set"])
        elif message.get("do") == "reset":
            self.t = start
        elif message.get("do") == "seek":
            self.t, self.running = min(max(seconds_of(message.get("t")), start), end), False
        elif message.get("do") == "step":
            self.t, self.running = float(self.trajectory.t[min(self._k + 1, len(self.trajectory) - 1)]), False
        else:
            raise ArgumentError(
                f"a recorded motion can be played, but this cannot be done: {short_repr(message.get('do'))}"
            )

    def _set(self, values: Any) -> None:
        """Validate all values, then set them."""
        if not isinstance(values, Mapping) or not values.keys() <= {"running", "speed", "frame", "reference"}:
            raise ArgumentError(
                f"running, speed, frame and reference of a recorded motion can be set, no others: {short_repr(values)}"
            )
        running, speed = values.get("running", self.running), check_speed("speed", values.get("speed", self.speed))
        frame, reference_settings = checked_frame(self.robot, values.get("frame", self.frame)), self.reference_settings
        reference_settings = reference_settings.changed(values, [NONE, *self._references])
        if not isinstance(running, bool):
            raise ArgumentError(f"running must be true or false, got {short_repr(running)}")
        if running and not self.running and self.t >= self.span[1]:
            self.t = self.span[0]
        self.running, self.speed, self.frame, self.reference_settings = running, speed, frame, reference_settings

    def _go_on(self, t: float) -> None:
        end = self.span[1]
        self.t, self.running = min(t, end), t < end
        self._update()
        if self._screen.is_due or not self.running:
            self._send_state()

    @property
    def reference(self) -> RecordedReference | None:
        """Recorded motion that is shown as the reference run; None without a recorded reference."""
        return self._references.get(self.reference_settings.of)

    @property
    def _k(self) -> int:
        """Index of the current state."""
        return state_at(self.trajectory, self.t)

    @property
    def _q(self) -> np.ndarray:
        return self.trajectory.q[self._k]

    def _panel(self) -> dict[str, Any]:
        return {
            **seen(self.robot),
            "references": [NONE, *self._references] if self._references else [],
            "can": ["seek", "com", "momentum", *self._contact],
            "sensors": columns_of(self.trajectory.sensors.columns),
            "replay": True,
            "recording": [
                self._motion(int(k)) for k in np.unique(np.linspace(0, len(self.trajectory) - 1, PLOTTED, dtype=int))
            ],
            "note": "a recorded motion: joints are shown, and cannot be set",
        }

    @property
    def _contact(self) -> list[str]:
        """What there is of contact: forces on bodies, and at points."""
        contact = self.trajectory.contact
        return [] if contact is None else ["contact", *([] if contact.points is None else ["points"])]

    def _send_state(self) -> None:
        """Send the state to all pages."""
        self._screen.send(self.state)

    def _step(self, k: int) -> int:
        """Return the number of the step at state k: the last state starts none, and has that before it."""
        return min(k, max(len(self.trajectory) - 2, 0))

    def _motion(self, k: int, frame: str = NO_FRAME, reference: RecordedReference | None = None) -> dict[str, Any]:
        """Return what is recorded of state k."""
        robot, trajectory = self.robot, self.trajectory
        forces = self._forces[self._step(k)] if len(self._forces) else np.zeros((robot.n_bodies, 3))
        return {
            "t": float(trajectory.t[k]),
            **motion_state(robot, self._joints, trajectory.q[k], trajectory.v[k], forces, frame, reference),
            "tau": trajectory.tau[k].tolist(),
            "energy": finite(float(trajectory.energy[k])),
            "sensors": readings(trajectory.sensors, k),
        }

    def state(self) -> dict[str, Any]:
        """Return the current state of the playback as JSON values.

        Returns
        -------
        dict
            Values by name.
        """
        k, trajectory = self._k, self.trajectory
        ended = trajectory.stopped if k == len(trajectory) - 1 else None
        return {
            **self._motion(k, self.frame, self.reference),
            "t": self.t,
            "running": self.running,
            "speed": self.speed,
            "realTimeFactor": self.speed if self.running else None,
            "history": list(self.span),
            "points": points_of(trajectory.contacts(self._step(k))) if "points" in self._contact else [],
            "pull": None,
            "reference": self.reference_settings.of,
            "message": f"the simulation ended here: {ended}" if ended else None,
        }


def _contact_forces(robot: Tree, trajectory: Trajectory) -> np.ndarray:
    """Return the contact force (K, n_bodies, 3) [N] on every body in each state; (0, ...) if unknown."""
    if trajectory.contact is None:
        return np.zeros((0, robot.n_bodies, 3))
    forces = np.zeros((len(trajectory), robot.n_bodies, 3))
    for name in set(trajectory.contact.bodies) & set(robot.body_names):
        forces[:, robot.body_names.index(name)] = trajectory.contact.of_body(name)[:, :3]
    return forces
