"""Processes of this machine: how many, and on which cores."""

from treesim.sweeps import workers


def test_numa_nodes_are_read_from_the_system(tmp_path):
    for name, text in (("node0", "0-2,8\n"), ("node1", "3-4\n"), ("node2", "\n"), ("nodes", "9")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "cpulist").write_text(text)
    assert workers.numa_nodes(tmp_path) == [[0, 1, 2, 8], [3, 4]]
    assert workers.numa_nodes(tmp_path / "none") == []


def test_workers_share_the_cores_evenly(monkeypatch):
    monkeypatch.setattr(workers.os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    monkeypatch.setattr(workers, "usable_cores", lambda: 8)
    monkeypatch.setattr(workers, "numa_nodes", lambda: [[0, 1, 2, 3], [4, 5, 6, 7, 8, 9]])
    assert workers._shares(None) == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert workers._shares(3) == [[0, 1], [2, 3, 4], [5, 6, 7]]
    assert workers._shares(9)[0] == list(range(8))  # more workers than cores: they compete
    monkeypatch.setattr(workers, "usable_cores", lambda: 2)
    assert workers._shares(None) == [[0], [4]]
