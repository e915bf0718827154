"""The list of what the papers say: each place and test that it names exists, and nothing numbered is left out."""

import ast
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.test_citations import PAPERS, citations

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "conformance.md").read_text(encoding="utf-8")
REASONS = ("definition", "picture", "derivation", "literature", "outside", "untested")
NOWHERE = "-"


class Row(NamedTuple):
    """A row of the page: the paper, and its four columns."""

    paper: str
    item: str
    says: str
    where: str
    test: str


def rows(page):
    """The rows of a page's tables, under the paper whose section they stand in."""
    paper = ""
    for line in page.splitlines():
        if line.startswith("## "):
            paper = line[3:].partition(":")[0]
        elif line.startswith("| ") and not line.startswith("| item "):
            yield Row(paper, *(cell.strip() for cell in line.strip("|").split("|")))


ROWS = list(rows(PAGE))


@cache
def defined(path):
    """The names that a Python file defines at its top, and those of its classes' members, as Class.member."""
    names = set()
    for node in ast.parse((ROOT / path).read_text(encoding="utf-8")).body:
        names.update(names_of(node))
        if isinstance(node, ast.ClassDef):
            names.update(f"{node.name}.{member}" for part in node.body for member in names_of(part))
            names.update(f"{node.name}.{attribute}" for attribute in attributes(node))
    return names


def names_of(statement):
    """What one statement defines."""
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return {statement.name}
    if isinstance(statement, ast.Assign | ast.AnnAssign):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        return {node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)}
    return set()


def attributes(node):
    """What the methods of a class assign to self."""
    stored = (part for part in ast.walk(node) if isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store))
    return {part.attr for part in stored if isinstance(part.value, ast.Name) and part.value.id == "self"}


def quoted(cell):
    return re.findall(r"`([^`]+)`", cell)


def missing_places(where):
    """The places of a cell, each `file` or `file: name, name`, that do not exist."""
    for place in quoted(where):
        path, _, listed = place.partition(": ")
        if not (ROOT / path).is_file():
            yield path
        elif listed:
            yield from (f"{path}: {name}" for name in listed.split(", ") if name not in defined(path))


def missing_tests(test):
    """The tests of a cell, each `file::test, test[case][case]`, that do not exist; cases stand in the file, or in the
    values beside it."""
    for place in quoted(test):
        path, _, listed = place.partition("::")
        if not (ROOT / path).is_file():
            yield path
            continue
        names, cases = re.sub(r"\[.*?\]", "", listed).split(", "), re.findall(r"\[(.*?)\]", listed)
        text = "".join(file.read_text(encoding="utf-8") for file in [ROOT / path, *(ROOT / path).parent.glob("*.json")])
        yield from (f"{path}::{name}" for name in names if name[:5] != "test_" or name not in defined(path))
        yield from (f"{path}: {case}" for case in cases if case not in text)


def test_what_rows_name_exists():
    assert len(ROWS) > 200
    for row in ROWS:
        check_row(row)


def check_row(row):
    assert list(missing_places(row.where)) == [], row
    if quoted(row.test) and not row.test.startswith("*"):
        assert list(missing_tests(row.test)) == [] and quoted(row.where), (row, "what is tested is somewhere")
    else:
        reason = re.match(r"\*(\w+)\*", row.test)
        assert reason and reason[1] in REASONS, (row, f"neither a test nor one of {REASONS}")
        assert quoted(row.where) or (row.where == NOWHERE and reason[1] != "untested"), row


@pytest.mark.parametrize("paper", PAPERS)
def test_everything_numbered_has_a_row(paper):
    """Equations, figures, tables and lemmas, as many as `test_citations.py` knows of."""
    has = PAPERS[paper]
    wanted = {(kind, str(k)) for kind in ("equations", "figures", "tables") for k in range(1, getattr(has, kind) + 1)}
    wanted |= {("lemmas", number) for number in has.lemmas}
    listed = [place[1:] for row in ROWS if row.paper == paper for place in citations(f"{paper} {row.item}")]
    assert wanted - set(listed) == set()
    assert {place for place in listed if place[0] != "sections"} <= wanted


def test_no_item_stands_twice():
    items = [(row.paper, row.item) for row in ROWS]
    assert len(set(items)) == len(items) > 180 and {row.paper for row in ROWS} == {*PAPERS, "FF13"}


def test_reasons_are_explained_on_the_page():
    assert re.findall(r"^\* \*(\w+)\*:", PAGE, re.MULTILINE) == list(REASONS)


def test_what_does_not_exist_is_found():
    """So that a change of spelling cannot empty the test."""
    place, test = "`treesim/kernels/dynamics/ltdl.py: factorise, solve`", "`tests/test_conformance.py::rows, test_gone`"
    assert list(missing_places(place)) == ["treesim/kernels/dynamics/ltdl.py: factorise"]
    assert list(missing_tests(test)) == ["tests/test_conformance.py::rows", "tests/test_conformance.py::test_gone"]
    assert list(missing_places("`treesim/gone.py: solve`")) == ["treesim/gone.py"]
    assert list(missing_tests("`tests/test_citations.py::test_what_is_cited_is_there[no such case]`")) == [
        "tests/test_citations.py: no such case"
    ]
