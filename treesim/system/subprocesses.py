"""Child processes in Python: isolated from the working directory, with a description of how they end.

Every Python process that treesim starts is started here. It runs with `-I`: it imports nothing from the working
directory and reads no `PYTHON*` variable. Its `sys.path` is the parent's with the standard library first. So it finds
the modules that the parent finds, but a file `random.py` next to a user's script cannot replace Python's own. An empty
or relative entry, as a prompt and a notebook have one, stands for the working directory of the moment, which may be a
folder of downloaded files. A child gets instead the folders from which the parent has imported modules, after all
others. Some libraries start Python processes themselves, such as glfw during import; PYTHONSAFEPATH isolates these,
too. Other programs are looked up by `program_path`, never in the working directory.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from multiprocessing import Pipe, connection
from typing import IO, Any, NamedTuple

# return codes of processes that Windows ended: NTSTATUS of severity "error"
EXCEPTIONS = 0xC0000000
WINDOWS_EXCEPTIONS = {
    0xC0000005: "access violation", 0xC000001D: "illegal instruction", 0xC00000FD: "stack overflow",
    0xC0000374: "heap corruption", 0xC000013A: "Ctrl-C", 0xC0000409: "abort",
}  # fmt: skip
# an end of a pipe between processes: of a socket, or of Windows' named pipe
PipeEnd: Any = getattr(connection, "PipeConnection", connection.Connection)
STANDARD_ZIP = re.compile(r"python\d+\.zip")


def import_path() -> list[str]:
    """Return `sys.path` of a child: the standard library, the parent's other absolute entries, folders of its modules.

    The last are those of modules that the parent has imported, if its `sys.path` has a relative entry.
    """
    entries = [entry for entry in sys.path if isinstance(entry, str)]
    absolute = [os.path.abspath(entry) for entry in entries if os.path.isabs(entry)]
    absolute.sort(key=lambda entry: not _is_standard(entry))  # a stable sort
    imported = [] if len(absolute) == len(entries) else _folders_of_modules()
    return list(dict.fromkeys([*absolute, *imported]))


def _folders_of_modules() -> Iterator[str]:
    """Yield the folders where the search for each imported module ended, some of them repeatedly."""
    for name, module in [*sys.modules.items()]:
        file = getattr(module, "__file__", None)
        if name == "__main__" or not isinstance(file, str) or not os.path.isabs(file):
            continue
        folder, own = os.path.split(file)
        above = name.split(".")[1:] + ["__init__"] * own.startswith("__init__.")
        for _ in above:
            folder = os.path.dirname(folder)
        yield folder


def _is_standard(entry: str) -> bool:
    """Return whether an entry of `sys.path` contains the standard library."""
    libraries = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib")} | {os.path.dirname(os.__file__)}
    folder, name = os.path.split(entry)
    return entry in libraries or (name == "lib-dynload" and folder in libraries) or bool(STANDARD_ZIP.fullmatch(name))


def safe_environment() -> dict[str, str]:
    """Return environment variables for processes in which libraries may start Python without `-I`.

    Such Pythons then do not import from the working directory, not even by an empty or relative entry in PYTHONPATH.
    """
    entries = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return {"PYTHONSAFEPATH": "1", "PYTHONPATH": os.pathsep.join(filter(os.path.isabs, entries))}


def program_path(name: str, installed: bool = False) -> str | None:
    """Return the path of an installed program, None if there is none; relative entries of PATH are passed over.

    installed: whether to look first in the folder of this Python, where pip installs programs.
    """
    own = [os.path.dirname(sys.executable)] if installed and can_start_python() else []
    for folder in filter(os.path.isabs, [*own, *os.environ.get("PATH", os.defpath).split(os.pathsep)]):
        found = shutil.which(name, path=folder)
        if found is not None and os.path.isabs(found):  # Windows looks in the working directory, too
            return found
    return None


def can_start_python() -> bool:
    """Return whether `sys.executable` is a Python interpreter; in a frozen program it is that program."""
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


class Ending(NamedTuple):
    """How a process ended.

    signal: name of the signal, or of Windows' exception, that killed it, or "". status: exit status. last_line: last
    line of its standard error. errors: all of it.
    """

    signal: str
    status: int
    last_line: str
    errors: str = ""

    def __str__(self) -> str:
        return self.signal or f"status {self.status} ({self.last_line})"


def ending(status: int, errors: str) -> Ending:
    """Return how a process ended, from its return code `status` and its standard error `errors`."""
    lines = errors.strip().splitlines() or ["no message"]
    name = ""
    if status < 0:
        try:
            name = signal.Signals(-status).name
        except ValueError:  # real-time signals have no name in Python
            name = f"signal {-status}"
    elif status >= EXCEPTIONS:
        name = WINDOWS_EXCEPTIONS.get(status, f"exception 0x{status:08X}")
    return Ending(name, status, lines[-1], errors)


class ProcessFailure(Exception):
    """A child process ended during a job, or exceeded the timeout; the message has no subject."""


def _inherited(descriptor: int) -> dict[str, Any]:
    """Return Popen's arguments by which a child inherits a descriptor, on Windows a handle, and no others."""
    if sys.platform != "win32":
        return {"pass_fds": (descriptor,)}
    os.set_handle_inheritable(descriptor, True)
    return {"startupinfo": subprocess.STARTUPINFO(lpAttributeList={"handle_list": [descriptor]})}


