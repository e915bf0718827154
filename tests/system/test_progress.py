"""The progress bar: on a terminal only, and on standard error only."""

import io
import sys

import pytest

from tests.terminal import Terminal
from treesim.system.progress import progress_bar


def closed():
    stream = Terminal()
    stream.close()
    return stream


def test_a_terminal_shows_the_bar_and_standard_output_stays(monkeypatch):
    terminal, output = Terminal(), io.StringIO()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(sys, "stdout", output)
    with progress_bar("rolling out", done=10, total=40) as show:
        print("a result")
        show(30, 40)
    assert "rolling out" in terminal.getvalue() and "75%" in terminal.getvalue()
    assert output.getvalue() == "a result\n"


@pytest.mark.parametrize("stream", [io.StringIO(), None, object(), closed()], ids=["file", "none", "other", "closed"])
def test_there_is_no_bar_without_a_terminal(stream, monkeypatch):
    monkeypatch.setattr(sys, "stderr", stream)
    with progress_bar("rolling out") as show:
        assert show is None


def test_a_bar_that_is_not_wanted_prints_nothing(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with progress_bar("rolling out", show=False) as show:
        assert show is None
    assert terminal.getvalue() == ""
