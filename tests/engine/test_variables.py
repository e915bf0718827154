"""The variables $TREESIM_...: what is nonsense in one of them is named, with what would be right, and no traceback."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from treesim.engine import threads
from treesim.engine.call import buffer_pool
from treesim.engine.frontend import arena, bounds
from treesim.engine.llvm import machine_code, object_cache, processor_levels, strategies
from treesim.errors import ArgumentError

READERS: dict[str, Callable[[], object]] = {
    "TREESIM_NUM_THREADS": threads.default_thread_count.__wrapped__,
    "OMP_NUM_THREADS": threads.default_thread_count.__wrapped__,
    "TREESIM_KEEP_MIB": buffer_pool.limit,
    "TREESIM_CODE": strategies.wanted,
    "TREESIM_CPU": lambda: processor_levels.wanted("x86_64-unknown-linux-gnu", {}),
    "TREESIM_OPT": machine_code.optimization_level,
    "TREESIM_FILL": arena.fill_byte,
    "TREESIM_BOUNDS": bounds.checks_bounds,
}
NONSENSE = (" ", "abc", "-1", "1.5", "nan", "1e3", "²", "\u0663", "9" * 5000, "0x10", "a\n::error::b\x1b[2J", "\udc80")


@pytest.fixture(autouse=True)
def none_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin with none of them set."""
    for name in READERS:
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("value", NONSENSE)
def test_nonsense_is_named_with_what_would_be_right(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ArgumentError, match=rf"^\$?{name} is '.*', but must be ") as caught:
        READERS[name]()
    assert str(caught.value).isprintable() and len(str(caught.value)) < 500


@pytest.mark.parametrize("name", READERS)
def test_an_empty_variable_is_none(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    before = READERS[name]()
    monkeypatch.setenv(name, "")
    assert READERS[name]() == before


@pytest.mark.parametrize("place", ["file", "file/below", "x" * 300, "a\n::error::b\x1b[2J/\0"])
def test_a_cache_that_cannot_be_is_named_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture, place: str
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(object_cache, "_warned", set())
    monkeypatch.setattr(
        object_cache.os, "environ", {**object_cache.os.environ, "TREESIM_CACHE_DIR": f"{tmp_path}/{place}"}
    )
    for _ in range(2):
        object_cache.write("folder/name", b"code")
    assert object_cache.read("folder/name") is None
    (line,) = (record.getMessage() for record in caplog.records)
    assert "treesim cannot store machine code in" in line and "$TREESIM_CACHE_DIR" in line and line.isprintable()


def test_a_strategy_that_changes_within_a_process_is_read_at_the_next_call(monkeypatch: pytest.MonkeyPatch) -> None:
    assert strategies.wanted() == strategies.AUTO
    for strategy in (strategies.LOOPED, strategies.STRAIGHT):
        monkeypatch.setenv("TREESIM_CODE", strategy)
        assert strategies.wanted() == strategy
    monkeypatch.delenv("TREESIM_CODE")
    assert strategies.wanted() == strategies.AUTO
    monkeypatch.setattr(strategies.os, "environ", {"TREESIM_CODE": strategies.LOOPED})
    assert strategies.wanted() == strategies.LOOPED


def test_the_strategy_is_read_without_an_exception_where_it_is_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as context:
        context.setattr(type(strategies.os.environ), "get", None, raising=False)  # raises and catches one
        found = strategies.wanted()
    assert found == strategies.AUTO
