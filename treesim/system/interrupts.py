"""Ctrl-C, SIGTERM and SIGHUP in the program `treesim`.

During start and exit, Ctrl-C ends the process at once, without a traceback. While a command runs, SIGTERM, and SIGHUP
of a terminal that was closed, interrupt the command as Ctrl-C does, so that it saves what it saves then. Programs that
import treesim are not affected.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any

INTERRUPTED = 130  # as a shell reports Ctrl-C
ENDING = ("SIGTERM", "SIGHUP")  # signals that interrupt a command, too; Windows has no SIGHUP
_received = signal.SIGINT  # the signal that has interrupted the command


def is_program(program: str, arguments: Sequence[str]) -> bool:
    """Return whether this process is `treesim ...` or `python -m treesim ...`.

    program: sys.argv[0], which is "-m" while Python searches for the module to run. arguments: sys.orig_argv.
    """
    if program == "-m":
        return "-m" in arguments and list(arguments)[arguments.index("-m") + 1 :][:1] == ["treesim"]
    return PurePath(program).stem == "treesim"


def end_on_ctrl_c() -> None:
    """Let Ctrl-C end this process with exit code 130 until `obey_ctrl_c`, unless it is handled or ignored already."""
    usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if usual and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, _end)


def obey_ctrl_c() -> None:
    """Let Ctrl-C raise KeyboardInterrupt again."""
    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def obey_other_ends() -> None:
    """Let SIGTERM and SIGHUP interrupt as Ctrl-C does, unless they are handled or ignored, as by nohup."""
    if threading.current_thread() is threading.main_thread():
        for number in _ending_signals():
            if signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, _interrupt)


def exit_code() -> int:
    """Return the exit code of an interrupted command, as a shell reports the signal."""
    return 128 + _received


def _ending_signals() -> list[signal.Signals]:
    return [getattr(signal, name) for name in ENDING if hasattr(signal, name)]


def _interrupt(number: int, frame: Any) -> None:
    """Interrupt as Ctrl-C does now; directly where Ctrl-C is ignored, as in commands in the background."""
    global _received
    _received = signal.Signals(number)
    handler = signal.getsignal(signal.SIGINT)
    if not callable(handler):
        raise KeyboardInterrupt
    handler(signal.SIGINT, frame)


def leave_ctrl_c_to_the_system() -> None:
    """Restore the system's default handling of Ctrl-C, for the time in which Python exits."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    for number in _ending_signals():
        if signal.getsignal(number) is _interrupt:
            signal.signal(number, signal.SIG_DFL)


def _end(number: int, frame: Any) -> None:
    os.write(2, b"error: interrupted\n")
    os._exit(INTERRUPTED)


if is_program((sys.argv or [""])[0], sys.orig_argv):
    end_on_ctrl_c()
