"""View of a robot that a program moves, with sliders, arrows and frames: `treesim.viewer`."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .. import plugins
from ..errors import ArgumentError, UnsupportedError, quoted
from ..model.named_axes import coordinate_argument
from ..model.tree import Tree
from ..simulation.world import World
from ..states.arguments import checked_robot, positive_number, short_repr
from ..system.display import ReprMixin, arrays, html_table, page_html
from ..system.events import EventQueue
from ..validation.arrays import Argument, coerce
from ..validation.values import checked_flag
from .protocols import ClickViewer, GroundViewer, InteractiveViewer, MarkViewer, SliderViewer, Viewer

ARROW_COLOR = (0.09, 0.4, 0.75)  # red, green, blue
FRAME_LENGTH = 0.1  # m, of a frame's axes
MOST_CLICKS = 1000  # waiting clicks: further ones are dropped


class Click(NamedTuple):
    """Click of a user: name of the body, and point (3,) in the world [m]."""

    body: str
    point: np.ndarray

    def __repr__(self) -> str:
        return f"<Click on {self.body!r}>"

    def _repr_html_(self) -> str:
        return html_table(repr(self), arrays(self, "point"))


class View(ReprMixin):
    """View of a robot in a viewer, created by `treesim.viewer`; a program sets the shown configuration.

    Any thread may call the methods of a view. Functions that `on_click` registers run inside calls of `update` and
    `wait`, so a program needs no locks. A notebook displays a view as the viewer's page.

    Parameters
    ----------
    robot : Tree or World
        The robot, or a world with its ground.
    viewer : Viewer
        The viewer.
    q : array_like, shape (nq,), optional
        Configuration. Neutral by default.

    Raises
    ------
    TreesimError
        The errors of `treesim.viewer`.

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> with treesim.viewer(robot) as view:
    ...     view
    <View of 'ur5' by MeshcatViewer>
    """

    def __init__(self, robot: Tree | World, viewer: Viewer, q: ArrayLike | None = None) -> None:
        self.robot, ground = (robot.robot, robot.ground) if isinstance(robot, World) else (checked_robot(robot), ())
        self.viewer, self._lock = viewer, threading.RLock()
        self._sliders: dict[str, tuple[float, float, float]] = {}  # lower, upper and value by name
        self._events = EventQueue()
        self._clicked: list[Callable[[Click], object]] = []
        self._open = True
        viewer.show(self.robot, self.robot.neutral() if q is None else coerce(coordinate_argument(self.robot, "q", q)))
        if ground and isinstance(viewer, GroundViewer):
            viewer.show_ground(ground)

    def __repr__(self) -> str:
        return f"<View of {self.robot.name!r} by {type(self.viewer).__name__}{'' if self._open else ', closed'}>"

    def _repr_fields(self) -> Iterator[tuple[str, Any]]:
        yield "url", self.url
        for name, (lower, upper, value) in self._sliders.items():
            yield name, f"{value:g} of {lower:g} ... {upper:g}"

    def _repr_html_(self) -> str:
        """Return the page as an iframe while it is served, else a table."""
        return page_html(self.url, repr(self)) if self._open and self.url else super()._repr_html_()

    @property
    def url(self) -> str | None:
        """Address of the viewer's web page; None if the viewer has no page."""
        return getattr(self.viewer, "url", None)

    def __enter__(self) -> View:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the viewer of this view; a second call does nothing."""
        with self._lock:
            self._open = False
        self.viewer.close()  # without the lock: a viewer may wait for its own thread, which may report a slider

    def update(self, q: ArrayLike) -> None:
        """Show the robot at a configuration, and call the functions of `on_click` for new clicks.

        A program may call this method in every step of a simulation. A slow page skips to the latest configuration.

        Parameters
        ----------
        q : array_like, shape (nq,)
            Configuration.

        Raises
        ------
        ArgumentError
            If the shape does not fit, or the view is closed.
        NonFiniteError
            If a number is not finite.
        Exception
            Every exception that a function of `on_click` raises.
        """
        with self._lock:
            self._check_open("update")
            self.viewer.update(coerce(coordinate_argument(self.robot, "q", q)))
        self._events.run()

    def wait(self, seconds: float) -> None:
        """Wait for a time, and meanwhile call the functions of `on_click` for clicks on the robot.

        Parameters
        ----------
        seconds : float
            Time [s].

        Raises
        ------
        ArgumentError
            If the time is invalid.
        Exception
            Every exception that a function of `on_click` raises.
        """
        self._events.wait(positive_number("seconds", seconds, zero=True))

    def slider(self, name: str, lower: float, upper: float, value: float | None = None, unit: str = "") -> float:
        """Return the value of a slider; the first call with its name creates the slider.

        Call this method in every pass of the program's loop. If the limits of a slider change, the slider is created
        again.

        Parameters
        ----------
        name : str
            Name of the slider.
        lower : float
            Lower limit.
        upper : float
            Upper limit.
        value : float, optional
            Initial value. By default the middle of the limits.
        unit : str
            Unit that is displayed.

        Returns
        -------
        float
            Current value.

        Raises
        ------
        ArgumentError
            If the limits are not finite or in the wrong order, or `value` is outside of the limits.
        UnsupportedError
            If the viewer has no sliders.
        """
        with self._lock:
            viewer: SliderViewer = self._able("slider", SliderViewer, "has no sliders: it has no method `set_slider`")
            limits = _limits(name, lower, upper)
            if self._sliders.get(name, ())[:2] != limits:
                start = _start(name, limits, value)
                self._sliders[name] = (*limits, start)
                viewer.set_slider(name, *limits, start, unit, lambda chosen: self._moved(name, limits, chosen))
            return self._sliders[name][2]

    def on_click(self, call: Callable[[Click], object]) -> Callable[[Click], object]:
        """Register a function that `update` and `wait` call for each click on the shown robot.

        Parameters
        ----------
        call : callable
            Function that is called as call(click) with a `Click`.

        Returns
        -------
        callable
            The function `call`, so that this method can be used as a decorator.

        Raises
        ------
        ArgumentError
            If `call` is not callable.
        UnsupportedError
            If the viewer does not report clicks.
        """
        if not callable(call):
            raise ArgumentError(f"on_click: call must be a function call(click), got {short_repr(call)}")
        with self._lock:
            viewer: ClickViewer = self._able(
                "on_click", ClickViewer, "reports no clicks: it has no method `listen_clicks`"
            )
            self._clicked.append(call)
            viewer.listen_clicks(self._hit)
        return call

    def arrow(self, name: str, origin: ArrayLike, vector: ArrayLike, color: Sequence[float] = ARROW_COLOR) -> None:
        """Draw an arrow in the viewer; it replaces an arrow or frame with the same name.

        Parameters
        ----------
        name : str
            Name of the arrow.
        origin : array_like, shape (3,)
            Start of the arrow in the world [m].
        vector : array_like, shape (3,)
            Vector from start to tip, in the world's axes [m].
        color : sequence of float
            Red, green and blue from 0 to 1.

        Raises
        ------
        ArgumentError
            If an argument is invalid.
        UnsupportedError
            If the viewer draws no arrows.
        """
        with self._lock:
            viewer: MarkViewer = self._able("arrow", MarkViewer, "draws no arrows: it has no method `set_arrow`")
            start, along = (_numbers(f"arrow {name!r}: {what}", value, (3,)) for what, value in
                            (("origin", origin), ("vector", vector)))  # fmt: skip
            shade = _numbers(f"arrow {name!r}: color", color, (3,))
            if shade.min() < 0 or shade.max() > 1:
                raise ArgumentError(
                    f"arrow {quoted(name)}: color must be red, green and blue from 0 to 1, got {short_repr(color)}"
                )
            viewer.set_arrow(_named(name), start, along, tuple(shade.tolist()))

    def frame(self, name: str, pose: ArrayLike, length: float = FRAME_LENGTH) -> None:
        """Draw the axes of a frame (x red, y green, z blue); they replace an arrow or frame with the same name.

        Parameters
        ----------
        name : str
            Name of the mark.
        pose : array_like, shape (4, 4)
            Pose in the world, as `treesim.frame_pose` returns it.
        length : float
            Length of the axes [m].

        Raises
        ------
        ArgumentError
            If an argument is invalid.
        UnsupportedError
            If the viewer draws no frames.
        """
        with self._lock:
            viewer: MarkViewer = self._able("frame", MarkViewer, "draws no frames: it has no method `set_frame`")
            axes = positive_number(f"frame {quoted(name)}: length", length, "number of metres")
            viewer.set_frame(_named(name), _rigid(f"frame {name!r}: pose", pose), axes)

    def remove(self, name: str) -> None:
        """Remove a drawn arrow or frame by its name, if it exists.

        Parameters
        ----------
        name : str
            Name of the mark.

        Raises
        ------
        UnsupportedError
            If the viewer draws no arrows and frames.
        """
        with self._lock:
            self._able("remove", MarkViewer, "draws no arrows and frames").remove_mark(_named(name))

    def _able(self, what: str, kind: Any, lack: str) -> Any:
        """Return the viewer; raises UnsupportedError if it is not of the type `kind`."""
        self._check_open(what)
        if not isinstance(self.viewer, kind):
            raise UnsupportedError(f"{what}: {type(self.viewer).__name__} {lack}")
        return self.viewer

    def _check_open(self, what: str) -> None:
        if not self._open:
            raise ArgumentError(f"{what}: this view is closed; `treesim.viewer` opens another")

    def _moved(self, name: str, limits: tuple[float, float], value: float) -> None:
        with self._lock:
            if self._sliders[name][:2] == limits:  # else from a page that shows the previous slider
                self._sliders[name] = (*limits, min(max(float(value), limits[0]), limits[1]))

    def _hit(self, body: str, point: np.ndarray) -> None:
        self._events.post(partial(self._call, Click(body, point)), MOST_CLICKS)

    def _call(self, click: Click) -> None:
        for call in tuple(self._clicked):
            call(click)


def viewer(
    robot: Tree | World,
    viewer: str | Viewer = "meshcat",
    *,
    q: ArrayLike | None = None,
    port: int = 0,
    browser: bool = False,
) -> View:
    """Show a robot, or a world with its ground, and return a View that moves the shown robot.

    A View is a context manager; at the end of the `with` block it closes the viewer. Methods of the View that the
    viewer does not support raise UnsupportedError.

    Parameters
    ----------
    robot : Tree or World
        The robot, or a world.
    viewer : str or Viewer
        Name of a viewer, see `treesim.available("viewers")`, or a `treesim.viewing.protocols.Viewer`.
    q : array_like, shape (nq,), optional
        Initial configuration. Neutral by default.
    port : int
        Port of the viewer's web page; 0 chooses a free port.
    browser : bool
        Open the page in the web browser.

    Returns
    -------
    View
        View of the robot.

    Raises
    ------
    ArgumentError
        If an argument is invalid.
    UnknownNameError, PluginError
        If the viewer is unknown, or cannot be loaded.
    UnsupportedError
        If a port is given, but the viewer serves no page.

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> with treesim.viewer(robot) as view:
    ...     q = robot.neutral()
    ...     q[0] = view.slider("shoulder", -3.0, 3.0, value=0.5, unit="rad")
    ...     view.update(q)
    ...     view.frame("tool", treesim.frame_pose(robot, q, "ee_link"))
    ...     view.arrow("pull", (0.5, 0, 0.5), (0, 0, 0.3))
    >>> q[0]
    np.float64(0.5)
    """
    if not isinstance(robot, World):
        checked_robot(robot)
    browser, window = checked_flag("browser", browser), opened(viewer, port)
    try:
        view = View(robot, window, q)
    except BaseException:
        if window is not viewer:  # nobody else can close it
            window.close()
        raise
    if browser:
        browse(view.url)
    return view


def opened(viewer: str | Viewer, port: int = 0) -> Any:
    """Return a viewer by name, or the given one, whose page will be at a port, 0 for any; it shows nothing yet."""
    window = plugins.get("viewers", viewer) if isinstance(viewer, str) else viewer
    if not isinstance(window, Viewer):
        raise ArgumentError(
            f"viewer must be a name, or an object with show, update and close, got {short_repr(viewer)}"
        )
    if port:
        if not isinstance(window, InteractiveViewer):
            raise UnsupportedError(f"port: {type(window).__name__} serves no page at a port that one can choose")
        window.port = port
    return window


def browse(url: str | None) -> None:
    """Open a page in the web browser, if there is one."""
    if url:
        import webbrowser

        webbrowser.open(url)


def _named(name: str) -> str:
    if not isinstance(name, str) or not name:
        raise ArgumentError(f"name must be text, got {short_repr(name)}")
    return name


def _limits(name: str, lower: float, upper: float) -> tuple[float, float]:
    low, high = (float(_numbers(f"slider {_named(name)!r}: {what}", x, ())) for what, x in
                 (("lower", lower), ("upper", upper)))  # fmt: skip
    if not low < high:
        raise ArgumentError(f"slider {quoted(name)}: lower must be below upper, got {low:g} and {high:g}")
    return low, high


def _start(name: str, limits: tuple[float, float], value: float | None) -> float:
    lower, upper = limits
    start = (lower + upper) / 2 if value is None else float(_numbers(f"slider {name!r}: value", value, ()))
    if not lower <= start <= upper:
        raise ArgumentError(f"slider {quoted(name)}: value must be from {lower:g} to {upper:g}, got {start:g}")
    return start


def _numbers(label: str, value: Any, shape: tuple[int, ...]) -> np.ndarray:
    array = coerce(Argument(label, value, shape))
    if array.shape != shape or not np.isfinite(array).all():
        wanted = f"{math.prod(shape)} finite numbers of shape {shape}" if shape else "a finite number"
        raise ArgumentError(f"{label} must be {wanted}, got {short_repr(value)}")
    return array


def _rigid(label: str, value: Any) -> np.ndarray:
    """Return a pose (4, 4), checked to be a rotation and translation to single precision."""
    pose = _numbers(label, value, (4, 4))
    rotation = pose[:3, :3]
    turned = np.abs(rotation @ rotation.T - np.eye(3)).max() < 1e-4 and np.linalg.det(rotation) > 0
    if not turned or np.abs(pose[3] - [0, 0, 0, 1]).max() > 1e-6:
        raise ArgumentError(f"{label} must be a rotation, a place, and a last row of 0 0 0 1")
    return pose
