"""Section of `treesim check` on other programs: the rules that apply to the file."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from treesim.errors import TreesimError, named

from .reading import examine

REFUSED = "bold red"


def report(source: str, console: Console) -> None:
    """Print one line for each program with the rules that apply to the file; nothing for an unreadable file."""
    try:
        found = examine(source)
    except TreesimError:
        return
    console.print("\nother programs", style="bold")
    for each in found:
        codes = " ".join(reading.rule.code for reading in each.readings)
        refusal = ("refuses the file: ", REFUSED) if each.refused else ""
        line = Text.assemble(f"  {each.reader.title}: ", refusal, codes or "no rule applies")
        console.print(line, soft_wrap=True)
    console.print(f"  `treesim readers {named(source)}` lists what, where, and the fix", soft_wrap=True)
