"""The items of the papers: their places exist, each has a test or a reason, and nothing numbered is left out."""

import ast
import pkgutil
import re
from functools import cache
from pathlib import Path

import pytest

from tests.test_citations import PAPERS, citations
from tests.test_docs import extension

ROOT = Path(__file__).parent.parent
REASONS = ("definition", "picture", "derivation", "literature", "outside", "untested")
paper_items = extension("paper_items")
Item = paper_items.Item
PAGE = paper_items.PAGE.read_text(encoding="utf-8")
ITEMS = paper_items.items(PAGE)
TESTS = paper_items.marked_tests()


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


def missing_cases(test):
    """Yield the case of a marker if it stands neither in the test's file nor in the values next to it."""
    path = ROOT / test.path
    if not any(test.case in file.read_text(encoding="utf-8") for file in [path, *path.parent.glob("*.json")]):
        yield f"{test.path}::{test.name}[{test.case}]"


def test_items_have_a_place_and_a_test_or_a_reason():
    assert len(ITEMS) > 200
    tested = {test.item for test in TESTS}
    for item in ITEMS:
        assert list(missing_places(item.code)) == [], item
        if item.name in tested:
            assert item.code and not item.reason, (item, "what is tested is somewhere, and needs no reason")
        else:
            reason = re.match(r"\*(\w+)\*", item.reason)
            assert reason and reason[1] in REASONS, (item, f"neither a test nor one of {REASONS}")
            assert item.code or reason[1] != "untested", item


def test_the_book_s_table_names_functions_code_and_tests_that_exist():
    text = (ROOT / "docs" / "rbda.md").read_text(encoding="utf-8")
    rows = [line.strip("|").split(" | ") for line in text.splitlines() if line.startswith("| ")][1:]
    chapters = [row[0].split()[0] for row in rows if row[0].strip()]
    assert chapters == [str(k) for k in range(2, 12)] and len(rows) > 30
    for _, _, names, code, test in rows:
        assert quoted(names) and quoted(code) and quoted(test)
        assert list(missing_places(code)) == [] and list(missing_places(test)) == []
        for name in quoted(names):
            assert pkgutil.resolve_name(name) is not None
        assert all(re.search(r": test_|/test_\w+\.py$", place) for place in quoted(test))


def test_markers_name_items_and_cases():
    assert {test.item for test in TESTS} - {item.name for item in ITEMS} == set()
    for test in TESTS:
        assert test.name.startswith("test_") and list(missing_cases(test)) == [], test


@pytest.mark.parametrize("paper", PAPERS)
def test_everything_numbered_has_an_item(paper):
    """Equations, figures, tables and lemmas, as many as `test_citations.py` knows of."""
    has = PAPERS[paper]
    wanted = {(kind, str(k)) for kind in ("equations", "figures", "tables") for k in range(1, getattr(has, kind) + 1)}
    wanted |= {("lemmas", number) for number in has.lemmas}
    listed = [place[1:] for item in ITEMS if item.paper == paper for place in citations(item.name)]
    assert wanted - set(listed) == set()
    assert {place for place in listed if place[0] != "sections"} <= wanted


def test_no_item_stands_twice():
    names = [item.name for item in ITEMS]
    assert len(set(names)) == len(names) and {item.paper for item in ITEMS} == {*PAPERS, "FF13"}


def test_reasons_are_explained_on_the_page():
    assert re.findall(r"^\* \*(\w+)\*:", PAGE, re.MULTILINE) == list(REASONS)


def test_what_does_not_exist_is_found():
    """So that a change of spelling cannot empty the test."""
    assert list(missing_places("`treesim/kernels/dynamics/ltdl.py: factorise, solve`")) == [
        "treesim/kernels/dynamics/ltdl.py: factorise"
    ]
    assert list(missing_places("`treesim/gone.py: solve`")) == ["treesim/gone.py"]
    test = paper_items.PaperTest("F05 eq. 1", "tests/test_citations.py", "test_what_is_cited_is_there", "no such case")
    assert list(missing_cases(test)) == ["tests/test_citations.py::test_what_is_cited_is_there[no such case]"]


def test_the_site_s_page_has_the_tests_of_markers(tmp_path):
    source = tmp_path / "test_a.py"
    source.write_text(
        "@pytest.mark.paper('F05 eq. 1', cases={'F05 eq. 2': ['x', 'y']})\n@given(1)\ndef test_b(): ...\n"
    )
    tests = [test._replace(path="test_a.py") for test in paper_items.tests_in(source)]
    rows = "| eq. 1 | s | `c` |\n| eq. 2 | s | `d` |\n| eq. 3 | s | *picture* |\n"
    page = f"## F05: A\n\n{paper_items.HEAD}\n|---|---|---|\n{rows}"
    assert paper_items.filled(page, tests).split("\n\n")[1:] == [
        "**eq. 1**\n: s\\\n  Code: `c`\\\n  Test: `test_a.py: test_b`",
        "**eq. 2**\n: s\\\n  Code: `d`\\\n  Test: `test_a.py: test_b[x], test_b[y]`",
        "**eq. 3**\n: s\\\n  No test: *picture*",
        "",
    ]
