"""Waiting of tests: for what must come, as long as a busy machine needs; no test judges wall time."""

import threading
import time
from collections.abc import Callable

PATIENCE = 120.0  # [s] until a test fails; software rendering on a busy machine is slow


class Clock:
    """A clock that goes on when the test sets `now`, or somebody sleeps; `read` is set once somebody looked at it."""

    def __init__(self) -> None:
        self.now, self.read = 0.0, threading.Event()

    def __call__(self) -> float:
        """Return the time."""
        self.read.set()
        return self.now

    def sleep(self, seconds: float) -> None:
        """Let a time pass at once."""
        self.now += seconds


def pause() -> None:
    """Let others run for a millisecond."""
    time.sleep(1e-3)


def wait_until(
    condition: Callable[[], object], what: Callable[[], str] = lambda: "", between: Callable[[], object] = pause
) -> None:
    """Call `between` until a condition holds; fail, and tell `what` never came true, after `PATIENCE`."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"it never came true: {what()}"
        between()
