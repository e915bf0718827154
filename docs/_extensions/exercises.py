"""Notebooks to download: each tutorial with exercises and their solutions, written next to its page."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import nbformat
from nbformat import v4

FOLDER = Path(__file__).parents[1] / "tutorials"
CELL = re.compile(r"^```\{code-cell\} python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(!?)\[([^]]*)\]\((?!https?:)([^)]*)\)")
BUTTON = """
```{{raw}} html
<p><a class="notebook" href="{name}.ipynb" download>Notebook with {count} exercises</a></p>
```
"""


def exercises() -> dict[str, list[dict[str, str]]]:
    """Return the exercises of each tutorial: task and solution."""
    with (FOLDER / "exercises.toml").open("rb") as stream:
        return tomllib.load(stream)


def linked(text: str, address: str) -> str:
    """Return text of a page for a reader elsewhere: links lead to the site, and pictures are left out."""

    def link(found: re.Match[str]) -> str:
        picture, label, target = found.groups()
        page = urljoin("tutorials/", re.sub(r"\.md\b", ".html", target))
        return "" if picture else f"[{label}]({urljoin(address, page)})" if address else label

    return LINK.sub(link, text)


def cells(name: str, text: str, address: str = "") -> Iterator[Any]:
    """Yield the cells of a tutorial's notebook: the page's, the exercises with room for an answer, the solutions."""
    text = re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.DOTALL)
    for k, part in enumerate(CELL.split(text)):
        if k % 2:
            yield v4.new_code_cell(part.strip())
        elif part.strip():
            yield v4.new_markdown_cell(linked(part.strip(), address))
    for k, each in enumerate(exercises()[name], start=1):
        yield v4.new_markdown_cell(f"## Exercise {k}\n\n{each['task']}")
        yield v4.new_code_cell("")
    for k, each in enumerate(exercises()[name], start=1):
        yield v4.new_markdown_cell(f"## Solution {k}")
        yield v4.new_code_cell(each["solution"].strip(), metadata={"tags": ["solution"]})


def notebook(name: str, text: str, address: str = "") -> Any:
    """Return a tutorial's notebook; the numbers of its cells are the same each time."""
    found = list(cells(name, text, address))
    for k, cell in enumerate(found):
        cell["id"] = f"cell-{k}"
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return v4.new_notebook(cells=found, metadata={"kernelspec": kernel, "language_info": {"name": "python"}})


def offer(app: Any, docname: str, source: list[str]) -> None:
    """Add a button to a tutorial, below its first paragraph."""
    name = docname.removeprefix("tutorials/")
    if docname != name and name in exercises():
        button = BUTTON.format(name=name, count=len(exercises()[name]))
        source[0] = re.sub(r"^(# .*\n\n(?:.+\n)+)", lambda top: top[0] + button, source[0], count=1, flags=re.MULTILINE)


def write(app: Any, exception: Exception | None) -> None:
    """Write the notebooks next to the pages."""
    if exception is None and app.builder.format == "html":
        for name in exercises():
            text = (FOLDER / f"{name}.md").read_text(encoding="utf-8")
            nbformat.write(
                notebook(name, text, app.config.html_baseurl), Path(app.outdir, "tutorials", f"{name}.ipynb")
            )


def setup(app: Any) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("source-read", offer)
    app.connect("build-finished", write)
    return {"parallel_read_safe": True}
