"""Memory that is refused, and the peak of this process and its children, on systems that report it otherwise too."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from treesim import ArgumentError
from treesim.system import memory
from treesim.system.memory import check_memory, peak_memory

MIB = 1 << 20
resource = pytest.importorskip("resource")


def use(size):
    return f"x = bytearray({size}); x[::1024] = bytes(len(x[::1024]))"


def test_memory_that_was_used_stays_in_the_peak():
    before = peak_memory()
    np.ones(64 * MIB // 8)
    assert peak_memory() >= 64 * MIB and peak_memory() >= before


def test_the_peak_of_children_is_theirs():
    subprocess.run([sys.executable, "-c", use(300 * MIB)], check=True)
    assert peak_memory(children=True) >= 300 * MIB


@pytest.mark.parametrize("children", [False, True])
@pytest.mark.parametrize(("platform", "unit"), [("darwin", 1), ("linux", 1024)])
def test_units_are_the_system_s(children, platform, unit, monkeypatch):
    def usage(who):
        assert who == (resource.RUSAGE_CHILDREN if children else resource.RUSAGE_SELF)
        return type("Usage", (), {"ru_maxrss": 7})

    monkeypatch.setattr(memory, "Path", lambda path: Path("nowhere"))  # no /proc
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(resource, "getrusage", usage)
    assert peak_memory(children) == 7 * unit


def test_a_system_that_reports_none(monkeypatch):
    monkeypatch.setattr(memory, "Path", lambda path: Path("nowhere"))
    monkeypatch.setitem(sys.modules, "resource", None)  # Windows
    assert peak_memory() is None and peak_memory(children=True) is None


@pytest.mark.parametrize(
    ("free", "fits"), [(0, 67_108_864), (10**11, 10**11)], ids=["small results are not asked for", "free memory"]
)
def test_what_does_not_fit_is_refused(free, fits, monkeypatch):
    monkeypatch.setattr(memory, "free_memory", lambda: free)
    check_memory(fits, "a result", "take less")
    with pytest.raises(ArgumentError, match=r"a result would take .* GiB of memory, and .* GiB are free: take less"):
        check_memory(fits + 1, "a result", "take less")


@pytest.mark.parametrize(
    ("limit", "used", "free"), [("1000", "700", 370), ("1000", "2000", 0), ("max", "700", None), (None, "700", None)]
)
def test_memory_of_a_container_is_its_limit_without_what_is_used(limit, used, free, tmp_path):
    """Pages of files count as free."""
    if limit is not None:
        (tmp_path / "memory.max").write_text(f"{limit}\n")
    (tmp_path / "memory.current").write_text(f"{used}\n")
    (tmp_path / "memory.stat").write_text("anon 630\ninactive_file 50\nactive_file 20\n")
    assert memory._free_in_group(tmp_path) == free


@pytest.mark.parametrize(
    ("details", "container", "free"),
    [
        ("MemTotal: 9 kB\nMemAvailable: 5 kB\nSwapFree: 2 kB\n", None, 7 * 1024),
        ("MemAvailable: 5 kB\n", 3000, 3000),
        ("MemAvailable: 5 kB\n", 9000, 5 * 1024),
        ("MemTotal: 9 kB\n", None, None),
        ("MemAvailable: much kB\n", None, None),
    ],
)
def test_free_memory_is_that_of_the_system_or_the_container(details, container, free, tmp_path, monkeypatch):
    (tmp_path / "meminfo").write_text(details)
    monkeypatch.setattr(memory, "Path", lambda path: tmp_path / "meminfo")
    monkeypatch.setattr(memory, "_free_in_group", lambda: container)
    assert memory.free_memory() == free
