"""Run the commands that pages show, and insert their output.

    python docs/regenerate.py               all of docs/results but timings, and the pages of findings and importers
    python docs/regenerate.py --timings     the timings of docs/results, which need an idle machine
    python docs/regenerate.py PAGE ...      all commands of these pages; contact_robots.md runs only by name: an hour

A shown command is the first line of a code block, after "$ ". It runs in a shell in the current directory, the root of
the sources. A block with a line "..." shows a part of its output and stays as it is. Below a block of docs/results the
program writes date, duration, versions and machine. The page is written after every command.
"""

from __future__ import annotations

import contextlib
import os
import platform
import re
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NamedTuple

import treesim

RESULTS = Path(__file__).parent / "results"
BLOCK = re.compile(
    r"^```text\n\$ (?P<command>.*)\n(?P<output>(?:.*\n)*?)```$(?P<record>\n\n\*Run on [^*]*\*$)?", re.MULTILINE
)
TIMING = re.compile(
    r"treesim (bench(?! accuracy| scaling --depth)|cost (?!--papers|--tree|.*--repeats 0))"
    r"|python (\S*measure|examples/17)"
)
PACKAGES = ("numpy", "llvmlite", "pin", "mujoco", "pybullet", "pin-pink")
PROGRAMS = {  # that write whole pages
    "findings.md": "python docs/write_findings.py",
    "readers.md": "python -m treesim_importers.page",
}
BY_NAME = ("contact_robots.md",)
NOISE = re.compile(r"^b3Warning\[.*\n.*\n", re.MULTILINE)  # what Bullet's library prints by itself
FINDING = re.compile(r"treesim (compare|check)\b")  # exit code 1 reports a difference, and not a failure


class Shown(NamedTuple):
    """A block of a page: its command, its output, and the line below it, or an empty text."""

    command: str
    output: str
    record: str

    @property
    def is_timing(self) -> bool:
        """Return whether the output depends on the speed of the machine."""
        return bool(TIMING.search(self.command))

    @property
    def is_part(self) -> bool:
        """Return whether the block leaves out lines of the output."""
        return "..." in self.output.splitlines()

    @property
    def seconds(self) -> float | None:
        """Return the duration of the last run, None if the page does not have it."""
        found = re.search(r"in ([\d.]+) s", self.record)
        return float(found[1]) if found else None


class Run(NamedTuple):
    """Output of a command, and how long it took [s]."""

    output: str
    seconds: float


def blocks(page: str) -> list[Shown]:
    """Return the commands that a page shows, with their output."""
    return [Shown(found["command"], found["output"], (found["record"] or "").strip()) for found in BLOCK.finditer(page)]


def replaced(page: str, command: str, output: str, record: str = "") -> str:
    """Return the page with new output of a command, and the line below it."""
    below = f"\n\n{record}" if record else ""

    def block(found: re.Match[str]) -> str:
        if found["command"] != command:
            return found[0]
        return f"```text\n$ {command}\n{output.rstrip()}\n```{below}"

    return BLOCK.sub(block, page)


def run(command: str) -> Run:
    """Return what a command prints on standard output, without spaces at the ends of lines.

    Raises
    ------
    subprocess.CalledProcessError
        If the command fails.
    """
    program = re.sub(r"^treesim\b", f"{sys.executable} -m treesim", command)  # of this Python, installed or not
    program = re.sub(r"^python\b", sys.executable, program)
    started = time.monotonic()
    ended = subprocess.run(program, shell=True, check=False, stdout=subprocess.PIPE, text=True)
    if ended.returncode not in ({0, 1} if FINDING.search(command) else {0}):
        raise subprocess.CalledProcessError(ended.returncode, command, ended.stdout)
    seconds = time.monotonic() - started
    return Run("\n".join(line.rstrip() for line in NOISE.sub("", ended.stdout).splitlines()), seconds)


def processor() -> str:
    """Return the name of the processor, or of its architecture where the system does not name it."""
    try:
        names = re.findall(r"^model name\s*: (.*)", Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.MULTILINE)
    except OSError:
        names = []
    return names[0] if names else platform.processor() or platform.machine()


def versions() -> str:
    """Return the versions of treesim, Python, and the engines that are installed."""
    found = [f"treesim {treesim.__version__}", f"Python {platform.python_version()}"]
    for package in PACKAGES:
        with contextlib.suppress(PackageNotFoundError):
            found.append(f"{package} {version(package)}")
    return ", ".join(found)


def record(seconds: float) -> str:
    """Return the line on date, duration, versions and machine of a run that just ended."""
    today = datetime.now(UTC).date()
    machine = f"{os.cpu_count()} cores of {processor()}, {platform.system()}"
    return f"*Run on {today} in {seconds:.3g} s: {versions()}; {machine}.*"


def regenerate(path: Path, chosen: Callable[[Shown], bool]) -> None:
    """Run the chosen commands of a page and insert their output, or write the page that a program prints."""
    if path.name in PROGRAMS:
        path.write_text(run(PROGRAMS[path.name]).output + "\n", encoding="utf-8")
    for block in blocks(path.read_text(encoding="utf-8")):
        if block.is_part or not chosen(block):
            continue
        print(f"{path.name}: $ {block.command}", file=sys.stderr, flush=True)
        output, seconds = run(block.command)
        print(f"{path.name}: {seconds:.3g} s", file=sys.stderr, flush=True)
        below = record(seconds) if path.parent.resolve() == RESULTS.resolve() else ""
        page = replaced(path.read_text(encoding="utf-8"), block.command, output, below)
        path.write_text(page, encoding="utf-8")


def main(arguments: list[str]) -> None:
    """Regenerate the pages that the arguments name."""
    timings = "--timings" in arguments
    named = [Path(argument) for argument in arguments if not argument.startswith("-")]
    written = [] if timings else [RESULTS.parent / page for page in PROGRAMS]
    results = [page for page in sorted(RESULTS.glob("*.md")) if page.name not in BY_NAME]
    for path in named or [*written, *results]:
        regenerate(path, lambda block: bool(named) or block.is_timing == timings)
    run(f"python {RESULTS / 'figures.py'}")  # from the numbers on the pages


if __name__ == "__main__":
    main(sys.argv[1:])
