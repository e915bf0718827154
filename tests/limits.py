"""Move the limits of the project: the constants that refuse, warn or bound. Tests must notice it.

    python -m tests.break_places --limits [WORD ...]                           lists them
    python -m tests.break_places --limits [WORD ...] --draw 40 --seed 9cadf622   moves 40 of them, drawn by the seed
    python -m tests.break_places --limits [WORD ...] --each                    moves all of them, in all four ways

A limit is a constant in capitals, at the top of a module, whose value is a number, unless `limits_excluded.py` gives a
reason why it bounds nothing that a user sees; numbers in a dict count if they are named there. Each drawn limit is
moved by 10 % and by a factor of 10, up or down. Then the everyday tests that concern it run: those that name its
module, then those of its package. Words choose limits whose line contains each of them. The option `--tests MAP` names
a JSON file of tests for some limits: {"treesim/system/archives.py": ["tests/formats"]}. All runs share the user's cache
of compiled kernels.
"""

from __future__ import annotations

import argparse
import ast
import json
import math
import random
import re
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tests.break_places import Copy, edited
from tests.limits_excluded import EXCLUDED, INCLUDED
from tests.test_conformance import ROOT

NAMESPACE = {"__builtins__": {}, "math": math, "np": np, "sys": sys, "float": float}
BY_TENTH, BY_TEN = (0.9, 1.1), (0.1, 10.0)
EVERYDAY = ["-m", "not slow and not browser"]


class Limit(NamedTuple):
    """A constant of a file: `node` is the expression of its value."""

    path: str
    name: str
    value: float
    node: ast.expr

    def __str__(self) -> str:
        return f"{self.path}: {self.name} = {ast.unparse(self.node)}"

    @property
    def source(self) -> str:
        """The source of the file."""
        return (ROOT / self.path).read_text(encoding="utf-8")

    def moved(self, factor: float) -> str:
        """Return the source of the file with the constant times a factor; whole numbers change by 1 at least."""
        value = self.value * factor
        if isinstance(self.value, int):
            value = max(round(value), self.value + 1) if factor > 1 else min(round(value), self.value - 1)
        return edited(self.source, self.node, repr(value))


def dotted(path: str) -> str:
    """Return the dotted name of a file's module."""
    return path.rpartition("src/")[2].removesuffix(".py").replace("/", ".")


@cache
def sources() -> dict[str, ast.Module]:
    """Return the parsed files of the package and of its plugins, by their paths."""
    files = [*(ROOT / "treesim").rglob("*.py"), *(ROOT / "plugins").glob("*/src/**/*.py")]
    return {file.relative_to(ROOT).as_posix(): ast.parse(file.read_text(encoding="utf-8")) for file in sorted(files)}


def constants(path: str, tree: ast.Module) -> Iterator[Limit]:
    """Yield the constants in capitals of a module whose values are numbers, or arithmetic of numbers."""
    known = dict(NAMESPACE)
    for name, node in assigned(tree):
        if name.partition("[")[0] != name.partition("[")[0].upper():
            continue
        try:
            value = eval(ast.unparse(node), known)
        except (NameError, AttributeError, TypeError):  # made by the package, or no number
            continue
        known[name] = value
        if isinstance(value, int | float) and not isinstance(value, bool) and value != 0:
            yield Limit(path, name, value if isinstance(value, int) else float(value), node)


def assigned(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    """Yield the names that a module assigns at its top, and the values; of tuples and dicts, also the parts."""
    for statement in tree.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name) and statement.value:
            yield statement.target.id, statement.value
        for target in statement.targets if isinstance(statement, ast.Assign) else ():
            if isinstance(target, ast.Name):
                yield target.id, statement.value
            elif isinstance(target, ast.Tuple) and isinstance(statement.value, ast.Tuple):
                yield from ((t.id, v) for t, v in zip(target.elts, statement.value.elts, strict=True))
            if isinstance(target, ast.Name) and isinstance(statement.value, ast.Dict):
                pairs = zip(statement.value.keys, statement.value.values, strict=True)
                yield from ((f"{target.id}[{ast.unparse(key)}]", value) for key, value in pairs if key is not None)


def excluded(limit: Limit) -> str | None:
    """Return why a constant is none of the limits; None if it is one."""
    keys = [f"{limit.path}: {limit.name}", limit.path, *(f"{folder}/" for folder in Path(limit.path).parents)]
    if keys[0] in INCLUDED:
        return None
    if "[" in limit.name:
        return "most dicts are tables of columns and sizes"
    return next((reason for reason, places in EXCLUDED.items() if not places.isdisjoint(keys)), None)


