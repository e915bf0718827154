"""Live session: a simulation controlled from a viewer's pages."""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from ...errors import ArgumentError, NonFiniteError, TreesimError
from ...simulation.player import Frame, Player
from ...simulation.trajectory import Trajectory
from ...states.arguments import short_repr
from ...system.display import ReprMixin, page_html
from ..protocols import InteractiveViewer, Message, ReferenceViewer, Reply
from .actions import ACTIONS
from .compiled_methods import CompiledMethods, methods_of
from .forces import Force
from .panel import MOST_WAITING, TOO_MANY, checked_frame, panel_of
from .physics import LivePhysics
from .reference import METHODS, SIMULATION, ReferenceSettings
from .scene import Scene
from .screen import Screen
from .settings import CHECKS, Settings

SLOW = 0.9  # of the requested speed: below, pages display a message


class Library(Protocol):
    """Interface of a collection of robots: their names, and the scene and settings of each."""

    robots: list[str]
    bases: list[str]

    def load(self, robot: str, base: str) -> tuple[Scene, Settings]:
        """Return a robot's scene and initial settings; raises TreesimError."""


class _EndedError(Exception):
    """Exception that ends a session on request."""


class LiveSession(ReprMixin):
    """Real-time simulation that a viewer shows and that users control from the viewer's web pages.

    If a request from a page fails, nothing changes, and the page receives the error. If a step of the simulation fails,
    the simulation pauses with a message until it is reset. Numerical methods that are not compiled yet are compiled in
    a background thread, while the motion continues. The method `run` plays in the calling thread; `start` plays in a
    thread of its own. A notebook displays the session as the viewer's page.

    Parameters
    ----------
    scene : Scene
        World and initial state.
    viewer : InteractiveViewer
        The viewer. The session does not close it.
    settings : Settings, optional
        Initial settings.
    library : Library, optional
        Robots that users of a page can choose.
    clock : callable
        Function that returns the wall-clock time [s]; tests replace it.
    reference : ReferenceSettings, optional
        Reference run, which is shown as an overlay for comparison.
    recordings : mapping of str to Trajectory, optional
        Recorded motions of the same robot, which the reference run can show.

    Raises
    ------
    TreesimError
        Every error of `treesim.Simulation`.

    Examples
    --------
    >>> from treesim.viewing.live import LiveSession, Scene
    >>> robot = treesim.load("ur5")
    >>> scene = Scene(treesim.World(robot), robot.neutral(), np.zeros(robot.nv))
    >>> viewer = treesim.plugins.get("viewers", "meshcat")
    >>> session = LiveSession(scene, viewer).start()
    >>> session
    <LiveSession of 'ur5' by MeshcatViewer>
    >>> session.close()
    >>> viewer.close()
    """

    def __init__(
        self,
        scene: Scene,
        viewer: InteractiveViewer,
        settings: Settings | None = None,
        library: Library | None = None,
        clock: Callable[[], float] = time.perf_counter,
        reference: ReferenceSettings | None = None,
        recordings: Mapping[str, Trajectory] | None = None,
    ) -> None:
        self._viewer, self._library, self._clock = viewer, library, clock
        self._screen = Screen(viewer, clock)
        self._message: str | None = None
        self._compiled = CompiledMethods()
        self._preparing: threading.Thread | None = None
        self._playing: threading.Thread | None = None
        self.physics = LivePhysics(scene, settings or Settings(), self._shown, clock, self._sleep, recordings)
        self.physics.adopt_reference(reference or ReferenceSettings())
        self._compiled.add(self._runs(self.physics.settings, self.physics.reference_settings))
        self._show_scene()
        viewer.listen(self.receive)

    def __repr__(self) -> str:
        return f"<LiveSession of {self.physics.robot.name!r} by {type(self._viewer).__name__}>"

    def _repr_fields(self) -> list[tuple[str, Any]]:
        player = self.physics.player
        return [("t", f"{player.t:.6g} s"), ("doing", "paused" if player.paused else "running")]

    def _repr_html_(self) -> str:
        """Return the page as an iframe while it is served, else a table."""
        url = self._viewer.url
        return page_html(url, repr(self)) if url and not self._compiled.over else super()._repr_html_()

    def start(self) -> LiveSession:
        """Play the simulation in a new thread until `close` is called, or the program's main thread ends.

        Returns
        -------
        LiveSession
            The session.

        Raises
        ------
        ArgumentError
            If the session is already playing.
        """
        if self._playing is not None and self._playing.is_alive():
            raise ArgumentError("start: this session plays already; close() ends it")
        self._playing = threading.Thread(target=self.run, name="treesim-live")
        self._playing.start()
        return self

    def close(self) -> None:
        """End the thread that `start` began, and wait for its end; the viewer stays open.

        If another thread executes `run`, call `end` instead.
        """
        if self._playing is not None:
            self.end()
            self._playing.join()
            self._playing = None

    def run(self, duration: float | None = None) -> float:
        """Play the simulation for a duration of simulation time, or until `end` is called.

        Parameters
        ----------
        duration : float, optional
            Simulation time [s]. With a duration, a failure of the simulation raises its error. Without a duration, a
            failure pauses the simulation.

        Returns
        -------
        float
            Simulation time at the end [s].
        """
        self._message = "code is being compiled"
        self._send_state()
        for run in self._runs(self.physics.settings, self.physics.reference_settings):
            self.physics.warm(run)
        self._message = None
        self._compiled.over = False
        threading.Thread(target=self._compiled.warm_others, args=(self.physics,)).start()
        try:
            return self._play(duration)
        finally:
            self._compiled.over = True

    def _play(self, duration: float | None) -> float:
        while True:
            try:
                self.physics.player.run(duration)
                return self.physics.player.t
            except _EndedError:
                return self.physics.player.t
            except TreesimError as error:
                if duration is not None:
                    raise
                self._stop(error)

    def end(self) -> None:
        """End the method `run` before the next frame; any thread may call this method."""

        def ended(player: Player) -> None:
            raise _EndedError

        self.physics.player.post(ended)

    def receive(self, message: Message, reply: Reply) -> None:
        """Queue a request from a page for the live simulation; any thread may call this method.

        Parameters
        ----------
        message : mapping
            Request of the page.
        reply : callable
            Function that is called as reply(text), with an error for the page.
        """
        if not self._post(lambda: self._do(message, reply), reply, MOST_WAITING):
            reply(TOO_MANY)

    def set_force(self, name: str, body: str, force: ArrayLike, point: ArrayLike = (0.0, 0.0, 0.0)) -> None:
        """Apply a constant external force to a point of a body; any thread may call this method.

        The force acts until another force with its name replaces it, `remove_force` removes it, or another robot is
        loaded.

        Parameters
        ----------
        name : str
            Name of the force.
        body : str
            Name of the body.
        force : array_like, shape (3,)
            Force [N] along the world's axes.
        point : array_like, shape (3,)
            Point in coordinates of the body's frame [m].

        Raises
        ------
        ArgumentError, UnknownNameError
            If the force, point or body is invalid.
        """
        made = Force(self.physics.robot, body, point, force)
        self._post(lambda: self.physics.push(name, made), warnings.warn)

    def remove_force(self, name: str) -> None:
        """Remove an external force by its name, if it exists; any thread may call this method.

        Parameters
        ----------
        name : str
            Name of the force.
        """
        self._post(lambda: self.physics.push(name, None), warnings.warn)

    def _post(self, action: Callable[[], object], reply: Reply, most: float = np.inf) -> bool:
        """Queue an action for the playing thread; return False, without it, if `most` actions wait already."""
        return self.physics.player.post(lambda player: self._handle(action, reply), most)

    # ---- in the playing thread ----

    def _show_scene(self) -> None:
        physics, library = self.physics, self._library
        chosen = {} if library is None else {"robots": library.robots, "bases": library.bases}
        references = physics.references if isinstance(self._viewer, ReferenceViewer) else []
        panel = panel_of(physics.world, {**chosen, **physics.scene.panel, "references": references})
        self._screen.show(physics.robot, physics.player.q, physics.world.ground, panel)
        self._show_now()

    def _shown(self, frame: Frame) -> None:
        _check_main_thread()
        self.physics.shown(frame)
        self._screen.move(self.physics.player.q, self.physics.reference)
        if self._screen.is_due:
            self._send_state()

    def _send_state(self) -> None:
        """Send the state to all pages."""
        state = self.physics.state()
        pace, speed = state["realTimeFactor"], state["speed"]
        slow = _slow_message(pace, speed) if pace is not None and pace < SLOW * speed else None
        self._screen.send(lambda: {**state, "message": self._message or self.physics.trouble or slow})

    def _stop(self, error: TreesimError) -> None:
        self.physics.run(False)
        self._message = f"paused, since physics cannot go on: {error}; reset, or take a smaller time step"
        self._show_now()

    def _show_now(self) -> None:
        self._screen.move(self.physics.player.q, self.physics.reference)
        self._send_state()

    def _sleep(self, seconds: float) -> None:
        """Wait, and process requests of pages meanwhile."""
        _check_main_thread()
        self.physics.player.wait(seconds)

    def _handle(self, action: Callable[[], object], reply: Reply) -> None:
        """Process a page's request; errors and warnings are sent to the page.

        Other warnings, such as those of files that are garbage, may come at any time, and are not the page's.
        """
        with warnings.catch_warnings(record=True, action="always") as noted:
            try:
                action()
            except NonFiniteError as error:
                self._stop(error)
            except TreesimError as error:
                reply(str(error))
            except Exception as error:  # an invalid request must not end the simulation
                reply(f"this cannot be done: {type(error).__name__}: {error}")
        for warning in noted:
            if issubclass(warning.category, UserWarning):
                reply(str(warning.message))
            else:
                warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
        self._show_now()

    def _do(self, message: Message, reply: Reply) -> None:
        if "set" in message:
            if not isinstance(message["set"], Mapping):
                raise ArgumentError(f"set must be {{name: value}}, got {short_repr(message['set'])}")
            self._set(message["set"], reply)
        else:
            self._act(message)

    def _act(self, message: Message) -> None:
        what = message.get("do")
        if not isinstance(what, str) or what not in ACTIONS:
            raise ArgumentError(f"the action must be one of {', '.join(ACTIONS)}, got {short_repr(what)}")
        if what == "reset":
            self._message = None
        act, names = ACTIONS[what]
        act(self.physics, *map(message.get, names))

    def _set(self, values: Mapping[str, Any], reply: Reply) -> None:
        """Validate all values, then set them."""
        reference = ("reference", *METHODS)
        of_library = ("robot", "base") if self._library else ()
        known = {*CHECKS, "running", "joints", "command", "frame", *reference, *of_library}
        unknown = [name for name in values if name not in known]
        if unknown:
            raise ArgumentError(f"there is no {short_repr(unknown[0])} to be set; there are {', '.join(sorted(known))}")
        physics = self.physics
        settings = physics.settings.changed(values)
        reference_settings = physics.reference_settings.changed(values, physics.references)
        positions = physics.checked_joints(values.get("joints", {}))
        command = physics.scene.checked_command(values.get("command", {}))
        frame = checked_frame(physics.robot, values.get("frame", physics.frame))
        self._adopt(settings, reference_settings, reply)
        physics.frame = frame
        physics.set_command(command)
        if "running" in values:
            physics.run(values["running"])
            self._message = None
        if positions:
            physics.set_joints(positions)
        if "robot" in values or "base" in values:
            self._load(values.get("robot", physics.robot.name), values.get("base", physics.scene.base), reply)

    def _runs(self, settings: Settings, reference_settings: ReferenceSettings) -> list[Settings]:
        """Return the settings of all simulations: the robot's, and the reference run's if it is simulated."""
        return [settings, reference_settings.over(settings)] if reference_settings.of == SIMULATION else [settings]

    def _adopt(self, settings: Settings, reference_settings: ReferenceSettings, reply: Reply) -> None:
        """Adopt settings; methods that are not compiled are adopted after their compilation in the background."""
        physics = self.physics
        missing = self._compiled.missing(self._runs(settings, reference_settings))
        if not missing:
            physics.adopt(settings)
            if reference_settings != physics.reference_settings:
                physics.adopt_reference(reference_settings)
            return
        for run in missing:
            physics.simulation(run, physics.drive)  # raises errors at once
        physics.adopt(replace(settings, **methods_of(physics.settings)))

        def adopt() -> None:
            self._compiled.add(missing)
            physics.adopt(replace(physics.settings, **methods_of(settings)))
            physics.adopt_reference(reference_settings)

        def warm() -> None:
            for run in missing:
                physics.warm(run)

        named = " and ".join(dict.fromkeys(f"{run.backend} with {run.integrator}" for run in missing))
        self._prepare(f"{named} is being compiled", warm, adopt, reply)

    def _load(self, robot: str, base: str, reply: Reply) -> None:
        assert self._library is not None
        library, found = self._library, list[tuple[Scene, Settings]]()
        for kind, name, known in (("robot", robot, library.robots), ("base", base, library.bases)):
            if not isinstance(name, str) or (name not in known and (kind, name) != ("robot", self.physics.robot.name)):
                raise ArgumentError(f"there is no {kind} {short_repr(name)} to choose")

        def place() -> None:
            scene, settings = found[0]
            self.physics.place(scene, settings)
            self._compiled.forget()  # mimic joints need other code
            self._compiled.add([settings])
            self._show_scene()

        def load() -> None:
            scene, settings = library.load(robot, base)
            LivePhysics(scene, settings, lambda frame: None, self._clock, lambda seconds: None).warm(settings)
            found.append((scene, settings))

        self._prepare(f"{robot} is being loaded", load, place, reply)

    def _prepare(self, message: str, work: Callable[[], object], done: Callable[[], None], reply: Reply) -> None:
        """Run `work` in a background thread, after the one before it, then `done` in the playing thread.

        message: shown meanwhile. reply: receives an error of `work`.
        """
        before = self._preparing

        def finish(failed: str | None) -> None:
            if self._message == message:
                self._message = None
            if failed is None:
                done()
            else:
                reply(failed)

        def prepared() -> None:
            failed = None
            if before is not None:
                before.join()
            try:
                work()
            except Exception as error:
                failed = str(error)
            self._post(lambda: finish(failed), reply)

        self._message = message
        self._preparing = threading.Thread(target=prepared)
        self._preparing.start()


def _check_main_thread() -> None:
    """Raise _EndedError if the main thread has ended: Python waits for its threads at exit."""
    if not threading.main_thread().is_alive():
        raise _EndedError


def _slow_message(pace: float, speed: float) -> str:
    return f"physics reaches {pace:.2g} times real time, not {speed:g}: take a larger time step, or another integrator"
