"""Ctrl-C during start and exit of the program `treesim`: the process ends at once, without a traceback.

Programs that import treesim are not affected.
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


def leave_ctrl_c_to_the_system() -> None:
    """Restore the system's default handling of Ctrl-C, for the time in which Python exits."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def _end(number: int, frame: Any) -> None:
    os.write(2, b"error: interrupted\n")
    os._exit(INTERRUPTED)


if is_program((sys.argv or [""])[0], sys.orig_argv):
    end_on_ctrl_c()