def limits(words: list[str] = []) -> list[Limit]:  # noqa: B006  never changed
    """Return the limits whose lines contain each of the words."""
    found = [limit for path, tree in sources().items() for limit in constants(path, tree)]
    return [limit for limit in found if not excluded(limit) and all(word in str(limit) for word in words)]


def drawn(found: list[Limit], count: int, seed: str) -> list[tuple[Limit, float]]:
    """Return so many of the limits, each with a factor near 1 and with one of 10."""
    draw = random.Random(seed)
    chosen = draw.sample(found, min(count, len(found)))
    return [(limit, draw.choice(factors)) for limit in chosen for factors in (BY_TENTH, BY_TEN)]


def tests_of(limit: Limit, named: dict[str, list[str]]) -> list[list[str]]:
    """Return groups of tests that concern a limit, those first that are most likely to notice it."""
    if given := named.get(f"{limit.path}: {limit.name}") or named.get(limit.path):
        return [given]
    near = naming(limit.path, rf"\b{Path(limit.path).stem}\.{re.escape(limit.name)}(?!\w)")
    home = room(limit.path)
    return [group for group in (near, [home] if home else []) if group]


def naming(path: str, or_else: str = "(?!)") -> list[str]:
    """Return the files of tests that import a file's module, bear its name or path, or match a pattern."""
    module = dotted(path)
    package, _, stem = module.rpartition(".")
    imported = rf"\b{re.escape(module)}\b|from {re.escape(package)} import [^\n]*\b{stem}\b"
    mention = re.compile(rf"{imported}|\btest_{stem}\.py|{re.escape(path)}|{or_else}")
    return [file for file, text in test_files().items() if mention.search(f"{file}\n{text}")]


@cache
def test_files() -> dict[str, str]:
    """Return the texts of the files of tests, by their paths."""
    files = [*(ROOT / "tests").rglob("test_*.py"), *(ROOT / "plugins").glob("*/tests/**/test_*.py")]
    own = {"test_limits.py", "test_break_places.py", "test_mutations.py"}
    return {
        file.relative_to(ROOT).as_posix(): file.read_text(encoding="utf-8")
        for file in sorted(files)
        if file.parent != ROOT / "tests" or file.name not in own
    }


def room(path: str) -> str | None:
    """Return the folder of a package's own tests."""
    if path.startswith("plugins"):
        return "/".join([*path.split("/")[:2], "tests"])
    folders = [Path("tests", *parent.parts[1:]) for parent in Path(path).parents if len(parent.parts) > 1]
    return next((folder.as_posix() for folder in folders if (ROOT / folder).is_dir()), None)


def noticed(limit: Limit, factor: float, copy: Copy, named: dict[str, list[str]]) -> str | None:
    """Return the first test that fails with a moved limit, and passes without; None if all pass."""
    for tests in tests_of(limit, named):
        failed = copy.failures(limit.path, limit.moved(factor), [*EVERYDAY, *tests])
        if failed and not copy.failures(limit.path, limit.source, failed):
            return failed[0]
    return None


def main(arguments: list[str]) -> int:
    """List limits, or move them; return 1 if tests noticed nothing."""
    parser = argparse.ArgumentParser(prog="python -m tests.break_places --limits")
    parser.add_argument("words", nargs="*")
    parser.add_argument("--draw", type=int, metavar="COUNT")
    parser.add_argument("--seed", default="")
    parser.add_argument("--each", action="store_true")
    parser.add_argument("--tests", type=Path, metavar="MAP")
    options = parser.parse_args(arguments)
    found = limits(options.words)
    if options.each:
        moves = [(limit, factor) for limit in found for factors in (BY_TENTH, BY_TEN) for factor in factors]
    elif options.draw:
        moves = drawn(found, options.draw, options.seed)
    else:
        print(*found, f"{len(found)} limits", sep="\n")
        return 0
    named = json.loads(options.tests.read_text(encoding="utf-8")) if options.tests else {}
    count = 0
    with tempfile.TemporaryDirectory() as folder:
        copy = Copy(Path(folder))
        for limit, factor in moves:
            test = noticed(limit, factor, copy, named)
            count += test is None
            print(f"{limit}, times {factor:g}: {test or 'NOTICED BY NONE'}", flush=True)
    print(f"{len(moves)} moves of limits, {count} unnoticed")
    return int(count > 0)
