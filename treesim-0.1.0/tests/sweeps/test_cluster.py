"""Sweeps by a Dask cluster on this machine: workers and schedulers that are lost."""

import os
import shutil
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import treesim
from tests.sweeps.test_sweep import SAMPLES, VARY, Kills, run
from tests.waiting import PATIENCE
from treesim import ArgumentError, SweepError
from treesim.sweeps import cluster, local_cluster, open_study

pytestmark = pytest.mark.slow
CONNECT = "distributed.comm.timeouts.connect"


@pytest.fixture
def client():
    pytest.importorskip("distributed")  # whose defaults come with it
    import dask

    # what kills workers kills one more than these
    options = {CONNECT: f"{PATIENCE} s", "distributed.scheduler.allowed-failures": 1}
    with dask.config.set(options), local_cluster(2, dashboard_address=None) as client:
        yield client
        client.cluster.close()


def columns(study):
    return {name: column.values for name, column in study.summary.items()}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return columns(run(tmp_path_factory.mktemp("sweep") / "whole.zarr"))


def assert_same(found, expected):
    assert found.keys() == expected.keys()
    assert all(found[name].tobytes() == expected[name].tobytes() for name in expected)


def on_cluster(store, client, **options):
    return run(store, client=client, workers=None, **options)


def test_a_cluster_gives_the_same_bits_and_threads_are_treesims_own(whole, tmp_path, client):
    assert_same(columns(on_cluster(tmp_path / "run.zarr", client, chunk=7)), whole)
    environment = client.run(lambda: os.environ["TREESIM_NUM_THREADS"])
    assert len(set(environment.values())) == 1 and len(environment) == 2


def test_a_worker_that_is_killed_costs_nothing(whole, tmp_path, client):
    pids = []

    def kill_one(done, total):
        if not pids:
            pids.extend(client.run(os.getpid).values())
            os.kill(pids[0], signal.SIGKILL)

    study = on_cluster(tmp_path / "run.zarr", client, chunk=4, progress=kill_one)
    assert_same(columns(study), whole)


def test_a_scheduler_that_is_lost_is_told_and_the_same_call_goes_on(whole, tmp_path, client):
    import dask

    store = tmp_path / "run.zarr"

    def lose(done, total):
        dask.config.set({CONNECT: "5 s"})  # what is lost is waited for twice
        client.cluster.sync(client.cluster.scheduler.close)

    with pytest.raises(SweepError, match="scheduler is lost"):
        on_cluster(store, client, chunk=4, progress=lose)
    done = []
    study = run(store, chunk=4, progress=lambda now, total: done.append(now))
    assert_same(columns(study), whole)
    assert len(done) < SAMPLES / 4


def test_a_sample_that_kills_its_workers_is_found(whole, tmp_path, client):
    study = on_cluster(tmp_path / "run.zarr", client, vary={**VARY, "gravity[x]": Kills(21)}, chunk=2)
    (failure,) = study.failed
    assert failure.sample == 21 and "killed its workers" in failure.reason
    others = np.arange(SAMPLES) != 21
    assert np.array_equal(study.summary["fastest"].values[others], whole["fastest"][others])


def test_clients_without_workers_are_refused(tmp_path):
    from distributed import LocalCluster

    with (
        LocalCluster(n_workers=0, dashboard_address=None) as cluster,
        cluster.get_client() as client,
        pytest.raises(ArgumentError, match="has no workers yet"),
    ):
        on_cluster(tmp_path / "run.zarr", client)


def test_a_worker_that_is_killed_in_mid_task_costs_nothing(whole, tmp_path, client):
    kills = Kills(20, once=str(tmp_path / "killed"))
    study = on_cluster(tmp_path / "run.zarr", client, vary={**VARY, "gravity[x]": kills}, chunk=4)
    assert os.path.exists(kills.once) and study.failed == () and study.done == SAMPLES
    assert np.array_equal(study.summary["fastest"].values, whole["fastest"])


@contextmanager
def one_worker(address, path):
    """A worker process whose modules are found in a folder first."""
    command = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-dashboard"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (path, *filter(None, sys.path))))}
    worker = subprocess.Popen([*command, "--no-nanny"], env=environment, stderr=subprocess.DEVNULL, cwd=path)
    try:
        yield worker
    finally:
        worker.kill()
        worker.wait()


@pytest.fixture
def empty_cluster():
    from distributed import LocalCluster

    with LocalCluster(n_workers=0, dashboard_address=None) as cluster, cluster.get_client() as client:
        yield client


@pytest.mark.parametrize(
    ("file", "change"), [("errors.py", ("", "# changed\n")), ("sweeps/workers.py", ("def outcome_of(", "def other("))]
)
def test_a_worker_with_another_treesim_is_told_and_the_same_call_goes_on(whole, tmp_path, empty_cluster, file, change):
    shutil.copytree(Path(treesim.__file__).parent, tmp_path / "other" / "treesim")
    path = tmp_path / "other" / "treesim" / file
    path.write_text(path.read_text().replace(*change) if change[0] else path.read_text() + change[1])
    store = tmp_path / "run.zarr"
    run(store, chunk=4)
    (store / "fastest" / "c" / "3").unlink()
    with one_worker(empty_cluster.scheduler.address, tmp_path / "other"):
        empty_cluster.wait_for_workers(1, timeout=PATIENCE)
        with pytest.raises(SweepError, match=r"treesim"):
            on_cluster(store, empty_cluster, chunk=4)
    assert open_study(store).failed == ()
    assert_same(columns(run(store, chunk=4)), whole)


def test_a_cluster_that_loses_all_its_workers_is_told(whole, tmp_path, empty_cluster, monkeypatch):
    monkeypatch.setattr(cluster, "WITHOUT_WORKERS", 1.0)
    store = tmp_path / "run.zarr"
    with one_worker(empty_cluster.scheduler.address, tmp_path) as worker:
        empty_cluster.wait_for_workers(1, timeout=PATIENCE)
        with pytest.raises(SweepError, match="has had no workers for 1 s"):
            on_cluster(store, empty_cluster, chunk=4, progress=lambda done, total: worker.kill())
    assert_same(columns(run(store, chunk=4)), whole)


def test_a_store_that_goes_meanwhile_is_told(whole, tmp_path, client, monkeypatch):
    store = tmp_path / "run.zarr"
    moved = tmp_path / "moved.zarr"

    def move(done, total):
        if store.exists():
            store.rename(moved)

    with pytest.raises((SweepError, ArgumentError), match=r"run\.zarr"):
        on_cluster(store, client, chunk=2, progress=move)
    assert_same(columns(run(moved, chunk=2)), whole)
