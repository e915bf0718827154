"""Section of `treesim check` on other programs: the rules that apply to the file."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from treesim.errors import named
from treesim.urdf.document import Document

from .reading import examine

REFUSED = "bold red"


def report(name: str, document: Document, console: Console) -> None:
    """Print one line for each program with the rules that apply to a document; name: on the command line."""
    console.print("\nother programs", style="bold")
    for each in examine(document):
        codes = " ".join(reading.rule.code for reading in each.readings)
        refusal = ("refuses the file: ", REFUSED) if each.refused else ""
        line = Text.assemble(f"  {each.reader.title}: ", refusal, codes or "no rule applies")
        console.print(line, soft_wrap=True)
    console.print(f"  `treesim readers {named(name)}` lists what, where, and the fix", soft_wrap=True)
