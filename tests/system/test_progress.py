"""The progress bar: on a terminal only, and on standard error only."""

import io
import sys

import pytest

from tests.terminal import Terminal
from treesim.system.progress import counted, progress_bar


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
    assert "rolling out" in terminal.getvalue() and "30/40" in terminal.getvalue()
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


def test_the_outer_of_two_loops_is_shown_and_none_without_a_bar(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    assert list(counted([1, 2])) == [1, 2] and terminal.getvalue() == ""
    with progress_bar("checking"):
        for one in counted(["one"]):
            for outer in counted([f"{one} [b]", "two"]):
                assert list(counted(range(5), lambda k: "inner")) == [0, 1, 2, 3, 4] and outer
        assert list(counted(iter("abc"), total=3)) == ["a", "b", "c"]
    shown = terminal.getvalue()
    assert "checking" in shown and "inner" not in shown and "2/3" in shown


def test_a_loop_that_is_left_makes_place_for_the_next(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with progress_bar("checking"):
        left = counted([1, 2, 3])
        next(left)
        left.close()
        list(counted(range(7), lambda k: f"next {k}"))
    assert "6/7" in terminal.getvalue() and "next 6" in terminal.getvalue()
