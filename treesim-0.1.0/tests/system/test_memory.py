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
