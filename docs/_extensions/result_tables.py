"""Tables of the pages of results: the boxes that commands draw become tables of HTML, long ones behind a title.

So do columns of text below a heading. The pages keep the output of commands as text, which `docs/regenerate.py` writes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape
from typing import Any, NamedTuple

from docutils import nodes

LONG = 40  # rows, above which a table opens by a click
OPEN = 1600  # words of outputs on a page, after which further ones open by a click
NUMERALS = set("0123456789+-–")
NUMBER = re.compile(r"[-+]?[\d.,]+(e[-+]?\d+)?( ?(%|x|us|ns|ms|s|MB|kB|m|J))?|[-–]|")


class Table(NamedTuple):
    """A table of text: its heading cells, and its rows in groups between which lines were drawn."""

    heading: list[str]
    groups: list[list[list[str]]]


def cells(line: str) -> list[str]:
    """Return the cells of a line between the bars of a box, with the spaces around them but one on each side."""
    return [cell[1:-1] for cell in re.split("[│┃]", line)[1:-1]]


def continues(row: list[str], line: list[str]) -> bool:
    """Return whether a line only holds words that did not fit into the cells of the row above it."""
    filled = [k for k, cell in enumerate(line) if cell.strip()]
    if not filled or all(line[k].strip() or not row[k].strip() for k in range(len(line)) if row[k].strip()):
        return False
    if any(line[k].strip() == row[k].strip() for k in filled):
        return False  # a value of the row below, not a word that is repeated

    def wrapped(k: int) -> bool:
        last = row[k].split("\n")[-1].rstrip()
        numbers = all(text.lstrip()[:1] in NUMERALS for text in (row[k], line[k]))  # which are not broken
        return bool(last) and not numbers and len(last) + 1 + len(line[k].split()[0]) > len(line[k])

    return all(map(wrapped, filled))


def unwrapped(cell: str, width: int) -> str:
    """Return the text of a cell whose lines had a width: longer words were cut, others moved down."""
    text, before = "", ""
    for line in map(str.strip, cell.split("\n")):
        word = text.rsplit(" ", 1)[-1] + line.split(" ", 1)[0]
        cut = len(before) == width and not before.endswith(",") and len(word) > width
        text = f"{text}{line}" if not text or cut else f"{text} {line}"
        before = line
    return text.strip()


def joined(lines: list[list[str]]) -> list[list[str]]:
    """Return the rows of a group, each with the lines that continue it."""
    rows: list[list[str]] = []
    for line in lines:
        if rows and continues(rows[-1], line):
            rows[-1] = [f"{a}\n{b}" if b.strip() else a for a, b in zip(rows[-1], line, strict=True)]
        else:
            rows.append(line)
    widths = [len(cell) for cell in lines[0]]
    return [[unwrapped(cell, width) for cell, width in zip(row, widths, strict=True)] for row in rows]


def parsed(lines: list[str]) -> Table:
    """Return the table that a box of text holds; lines: from its upper edge to its lower one."""
    heading = [cells(line) for line in lines if line.startswith("┃")]
    widths = [len(cell) for cell in heading[0]]
    columns = ["\n".join(line[k] for line in heading).strip() for k in range(len(widths))]
    groups: list[list[list[str]]] = [[]]
    for line in lines:
        if line.startswith("├"):
            groups.append([])
        elif line.startswith("│"):
            groups[-1].append(cells(line))
    rows = [joined(group) for group in groups if group]
    return Table([unwrapped(cell, width) for cell, width in zip(columns, widths, strict=True)], rows)


def aligned(lines: list[str]) -> tuple[list[str], Table, list[str]] | None:
    """Return the lines before a table of aligned columns below a heading, the table, and the lines after it.

    Columns are two spaces apart. The heading of the first column may be empty.
    """
    split = [re.split(r" {2,}", line.strip()) for line in lines]
    for k, heading in enumerate(split):
        width = len(heading) + lines[k].startswith("  ")
        fits = [len(row) == width for row in split[k + 1 :]]
        rows = split[k + 1 :][: [*fits, False].index(False)]
        if len(heading) > 1 and width > 2 and len(rows) > 2 and not any(map(NUMBER.fullmatch, heading)):
            table = Table([""] * (width - len(heading)) + heading, [[row] for row in rows])
            return lines[:k], table, lines[k + 1 + len(rows) :]
    return None


def parts(text: str) -> Iterator[tuple[str, Any]]:
    """Yield the parts of an output: ("command", line), ("text", lines) and ("table", Table), in their order."""
    lines, plain = iter(text.splitlines()), list[str]()
    for line in lines:
        if line.startswith("┏"):
            yield from columns(plain)
            plain, box = [], [line]
            for inner in lines:
                box.append(inner)
                if inner.startswith("└"):
                    break
            yield "table", parsed(box)
        elif line.startswith("$ "):
            yield from columns(plain)
            plain = []
            yield "command", line
        else:
            plain.append(line)
    yield from columns(plain)


def columns(lines: list[str]) -> Iterator[tuple[str, Any]]:
    """Yield ("text", lines) and ("table", Table) of lines without boxes."""
    while found := aligned(lines):
        before, table, lines = found
        yield "text", before
        yield "table", table
    yield "text", lines


def table_node(table: Table) -> nodes.table:
    """Return the node of a table, with numbers on the right."""
    width = len(table.heading)
    every = [row for group in table.groups for row in group]
    numeric = [all(NUMBER.fullmatch(row[k]) for row in every) for k in range(width)]

    def row_of(texts: list[str], first: bool = False) -> nodes.row:
        entries = []
        for text, right in zip(texts, numeric, strict=True):
            entry = nodes.entry("", nodes.paragraph(text, text), classes=["text-end"] if right else [])
            entries.append(entry)
        return nodes.row("", *entries, classes=["group"] if first else [])

    body = nodes.tbody("", *(row_of(row, k == 0) for group in table.groups for k, row in enumerate(group)))
    specs = [nodes.colspec(colwidth=1) for _ in range(width)]
    group = nodes.tgroup("", *specs, nodes.thead("", row_of(table.heading)), body, cols=width)
    return nodes.table("", group, classes=["result"])


def folded(node: nodes.Node, label: str) -> list[nodes.Node]:
    """Return the nodes of something that opens by a click on its label."""
    opening, closing = f"<details><summary>{escape(label)}</summary>", "</details>"
    return [nodes.raw("", opening, format="html"), node, nodes.raw("", closing, format="html")]


def title_lines(above: list[str]) -> int:
    """Return how many of the lines above a table are its title: the last one, or two that are all there is."""
    return 2 if len(above) == 2 and all(above) else min(1, len(above))


class Page:
    """Outputs of a page, of which the first ones are open."""

    def __init__(self) -> None:
        self.words = 0

    def _opens(self, node: nodes.Node) -> bool:
        words = len(node.astext().split())
        fits = self.words + words <= OPEN
        self.words += words if fits else 0
        return fits

    def table(self, table: Table, title: str) -> list[nodes.Node]:
        """Return the nodes of a table below its title."""
        node, number = table_node(table), sum(map(len, table.groups))
        if number > LONG or not self._opens(node):
            return folded(node, f"{title or 'Table'} ({number} rows)")
        return [nodes.paragraph(title, title, classes=["result-title"]), node] if title else [node]

    def text(self, text: str) -> list[nodes.Node]:
        """Return the nodes of lines of text."""
        node = nodes.literal_block(text, text, language="text")
        return [node] if self._opens(node) else folded(node, f"Notes ({text.count(chr(10)) + 1} lines)")

    def output(self, block: nodes.literal_block) -> list[nodes.Node]:
        """Return the nodes of an output: its command, its text, and its tables with the line above as title."""
        result: list[nodes.Node] = []
        found = [(kind, part) for kind, part in parts(block.astext()) if kind != "text" or any(part)]
        for k, (kind, part) in enumerate(found):
            if kind == "command":
                result.append(nodes.literal_block(part, part, language="console", classes=["command"]))
            elif kind == "table":
                above = found[k - 1][1] if k and found[k - 1][0] == "text" else []
                result += self.table(part, " ".join(map(str.strip, above[-title_lines(above) :])))
            else:
                titled = k + 1 < len(found) and found[k + 1][0] == "table"
                text = "\n".join(part[: len(part) - title_lines(part)] if titled else part).strip("\n")
                result += self.text(text) if text else []
        return result


def convert(app: Any, doctree: nodes.document) -> None:
    """Replace outputs with boxes on pages of results."""
    if not app.env.docname.startswith("results/"):
        return
    page = Page()
    for block in list(doctree.findall(nodes.literal_block)):
        if block.astext().startswith("$ ") and any(kind == "table" for kind, _ in parts(block.astext())):
            block.replace_self(page.output(block))


def setup(app: Any) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("doctree-read", convert)
    return {"parallel_read_safe": True}
