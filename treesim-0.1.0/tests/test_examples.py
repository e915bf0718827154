"""Every example runs to its end in a process of its own, and asserts its own claim; its calls suit what they call.

Two short ones run every day, all with the slow tests. A call of a name or an argument that is gone is found every day.
"""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import treesim

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.py"))
EVERY_DAY = ("02_tree_by_hand", "15_hulls_and_drums")
RUN = [pytest.param(path, id=path.stem, marks=[pytest.mark.slow] * (path.stem not in EVERY_DAY)) for path in EXAMPLES]


def test_there_are_examples() -> None:
    assert {path.stem for path in EXAMPLES} > set(EVERY_DAY)


@pytest.mark.parametrize("path", RUN)
def test_example_runs(path: Path, tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, path], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=1200
    )
    if ended.stderr.startswith("this example needs"):  # a library that the tests do not install
        pytest.skip(ended.stderr)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.strip(), "an example tells what it does"


def named(node: ast.expr) -> object:
    """Return what `treesim.a.b` names."""
    if isinstance(node, ast.Name):
        return treesim
    assert isinstance(node, ast.Attribute)
    return getattr(named(node.value), node.attr)


def of_treesim(node: ast.AST) -> bool:
    """Return True for `treesim.a.b`."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name) and node.id == "treesim"


def faults(text: str) -> Iterator[str]:
    """Yield calls that functions of treesim do not take, and names that it does not have, each with its line."""
    for node in ast.walk(ast.parse(text)):
        try:
            if isinstance(node, ast.Attribute) and of_treesim(node):
                named(node)
            elif isinstance(node, ast.Call) and of_treesim(node.func):
                bind(named(node.func), node)
        except (AttributeError, TypeError) as error:
            yield f"line {node.lineno}: {error}"


def bind(function: object, call: ast.Call) -> None:
    """Raise TypeError where the arguments of a call are not the function's. Unpacked ones suit anything."""
    assert callable(function)
    unpacked = any(isinstance(x, ast.Starred) for x in call.args) or any(x.arg is None for x in call.keywords)
    signature = inspect.signature(function)
    match = signature.bind_partial if unpacked else signature.bind
    arguments = [x for x in call.args if not isinstance(x, ast.Starred)]
    match(*arguments, **{x.arg: x.value for x in call.keywords if x.arg is not None})


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_calls_of_an_example_suit_what_they_call(path: Path) -> None:
    assert not list(faults(path.read_text()))


@pytest.mark.parametrize(
    "text",
    [
        "treesim.laod('ur5')",
        "treesim.control.Hodl",
        "treesim.load('ur5', bsae='floating')",
        "treesim.load('ur5', 1, 2, 3, 4, 5, 6, 7, 8)",
        "treesim.load()",
    ],
)
def test_a_call_that_suits_nothing_is_found(text: str) -> None:
    assert len(list(faults(text))) >= 1
    assert not list(faults("robot = treesim.load('ur5', base='floating'); treesim.Simulation(*given, **options)"))
