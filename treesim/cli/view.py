"""`treesim view`: interactive real-time simulation of a robot in a viewer."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import ArgumentError, NonFiniteError, UnsupportedError, quoted
from . import common
from .common import OUTPUT, JsonOption, RecordOption, examples, guarded, option
from .simulation_options import SimulationSetup, ViewOptions, build_simulation, checked_steps
from .streams import json_text
from .view_page import HtmlOption, checked_page, write_page
from .view_recording import checked_options, is_recording, open_replay, play, write_record
from .view_reference import ReferenceOption, Start, reference_of
from .view_robots import InstalledRobots, scene_of

if TYPE_CHECKING:
    import numpy as np

    from ..simulation.simulation import Simulation
    from ..viewing.live import LiveSession

FPS = 30.0
MOST_A_FRAME = 10**6  # steps; more would take minutes per frame


RobotOrRecording = Annotated[
    str,
    typer.Argument(
        metavar="ROBOT",
        help="A URDF file, the name of an installed robot (`treesim robots` lists the names), or a"
        " trajectory (.npz, .mcap ...) of `treesim simulate --out` to replay.",
        show_default=False,
    ),
]


@guarded
@examples(
    "treesim view go2",
    "treesim view ur5 --reference integrator=rk4",
    "treesim view run.npz --speed 0.5",
    "treesim view g1_29dof_rev_1_0 --html g1.html",
)
def view(
    context: typer.Context,
    robot: RobotOrRecording,
    options: ViewOptions = ViewOptions(),  # noqa: B008
    reference: ReferenceOption = None,
    duration: Annotated[
        float | None,
        option(
            "Time after which the command ends (s). Default: no limit; the command ends at Ctrl-C.",
            panel=OUTPUT,
            show_default=False,
        ),
    ] = None,
    speed: Annotated[float, option("Speed of the motion as a multiple of real time.", panel=OUTPUT)] = 1.0,
    viewer: Annotated[str, option("Viewer. `treesim plugins` lists all viewers.", panel=OUTPUT)] = "meshcat",
    port: Annotated[
        int | None,
        option(
            "Port of the web page. If the port is given, open pages reconnect after a restart of the command.",
            panel=OUTPUT,
            min=0,
            max=65535,
            show_default="any",
        ),
    ] = None,
    no_browser: Annotated[
        bool, option("Print the address of the page, and do not open the page.", "--no-browser", panel=OUTPUT)
    ] = False,
    until_closed: Annotated[
        bool, option("End the command when the last page is closed.", "--until-closed", panel=OUTPUT)
    ] = False,
    html: HtmlOption = None,
    record: RecordOption = None,
    json: JsonOption = False,
) -> None:
    """Simulate ROBOT in real time on an interactive web page, until Ctrl-C.

    If ROBOT is a trajectory of `treesim simulate --out`, the page replays it. The page has buttons to play, pause, step
    and go back. During the motion, you can change joints, gains, gravity, the time step and the numerical methods. To
    pull a link, hold Ctrl and drag it. With --json, the first line of the output is {"url": ...}, and the last line is
    a summary.
    """
    from ..viewing.protocols import InteractiveViewer

    if record is not None:
        _record(context, robot, record, viewer, options, json)
        return
    if is_recording(robot):
        _replay(checked_options(context), robot, options, viewer, port, speed, reference, duration, no_browser, json)
        return
    if duration is not None:
        checked_steps(duration, options.dt)
    common.checked_positive("--speed", speed)
    _check_frames(speed, options.dt)
    window = common.get_viewer(viewer)
    if html is not None:
        others = {"reference": reference, "duration": duration, "port": port}
        others |= {"no_browser": no_browser, "until_closed": until_closed}
        checked_page(html, window, viewer, vars(options) | others)
        write_page(html, window, build_simulation(robot, options), options, speed, json)
        return
    interactive = isinstance(window, InteractiveViewer)
    if until_closed and not (interactive and hasattr(window, "when_left")):
        raise UnsupportedError(f"--until-closed: viewer {viewer!r} does not report when its pages are closed")
    _set_port(window, viewer, port)
    _check_reference(reference, window, viewer)
    if not interactive:
        options = replace(options, ground=bool(options.ground), controller=options.controller or "none")
    try:
        if interactive:
            page = _Page(window, no_browser, until_closed, json)
            setup = build_simulation(robot, options)
            shown = _interact(page, setup, robot, options, reference, speed, duration)
        else:
            setup = build_simulation(robot, options)
            shown = _show(window, setup, speed, duration, no_browser, json)
    finally:
        window.close()
    if json:
        _print_line({"robot": setup.robot.name, "simulated_s": shown})


def _record(context: typer.Context, source: str, record: Path, viewer: str, options: ViewOptions, json: bool) -> None:
    """Write a recorded motion to a file instead of showing it."""
    if not is_recording(source):
        raise ArgumentError(
            f"--record writes what `treesim simulate --out` recorded, and {quoted(source)} is a robot: name the .npz "
            "file, "
            f"or take `treesim simulate {source} --record {record}`"
        )
    given = checked_options(context)
    write_record(source, record, viewer, options.base if "base" in given else None, options.mimic, json)


def _replay(
    given: set[str],
    path: str,
    options: ViewOptions,
    viewer: str,
    port: int | None,
    speed: float,
    reference: str | None,
    duration: float | None,
    no_browser: bool,
    json: bool,
) -> None:
    """Replay a recorded motion; given: names of the options on the command line."""
    if duration is not None:
        common.checked_seconds("--duration", duration)
    window = common.get_viewer(viewer)
    _set_port(window, viewer, port)
    _check_reference(reference, window, viewer)
    try:
        replay = open_replay(path, window, options.base if "base" in given else None, options.mimic, speed, reference)
        _announce(getattr(window, "url", None), no_browser, json)
        shown = play(replay, duration)
    finally:
        window.close()
    if json:
        _print_line({"robot": replay.robot.name, "replayed_s": shown})


def _set_port(window: Any, viewer: str, port: int | None) -> None:
    """Set the port of a viewer's page, 0 for any; raises UnsupportedError for a viewer without a page."""
    from ..viewing.protocols import InteractiveViewer

    if isinstance(window, InteractiveViewer):
        window.port = port or 0
    elif port is not None:
        raise UnsupportedError(f"--port: viewer {viewer!r} serves no page")


