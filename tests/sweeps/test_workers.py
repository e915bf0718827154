"""Processes of this machine: how many, and on which cores."""

import shutil
import time
from contextlib import closing

import numpy as np
import pytest

import treesim
from tests.sweeps.test_sweep import ROBOT, SAMPLES, run
from treesim import SweepError
from treesim.sweeps import chunk, programs, workers
from treesim.sweeps.chunk import Task, job_of, run_task
from treesim.sweeps.store import Store


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


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """The folder of a sweep that is done; tests take copies of it."""
    return run(tmp_path_factory.mktemp("done") / "run.zarr").path


@pytest.fixture
def job(done, tmp_path, monkeypatch):
    """The job of a call in a store, whose program is there."""
    monkeypatch.setattr(programs, "PATIENCE", 0.0)
    chunk._plan.cache_clear()
    folder = tmp_path / "run.zarr"
    shutil.copytree(done, folder)
    content = (folder / programs.PLAN).read_bytes()
    with programs.written_for_workers(folder, content) as program:
        yield job_of(folder, program, content, Store(folder).identity)


def test_a_worker_that_does_not_see_the_store_does_nothing(job):
    with pytest.raises(SweepError, match=r"all workers need the store under the same path.*the same call goes on"):
        run_task(job._replace(folder=job.folder + "/elsewhere"), Task(0, 16))


def test_a_worker_that_sees_another_copy_of_the_store_does_nothing(job, tmp_path):
    copy = tmp_path / "copy.zarr"
    shutil.copytree(job.folder, copy, ignore=shutil.ignore_patterns("call.*"))
    with pytest.raises(SweepError, match="FileNotFoundError"):
        run_task(job._replace(folder=str(copy)), Task(0, 16))


def test_a_worker_with_another_treesim_does_nothing(job):
    other = job._replace(treesim=("0.0.1", "abc"))
    with pytest.raises(SweepError, match=r"has treesim .*, not 0\.0\.1, sources abc as the call"):
        run_task(other, Task(0, 16))


def test_a_worker_loads_no_program_of_another_digest(job):
    with pytest.raises(SweepError, match="does not have the call's digest"):
        run_task(job._replace(digest="0" * 64), Task(0, 16))


def test_a_worker_writes_into_no_other_store(job, tmp_path):
    with pytest.raises(SweepError, match="holds another sweep by now"):
        run_task(job._replace(store="0" * 32), Task(0, 16))


def test_a_full_disk_is_no_fault_of_samples(job, monkeypatch):
    def full(self, start, columns):
        raise treesim.ArgumentError("cannot write: no space left on device")

    monkeypatch.setattr(Store, "write", full)
    with pytest.raises(SweepError, match=r"cannot write results: .*no space left"):
        run_task(job, Task(0, 16))


def test_a_task_that_only_tests_writes_nothing(job):
    before = sorted(Store(job.folder).folder.rglob("*"))
    record = run_task(job, Task(0, 4, writes=False))
    assert record["start"] == record["failed"] == 0 and "checksum" not in record
    assert sorted(Store(job.folder).folder.rglob("*")) == before


def test_what_ends_a_task_is_told_apart(monkeypatch):
    """An error of the worker ends the sweep, an error of samples only their task."""
    raised = SweepError("another treesim")

    def fail(job, task, threads):
        raise raised

    monkeypatch.setattr(workers, "run_task", fail)
    assert workers.outcome_of(None, Task(0, 4), 1) is raised
    raised = ValueError("mass must be positive")
    assert workers.outcome_of(None, Task(0, 4), 1) == workers.Failed("ValueError: mass must be positive", kills=False)
    monkeypatch.setattr(workers, "run_task", lambda job, task, threads: {"start": task.start})
    assert workers.outcome_of(None, Task(4, 8), 1) == workers.TaskResult({"start": 4})


def test_an_error_in_the_thread_of_a_worker_is_raised_by_the_pool(monkeypatch):
    ends = []

    class Breaks:
        def __init__(self, cores, threads):
            self.threads = threads

        def do(self, order):
            raise RuntimeError("an order cannot be pickled")

        def end(self):
            ends.append("ended")

        def forget(self):
            ends.append("forgotten")

    monkeypatch.setattr(workers, "WorkerProcess", Breaks)
    with pytest.raises(RuntimeError, match="cannot be pickled"), closing(workers.LocalPool(1)) as pool:
        list(pool.map(None, [Task(0, 4)]))
    assert ends == ["ended", "forgotten"]


@pytest.mark.parametrize("when", ["before", "during"])
def test_a_worker_that_its_pool_has_ended_is_not_started_again(when, monkeypatch):
    worker = workers.WorkerProcess([0], 1)

    class Closed:
        """A connection during whose answer the pool ends the worker."""

        def send(self, order):
            worker.end()

        def recv(self):
            raise EOFError

    if when == "before":
        worker.end()
    else:
        monkeypatch.setattr(worker, "_connected", Closed)
    assert worker.do((None, Task(0, 4), 1)) == workers.Failed("the worker was ended", kills=True)
    assert worker._process is None


@pytest.mark.parametrize("jump", [-1e9, 1e9])
def test_a_clock_that_jumps_changes_no_record(job, monkeypatch, jump):
    before = run_task(job, Task(0, 16))
    clock = iter(range(10**6))
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + next(clock) * jump)
    after = run_task(job, Task(0, 16))
    assert after["checksum"] == before["checksum"] and 0 <= after["seconds"] < 600


@pytest.mark.own_workers
def test_processes_that_cannot_start_are_told_and_no_sample_is_left_out(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError("too many open files")

    with monkeypatch.context() as patched:
        patched.setattr(workers, "PythonProcess", refuse)
        with pytest.raises(SweepError, match="no worker process can be started: too many open files"):
            run(tmp_path / "run.zarr")
    study = run(tmp_path / "run.zarr")
    assert study.done == SAMPLES and study.failed == ()


def test_workers_need_no_file_of_the_robot(tmp_path):
    path = tmp_path / "robot" / "chain.urdf"
    path.parent.mkdir()
    path.write_text(treesim.to_urdf(ROBOT))
    robot = treesim.load(path)
    shutil.rmtree(path.parent)
    study = treesim.sweep(robot, steps=3, samples=4, workers=1, chunk=4, store=tmp_path / "run.zarr")
    assert study.failed == () and np.isfinite(study.replay(3).q).all()
