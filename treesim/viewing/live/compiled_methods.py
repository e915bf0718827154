"""Which methods of simulation are compiled: the others would let the motion wait, and are compiled beside it."""

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
    """The methods, of all that COMPILED names, for which a session's robot has code. over: nothing more is to be
    compiled."""

    def __init__(self) -> None:
        self._ready: set[tuple[Any, ...]] = set()
        self.over = False

    def add(self, runs: Iterable[Settings]) -> None:
        """These are compiled."""
        self._ready |= {tuple(methods_of(run).values()) for run in runs}

    def forget(self) -> None:
        """None are: another robot may have code of its own."""
        self._ready = set()

    def missing(self, runs: Sequence[Settings]) -> list[Settings]:
        """Return those that are not compiled."""
        return [run for run in runs if tuple(methods_of(run).values()) not in self._ready]

    def warm_others(self, physics: LivePhysics) -> None:
        """Have the other backends ready, one after the other, until the session is over.

        Like all threads that compile, it is none that Python leaves behind when it ends: what LLVM works with would be
        taken down under it, and the process would abort. The end waits for one backend at most."""
        with suppress(OSError, AttributeError):  # where threads have no priorities of their own
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), LEAST_URGENT)
        for backend in plugins.available("dynamics"):
            if self.over or not threading.main_thread().is_alive():
                return
            settings = replace(physics.settings, backend=backend)
            with suppress(TreesimError, ArithmeticError):  # who takes that backend is told why it does not serve
                physics.warm(settings)
                self.add([settings])


def methods_of(settings: Settings) -> dict[str, Any]:
    """Return the methods that settings name."""
    return {name: getattr(settings, name) for name in COMPILED}
