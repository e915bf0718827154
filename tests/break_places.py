"""Break each place that docs/conformance.md names, and see that a test with the marker of the item fails.

    python -m tests.break_places [WORD ...]

breaks the places of all items, or of those that contain each word, in a copy of the project: it changes one operator,
constant, result or statement of the named function at a time, at most four, until a test fails. It prints the items
whose tests notice nothing. A whole run takes about an hour.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.test_conformance import ITEMS, ROOT, TESTS, Item, quoted

MOST = 4  # changes of one place that are tried
COPIED = ("treesim", "plugins", "tests", "docs", "assets", "examples", "pyproject.toml", "README.md", "CHANGELOG.md")
SWAPPED = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.MatMult: ast.Add}
FLIPPED = {ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE, ast.LtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq}
LIMITS, CODE = "--limits", "--code"
NONE_SELECTED = 5  # exit status of pytest
SECONDS = 900  # for the tests of one item


class Place(NamedTuple):
    """A function, class, member or value of a file: `name` is empty for the whole file."""

    path: str
    name: str


def places(item: Item) -> list[Place]:
    """Return the places in Python files that an item names."""
    found = []
    for place in quoted(item.code):
        path, _, names = place.partition(": ")
        if path.endswith(".py"):
            found += [Place(path, name) for name in names.split(", ")]
    return found


def tests_of(item: Item) -> list[str]:
    """Return the tests with an item's marker, as arguments of pytest."""
    return list(dict.fromkeys(f"{test.path}::{test.name}" for test in TESTS if test.item == item.name))


def definition(tree: ast.Module, name: str) -> ast.AST | None:
    """Return the statement that defines a name, or Class.member; None if it is no statement of its own."""
    scope: ast.AST = tree
    for part in name.split("."):
        body = getattr(scope, "body", [])
        found = next((node for node in body if part in _defined(node)), None)
        if found is None:
            return None
        scope = found
    return scope


def _defined(node: ast.AST) -> set[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name}
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return {part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)}


def changes(source: str, name: str) -> list[str]:
    """Return changed sources, each with one fault in the definition of `name`, at most MOST, spread over it."""
    tree = ast.parse(source)
    node = definition(tree, name) if name else tree
    if node is None:
        return []
    edits = list(_edits(node))
    step = max(1, len(edits) / MOST)
    chosen = [edits[int(k * step)] for k in range(min(MOST, len(edits)))]
    return [edited(source, *edit) for edit in chosen]


def _edits(node: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    """Yield nodes, and the text that replaces each."""
    for part in ast.walk(node):
        if isinstance(part, ast.BinOp) and type(part.op) in SWAPPED:
            yield part, ast.unparse(ast.BinOp(part.left, SWAPPED[type(part.op)](), part.right))
        elif isinstance(part, ast.AugAssign) and type(part.op) in SWAPPED:
            yield part, ast.unparse(ast.AugAssign(part.target, SWAPPED[type(part.op)](), part.value))
        elif isinstance(part, ast.Compare) and len(part.ops) == 1 and type(part.ops[0]) in FLIPPED:
            yield part, ast.unparse(ast.Compare(part.left, [FLIPPED[type(part.ops[0])]()], part.comparators))
        elif isinstance(part, ast.Constant) and type(part.value) in (int, float):
            yield part, repr(part.value + 1)
        elif isinstance(part, ast.Return) and part.value is not None:
            yield part, "return None"
        elif isinstance(part, ast.Expr) and isinstance(part.value, ast.Call):
            yield part, "pass"
    if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
        yield node.value, "None"


def edited(source: str, node: ast.AST, text: str) -> str:
    """Return the source with a node replaced; expressions stay in parentheses."""
    lines = source.encode().splitlines(keepends=True)
    start = sum(map(len, lines[: node.lineno - 1])) + node.col_offset
    end = sum(map(len, lines[: node.end_lineno - 1])) + node.end_col_offset
    new = f"({text})" if isinstance(node, ast.expr) else text
    raw = source.encode()
    return (raw[:start] + new.encode() + raw[end:]).decode()


class Copy:
    """A copy of the project in a folder of its own, in which files are broken and mended."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        ignored = shutil.ignore_patterns("__pycache__", "*.pyc", ".git", "node_modules")
        for name in COPIED:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, folder / name, ignore=ignored)
            else:
                shutil.copy(source, folder / name)
        paths = [folder, *(folder / "plugins").glob("*/src"), *filter(None, [os.environ.get("PYTHONPATH")])]
        self.environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths))}

    def notices(self, path: str, source: str, tests: list[str]) -> bool:
        """Return whether a test fails with another source of a file."""
        return bool(self.failures(path, source, tests))

    def failures(self, path: str, source: str, tests: list[str]) -> list[str]:
        """Return the first test that fails with another source of a file, or the files that cannot be imported."""
        run = self.run(path, source, tests, SECONDS)
        if run is None:
            return tests  # a loop that does not end
        if run.returncode in (0, NONE_SELECTED):
            return []
        return failed(run.stdout) or tests

    def run(self, path: str, source: str, tests: list[str], seconds: float) -> subprocess.CompletedProcess[str] | None:
        """Run tests with another source of a file until one fails; None if the time ends first."""
        file = self.folder / path
        before = file.read_text(encoding="utf-8")
        file.write_text(source, encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
        try:
            return subprocess.run(
                command,
                cwd=self.folder,
                env=self.environment,
                capture_output=True,
                timeout=seconds,
                check=False,
                text=True,
            )
        except subprocess.TimeoutExpired:
            return None
        finally:
            file.write_text(before, encoding="utf-8")


def failed(output: str) -> list[str]:
    """Return the tests that failed, and the files that could not be imported, by the output of pytest."""
    return re.findall(r"^(?:FAILED|ERROR) (\S+::.*?|\S+)(?: - .*)?$", output, re.MULTILINE)


def unnoticed(item: Item, tests: list[str], copy: Copy) -> list[str]:
    """Return the places of an item that can be broken without a failure of the tests."""
    found = []
    for place in places(item):
        sources = changes((ROOT / place.path).read_text(encoding="utf-8"), place.name)
        if not sources or not any(copy.notices(place.path, source, tests) for source in sources):
            found.append(f"{place.path}: {place.name}" + ("" if sources else " (nothing to break)"))
    return found


def tested_items(words: list[str]) -> list[Item]:
    """Return the items with tests whose name, row or tests contain each of the words."""
    found = []
    for item in ITEMS:
        tests = tests_of(item)
        if tests and all(word in " | ".join([*item, item.name, *tests]) for word in words):
            found.append(item)
    return found


def main() -> int:
    """Break the places of the items that contain the words; return 1 if tests noticed nothing."""
    if LIMITS in sys.argv:
        from tests import limits  # which needs this file

        return limits.main([word for word in sys.argv[1:] if word != LIMITS])
    if CODE in sys.argv:
        from tests import mutations  # which needs this file, too

        return mutations.main([word for word in sys.argv[1:] if word != CODE])
    with tempfile.TemporaryDirectory() as folder:
        copy, count = Copy(Path(folder)), 0
        found = tested_items(sys.argv[1:])
        for item in found:
            for place in unnoticed(item, tests_of(item), copy):
                count += 1
                print(f"{item.name}: {place}: noticed by none of {', '.join(tests_of(item))}", flush=True)
    print(f"{len(found)} items, {count} places that can be broken unnoticed")
    return int(count > 0)


if __name__ == "__main__":
    sys.exit(main())
