"""Sliders, arrows and frames that a program adds to its pages, and the clicks that it receives."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

Clicked = Callable[[str, np.ndarray], object]


class Program:
    """Sliders, marks and clicks of a program; thread-safe.

    send(message) sends {"sliders": [...], "marks": {name: ...}, "clicks": whether they are reported} to all
    pages after each change; it must not block. Messages of pages are not trusted: invalid numbers and bodies
    are ignored.
    """

    def __init__(self, send: Callable[[Mapping[str, Any]], object]) -> None:
        self._send, self._lock = send, threading.Lock()
        self._sliders: dict[str, dict[str, Any]] = {}
        self._moved: dict[str, Callable[[float], object]] = {}
        self._marks: dict[str, dict[str, Any]] = {}
        self._clicked: Clicked | None = None

    def set_slider(
        self, name: str, lower: float, upper: float, value: float, unit: str, moved: Callable[[float], object]
    ) -> None:
        """Add a slider, or replace the one of its name."""
        with self._lock:
            self._sliders[name] = {"name": name, "lower": lower, "upper": upper, "value": value, "unit": unit}
            self._moved[name] = moved
            self._send_all()

    def set_mark(self, name: str, mark: dict[str, Any] | None) -> None:
        """Draw an arrow {origin, vector, color} or a frame {pose, length}, or remove (None) the mark of its name."""
        with self._lock:
            if mark is None:
                self._marks.pop(name, None)
            else:
                self._marks[name] = mark
            self._send_all()

    def listen(self, clicked: Clicked) -> None:
        """Register clicked(body, point), called when a user clicks on a body."""
        with self._lock:
            self._clicked = clicked
            self._send_all()

    def take(self, message: Mapping[str, Any], bodies: Sequence[str]) -> bool:
        """Process a page's message; return whether it was for the program. bodies: names, the base first."""
        asked = message.get("set")
        if isinstance(asked, Mapping) and "sliders" in asked:
            chosen = asked["sliders"]
            for name, value in chosen.items() if isinstance(chosen, Mapping) else ():
                self._move(name, value)
        elif message.get("do") == "click":
            self._click(message.get("body"), message.get("point"), bodies)
        else:
            return False
        return True

    def _move(self, name: str, value: Any) -> None:
        with self._lock:
            if name not in self._sliders or not _finite(value):
                return
            slider, moved = self._sliders[name], self._moved[name]
            slider["value"] = chosen = min(max(float(value), slider["lower"]), slider["upper"])
            self._send_all()
        moved(chosen)

    def _click(self, body: Any, point: Any, bodies: Sequence[str]) -> None:
        known = isinstance(body, int) and 0 <= body < len(bodies)
        if self._clicked and known and isinstance(point, list) and len(point) == 3 and all(map(_finite, point)):
            self._clicked(bodies[body], np.array(point, dtype=float))

    def _send_all(self) -> None:
        sliders = list(self._sliders.values())
        self._send({"sliders": sliders, "marks": self._marks, "clicks": self._clicked is not None})


def _finite(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
