"""Real-time playback of a simulation, for viewers and interactive programs."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ArgumentError, NonFiniteError, SlowWarning, quoted
from ..states.arguments import positive_number, whole_number
from ..system.display import ReprMixin, arrays, html_table
from ..system.events import EventQueue
from ..system.user_warnings import warn
from .simulation import Simulation

FASTEST, SLOWEST = 1000.0, 1e-3  # times real time
MOST_A_FRAME = 10**6  # steps: more take minutes for each frame
LATE = 0.2  # s: a player that is later than this at the end of a frame slows the motion down


class Frame(NamedTuple):
    """State shown in one frame: time t [s], q (nq,), v (nv,).

    pace: achieved speed as a multiple of real time, since the player began or was last paused; NaN if unknown.
    """

    t: float
    q: np.ndarray
    v: np.ndarray
    pace: float

    def __repr__(self) -> str:
        return f"<Frame: t = {self.t:g} s, pace {self.pace:.3g}>"

    def _repr_html_(self) -> str:
        return html_table(repr(self), arrays(self, "q", "v"))


class Player(ReprMixin):
    """Real-time player of a simulation: for each frame, it computes the frame's steps and shows the state after them.

    A frame ends after 1 / `fps` seconds of wall-clock time. If the computer is too slow, the motion becomes slower than
    requested. The first time that a frame ends more than 0.2 s late, the player issues a SlowWarning.

    `post(event)` queues a function `event(player)`; any thread may call `post`. The player calls the function before
    the next frame, also while paused. The function may pause the player, change its speed, or `reset` its state. A copy
    or pickle of a player continues at the player's state. The copy does not contain `show`, `clock` and queued
    functions, because these belong to the original process.

    Parameters
    ----------
    simulation : Simulation
        Simulation that takes the steps.
    q0 : array_like, shape (nq,), optional
        Initial configuration. Neutral by default.
    v0 : array_like, shape (nv,), optional
        Initial velocity. 0 by default.
    show : callable, optional
        Called as show(frame) after every frame.
    fps : float
        Frames per second of real time.
    speed : float
        Speed of the motion as a multiple of real time. It may be changed during playback.
    clock : callable
        Function that returns the wall-clock time [s]; tests replace it.
    sleep : callable
        Function that waits for a number of seconds; tests replace it.

    Raises
    ------
    ArgumentError
        If the simulation, state, frame rate or speed is invalid.

    Warns
    -----
    SlowWarning
        If the simulation is slower than the requested speed.

    Examples
    --------
    >>> simulation = treesim.Simulation(treesim.load("ur5"))
    >>> times = []
    >>> treesim.Player(simulation, show=lambda frame: times.append(frame.t)).run(0.2)
    0.2
    >>> times[0] > 0 and times[-1] == 0.2
    True
    """

    def __init__(
        self,
        simulation: Simulation,
        *,
        q0: ArrayLike | None = None,
        v0: ArrayLike | None = None,
        show: Callable[[Frame], object] | None = None,
        fps: float = 30.0,
        speed: float = 1.0,
        clock: Callable[[], float] = time.perf_counter,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        if not isinstance(simulation, Simulation):
            raise ArgumentError(f"simulation must be a treesim.Simulation, not {quoted(simulation)}")
        self._set_up(simulation, show, fps, speed, clock, sleep)
        self.reset(q0, v0)

    def _set_up(
        self,
        simulation: Simulation,
        show: Callable[[Frame], object] | None,
        fps: float,
        speed: float,
        clock: Callable[[], float] = time.perf_counter,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        self.simulation, self.fps = simulation, positive_number("fps", fps, "number")
        self._show, self._clock, self._sleep = show, clock, sleep
        self._events = EventQueue(clock)
        self.paused = self._reported = False
        self.steps, self._since = 0, (0.0, 0)
        self.speed = speed

    def __repr__(self) -> str:
        doing = "paused" if self.paused else f"{self.speed:g} x real time"
        return f"<Player of {self.simulation.robot.name!r}: t = {self.t:.6g} s, {doing}>"

    def _repr_fields(self) -> list[tuple[str, Any]]:
        return [("simulation", self.simulation), ("frames a second", self.fps), ("steps", self.steps)]

    def __getstate__(self) -> tuple[Any, ...]:
        """Return simulation and state, without `show`, clock and waiting events, which belong to this process."""
        return self.simulation, self.q, self.v, self.fps, self.speed, self.steps, self.paused, self._since

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        simulation, q, v, fps, speed, steps, paused, since = state
        self._set_up(simulation, None, fps, speed)
        self.q, self.v, self.steps, self.paused, self._since = q.copy(), v.copy(), steps, paused, since
        self._set_pace()

    def __copy__(self) -> Player:
        """Return a player of a copy of the simulation, with its warm start."""
        other = object.__new__(type(self))
        other.__setstate__((copy.copy(self.simulation), *self.__getstate__()[1:]))
        return other

    @property
    def t(self) -> float:
        """Simulation time [s]: the time `t` of the last reset, plus dt times the number of steps since that reset."""
        return self._since[0] + (self.steps - self._since[1]) * self.simulation.dt

    @property
    def speed(self) -> float:
        """Requested speed of the player's motion, as a multiple of real time."""
        return self._speed

    @speed.setter
    def speed(self, value: float) -> None:
        speed = positive_number("speed", value, "number")
        if not SLOWEST <= speed <= FASTEST:
            raise ArgumentError(f"speed must be {SLOWEST:g} to {FASTEST:g} times real time, got {speed:g}")
        if self._steps_a_frame(speed) > MOST_A_FRAME:
            raise ArgumentError(
                f"a frame of 1/{self.fps:g} s would be {self._steps_a_frame(speed):.3g} steps of dt "
                f"{self.simulation.dt:g} s: take a larger dt, or a lower speed"
            )
        self._speed = speed
        self._set_pace()

    def _steps_a_frame(self, speed: float) -> float:
        return speed / self.fps / self.simulation.dt

    def reset(self, q0: ArrayLike | None = None, v0: ArrayLike | None = None, t: float = 0.0) -> None:
        """Restart the simulation from a configuration and a velocity.

        Parameters
        ----------
        q0 : array_like, shape (nq,), optional
            Configuration. Neutral by default.
        v0 : array_like, shape (nv,), optional
            Velocity. 0 by default.
        t : float
            Time [s].

        Raises
        ------
        ArgumentError
            If the state does not fit the robot.
        """
        self.q, self.v = self.simulation.initial_state(q0, v0)
        self.steps, self._since = 0, (t, 0)
        self._set_pace()

    def change(self, simulation: Simulation) -> None:
        """Continue from the current state and time with another simulation.

        Parameters
        ----------
        simulation : Simulation
            Simulation of the same robot, for example with another dt, backend or controller.
        """
        self._since, self.simulation = (self.t, self.steps), simulation
        self._set_pace()

    def pause(self) -> None:
        """Pause the motion from the next frame on; queued functions are still called."""
        self.paused = True

    def resume(self) -> None:
        """Resume the motion after a pause."""
        self.paused = False
        self._set_pace()

    def post(self, event: Callable[[Player], object], most: float = math.inf) -> bool:
        """Queue a function that the playing thread calls before the next frame; any thread may call this method.

        Parameters
        ----------
        event : callable
            Called as event(player).
        most : float
            Largest number of queued functions. If as many are waiting, the new one is refused.

        Returns
        -------
        bool
            False if the event is refused.
        """
        return self._events.post(partial(event, self), most)

    def wait(self, seconds: float) -> None:
        """Wait for a time, and call queued functions meanwhile; only the playing thread may call this method.

        Parameters
        ----------
        seconds : float
            Wall-clock time to wait [s].
        """
        self._events.wait(seconds)

    def step(self, count: int = 1) -> Frame:
        """Compute a number of simulation steps at once, also while paused, and show the last state.

        Parameters
        ----------
        count : int
            Number of steps.

        Returns
        -------
        Frame
            State after the steps.

        Raises
        ------
        NonFiniteError
            If the next state is not finite. The player then keeps its last finite state.
        TreesimError
            Every other error that the step of the simulation raises.
        """
        return self._step(whole_number("count", count), math.inf)

    def _step(self, count: int, end: float) -> Frame:
        """Take at most `count` steps, at least one, until the clock reads `end`, and show the frame."""
        for _ in range(count):
            q, v = self.simulation.step(self.t, self.q, self.v)
            if not (np.isfinite(q).all() and np.isfinite(v).all()):
                raise NonFiniteError(f"the state is no longer finite after t = {self.t:.6g} s")
            self.q, self.v = q, v
            self.steps += 1
            if self._clock() >= end:
                break
        shown = self._frame()
        if self._show is not None:
            self._show(shown)
        return shown

    def run(self, duration: float | None = None) -> float:
        """Play for a duration of simulation time, or without a duration until an exception such as KeyboardInterrupt.

        Parameters
        ----------
        duration : float, optional
            Simulation time [s]. Endless by default.

        Returns
        -------
        float
            Simulation time played [s].
        """
        dt, first = self.simulation.dt, self.steps
        wanted = math.inf if duration is None else round(positive_number("duration", duration, zero=True) / dt)
        self._set_pace()
        while self.steps - first < wanted:
            self._events.run()
            if self.paused:
                self._sleep(1 / self.fps)
                continue
            self._step(int(min(self._due_steps(), wanted - (self.steps - first))), self._clock() + 1 / self.fps)
            self._wait()
        return (self.steps - first) * dt

    def _due_steps(self) -> int:
        """Return the number of steps of the next frame; rounding does not accumulate over frames."""
        ahead = (self._frames + 1) * self._steps_a_frame(self.speed)
        return max(1, math.floor(ahead + 1e-9) - (self.steps - self._from_steps))

    def _set_pace(self) -> None:
        """Restart the measurement of real time and simulation time."""
        self._began, self._from_steps, self._frames = self._clock(), self.steps, 0

    def _frame(self) -> Frame:
        played, passed = (self.steps - self._from_steps) * self.simulation.dt, self._clock() - self._began
        return Frame(self.t, self.q.copy(), self.v.copy(), played / passed if passed > 0 else math.nan)

    def _wait(self) -> None:
        """Sleep until the frame's time is over; if the player is too late, warn once and restart the measurement."""
        self._frames += 1
        played = (self.steps - self._from_steps) * self.simulation.dt / self.speed
        left = played - (self._clock() - self._began)
        if left >= 0:
            self._sleep(left)
        elif -left > LATE:
            if not self._reported:
                self._reported = True
                warn(
                    f"the simulation cannot keep up: it runs at {self.speed * played / (played - left):.2g} times real "
                    f"time, not {self.speed:g}: take a larger dt, fewer substeps, or a lower speed",
                    SlowWarning,
                )
            self._set_pace()
