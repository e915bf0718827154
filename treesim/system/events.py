"""Queue of functions that other threads pass to one thread, such as that of a viewer's loop."""

from __future__ import annotations

import math
import queue
import time
from collections.abc import Callable


class EventQueue:
    """Queue of functions that are posted from any thread and called in the thread of `run` and `wait`.

    clock: returns the time [s].
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._events: queue.SimpleQueue[Callable[[], object]] = queue.SimpleQueue()

    def post(self, event: Callable[[], object], most: float = math.inf) -> bool:
        """Queue a function; return False, without it, if `most` functions wait already."""
        if self._events.qsize() >= most:
            return False
        self._events.put(event)
        return True

    def run(self) -> None:
        """Call all waiting functions."""
        while not self._events.empty():
            self._events.get()()

    def wait(self, seconds: float) -> None:
        """Call the functions that are posted, and wait for more, for a time [s]."""
        end = self._clock() + seconds
        self.run()
        while (left := end - self._clock()) > 0:
            try:
                event = self._events.get(timeout=left)
            except queue.Empty:
                continue
            event()
