"""Child processes in Python: isolated from the working directory, and described when they end.

Every Python process that treesim starts is started here. It runs with `-I`, so it imports nothing from the working
directory and reads no `PYTHON*` variable. Its `sys.path` is the parent's with the standard library first: it finds the
modules that the parent finds, and a file `random.py` beside a user's script cannot replace Python's own. Libraries
start Pythons of their own, as glfw does when it is imported: PYTHONSAFEPATH keeps these off the working directory, too.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import IO, Any, NamedTuple

STANDARD_ZIP = re.compile(r"python\d+\.zip")


def import_path() -> list[str]:
    """Return the parent's `sys.path` for a child: the standard library first, then the other entries in their order."""
    entries = [os.path.abspath(entry) for entry in sys.path if isinstance(entry, str)]
    return sorted(dict.fromkeys(entries), key=lambda entry: not _is_standard(entry))  # sorting keeps the order


def _is_standard(entry: str) -> bool:
    """Whether an entry of `sys.path` holds the standard library."""
    libraries = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib")} | {os.path.dirname(os.__file__)}
    folder, name = os.path.split(entry)
    return entry in libraries or (name == "lib-dynload" and folder in libraries) or bool(STANDARD_ZIP.fullmatch(name))


def safe_environment() -> dict[str, str]:
    """Return variables for processes in which libraries may start Pythons without `-I`: these do not look for modules
    in the working directory, which an empty entry of PYTHONPATH, as of "folder:", stands for."""
    entries = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return {"PYTHONSAFEPATH": "1", "PYTHONPATH": os.pathsep.join(filter(None, entries))}


def can_start_python() -> bool:
    """Return whether `sys.executable` is a Python interpreter: in a frozen program it is that program."""
    return bool(sys.executable) and not getattr(sys, "frozen", False)


def python_command(code: str, *arguments: str) -> list[str]:
    """Return the command line that runs `code` in an isolated interpreter; `sys.argv[1:]` are the arguments."""
    return [sys.executable, "-I", "-c", f"import sys; sys.path[:] = {import_path()!r}\n{code}", *arguments]


def module_command(module: str, *arguments: str) -> list[str]:
    """Return the command line that runs a module as `python -m` does, in an isolated interpreter."""
    return python_command(f"import runpy; runpy.run_module({module!r}, None, '__main__', True)", *arguments)


def file_command(path: str | os.PathLike[str], *arguments: str) -> list[str]:
    """Return the command line that runs a file as a program, in an isolated interpreter."""
    return python_command(f"import runpy; runpy.run_path({os.fspath(path)!r}, run_name='__main__')", *arguments)


def package_command(path: str | os.PathLike[str], *arguments: str) -> list[str]:
    """Return the command line that runs a file as `file_command` does, whose relative imports find the files beside it,
    while the packages above it are not imported."""
    folder, name = os.path.split(os.fspath(path))
    package = f"import types; beside = types.ModuleType('beside'); beside.__path__ = [{folder!r}]"
    run = f"import runpy; runpy.run_module('beside.{name.removesuffix('.py')}', None, '__main__', True)"
    return python_command(f"{package}; sys.modules['beside'] = beside; {run}", *arguments)


class Ending(NamedTuple):
    """How a process ended: the name of the signal that killed it, or "" and its exit status; the last line of its
    standard error."""

    signal: str
    status: int
    last_line: str

    def __str__(self) -> str:
        return self.signal or f"status {self.status} ({self.last_line})"


def ending(status: int, errors: str) -> Ending:
    """Return how a process ended whose return code is `status`; errors: its standard error."""
    lines = errors.strip().splitlines() or ["no message"]
    name = ""
    if status < 0:
        try:
            name = signal.Signals(-status).name
        except ValueError:  # real-time signals have no name in Python
            name = f"signal {-status}"
    return Ending(name, status, lines[-1])


class ProcessFailure(Exception):
    """A child process ended over a job, or did not answer in time; the message lacks its subject, the process."""


class PythonProcess:
    """A child process that runs a program of treesim's, and the socket to it.

    command: from `module_command` or `file_command`; the descriptor of the child's end of the socket follows as its
    last argument.     environment: variables that differ from the parent's.

    Raises OSError where no process can be started.
    """

    def __init__(self, command: list[str], environment: dict[str, str] | None = None) -> None:
        self.connection, theirs = Pipe()
        self._errors: IO[str] = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115 # closed by `close`
        try:
            self._process = subprocess.Popen(
                [*command, str(theirs.fileno())], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                stderr=self._errors, pass_fds=(theirs.fileno(),),
                env={**os.environ, **safe_environment(), **(environment or {})},
            )  # fmt: skip
        except OSError:
            self.connection.close()
            self._errors.close()
            raise
        finally:
            theirs.close()

    @property
    def returncode(self) -> int | None:
        """The child's return code, None while it runs."""
        return self._process.poll()

    def ending(self) -> Ending:
        """Wait until the process has ended and return how."""
        status = self._process.wait()
        self._errors.seek(0)
        return ending(status, self._errors.read())

    def ask(self, job: Any, timeout: float, about: str) -> Any:
        """Return the answer of a program that uses `serve`; about: the job, in messages.

        Raises ProcessFailure when the process ends over the job, or takes longer than timeout [s]; `close` must follow.
        """
        try:
            self.connection.send(job)
            if not self.connection.poll(timeout):
                raise ProcessFailure(f"did not finish {about} in {timeout:g} s")
            return self.connection.recv()
        except (EOFError, ConnectionError):
            found = self.ending()
            how = f"crashed ({found})" if found.signal else f"ended its process with {found}"
            raise ProcessFailure(f"{how} on {about}") from None

    def kill(self) -> None:
        """Kill the process; `close` must follow. May be called from any thread."""
        self._process.kill()

    def close(self) -> None:
        """Kill the process if it still runs, and free what belongs to it."""
        self._process.kill()
        self._process.wait()
        self.connection.close()
        self._errors.close()


def serve(descriptor: str, answer: Callable[[Any], Any]) -> None:
    """Answer what the parent sends over its socket, one after the other, until it closes its end. Ctrl-C is left to the
    parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with Connection(int(descriptor)) as connection, suppress(EOFError):
        while True:
            connection.send(answer(connection.recv()))


class Finished(NamedTuple):
    """Standard output of a process that ended with status 0, or how it ended otherwise; `failed` is None for the
    first."""

    output: str
    failed: Ending | None


def run(
    command: list[str], input: str = "", timeout: float | None = None, environment: dict[str, str] | None = None
) -> Finished:
    """Run a command of this module to its end.

    timeout [s]: after it the process is killed, and subprocess.TimeoutExpired raised. environment: variables that
    differ from the parent's.
    """
    done = subprocess.run(
        command, input=input, capture_output=True, text=True, errors="replace", timeout=timeout, check=False,
        env={**os.environ, **safe_environment(), **(environment or {})},
    )  # fmt: skip
    return Finished(done.stdout, ending(done.returncode, done.stderr) if done.returncode else None)
