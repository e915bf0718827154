"""Cores that a process may use: control groups of both versions, at any depth, as containers and taskset limit them."""

import os
import sys
from pathlib import Path

import pytest

from treesim.system import cores


def group_tree(folder: Path, membership: str, files: dict[str, str]) -> tuple[Path, Path]:
    """What the kernel shows of control groups: the process's membership, and the files of groups."""
    (folder / "cgroup").write_text(membership)
    for name, text in files.items():
        path = folder / "fs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder / "cgroup", folder / "fs"


V1 = {"cpu,cpuacct/a/cpu.cfs_quota_us": "250000\n", "cpu,cpuacct/a/cpu.cfs_period_us": "100000\n"}


@pytest.mark.parametrize(
    ("membership", "files", "quota"),
    [
        ("0::/\n", {"cpu.max": "150000 100000\n"}, 1.5),
        ("0::/\n", {"cpu.max": "max 100000\n"}, None),
        ("0::/a/b\n", {"a/b/cpu.max": "max 100000\n", "a/cpu.max": "300000 100000\n"}, 3.0),
        ("0::/a/b\n", {"a/b/cpu.max": "100000 100000\n", "a/cpu.max": "300000 100000\n"}, 1.0),
        ("0::/..\n", {"cpu.max": "50000 100000\n"}, 0.5),
        ("4:memory:/a\n2:cpu,cpuacct:/a\n0::/\n", V1, 2.5),
        ("2:cpu,cpuacct:/a\n", {**V1, "cpu,cpuacct/a/cpu.cfs_quota_us": "-1\n"}, None),
        ("1:cpuset:/a\n", {"cpuset/a/cpu.max": "100000 100000\n"}, None),
        ("0::/\n", {"cpu.max": "100000 0\n"}, None),
        ("0::/\n", {"cpu.max": "nonsense\n"}, None),
        ("nonsense\n", {}, None),
        ("0::/gone\n", {}, None),
    ],
)
def test_quotas_of_control_groups(tmp_path, membership, files, quota):
    assert cores.cpu_quota(*group_tree(tmp_path, membership, files)) == quota


def test_a_system_without_control_groups_sets_no_quota(tmp_path):
    assert cores.cpu_quota(tmp_path / "none", tmp_path) is None


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="this system ties no process to cores")
@pytest.mark.parametrize(
    ("affinity", "quota", "count"), [(8, None, 8), (8, 2.0, 2), (8, 2.01, 3), (8, 2.99, 3), (2, 16.0, 2), (4, 0.2, 1)]
)
def test_the_smaller_of_affinity_and_quota_counts(monkeypatch, affinity, quota, count):
    monkeypatch.setattr(cores.os, "sched_getaffinity", lambda pid: set(range(affinity)))
    monkeypatch.setattr(cores, "cpu_quota", lambda: quota)
    assert cores.usable_cores() == count


@pytest.mark.parametrize(("failed", "count"), [(0, 6), (-1, 10)], ids=["two kinds", "one kind"])
def test_macos_counts_performance_cores(failed, count, monkeypatch):
    """A machine of 6 performance and 4 efficiency cores; processors of Intel have one kind."""

    class Library:
        def __init__(self, name):
            assert name is None

        def sysctlbyname(self, name, found, size, new, new_size):
            assert name == b"hw.perflevel0.logicalcpu" and size._obj.value == 4
            found._obj.value = 6
            return failed

    monkeypatch.delattr(cores.os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(cores.os, "cpu_count", lambda: 10)
    monkeypatch.setattr(cores, "cpu_quota", lambda: None)
    monkeypatch.setattr(cores.sys, "platform", "darwin")
    monkeypatch.setattr(cores.ctypes, "CDLL", Library)
    assert cores.usable_cores() == count


@pytest.mark.skipif(sys.platform == "darwin", reason="of other systems")
def test_other_systems_do_not_tell_kinds_of_cores():
    assert cores._performance_cores() is None
