"""`treesim.show`: the page of a robot, world, state or run in one call."""

from __future__ import annotations

import secrets
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ...contact.ground import Ground
from ...errors import ArgumentError, UnsupportedError
from ...model.tree import Tree
from ...plugins import available
from ...simulation.provenance import recorded_world
from ...simulation.state import State
from ...simulation.trajectory import Trajectory
from ...simulation.world import World
from ...states.arguments import checked_robot
from ...states.standing import standing
from ...system.display import ReprMixin, page_html
from ..protocols import InteractiveViewer, Viewer
from ..view import View, browse, opened, viewer
from .replay import Replay
from .scene import Scene
from .session import LiveSession
from .settings import Settings

MOST_PAGES = 16  # of runs that wait for a click on their link


class Page(ReprMixin):
    """Page that `treesim.show` opened, with its simulation or replay in a thread; a notebook displays the page.

    Parameters
    ----------
    window : Viewer
        The viewer, which `close` closes.
    player : LiveSession or Replay
        The simulation or replay.
    """

    _row_labels = ("url",)

    def __init__(self, window: Any, player: LiveSession | Replay) -> None:
        self.url: str | None = window.url
        self._window, self._player = window, player
        self._thread = threading.Thread(target=player.run, name="treesim-show", daemon=True)
        self._thread.start()

    def __repr__(self) -> str:
        return f"<Page: {self.url if self._thread.is_alive() else 'closed'}>"

    def _repr_html_(self) -> str:
        is_open = self.url and self._thread.is_alive()
        return page_html(str(self.url), repr(self)) if is_open else super()._repr_html_()

    def __enter__(self) -> Page:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def wait(self, seconds: float | None = None) -> None:
        """Wait for a time [s], by default until Ctrl-C, as a script needs it before its end."""
        self._thread.join(seconds)

    def close(self) -> None:
        """End the motion, and close the page; a second call does nothing."""
        self._player.end()
        self._thread.join()
        self._window.close()


def show(
    what: Tree | World | Trajectory,
    state: State | ArrayLike | None = None,
    *,
    viewer: str | Viewer = "meshcat",
    port: int = 0,
    browser: bool | None = None,
) -> Page | View:
    """Show a robot or world with live physics, one of its states, or the replay of a run, on a web page.

    A notebook displays the result as the page. In a script, call `wait` of the result, since the page is served by this
    program. A floating robot stands on a ground.

    Parameters
    ----------
    what : Tree, World or Trajectory
        Robot or world to simulate, or run to replay.
    state : State or array_like, shape (nq,), optional
        State or configuration of a robot or world that is shown without physics. The result is then a `View`.
    viewer : str or Viewer
        Name of a viewer, see `treesim.available("viewers")`, or a viewer.
    port : int
        Port of the page; 0 chooses a free port.
    browser : bool, optional
        Open the page in the web browser. By default everywhere but in a notebook.

    Returns
    -------
    Page or View
        The page, with `url`, `wait` and `close`.

    Raises
    ------
    ArgumentError
        If an argument is invalid, or the run does not contain its robot.
    UnsupportedError
        If the viewer is not interactive.
    UnknownNameError, PluginError
        If the viewer is unknown, or cannot be loaded.

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> with treesim.show(treesim.Simulation(robot).run(0.1), browser=False) as page:
    ...     page.wait(0.05)
    >>> page
    <Page: closed>
    """
    open_browser = "ipykernel" not in sys.modules if browser is None else browser
    if state is not None:
        if isinstance(what, Trajectory):
            raise ArgumentError("state: a run is replayed as it is; give its robot to show one of its states")
        q = state.q if isinstance(state, State) else state
        return _viewer(what, viewer, q=q, port=port, browser=open_browser)
    start = _replay_of(what) if isinstance(what, Trajectory) else _live(what)
    window = opened(viewer, port)
    if not isinstance(window, InteractiveViewer):
        raise UnsupportedError(
            f"{type(window).__name__} has no page that can be controlled: treesim.viewer shows a state"
        )
    try:
        page = Page(window, start(window))
    except BaseException:
        window.close()
        raise
    if open_browser:
        browse(page.url)
    return page


_viewer = viewer


def _replay_of(run: Trajectory) -> Callable[[Any], Replay]:
    robot = recorded_world(run).robot
    return lambda window: Replay(robot, run, window)


def _live(what: Tree | World) -> Callable[[Any], LiveSession]:
    """Return a function that starts live physics in a viewer; floating robots begin on the ground."""
    if not isinstance(what, World):
        what = World(checked_robot(what), ground=Ground() if what.base == "floating" else ())
    robot = what.robot
    x, y, z = robot.gravity.tolist()
    scene = Scene(what, initial_configuration(what), np.zeros(robot.nv), robot.base)
    return lambda window: LiveSession(scene, window, Settings(gravity=(x, y, z), controller="hold"))


def initial_configuration(world: World) -> np.ndarray:
    """Return the neutral configuration (nq,) of a world; a floating robot without other bodies stands on its ground."""
    q = world.robot.neutral()
    if world.robot.base == "floating" and world.ground and not world.bodies:
        q = standing(world.robot, q, world.ground[0])  # type: ignore[arg-type]
    return world.close(q)


class _Runs(BaseHTTPRequestHandler):
    """Server of links to runs: a run's page is opened at the first click on its link."""

    waiting: ClassVar[OrderedDict[str, Trajectory]] = OrderedDict()
    pages: ClassVar[dict[str, Page]] = {}

    def do_GET(self) -> None:
        token = self.path.strip("/")
        if token in self.waiting:
            page = show(self.waiting.pop(token), browser=False)
            assert isinstance(page, Page)
            self.pages[token] = page
        found = self.pages.get(token)
        self.send_response(302 if found else 404)
        if found:
            self.send_header("Location", str(found.url))
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""


@cache
def _server() -> str:
    """Return the address of the server of links, which this process starts once."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Runs)
    threading.Thread(target=server.serve_forever, name="treesim-links", daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}/"


def page_of(run: Trajectory) -> str:
    """Return the address of a run's page, which is opened when the address is visited.

    Raises ArgumentError or UnsupportedError if the run does not contain its robot, or no viewer is installed.
    """
    recorded_world(run)
    if "meshcat" not in available("viewers"):
        raise UnsupportedError("no viewer is installed")
    token = secrets.token_urlsafe(18)
    _Runs.waiting[token] = run
    while len(_Runs.waiting) > MOST_PAGES:
        _Runs.waiting.popitem(last=False)
    return _server() + token
