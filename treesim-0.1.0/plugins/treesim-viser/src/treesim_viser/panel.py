"""Controls of a simulation as viser widgets, for all settings of `treesim.viewing.live`."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from viser import GuiEvent, ViserServer

Receive = Callable[[Mapping[str, Any], Callable[[str], object]], object]

SPEEDS = (0.1, 0.25, 0.5, 1.0, 2.0, 5.0)  # times real time
CHOICES = (
    ("backend", "backends"),
    ("integrator", "integrators"),
    ("contact", "solvers"),
    ("controller", "controllers"),
)
NUMBERS = (("dt", "time step [s]"), ("kp", "kp"), ("kd", "kd"))
NAMES = {"contact": "solver"}  # of settings that are called something else on the panel
STEPS = 1000  # of a slider
HELD = 1.0  # s: time for which a widget shows its user's choice, until states contain it


class Panel:
    """Widgets of one simulation.

    receive(message, reply) is called in viser's threads with users' requests. Only changes on a page are
    requests, not those by `update`.
    """

    def __init__(self, server: ViserServer, details: Mapping[str, Any], receive: Receive) -> None:
        self._server, self._receive = server, receive
        self._running = True
        self._shown: dict[str, Any] = {}  # widgets that show a value, by the name of what they set
        self._touched: dict[str, float] = {}  # time of the user's last choice, on the clock
        self._folders = [server.gui.add_folder(label) for label in ("time", "robot", "physics", "joints")]
        steered = not details.get("replay")
        for folder, add in zip(
            self._folders, (self._add_time, self._add_robot, self._add_physics, self._add_joints), strict=True
        ):
            with folder:
                folder.visible = bool(add(details)) if steered or add == self._add_time else False

    def remove(self) -> None:
        """Remove all widgets."""
        for folder in self._folders:
            folder.remove()

    # ---- the widgets ----

    def _add_time(self, details: Mapping[str, Any]) -> bool:
        gui = self._server.gui
        self._status, self._message = (
            gui.add_text(label, "", multiline=True, disabled=True) for label in ("state", "message")
        )  # not as Markdown, in which text out of a file would be HTML
        self._message.visible = False
        self._play = gui.add_button("pause")
        self._play.on_click(lambda event: self._ask(event, {"set": {"running": not self._running}}))
        for what in ("step", "reset"):
            button = gui.add_button(what)
            button.on_click(lambda event, what=what: self._ask(event, {"do": what}))
        speeds = [f"{speed:g}" for speed in SPEEDS]
        self._keep(
            "speed", gui.add_dropdown("speed", speeds, initial_value="1"), lambda chosen: {"speed": float(chosen)}
        )
        return True

    def _add_robot(self, details: Mapping[str, Any]) -> bool:
        for name, options in (("robot", "robots"), ("base", "bases")):
            if details.get(options):
                self._choice(name, details[options])
        return bool(details.get("robots"))

    def _add_physics(self, details: Mapping[str, Any]) -> bool:
        for label, options in CHOICES:
            if details.get(options):
                self._choice(label, details[options])
        for name, label in NUMBERS:
            widget = self._server.gui.add_number(label, 0.0, min=0.0, step=1e-4 if name == "dt" else 0.1)
            self._keep(name, widget, lambda chosen, name=name: {name: float(chosen)})
        widget = self._server.gui.add_vector3("gravity", (0.0, 0.0, 0.0), step=0.01)
        self._keep("gravity", widget, lambda chosen: {"gravity": [float(x) for x in chosen]})
        return True

    def _choice(self, label: str, options: Sequence[str]) -> None:
        name, shown = NAMES.get(label, label), {sendable(option): option for option in options}
        self._keep(name, self._server.gui.add_dropdown(label, tuple(shown)), lambda chosen: {name: shown[chosen]})

    def _add_joints(self, details: Mapping[str, Any]) -> bool:
        for joint in details.get("joints", ()):
            lower, upper = (
                sign * math.pi if joint[side] is None else joint[side] for side, sign in (("lower", -1), ("upper", 1))
            )
            if lower < upper:
                start, label = min(max(0.0, lower), upper), sendable(f"{joint['name']} [{joint['unit']}]")
                widget = self._server.gui.add_slider(label, lower, upper, (upper - lower) / STEPS, start)
                name = joint["name"]
                self._keep(f"joints {name}", widget, lambda chosen, name=name: {"joints": {name: float(chosen)}})
        return bool(details.get("joints"))

    def _keep(self, name: str, widget: Any, values: Callable[[Any], dict[str, Any]]) -> None:
        """Register a widget for updates; a user's choice sets values(chosen)."""

        def chosen(event: GuiEvent[Any]) -> None:
            if event.client_id is not None:  # else set by `update`
                self._touched[name] = time.monotonic()
                self._ask(event, {"set": values(event.target.value)})

        widget.on_update(chosen)
        self._shown[name] = widget

    # ---- messages in both directions ----

    def _ask(self, event: GuiEvent[Any], message: Mapping[str, Any]) -> None:
        def reply(text: str) -> None:
            if event.client is not None:
                event.client.add_notification("treesim", sendable(text), auto_close_seconds=10.0, color="red")

        self._receive(message, reply)

    def update(self, state: Mapping[str, Any]) -> None:
        """Show the current state."""
        self._running = bool(state.get("running"))
        _set(self._play, "label", "pause" if self._running else "play")
        message = sendable(state.get("message") or "")
        _set(self._status, "value", status(state))
        _set(self._message, "value", message)
        _set(self._message, "visible", bool(message))
        for name, value in values_of(state):
            widget = self._shown.get(name)
            if widget is not None and time.monotonic() - self._touched.get(name, -math.inf) > HELD:
                _show(widget, value)


def sendable(text: str) -> str:
    """Return text that viser can send: lone surrogates, from file names that are not UTF-8, are escaped."""
    return text.encode(errors="backslashreplace").decode()


def values_of(state: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return (name, value) of settings and joints in a state; of joints that are driven while time runs, the target."""
    settings = [(name, state[name]) for name in state if name not in ("joints", "speed") and state[name] is not None]
    driven = state.get("targets") if state.get("running") else None
    joints = {**state.get("joints", {}), **(driven or {})}
    return [*settings, ("speed", f"{state.get('speed', 1):g}"), *((f"joints {name}", x) for name, x in joints.items())]


def status(state: Mapping[str, Any]) -> str:
    """Return a line with time, speed and energy."""
    pace, energy = state.get("realTimeFactor"), state.get("energy")
    parts = [f"{state.get('t', 0):.2f} s"]
    parts += [] if pace is None else [f"{pace:.2f} x real time"]
    parts += [] if energy is None else [f"{energy:.4g} J"]
    return ", ".join(parts)


def _show(widget: Any, value: Any) -> None:
    """Show a value in a widget, if the widget can display it."""
    value = sendable(value) if isinstance(value, str) else value
    options = getattr(widget, "options", None)
    if options is not None and value not in options:
        return
    if hasattr(widget, "max") and isinstance(value, float) and widget.max is not None:
        value = float(np.clip(value, widget.min, widget.max))
    step = getattr(widget, "step", None)
    if isinstance(value, float) and step and abs(value - widget.value) < step / 2:
        return
    _set(widget, "value", tuple(value) if isinstance(value, list) else value)


def _set(widget: Any, name: str, value: Any) -> None:
    """Set a property if it changes: viser sends each assignment to the pages."""
    if getattr(widget, name) != value:
        setattr(widget, name, value)
