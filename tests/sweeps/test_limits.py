"""Limits of a sweep's workers and of what is stored: just below, and just above."""

import pickle
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from tests.sweeps.plans import made_plan
from treesim import ArgumentError, SweepError
from treesim.model.generators import chain
from treesim.sweeps import around, cluster, programs
from treesim.sweeps.chunk import Task
from treesim.sweeps.cluster import DaskPool
from treesim.sweeps.programs import program_digest, read_program
from treesim.sweeps.workers import Failed, TaskResult, WorkerProcess


class Clock:
    """A clock that only waiting moves."""

    def __init__(self):
        self.now = 0.0

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


def test_a_cluster_without_workers_is_given_up_after_five_minutes(monkeypatch):
    clock, seen, cancelled = Clock(), [0.0], []

    class Event:
        def __init__(self):
            self.happened = False

        def set(self):
            self.happened = True

        def wait(self, seconds):
            clock.sleep(seconds)
            return self.happened

    class Client:
        def nthreads(self):
            if not 100 < clock.now < 200:
                return {}
            seen.append(clock.now)
            return {"worker": 1}

        def cancel(self, futures):
            cancelled.append((clock.now, futures))

    monkeypatch.setattr(cluster, "time", clock)
    monkeypatch.setattr(cluster, "Event", Event)
    monkeypatch.setattr(cluster, "Thread", lambda target, daemon: SimpleNamespace(start=target))
    pool = object.__new__(DaskPool)
    pool.client = Client()
    with pool._watched(["a future"]) as lonely:
        pass
    ((when, futures),) = cancelled
    assert lonely.happened and futures == ["a future"]
    assert seen[-1] > 100 and 300 < when - seen[-1] <= 330  # it looks every 30 s


class KilledWorker(Exception):
    """As a scheduler's."""


class CancelledError(BaseException):
    """As that of a future whose scheduler is lost."""


class Future:
    """A task that is done at once, but the last."""

    def __init__(self, order):
        self.order = pickle.loads(order)

    def result(self):
        return TaskResult({"order": self.order})

    def done(self):
        return self.order[1] != "last"


class Client:
    """A cluster without processes."""

    status = "running"

    def __init__(self, threads):
        self.threads, self.cancelled = threads, []

    def nthreads(self):
        return self.threads

    def submit(self, function, order, pure):
        assert not pure
        return Future(order)

    def cancel(self, futures):
        self.cancelled += futures


def test_a_watch_of_a_cluster_whose_scheduler_is_lost_ends(monkeypatch):
    """The futures tell of it."""

    class Lost(Client):
        def nthreads(self):
            raise ConnectionError

    event = SimpleNamespace(wait=lambda seconds: False, set=lambda: None)
    monkeypatch.setattr(cluster, "Event", lambda: event)
    monkeypatch.setattr(cluster, "Thread", lambda target, daemon: SimpleNamespace(start=target))
    pool = object.__new__(DaskPool)
    pool.client = Lost({})
    with pool._watched(["a future"]):
        assert pool.client.cancelled == []


@pytest.fixture
def distributed(monkeypatch):
    """A library of clusters without processes."""
    library = SimpleNamespace(Client=Client, KilledWorker=KilledWorker, as_completed=iter)
    monkeypatch.setitem(sys.modules, "distributed", library)
    monkeypatch.setattr(cluster, "find_spec", lambda name: library)


def test_a_cluster_needs_its_library(monkeypatch):
    monkeypatch.setattr(cluster, "find_spec", lambda name: None)
    for call in (lambda: DaskPool(None), cluster.local_cluster):
        with pytest.raises(ArgumentError, match=r"a cluster needs dask\.distributed: .*cluster"):
            call()


@pytest.mark.parametrize(
    ("client", "message"),
    [
        ("tcp://host", r"client must be a dask\.distributed\.Client, or None, got 'tcp://host'"),
        (Client({}), r"has no workers yet: client\.wait_for_workers\(1\) waits for them"),
        (Client({"a": 2, "b": 3}), None),
    ],
    ids=["address", "empty", "two"],
)
def test_a_cluster_has_a_client_and_workers(client, message, distributed):
    if message is None:
        assert DaskPool(client).workers == 5
        return
    with pytest.raises(ArgumentError, match=message):
        DaskPool(client)


