"""Worker processes of sweeps that are kept between calls: starting one takes longer than most sweeps of tests."""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from treesim.sweeps import sweep, workers

KEPT: dict[tuple[tuple[int, ...], int | None], workers.WorkerProcess] = {}


class KeptPool(workers.LocalPool):
    """Pool whose processes serve the next pool, too, unless a call left it before its last task."""

    def __init__(self, count: int | None = None, threads: int | None = None) -> None:
        super().__init__(count, threads)
        self._keys = [(tuple(share), threads) for share in self.shares]
        self._processes = [KEPT.pop(key, None) or workers.WorkerProcess(key[0], threads) for key in self._keys]
        self._idle = True

    def map(self, job: workers.Job, tasks: Sequence[workers.Task]) -> Iterator[tuple[workers.Task, workers.Outcome]]:
        self._idle = False
        yield from super().map(job, tasks)
        self._idle = True

    def close(self) -> None:
        if not self._idle:
            return super().close()
        for thread in self._threads:
            thread.join()
        KEPT.update(zip(self._keys, self._processes, strict=True))
        return None


@pytest.fixture(scope="session")
def _ended_at_last() -> Iterator[None]:
    yield
    for process in KEPT.values():
        process.end()
        process.forget()


@pytest.fixture
def kept_workers(request: pytest.FixtureRequest, monkeypatch: Any, _ended_at_last: None) -> None:
    """Let sweeps use the workers of earlier tests, except in tests marked `own_workers`."""
    if "own_workers" not in request.keywords:
        monkeypatch.setattr(sweep, "LocalPool", KeptPool)