def _check_reference(reference: str | None, window: Any, viewer: str) -> None:
    """Raise UnsupportedError if the viewer cannot show a reference run."""
    from ..viewing.protocols import InteractiveViewer, ReferenceViewer

    if reference is not None and not (isinstance(window, ReferenceViewer) and isinstance(window, InteractiveViewer)):
        raise UnsupportedError(f"--reference: viewer {viewer!r} shows no second robot")


def _check_frames(speed: float, dt: float) -> None:
    """Raise ArgumentError if a frame would take minutes."""
    steps_a_frame = speed / FPS / common.checked_seconds("--dt", dt)
    if steps_a_frame > MOST_A_FRAME:
        raise ArgumentError(
            f"--dt {dt:g} would be {steps_a_frame:.3g} steps for each picture of 1/30 s: "
            f"take one of {speed / FPS / MOST_A_FRAME:.1e} s or more"
        )


class _Page:
    """Page of an interactive viewer: announced once, as soon as all checks have passed."""

    def __init__(self, window: Any, no_browser: bool, until_closed: bool, json: bool) -> None:
        self.window, self._until_closed, self._how, self._announced = window, until_closed, (no_browser, json), False
        self._left = Event()
        if until_closed:
            window.when_left(self._left.set)

    def open_early(self) -> None:
        """Open the page while methods are compiled, if the viewer supports this."""
        from ..viewing.protocols import OpeningViewer

        if isinstance(self.window, OpeningViewer):
            self.announce(self.window.open())

    def announce(self, url: str | None) -> None:
        """Print the address and open it, once."""
        if not self._announced:
            self._announced = True
            _announce(url, *self._how)

    def end_with(self, session: LiveSession) -> None:
        """End a session when the last page is closed, or at once if it already is, if this was requested."""
        if self._until_closed:
            self.window.when_left(session.end)
            if self._left.is_set():
                session.end()


def _interact(
    page: _Page,
    setup: SimulationSetup,
    source: str,
    options: ViewOptions,
    reference: str | None,
    speed: float,
    duration: float | None,
) -> float:
    """Run the simulation interactively on the viewer's pages until the duration [s] is over, or Ctrl-C."""
    from ..viewing.live import LiveSession

    scene, settings = scene_of(setup, options, speed)
    library = InstalledRobots(setup.robot.name, source, options)
    chosen = reference_of(reference, setup.robot, Start(setup.q, setup.v, settings.dt)) if reference else (None, None)
    page.open_early()  # only after all checks of files and options
    session = LiveSession(scene, page.window, settings, library, reference=chosen[0], recordings=chosen[1])
    page.end_with(session)
    page.announce(page.window.url)
    with suppress(KeyboardInterrupt):  # the usual end; nothing is to be saved
        session.run(duration)
    return session.physics.player.t


def _show(
    window: Any, setup: SimulationSetup, speed: float, duration: float | None, no_browser: bool, json: bool
) -> float:
    """Show the simulation in a viewer without interaction."""
    from ..viewing.protocols import GroundViewer

    ground = setup.simulation.world.ground
    window.show(setup.robot, setup.q)
    if ground and isinstance(window, GroundViewer):
        window.show_ground(ground)
    _announce(getattr(window, "url", None), no_browser, json)
    return _play(setup.simulation, window, setup.q, setup.v, duration, speed)


def _announce(url: str | None, no_browser: bool, json: bool) -> None:
    if json:
        _print_line({"url": url})
    else:
        common.output().print(f"watch at {url}  (Ctrl-C ends)" if url else "running (Ctrl-C ends)", soft_wrap=True)
    if url and not no_browser:
        import webbrowser

        webbrowser.open(url)


def _print_line(value: dict[str, Any]) -> None:
    """Print JSON on one line, unbuffered."""
    common.print_line(json_text(common.plain(value)))


def _play(
    simulation: Simulation, window: Any, q: np.ndarray, v: np.ndarray, duration: float | None, speed: float
) -> float:
    """Simulate and show until the duration [s] is over, or Ctrl-C; return the simulated seconds.

    Raises NonFiniteError if the state is not finite.
    """
    from ..simulation.player import Player

    player = Player(simulation, q0=q, v0=v, show=lambda frame: window.update(frame.q), fps=FPS, speed=speed)
    try:
        player.run(duration)
    except KeyboardInterrupt:  # the usual end; nothing is to be saved
        pass
    except NonFiniteError as error:
        raise NonFiniteError(f"after {player.t:.3g} s: {error}") from error
    return player.t
