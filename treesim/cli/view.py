"""`treesim view`: interactive real-time simulation of a robot in a viewer."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import ArgumentError, NonFiniteError, UnsupportedError, quoted
from . import common
from .common import OUTPUT, JsonOption, RecordOption, examples, guarded, option
from .policies import ContractOptions, contract_policy
from .simulation_options import SimulationSetup, ViewOptions, build_simulation, checked_steps
from .streams import json_text
from .view_page import checked_page, write_page
from .view_recording import checked_options, is_recording, open_replay, play, write_record
from .view_reference import Start, reference_of
from .view_robots import InstalledRobots, reloading, scene_of

if TYPE_CHECKING:
    from ..viewing.live import LiveSession, Scene, Settings

FPS = 30.0
MOST_A_FRAME = 10**6  # steps; more would take minutes per frame


@dataclass(frozen=True)
class DisplayOptions:
    """Options of `view` that define how a motion is shown.

    Options
    -------
    --reference
        Reference run, which is drawn translucent. REFERENCE is a list of methods, a trajectory (.npz, .mcap ...) or the
        name of an engine. Examples of methods are backend=rjk,integrator=rk4,substeps=10 and contact_solver=admm. An
        engine computes 10 s of unconstrained motion (`treesim plugins` lists all engines).
    --duration
        Time after which the command ends (s). Default: no limit; the command ends at Ctrl-C.
    --speed
        Speed of the motion as a multiple of real time.
    --viewer
        Viewer: meshcat, or viser, which is basic: without pulls, plots and overlays. `treesim plugins` lists others.
    --port
        Port of the web page. If the port is given, open pages reconnect after a restart of the command.
    --no-browser
        Print the address of the page, and do not open the page.
    --until-closed
        End the command when the last page is closed.
    """

    reference: Annotated[str | None, option(panel=OUTPUT, metavar="REFERENCE")] = None
    duration: Annotated[float | None, option(panel=OUTPUT)] = None
    speed: Annotated[float, option(panel=OUTPUT)] = 1.0
    viewer: Annotated[str, option(panel=OUTPUT)] = "meshcat"
    port: Annotated[int | None, option(panel=OUTPUT, min=0, max=65535, show_default="any")] = None
    no_browser: Annotated[bool, option(panel=OUTPUT)] = False
    until_closed: Annotated[bool, option(panel=OUTPUT)] = False


@guarded
@examples(
    "treesim view ur5 --with panda@0,1,0",
    "treesim view ur5 --reference integrator=rk4",
    "treesim view go2 --base floating --policy walk.onnx --contract walk.toml",
    "treesim view run.npz --speed 0.5",
    "treesim view g1_29dof_rev_1_0 --html g1.html",
)
def view(
    context: typer.Context,
    robot: common.WorldArgument,
    options: ViewOptions = ViewOptions(),  # noqa: B008
    network: ContractOptions = ContractOptions(),  # noqa: B008
    display: DisplayOptions = DisplayOptions(),
    html: Annotated[Path | None, option(panel=OUTPUT)] = None,
    record: RecordOption = None,
    json: JsonOption = False,
) -> None:
    """Simulate ROBOT in real time on an interactive web page, until Ctrl-C.

    If ROBOT is a trajectory of `treesim simulate --out`, the page replays it. The page has buttons to play, pause, step
    and go back. During the motion, you can change joints, gains, gravity, the time step and the numerical methods. To
    pull a link, hold Ctrl and drag it. With --policy, a network controls the robot, and arrow keys change its command.
    With --json, the first line of the output is {"url": ...}, and the last line is a summary.

    Options
    -------
    robot
        A URDF file, the name of an installed robot (`treesim robots` lists the names), a Python file that defines a
        World, or a trajectory (.npz, .mcap ...) to replay.
    --html
        Write a page that simulates the robot without Python, and exit. The page is one .html file without server or
        network. Without ground, a robot with a floating base starts without gravity.
    """
    from ..viewing.protocols import InteractiveViewer

    if record is not None:
        _record(context, robot, record, display.viewer, options, json)
        return
    if is_recording(robot):
        _replay(checked_options(context), robot, options, display, json)
        return
    policy = contract_policy(network, options)
    if policy is not None:
        options = policy.with_step(options, context)
    if display.duration is not None:
        checked_steps(display.duration, options.dt)
    common.checked_positive("--speed", display.speed)
    _check_frames(display.speed, options.dt)
    window = common.get_viewer(display.viewer)
    if html is not None:
        checked_page(html, window, display.viewer, vars(options) | vars(display) | vars(network))
        write_page(html, window, build_simulation(robot, options, policy), options, display.speed, json, policy)
        return
    interactive = isinstance(window, InteractiveViewer)
    if display.until_closed and not (interactive and hasattr(window, "when_left")):
        raise UnsupportedError(f"--until-closed: viewer {display.viewer!r} does not report when its pages are closed")
    _prepare(window, display)
    if not interactive:
        options = replace(options, ground=bool(options.ground), controller=options.controller or "none")
    try:
        if interactive:
            page = _Page(window, display, json)
            setup = build_simulation(robot, options, policy)
            library = InstalledRobots(setup.robot.name, robot, options, policy)
            shown = _interact(page, setup, scene_of(setup, options, display.speed, policy), library, display, robot)
        else:
            setup = build_simulation(robot, options, policy)
            shown = _show(window, setup, display, json)
    finally:
        window.close()
    if json:
        _print_line({"robot": setup.robot.name, "simulated_s": shown})


def _record(context: typer.Context, source: str, record: Path, viewer: str, options: ViewOptions, json: bool) -> None:
    """Write a recorded motion to a file instead of showing it."""
    if not is_recording(source):
        raise ArgumentError(
            f"--record writes what `treesim simulate --out` recorded, and {quoted(source)} is a robot: name the .npz "
            f"file, or take `treesim simulate {source} --record {record}`"
        )
    given = checked_options(context)
    write_record(source, record, viewer, options.base if "base" in given else None, options.mimic, json)


def _replay(given: set[str], path: str, options: ViewOptions, display: DisplayOptions, json: bool) -> None:
    """Replay a recorded motion; given: names of the options on the command line."""
    if display.duration is not None:
        common.checked_seconds("--duration", display.duration)
    window = common.get_viewer(display.viewer)
    _prepare(window, display)
    base = options.base if "base" in given else None
    try:
        replay = open_replay(path, window, base, options.mimic, display.speed, display.reference)
        _announce(getattr(window, "url", None), display.no_browser, json)
        shown = play(replay, display.duration)
    finally:
        window.close()
    if json:
        _print_line({"robot": replay.robot.name, "replayed_s": shown})


def _prepare(window: Any, display: DisplayOptions) -> None:
    """Set the port of a viewer's page, 0 for any.

    Raises UnsupportedError for a viewer without a page if the port is given, and for one that cannot show the requested
    reference run.
    """
    from ..viewing.protocols import InteractiveViewer, ReferenceViewer

    interactive = isinstance(window, InteractiveViewer)
    if interactive:
        window.port = display.port or 0
    elif display.port is not None:
        raise UnsupportedError(f"--port: viewer {display.viewer!r} serves no page")
    if display.reference is not None and not (interactive and isinstance(window, ReferenceViewer)):
        raise UnsupportedError(f"--reference: viewer {display.viewer!r} shows no second robot")


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

    def __init__(self, window: Any, display: DisplayOptions, json: bool) -> None:
        self.window, self._display, self._json, self._announced = window, display, json, False
        self._left = Event()
        if display.until_closed:
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
            _announce(url, self._display.no_browser, self._json)

    def end_with(self, session: LiveSession) -> None:
        """End a session when the last page is closed, or at once if it already is, if this was requested."""
        if self._display.until_closed:
            self.window.when_left(session.end)
            if self._left.is_set():
                session.end()


def _interact(
    page: _Page, setup: SimulationSetup, start: tuple[Scene, Settings], library: InstalledRobots,
    display: DisplayOptions, source: str,
) -> float:  # fmt: skip
    """Run the simulation interactively on the viewer's pages until the duration [s] is over, or Ctrl-C."""
    from ..viewing.live import LiveSession

    scene, settings = start
    reference, chosen = display.reference, tuple[Any, Any]((None, None))
    if reference:
        chosen = reference_of(reference, setup.robot, Start(setup.q, setup.v, settings.dt))
    page.open_early()  # only after all checks of files and options
    session = LiveSession(scene, page.window, settings, library, reference=chosen[0], recordings=chosen[1])
    page.end_with(session)
    page.announce(page.window.url)
    with suppress(KeyboardInterrupt), reloading(session, source, setup.robot.name):  # the usual end
        session.run(display.duration)
    return session.physics.player.t


def _show(window: Any, setup: SimulationSetup, display: DisplayOptions, json: bool) -> float:
    """Show the simulation in a viewer without interaction."""
    from ..viewing.protocols import GroundViewer

    ground = setup.simulation.world.ground
    window.show(setup.robot, setup.q)
    if ground and isinstance(window, GroundViewer):
        window.show_ground(ground)
    _announce(getattr(window, "url", None), display.no_browser, json)
    return _play(setup, window, display)


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


def _play(setup: SimulationSetup, window: Any, display: DisplayOptions) -> float:
    """Simulate and show until the duration [s] is over, or Ctrl-C; return the simulated seconds.

    Raises NonFiniteError if the state is not finite.
    """
    from ..simulation.player import Player

    player = Player(
        setup.simulation, q0=setup.q, v0=setup.v, show=lambda frame: window.update(frame.q), fps=FPS,
        speed=display.speed,
    )  # fmt: skip
    try:
        player.run(display.duration)
    except KeyboardInterrupt:  # the usual end; nothing is to be saved
        pass
    except NonFiniteError as error:
        raise NonFiniteError(f"after {player.t:.3g} s: {error}") from error
    return player.t
