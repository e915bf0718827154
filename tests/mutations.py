"""Break single places of the code of kernels, dynamics, contact and rollouts: everyday tests must notice it.

    python -m tests.break_places --code [WORD ...]                            counts the places, by kind
    python -m tests.break_places --code [WORD ...] --draw 60 --seed 9cadf622   breaks 60 of them, drawn by the seed

A place is an operator, a comparison, a constant, a sign, a result or a statement without a result; the draw takes the
six kinds in turn. Words choose files whose paths contain one of them. Annotations, messages, assertions and text are
left alone. Then the everyday tests run until one fails: first the files that name the module, or a module that imports
it; then those of its package; then those of FOLDERS. A test that takes longer than HANG counts as failed.
"""

from __future__ import annotations

import argparse
import ast
import random
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tests.break_places import FLIPPED, NONE_SELECTED, SWAPPED, Copy, edited, failed
from tests.limits import EVERYDAY, dotted, naming, room, sources, test_files
from tests.test_conformance import ROOT

PACKAGES = ("treesim/kernels/", "treesim/dynamics/", "treesim/contact/", "treesim/rollouts/")
TESTED = ("identities", "dynamics", "contact", "rollouts", "simulation", "kernels", "testing", "pinocchio", "golden")
FOLDERS = (
    *(f"tests/{name}" for name in (*TESTED, "sweeps", "export")),
    *(f"plugins/treesim-{name}/tests" for name in ("mujoco", "pybullet", "pinocchio", "lab")),
)
NEAR = 12  # files of tests of the first group, at most
HANG = 300  # seconds for one test, compilation included
SECONDS = 900  # for all tests of one place
ENDLESS = ["-o", f"faulthandler_timeout={HANG}", "-o", "faulthandler_exit_on_timeout=true"]
NOT_FOUND = "not found"
KINDS = ("operator", "comparison", "constant", "sign", "result", "statement")


class Place(NamedTuple):
    """A node of a file's syntax tree, and the text that replaces it."""

    path: str
    kind: str
    node: ast.AST
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.node.lineno}: {ast.unparse(self.node).splitlines()[0]} -> {self.text}"

    @property
    def source(self) -> str:
        """The source of the file."""
        return (ROOT / self.path).read_text(encoding="utf-8")

    def broken(self) -> str:
        """Return the source of the file with the fault."""
        return edited(self.source, self.node, self.text)


def places(path: str, tree: ast.AST) -> Iterator[Place]:
    """Yield what can be broken below a node of a file."""
    for node in _code(tree):
        for kind, text in _faults(node):
            yield Place(path, kind, node, text)