class PythonProcess:
    """A child process that runs a program of treesim, with a socket to it.

    command: from `module_command` or `file_command`; the descriptor of the child's end of the socket is appended as
    last argument. environment: variables that differ from the parent's. Raises OSError if no process can be started.
    """

    def __init__(self, command: list[str], environment: dict[str, str] | None = None) -> None:
        self.connection, theirs = Pipe()
        self._errors: IO[str] = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115 # closed by `close`
        try:
            self._process = subprocess.Popen(
                [*command, str(theirs.fileno())], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                stderr=self._errors, env={**os.environ, **safe_environment(), **(environment or {})},
                **_inherited(theirs.fileno()),
            )  # fmt: skip
        except OSError:
            self.connection.close()
            self._errors.close()
            raise
        finally:
            theirs.close()

    @property
    def returncode(self) -> int | None:
        """Return code of the child, None while it runs."""
        return self._process.poll()

    def ending(self) -> Ending:
        """Wait for the end of the process, and return how it ended."""
        status = self._process.wait()
        self._errors.seek(0)
        return ending(status, self._errors.read())

    def ask(self, job: Any, timeout: float, about: str) -> Any:
        """Send a job to a program that uses `serve`, and return its result; about: name of the job in messages.

        Raises ProcessFailure if the process ends during the job, or takes longer than `timeout` [s]; then call `close`.
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
        """Kill the process; then call `close`. May be called from any thread."""
        self._process.kill()

    def close(self) -> None:
        """Kill the process if it still runs, and release its resources."""
        self._process.kill()
        self._process.wait()
        self.connection.close()
        self._errors.close()


def serve(descriptor: str, answer: Callable[[Any], Any], ready: Any = None, idle: float | None = None) -> None:
    """Answer jobs from the parent's socket one after the other until it is closed; ignores Ctrl-C.

    ready: sent first, if it is not None. idle [s]: time without a job after which the program ends.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with PipeEnd(int(descriptor)) as end, suppress(EOFError, BrokenPipeError):
        if ready is not None:
            end.send(ready)
        while end.poll(idle):
            end.send(answer(end.recv()))


class Finished(NamedTuple):
    """Result of a process: its standard output, and in `failed` how it ended if not with status 0, else None."""

    output: str
    failed: Ending | None


def run(
    command: list[str],
    input: str = "",
    timeout: float | None = None,
    environment: dict[str, str] | None = None,
    encoding: str | None = None,
) -> Finished:
    """Run a command of this module, or a program, to its end.

    timeout [s]: after it the process is killed, and subprocess.TimeoutExpired is raised. environment: variables that
    differ from the parent's. encoding: of input and output, by default the system's.
    """
    done = subprocess.run(
        command, input=input, capture_output=True, text=True, encoding=encoding, errors="replace", timeout=timeout,
        check=False, env={**os.environ, **safe_environment(), **(environment or {})},
    )  # fmt: skip
    return Finished(done.stdout, ending(done.returncode, done.stderr) if done.returncode else None)
