"""llms.txt: the list of all pages for programs that read the site, each with its first sentence (llmstxt.org)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from docutils import nodes


def first_sentence(doctree: nodes.document) -> str:
    """Return the first sentence of a page, on one line; empty if the page has no text."""
    paragraph = next(doctree.findall(nodes.paragraph), None)
    text = " ".join(paragraph.astext().split()) if paragraph else ""
    return re.split(r"(?<=[.!?])\s+(?=[A-Z`])", text)[0]


def below(app: Any, page: str) -> Iterator[str]:
    """Yield a page and all pages of the tables of contents in it, in their order."""
    yield page
    for child in app.env.toctree_includes.get(page, []):
        yield from below(app, child)


def line(app: Any, page: str) -> str:
    """Return the entry of a page: title, address, first sentence."""
    address = urljoin(app.config.html_baseurl, app.builder.get_target_uri(page))
    return f"- [{app.env.titles[page].astext()}]({address}): {first_sentence(app.env.get_doctree(page))}"


def listing(app: Any) -> str:
    """Return the text of llms.txt, with a section for each entry of the first page's table of contents."""
    root = app.config.root_doc
    parts = [f"# {app.config.project}", f"> {first_sentence(app.env.get_doctree(root))}"]
    for page in app.env.toctree_includes[root]:
        parts.append(f"## {app.env.titles[page].astext()}")
        parts.append("\n".join(line(app, name) for name in below(app, page)))
    return "\n\n".join(parts) + "\n"


def write(app: Any, exception: Exception | None) -> None:
    """Write the list next to the pages."""
    if exception is None and app.builder.format == "html":
        Path(app.outdir, "llms.txt").write_text(listing(app), encoding="utf-8")


def setup(app: Any) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("build-finished", write)
    return {"parallel_read_safe": True}