def test_tasks_of_a_cluster_that_are_not_done_are_cancelled(distributed):
    pool = DaskPool(Client({"a": 1}), threads=4)
    tasks = [Task(0, 4), Task(4, 8)]
    outcomes = pool.map("a job", [*tasks, "last"])
    assert next(outcomes) == (tasks[0], TaskResult({"order": ("a job", tasks[0], 4)}))
    outcomes.close()
    assert len(pool.client.cancelled) == 1
    pool.client.status = "closed"
    list(pool.map("a job", ["last"]))
    assert len(pool.client.cancelled) == 1, "a client that is closed is asked nothing"
    pool.close()


def raised(error):
    def result():
        raise error

    return SimpleNamespace(result=result)


@pytest.mark.parametrize(
    ("error", "lonely", "message"),
    [
        (
            ValueError("closed"),
            True,
            "the cluster has had no workers for 300 s: the same call goes on once it has some",
        ),
        (CancelledError(), False, r"the cluster's scheduler is lost \(CancelledError\): call again to go on"),
        (
            ImportError("no treesim"),
            False,
            "a worker of the cluster cannot do tasks: ImportError: no treesim: has",
        ),
        (KeyboardInterrupt(), False, None),
    ],
    ids=["lonely", "lost", "worker", "Ctrl-C"],
)
def test_how_a_cluster_fails_is_told(error, lonely, message, distributed):
    event = SimpleNamespace(is_set=lambda: lonely)
    with pytest.raises(KeyboardInterrupt if message is None else SweepError, match=message):
        cluster._outcome(raised(error), event)


def test_outcomes_of_a_cluster_are_those_of_its_workers(distributed, monkeypatch):
    quiet = SimpleNamespace(is_set=lambda: False)
    killed = cluster._outcome(raised(KilledWorker("task 3 ran on 2 workers\nsee the docs")), quiet)
    assert killed == Failed("killed its workers: task 3 ran on 2 workers", kills=True)
    with pytest.raises(SweepError, match="a full disk"):
        cluster._outcome(SimpleNamespace(result=lambda: SweepError("a full disk")), quiet)
    monkeypatch.setattr("treesim.sweeps.workers.outcome_of", lambda *order: order)
    assert cluster._do(pickle.dumps(("a job", Task(0, 4), 2))) == ("a job", Task(0, 4), 2)


@pytest.mark.parametrize(("appears", "seen"), [(4.8, True), (5.2, False)])
def test_a_file_of_another_machine_is_waited_for_five_seconds(appears, seen, tmp_path, monkeypatch):
    path, clock = tmp_path / "call.pickle", Clock()

    def sleep(seconds):
        clock.now += seconds
        if clock.now >= appears:
            path.write_bytes(b"program")

    monkeypatch.setattr(programs, "time", SimpleNamespace(monotonic=clock.monotonic, sleep=sleep))
    if seen:
        assert read_program(path, program_digest(b"program")) == b"program"
    else:
        with pytest.raises(FileNotFoundError):
            read_program(path, program_digest(b"program"))


@pytest.mark.parametrize(("writes", "tries"), [(True, 2), (False, 1)])
def test_a_task_that_kills_two_workers_is_blamed(writes, tries, monkeypatch):
    """In the search for what is to blame, one that kills one worker."""
    worker, sent = WorkerProcess([0], None), []

    class Dies:
        def send(self, order):
            sent.append(order)
            raise EOFError

    monkeypatch.setattr(worker, "_connected", Dies)
    monkeypatch.setattr(worker, "_cause", lambda: "killed by signal 9")
    assert worker.do((None, Task(0, 4, writes=writes), 1)) == Failed("killed by signal 9", kills=True)
    assert len(sent) == tries


@pytest.mark.parametrize(("joints", "stored"), [(16, {"q0"}), (17, set())])
def test_draws_of_few_numbers_are_stored(joints, stored):
    plan = made_plan(chain(joints), {"q0": around()}, samples=2, steps=3, seed=0)
    drawn = SimpleNamespace(drawn={"q0": np.zeros((2, joints))})
    assert set(plan.kept_inputs(drawn)) == stored
