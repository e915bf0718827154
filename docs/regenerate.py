"""Run every command that a page shows and put what it prints below it: python docs/regenerate.py docs/cost.md ...

A shown command is the first line of a code block, after "$ ". It runs in a shell in the current directory.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

BLOCK = re.compile(r"^```text\n\$ (?P<command>.*)\n(?:.*\n)*?```$", re.MULTILINE)


def commands(page: str) -> list[str]:
    """Return the commands that a page shows."""
    return [found["command"] for found in BLOCK.finditer(page)]


def regenerated(page: str, run: Callable[[str], str]) -> str:
    """Return the page with the output of each command replaced by what `run` returns for it."""
    return BLOCK.sub(lambda found: f"```text\n$ {found['command']}\n{run(found['command']).rstrip()}\n```", page)


def printed(command: str) -> str:
    """Return what a command prints on standard output, without spaces at the ends of lines; raises if it fails."""
    print(f"$ {command}", file=sys.stderr, flush=True)
    program = command.replace("treesim", f"{sys.executable} -m treesim", 1)  # of this Python, installed or not
    text = subprocess.run(program, shell=True, check=True, stdout=subprocess.PIPE, text=True).stdout
    return "\n".join(line.rstrip() for line in text.splitlines())


if __name__ == "__main__":
    for path in map(Path, sys.argv[1:]):
        path.write_text(regenerated(path.read_text(encoding="utf-8"), printed), encoding="utf-8")
