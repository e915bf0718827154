"""Benchmark of derivatives: single states and batches, compared with other engines on one thread."""

from functools import partial

from treesim_lab import bench
from treesim_lab.bench import time_derivatives

from treesim.compare import installed_engines
from treesim.engine.threads import thread_count


def test_derivatives_are_compared_with_other_engines():
    before = thread_count()
    found = time_derivatives("chain3", batches=[8, 70], rounds=1)
    assert thread_count() == before and found.more == {"threads": 1}
    ours = [row for row in found.rows if row["engine"] == "treesim"]
    assert len(ours) == 3 * 7 + 4 and {row["quantity"] for row in ours} == {
        "derivatives of inverse dynamics", "derivatives of forward dynamics", "M⁻¹",
        "gradients of rollouts",
    }  # fmt: skip
    assert all(row["error"] is None or row["error"] < 1e-11 for row in found.rows)
    assert all(0 < row["min_s"] <= row["median_s"] for row in found.rows)
    engines = {each.title for each in installed_engines([])} & {"Pinocchio", "MuJoCo"}
    for row in ours:
        if row["quantity"] == "derivatives of forward dynamics":
            assert row["times_faster_than"].keys() == engines


def test_command(answer, monkeypatch):
    quick = partial(bench.time_derivatives, batches=[8], engines=[])
    monkeypatch.setattr(bench, "time_derivatives", quick)
    found = answer("bench", "chain2", "--derivatives", "--repeats", 1)
    assert found["threads"] == 1 and len(found["derivatives"]) == 19 and found["repeats"] == 1
