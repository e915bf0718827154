"""Limits of a sweep's workers and of what is stored: just below, and just above."""

from types import SimpleNamespace

import numpy as np
import pytest

from treesim.model.generators import chain
from treesim.sweeps import around, cluster, programs
from treesim.sweeps.chunk import Task
from treesim.sweeps.cluster import DaskPool
from treesim.sweeps.plan import plan_of
from treesim.sweeps.programs import program_digest, read_program
from treesim.sweeps.workers import Failed, WorkerProcess


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
    counts = {"samples": 2, "steps": 3, "every": 1, "seed": 0}
    plan = plan_of(
        chain(joints), None, None, None, None, (0.0, 0.0), {"q0": around()}, None, counts, 1e-2, "summary", {}
    )
    drawn = SimpleNamespace(drawn={"q0": np.zeros((2, joints))})
    assert set(plan.kept_inputs(drawn)) == stored
