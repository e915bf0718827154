"""Pages that show what commands print: the commands exist, and regenerating touches nothing but their output."""

import importlib.util
import shlex
from pathlib import Path

import pytest

from treesim.cli.main import app

FOLDER = Path(__file__).parent.parent / "docs"
PAGES = sorted(FOLDER.glob("*.md"))


def regenerate():
    spec = importlib.util.spec_from_file_location("regenerate", FOLDER / "regenerate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_that_are_shown_exist(page):
    known = {command.callback.__name__ for command in app.registered_commands}
    for command in regenerate().commands(page.read_text(encoding="utf-8")):
        program, name, *_ = shlex.split(command)
        assert program == "treesim" and name in known


def test_only_the_output_is_replaced():
    page = (
        "before\n\n```text\n$ treesim info x\nold\n\nolder\n```\n\nbetween\n\n```text\n$ treesim robots\n```\nafter\n"
    )
    expected = page.replace("old\n\nolder", "INFO X").replace("robots\n", "robots\nROBOTS\n")
    found = regenerate().regenerated(page, lambda command: command.removeprefix("treesim ").upper() + "\n")
    assert found == expected
    assert regenerate().commands(page) == ["treesim info x", "treesim robots"]