def _code(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes that run and compute: no messages, assertions, annotations, decorators or text."""
    if isinstance(node, ast.Raise | ast.Assert | ast.JoinedStr):
        return
    if isinstance(node, ast.If) and any(name in ast.unparse(node.test) for name in ("__name__", "TYPE_CHECKING")):
        return
    if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in ("warn", "print", "field"):
        return
    yield node
    for name, value in ast.iter_fields(node):
        if name not in ("annotation", "returns", "decorator_list", "bases"):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from _code(child)


def _faults(node: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield the faults of a node: their kinds, and the texts that replace it."""
    match node:
        case ast.BinOp(left, op, right) if type(op) in SWAPPED:
            yield "operator", ast.unparse(ast.BinOp(left, SWAPPED[type(op)](), right))
        case ast.AugAssign(target, op, value):
            if type(op) in SWAPPED:
                yield "operator", ast.unparse(ast.AugAssign(target, SWAPPED[type(op)](), value))
            yield "statement", "pass"
        case ast.Compare(left, [op], [right]) if type(op) in FLIPPED:
            yield "comparison", ast.unparse(ast.Compare(left, [FLIPPED[type(op)]()], [right]))
        case ast.Constant(value) if type(value) in (int, float):
            yield "constant", repr(type(value)(value * 1.5 + 1))
        case ast.UnaryOp(ast.USub(), operand):
            yield "sign", ast.unparse(operand)
        case ast.Return(ast.Constant(bool() as value)):
            yield "result", f"return {not value}"
        case ast.Return(ast.Compare() | ast.BoolOp() | ast.UnaryOp(ast.Not()) as value):
            yield "result", f"return not ({ast.unparse(value)})"
        case ast.Return(ast.expr() as value) if not isinstance(value, ast.Constant):
            yield "result", f"return 2 * ({ast.unparse(value)})"
        case ast.Expr(ast.Call()) | ast.Assign([ast.Subscript() | ast.Attribute()]):
            yield "statement", "pass"


def drawn(found: list[Place], count: int, seed: str) -> list[Place]:
    """Return so many of the places, of each kind in turn."""
    draw = random.Random(seed)
    kinds = {kind: [place for place in found if place.kind == kind] for kind in KINDS}
    shuffled = {kind: iter(draw.sample(places, len(places))) for kind, places in kinds.items()}
    turns = (kind for _ in range(len(found)) for kind in KINDS)
    chosen = (next(shuffled[kind], None) for kind in turns)
    return [place for place, _ in zip(filter(None, chosen), range(min(count, len(found))), strict=False)]


@cache
def importers() -> dict[str, set[str]]:
    """Return which files import a module, by its dotted name."""
    found: dict[str, set[str]] = {}
    for path, tree in sources().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                for name in (node.module, *(f"{node.module}.{alias.name}" for alias in node.names)):
                    found.setdefault(name, set()).add(path)
    return found


def tests_of(path: str) -> list[list[str]]:
    """Return groups of tests that may run a file's code: those nearest to it first."""
    near: list[str] = []
    ring, seen = [path], {path}
    while ring and len(near) < NEAR:
        named = [(f"test_{Path(module).stem}.py" not in file, file) for module in ring for file in naming(module)]
        near += [file for _, file in sorted(set(named)) if file not in near]
        ring = sorted({file for module in ring for file in importers().get(dotted(module), ())} - seen)
        seen |= set(ring)
    near = near[:NEAR]
    home = room(path) or ""
    own = [file for file in test_files() if home and file.startswith(f"{home}/") and file not in near]
    order = sorted(FOLDERS, key=lambda folder: folder.rpartition("/")[2] not in path)
    rest = [f for folder in order for f in test_files() if f.startswith(f"{folder}/") and f not in {*near, *own}]
    return [group for group in (near, own, rest) if group]


def outcome(place: Place, copy: Copy, seconds: float = SECONDS) -> str:
    """Return by which test a broken place is found, the first that fails with it and passes without, if any."""
    end = time.monotonic() + seconds
    for tests in tests_of(place.path):
        run = copy.run(place.path, place.broken(), [*EVERYDAY, *ENDLESS, *tests], max(1, end - time.monotonic()))
        if run is None:
            return f"{NOT_FOUND} in {seconds:g} s"
        if run.returncode not in (0, NONE_SELECTED):
            found = failed(run.stdout)
            if not found:
                return f"found by a test that does not end, or crashes, of {tests[0]} to {tests[-1]}"
            if not copy.failures(place.path, place.source, found):
                return f"found by {found[0]}"
    return NOT_FOUND


def main(arguments: list[str]) -> int:
    """Count the places, or break some; return 1 if tests noticed nothing."""
    parser = argparse.ArgumentParser(prog="python -m tests.break_places --code")
    parser.add_argument("words", nargs="*", default=PACKAGES)
    parser.add_argument("--draw", type=int, metavar="COUNT")
    parser.add_argument("--seed", default="")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="for the tests of one place")
    options = parser.parse_args(arguments)
    files = {path: tree for path, tree in sources().items() if any(word in path for word in options.words)}
    found = [place for path, tree in files.items() for place in places(path, tree)]
    if not options.draw:
        print(*(f"{count} {kind}s" for kind, count in Counter(place.kind for place in found).items()), sep="\n")
        return 0
    survivors = 0
    with tempfile.TemporaryDirectory() as folder:
        copy = Copy(Path(folder))
        chosen = drawn(found, options.draw, options.seed)
        for place in chosen:
            result = outcome(place, copy, options.seconds)
            survivors += result.startswith(NOT_FOUND)
            print(f"{place}: {result}", flush=True)
    print(f"{len(chosen)} places, {survivors} not found")
    return int(survivors > 0)
