"""Standard output and standard error of commands, safe for any text and any stream.

Text from files, such as a robot's name, is printed to terminals and read by programs; continuous
integration executes some lines as commands. Therefore no text is written raw: `escaped` handles terminal
control characters, `errors.named` names, and a `Stream` breaks up workflow commands.
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

CLOSED = {"win32": (errno.EPIPE, errno.EINVAL)}  # errors of writing to a pipe that nobody reads, where there are others
BROKEN_PIPE = 141  # as a shell reports who is ended by SIGPIPE
# GitHub obeys lines that begin with "::", after spaces, and "##[" anywhere; others, "##vso[" and "##teamcity["
COMMANDS = re.compile(r"^((?:[^\S\n]|\x1b\[[\d;]*m)*):(?=:)|#(?=#\w*\[)", re.MULTILINE)


class OutputError(Exception):
    """Raised if standard output cannot be written to; the message contains the system's reason."""


class Stream:
    """Standard stream that escapes characters missing in its encoding.

    Raises SystemExit(141) if the reader of a pipe is gone, like a program ended by SIGPIPE. Raises OutputError
    if standard output cannot be written for another reason; errors of standard error are ignored.
    """

    def __init__(self, stream: TextIO | None, essential: bool) -> None:
        self._stream, self._essential, self._begins_line = stream, essential, True

    @property
    def encoding(self) -> str:
        """Encoding of the stream."""
        return getattr(self._stream, "encoding", None) or "utf-8"

    def write(self, text: str) -> int:
        """Write a text, with workflow commands broken up."""
        return self.write_raw(COMMANDS.sub(self._broken, text))

    def write_raw(self, text: str) -> int:
        """Write a text that may contain workflow commands."""
        if text:
            self._begins_line = text.endswith("\n")
            self._try("write", text.encode(self.encoding, "backslashreplace").decode(self.encoding))
        return len(text)

    def flush(self) -> None:
        """Flush the buffer."""
        if self._stream is not None:
            self._try("flush")

    def isatty(self) -> bool:
        """Return whether this is a terminal."""
        return self._stream is not None and self._stream.isatty()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def _broken(self, match: re.Match[str]) -> str:
        """Return a matched workflow command broken up, unless it does not begin a line."""
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
            if error.errno in CLOSED.get(sys.platform, (errno.EPIPE,)):
                raise SystemExit(BROKEN_PIPE) from None
            if self._essential:
                raise OutputError(error.strerror) from None

    def _give_up(self) -> None:
        """Discard the buffer, so that the end of the process raises no further error."""
        with suppress(OSError, ValueError, AttributeError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.fileno())


def standard_output() -> Stream:
    """Return the current standard output."""
    return _wrapped(sys.stdout, essential=True)


def standard_error() -> Stream:
    """Return the current standard error."""
    return _wrapped(sys.stderr, essential=False)


def _wrapped(stream: Any, essential: bool) -> Stream:
    return stream if isinstance(stream, Stream) else Stream(stream, essential)


def guard_streams() -> None:
    """Route all prints of this process through `Stream`; until a command runs, SIGPIPE ends the process.

    A closed standard file is opened on the null device, so that no other file gets its number.
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
    """Ignore SIGPIPE, so that broken pipes and sockets of commands raise errors again."""
    with suppress(AttributeError, ValueError):  # Windows has no such signal, other threads may not set it
        if signal.getsignal(signal.SIGPIPE) is signal.SIG_DFL:
            signal.signal(signal.SIGPIPE, signal.SIG_IGN)


def escaped(text: str) -> str:
    """Return a text with all unprintable characters except line ends escaped.

    These include terminal control sequences, bidirectional controls, and other line separators.
    """
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() or one == "\n" else repr(one)[1:-1] for one in text)


def json_text(value: Any, indent: int | None = None) -> str:
    """Return `value` as JSON with printable characters only and without workflow commands.

    Characters missing in the encoding of standard output are escaped too.
    """
    text = json.dumps(value, indent=indent, ensure_ascii=not standard_output().encoding.lower().startswith("utf"))
    text = re.sub(r"#(?=#\w*\[)", r"\\u0023", text)  # within a string, as all that follows
    return text if text.isprintable() else "".join(map(_json_character, text))


def _json_character(one: str) -> str:
    return one if one.isprintable() or one == "\n" else json.dumps(one)[1:-1]
