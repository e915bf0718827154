"""Ctrl-C at any moment of the program: exit code 130, and no traceback."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from treesim.engine.call.defer_interrupt import ctrl_c_later
from treesim.system import interrupts

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for one process")

# Python runs it before all else: Ctrl-C is pressed when the module of that name is looked for
PRESSES = """
import os, signal, sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == os.environ.get("PRESS_AT"):
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder())
"""
MOMENTS = (
    "numpy",
    "treesim.dynamics.compiled.bound",
    "treesim.cli",
    "typer",
    "treesim.cli.view",
    "treesim.simulation.simulation",
    "lxml.etree",
)
RUNNING = ("treesim.cli.simulation_options", "treesim.cli.summary", "llvmlite.binding", "rich.table")


def pressed_at(moment: str, folder: Path, robot: str) -> subprocess.CompletedProcess[str]:
    (folder / "sitecustomize.py").write_text(PRESSES)
    path = os.pathsep.join([str(folder), os.environ["PYTHONPATH"]])
    environment = {**os.environ, "PYTHONPATH": path, "PRESS_AT": moment, "TREESIM_CACHE_DIR": str(folder / "cold")}
    command = [sys.executable, "-m", "treesim", "simulate", robot, "--duration", "0.01"]
    return subprocess.run(command, capture_output=True, text=True, env=environment)


# one before the program's own code, one while it is imported, and one while it reads, compiles and prints each
OFTEN = ("numpy", "treesim.cli", "llvmlite.binding")
EVERY = [x if x in OFTEN else pytest.param(x, marks=pytest.mark.slow) for x in (*MOMENTS, *RUNNING)]


@pytest.mark.parametrize("moment", EVERY)
def test_ctrl_c_ends_the_program_without_a_traceback(moment: str, tmp_path: Path, robot: str) -> None:
    ended = pressed_at(moment, tmp_path, robot)
    assert ended.returncode == 130, ended.stderr
    assert "Traceback" not in ended.stderr and "KeyboardInterrupt" not in ended.stderr


@pytest.mark.parametrize(
    ("program", "arguments", "answer"),
    [
        ("-m", ["python", "-m", "treesim", "info", "x"], True),
        ("-m", ["python", "-X", "dev", "-m", "treesim"], True),
        ("-m", ["python", "-m", "pytest", "-m", "treesim"], False),
        ("-m", ["python", "-m"], False),
        ("/usr/bin/treesim", ["python", "/usr/bin/treesim", "info"], True),
        ("treesim.exe", ["python.exe", "treesim.exe"], True),
        ("-c", ["python", "-c", "import treesim"], False),
        ("my_program.py", ["python", "my_program.py", "-m", "treesim"], False),
        ("", ["python"], False),
    ],
)
def test_only_the_program_itself_is_ended(program: str, arguments: list[str], answer: bool) -> None:
    assert interrupts.is_program(program, arguments) is answer


def test_a_handler_that_is_there_stays() -> None:
    def own(number: int, frame: object) -> None:
        pytest.fail("it was called")

    before = signal.signal(signal.SIGINT, own)
    try:
        for change in (interrupts.end_on_ctrl_c, interrupts.obey_ctrl_c, interrupts.leave_ctrl_c_to_the_system):
            change()
            assert signal.getsignal(signal.SIGINT) is own
    finally:
        signal.signal(signal.SIGINT, before)


def test_ctrl_c_is_obeyed_again() -> None:
    before = signal.getsignal(signal.SIGINT)
    interrupts.end_on_ctrl_c()
    assert signal.getsignal(signal.SIGINT) is not before
    interrupts.obey_ctrl_c()
    assert signal.getsignal(signal.SIGINT) is before


@pytest.fixture
def default_signals(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Handlers as in a new process; they are restored."""
    monkeypatch.setattr(interrupts, "_received", signal.SIGINT)
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = [signal.getsignal(number) for number in numbers]
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in numbers[1:]:
        signal.signal(number, signal.SIG_DFL)
    yield
    for number, handler in zip(numbers, before, strict=True):
        signal.signal(number, handler)


@pytest.mark.usefixtures("default_signals")
@pytest.mark.parametrize(("name", "code"), [("SIGTERM", 143), ("SIGHUP", 129), ("SIGINT", 130)])
def test_other_ends_interrupt_as_ctrl_c_does(name: str, code: int) -> None:
    interrupts.obey_other_ends()
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(getattr(signal, name))
    assert interrupts.exit_code() == code
    interrupts.leave_ctrl_c_to_the_system()
    assert signal.getsignal(getattr(signal, name)) is signal.SIG_DFL


@pytest.mark.usefixtures("default_signals")
def test_other_ends_wait_as_ctrl_c_does_while_a_kernel_is_compiled() -> None:
    interrupts.obey_other_ends()
    passed = []
    with pytest.raises(KeyboardInterrupt), ctrl_c_later():
        signal.raise_signal(signal.SIGTERM)
        passed.append("the compilation")
    assert passed


@pytest.mark.usefixtures("default_signals")
@pytest.mark.parametrize("handler", [signal.SIG_IGN, signal.SIG_DFL])
def test_sigterm_ends_a_command_in_the_background(handler: signal.Handlers) -> None:
    """For which the shell has Ctrl-C ignored."""
    signal.signal(signal.SIGINT, handler)
    interrupts.obey_other_ends()
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGTERM)


@pytest.mark.usefixtures("default_signals")
def test_a_signal_that_is_ignored_stays_so() -> None:
    """As after nohup."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    interrupts.obey_other_ends()
    interrupts.leave_ctrl_c_to_the_system()
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
