"""`treesim doctor` and `treesim cache`, and the panels of `treesim -h`."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from treesim import plugins
from treesim.cli.main import PANELS
from treesim.engine.llvm import object_cache
from treesim.engine.threads import thread_count

VERSION, OTHER = "0123456789abcdef", "fedcba9876543210"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache with code of a version and of another one, parts of a mesh, and what is not the cache's."""
    monkeypatch.setenv("TREESIM_CACHE_DIR", str(tmp_path))
    for name, size in ((VERSION, 10), (OTHER, 20), ("convex_parts", 7), ("mine", 5)):
        (tmp_path / name / "objects").mkdir(parents=True)
        (tmp_path / name / "objects" / "code").write_bytes(bytes(size))
    return tmp_path


def test_each_command_has_a_panel():
    assert sorted(name for names in PANELS.values() for name in names) == sorted(plugins.BUILT_IN["commands"])


def test_the_cache_is_measured_and_emptied(treesim: Callable[..., Result], folder: Path) -> None:
    assert json.loads(treesim("cache", "--json").stdout) == {"folder": str(folder), "files": 3, "bytes": 37}
    assert "3 files" in treesim("cache").stdout
    cleared = treesim("cache", "--clear")
    assert cleared.exit_code == 0 and "0 files" in cleared.stdout
    assert [path.name for path in folder.iterdir()] == ["mine"], "other folders are left"


def test_there_may_be_no_cache(treesim: Callable[..., Result], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_cache, "cache_directory", lambda: None)
    assert json.loads(treesim("cache", "--clear", "--json").stdout) == {"folder": None, "files": 0, "bytes": 0}


def test_the_doctor_names_versions_and_plugins(
    treesim: Callable[..., Result], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in {name for name in os.environ if name.startswith("TREESIM_")} - {"TREESIM_CACHE_DIR"}:
        monkeypatch.delenv(name)  # as the tests' own
    monkeypatch.setenv("TREESIM_NUM_THREADS", "1")
    found = json.loads(treesim("doctor", "--json").stdout)
    assert found["versions"]["treesim"] and found["versions"]["numpy"]
    assert found["threads"] == thread_count()  # the variable is read once in a process
    assert found["environment"] == {"TREESIM_CACHE_DIR": str(folder), "TREESIM_NUM_THREADS": "1"}
    assert found["cache"]["files"] >= 2 and found["programs"].keys() == {"ffmpeg", "chromium"}
    assert "treesim" in treesim("doctor").stdout


def test_the_doctor_checks_the_dynamics(treesim: Callable[..., Result], monkeypatch: pytest.MonkeyPatch) -> None:
    passed = treesim("doctor", "--json")
    assert passed.exit_code == 0 and json.loads(passed.stdout)["check"].startswith("passed: ")

    monkeypatch.setattr("treesim.dynamics.inverse_dynamics.inverse_dynamics", lambda robot, q, v, a: v)
    wrong = treesim("doctor", "--json")
    assert wrong.exit_code == 1 and json.loads(wrong.stdout)["check"].startswith("failed: ")

    def broken(*arguments: object) -> None:
        raise OSError("no LLVM here")

    monkeypatch.setattr("treesim.dynamics.forward_dynamics.forward_dynamics", broken)
    wrong = treesim("doctor")
    assert wrong.exit_code == 1 and "OSError: no LLVM here" in wrong.stdout
