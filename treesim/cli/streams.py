"""Standard output and standard error as commands write to them, whatever text and whatever stream it is.

Text out of a file, such as a robot's name, reaches people, terminals, and programs that read what a command prints, of
which continuous integration obeys some lines. So nothing here is written raw: `escaped` is for characters that a
terminal obeys, `errors.named` for names, and a `Stream` breaks up what is a command to a workflow.
"""

from __future__ import annotations

import errno
import json
import os
import re
import signal
import sys
from contextlib import suppress
from typing import Any, TextIO

BROKEN_PIPE = 141  # as a shell reports who is ended by SIGPIPE
# GitHub obeys lines that begin with "::", after spaces, and "##[" anywhere; others, "##vso[" and "##teamcity["
COMMANDS = re.compile(r"^((?:[^\S\n]|\x1b\[[\d;]*m)*):(?=:)|#(?=#\w*\[)", re.MULTILINE)


class OutputError(Exception):
    """Standard output cannot be written to: the message gives the system's reason."""


class Stream:
    """A standard stream that writes what it can: characters that its encoding lacks are escaped.

    Raises SystemExit(141) where the reader has gone, as a tool that SIGPIPE ends, and OutputError where standard output
    cannot be written otherwise; standard error that cannot be written is given up.
    """

    def __init__(self, stream: TextIO | None, essential: bool) -> None:
        self._stream, self._essential, self._begins_line = stream, essential, True

    @property
    def encoding(self) -> str:
        """The encoding of what is written."""
        return getattr(self._stream, "encoding", None) or "utf-8"

    def write(self, text: str) -> int:
        """Write a text, in which commands to a workflow are broken up."""
        return self.write_raw(COMMANDS.sub(self._broken, text))

    def write_raw(self, text: str) -> int:
        """Write a text whose lines may be commands to a workflow."""
        if text:
            self._begins_line = text.endswith("\n")
            self._try("write", text.encode(self.encoding, "backslashreplace").decode(self.encoding))
        return len(text)

    def flush(self) -> None:
        """Hand over what is still in memory."""
        if self._stream is not None:
            self._try("flush")

    def isatty(self) -> bool:
        """Return whether this is a terminal."""
        return self._stream is not None and self._stream.isatty()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def _broken(self, match: re.Match[str]) -> str:
        """A command to a workflow, broken up, unless it only seems to begin a line."""
        if match.group() == "#":
            return "\\x23"
        return match.group() if match.start() == 0 and not self._begins_line else f"{match.group(1)}\\x3a"

    def _try(self, method: str, *arguments: str) -> None:
        try:
            if self._stream is None:
                raise OSError(errno.EBADF, os.strerror(errno.EBADF))
            getattr(self._stream, method)(*arguments)
        except OSError as error:
            self._give_up()
            if error.errno == errno.EPIPE:
                raise SystemExit(BROKEN_PIPE) from None
            if self._essential:
                raise OutputError(error.strerror) from None

    def _give_up(self) -> None:
        """Let what is still in memory go nowhere, so that the end of the process meets no error again."""
        with suppress(OSError, ValueError, AttributeError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.fileno())


def standard_output() -> Stream:
    """Return standard output, as it is now."""
    return _wrapped(sys.stdout, essential=True)


def standard_error() -> Stream:
    """Return standard error, as it is now."""
    return _wrapped(sys.stderr, essential=False)


def _wrapped(stream: Any, essential: bool) -> Stream:
    return stream if isinstance(stream, Stream) else Stream(stream, essential)


def guard_streams() -> None:
    """Have all that this process prints go through `Stream`; a pipe without a reader ends it, until a command runs.

    Where a standard file is closed, its number leads nowhere, so that no other file can take it.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # the lowest number that is free
    sys.stdout, sys.stderr = standard_output(), standard_error()  # type: ignore[assignment]
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)


def survive_pipes() -> None:
    """Let pipes and sockets without a reader raise errors again: those of a command may belong to anything."""
    with suppress(AttributeError, ValueError):  # Windows has no such signal, other threads may not set it
        if signal.getsignal(signal.SIGPIPE) is signal.SIG_DFL:
            signal.signal(signal.SIGPIPE, signal.SIG_IGN)


def escaped(text: str) -> str:
    """Return a text with all characters escaped that do not print, but for ends of lines: what a terminal obeys, what
    turns the direction of text, what splits lines elsewhere."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() or one == "\n" else repr(one)[1:-1] for one in text)


def json_text(value: Any, indent: int | None = None) -> str:
    """Return `value` as JSON whose characters print, and which holds no commands to a workflow.

    Characters that the standard output lacks are escaped too.
    """
    text = json.dumps(value, indent=indent, ensure_ascii=not standard_output().encoding.lower().startswith("utf"))
    text = re.sub(r"#(?=#\w*\[)", r"\\u0023", text)  # within a string, as all that follows
    return text if text.isprintable() else "".join(map(_json_character, text))


def _json_character(one: str) -> str:
    return one if one.isprintable() or one == "\n" else json.dumps(one)[1:-1]
