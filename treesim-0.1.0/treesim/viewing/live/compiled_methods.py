"""Bookkeeping of compiled methods: others are compiled in the background, while the motion continues."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from ... import plugins
from ...errors import TreesimError
from .physics import COMPILED, LivePhysics
from .settings import Settings

LEAST_URGENT = 19  # as a thread's priority


class CompiledMethods:
    """Combinations of the methods in COMPILED that are compiled for a session's robot.

    over: set to stop the compilation.
    """

    def __init__(self) -> None:
        self._ready: set[tuple[Any, ...]] = set()
        self.over = False

    def add(self, runs: Iterable[Settings]) -> None:
        """Mark the methods of these settings as compiled."""
        self._ready |= {tuple(methods_of(run).values()) for run in runs}

    def forget(self) -> None:
        """Mark all methods as not compiled, since another robot may need other code."""
        self._ready = set()

    def missing(self, runs: Sequence[Settings]) -> list[Settings]:
        """Return the settings whose methods are not compiled."""
        return [run for run in runs if tuple(methods_of(run).values()) not in self._ready]

    def warm_others(self, physics: LivePhysics) -> None:
        """Compile the other backends one after the other, until the session is over.

        Like all threads that compile, this is no daemon thread: Python would destroy LLVM's objects under it at
        exit, and the process would abort. The exit waits for one backend at most.
        """
        with suppress(OSError, AttributeError):  # where threads have no priorities of their own
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), LEAST_URGENT)
        for backend in plugins.available("dynamics"):
            if self.over or not threading.main_thread().is_alive():
                return
            settings = replace(physics.settings, backend=backend)
            with suppress(TreesimError, ArithmeticError):  # selecting that backend reports the reason
                physics.warm(settings)
                self.add([settings])


def methods_of(settings: Settings) -> dict[str, Any]:
    """Return the methods in settings by name."""
    return {name: getattr(settings, name) for name in COMPILED}
