"""The tests of the papers' items: their markers add them to the items of docs/conformance.md."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "conformance.md"
HEAD = "| item | statement | code |"
MARKER = "pytest.mark.paper"


class Item(NamedTuple):
    """A row of the page: the section's paper, and the columns; `reason` is the end of the last one, in italics."""

    paper: str
    number: str
    statement: str
    code: str
    reason: str

    @property
    def name(self) -> str:
        """Return the name that markers use."""
        return f"{self.paper} {self.number}"


class PaperTest(NamedTuple):
    """A test with the marker of an item; `case` is a parametrized case, empty if all cases test the item."""

    item: str
    path: str
    name: str
    case: str


def items(page: str) -> list[Item]:
    """Return the rows of a page's tables."""
    found, paper = [], ""
    for line in page.splitlines():
        if line.startswith("## "):
            paper = line[3:].partition(":")[0]
        elif line.startswith("| ") and line != HEAD:
            number, statement, code = (cell.strip() for cell in line.strip("|").split("|"))
            places, star, reason = code.partition("*")
            found.append(Item(paper, number, statement, places.strip(), star + reason))
    return found


def tests_in(path: Path) -> Iterator[PaperTest]:
    """Yield the marked tests of a file, which is not imported."""
    source = path.read_text(encoding="utf-8")
    if MARKER not in source:
        return
    where = path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else str(path)
    for function in ast.parse(source).body:
        for call in getattr(function, "decorator_list", []):
            if isinstance(call, ast.Call) and ast.unparse(call.func) == MARKER:
                cases = [(ast.literal_eval(item), "") for item in call.args]
                for keyword in call.keywords:  # cases={item: case, item: [case, case]}
                    for item, named in ast.literal_eval(keyword.value).items():
                        cases += [(item, case) for case in ([named] if isinstance(named, str) else named)]
                yield from (PaperTest(item, where, function.name, case) for item, case in cases)


def marked_tests() -> list[PaperTest]:
    """Return all marked tests of the project, in the order of their files."""
    paths = sorted([*ROOT.glob("tests/**/test_*.py"), *ROOT.glob("plugins/*/tests/**/test_*.py")])
    return [test for path in paths for test in tests_in(path)]


def listed(tests: list[PaperTest]) -> str:
    """Return the tests of one item, by file."""
    parts = []
    for path, group in groupby(tests, key=lambda test: test.path):
        names = ", ".join(test.name + (f"[{test.case}]" if test.case else "") for test in group)
        parts.append(f"`{path}: {names}`")
    return ", ".join(parts)


def filled(page: str, tests: list[PaperTest]) -> str:
    """Return the page with lists in place of its tables, with the tests of each item: tables would be too wide."""
    rows = iter(items(page))
    lines = []
    for line in page.splitlines():
        if line == HEAD or line.startswith("|---"):
            continue
        if not line.startswith("| "):
            lines.append(line)
            continue
        row = next(rows)
        found = listed([test for test in tests if test.item == row.name])
        facts = {"Code": row.code, "Test": found, "No test": row.reason}
        entry = [row.statement, *(f"{name}: {fact}" for name, fact in facts.items() if fact)]
        lines += [f"**{row.number}**", ": " + "\\\n  ".join(entry), ""]
    return "\n".join(lines) + "\n"


def fill_page(app: Any, docname: str, source: list[str]) -> None:
    """Add the tests to the page of the papers."""
    if docname == PAGE.stem:
        source[0] = filled(source[0], marked_tests())


def setup(app: Any) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("source-read", fill_page)
    return {"parallel_read_safe": True}
