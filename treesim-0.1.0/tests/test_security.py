"""SECURITY.md names the test of each of its promises, and these tests exist."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
NAMED = re.compile(r"`((?:tests|plugins)/[\w/.-]+\.py)(?:::(\w+))?`")
TEXT = (ROOT / "SECURITY.md").read_text(encoding="utf-8")


def functions(path: Path) -> set[str]:
    return {
        node.name for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.FunctionDef)
    }


@pytest.mark.parametrize(("file", "test"), sorted(set(NAMED.findall(TEXT))))
def test_the_tests_of_promises_exist(file, test):
    path = ROOT / file
    assert path.is_file(), file
    found = functions(path)
    assert test in found if test else any(name.startswith("test_") for name in found), test


def test_every_promise_names_its_test():
    """But for those that say what is not promised."""
    promises = re.findall(r"^- (.*?)(?=^- |^## |\Z)", TEXT.partition("## Plugins")[0], re.MULTILINE | re.DOTALL)
    bare = [promise for promise in promises if not NAMED.search(promise)]
    limits = ("A mesh file may name", "Dask's scheduler", "The number of connections is limited")
    assert [promise for promise in bare if not promise.startswith(limits)] == []
