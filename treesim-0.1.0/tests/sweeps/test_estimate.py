"""How many samples a task has."""

from types import SimpleNamespace

import pytest

from treesim import ArgumentError
from treesim.sweeps.chunk import Task
from treesim.sweeps.estimate import TASK_SECONDS, check_disk, chunk_size, sample_seconds
from treesim.sweeps.workers import TaskResult


@pytest.mark.parametrize("seconds", [1e-6, 1e-4, 1e-2])
def test_a_task_takes_about_as_long_as_it_should(seconds):
    chunk = chunk_size(seconds, 100, 10**9, 8)
    assert TASK_SECONDS <= chunk * seconds <= 2 * TASK_SECONDS or chunk == 1 << 20
    assert chunk & (chunk - 1) == 0


def test_all_workers_have_some_and_results_fit():
    assert chunk_size(1e-9, 100, 1000, 4) == 256
    assert chunk_size(10.0, 100, 10, 1) == 64


@pytest.mark.parametrize(
    ("seconds", "size", "chunk"),
    [
        (4.9e-3, 1, 1024),  # 1,020 samples in 5 s
        (4.8e-3, 1, 2048),  # 1,042 samples
        (1e-9, 267_000, 1024),  # 1,005 samples in 256 MiB
        (1e-9, 258_000, 2048),  # 1,040 samples
        (1.0, 1, 64),
        (1e-9, 1, 1 << 20),
    ],
)
def test_seconds_and_bytes_of_a_task_are_limited(seconds, size, chunk):
    assert chunk_size(seconds, size, 10**9, 1) == chunk


@pytest.mark.parametrize(("samples", "timed"), [(255, 255), (256, 256), (257, 256)])
def test_few_samples_are_timed(samples, timed):
    tasks = []

    class Takes:
        """A pool whose tasks take 0.5 s the first time, 0.25 s then."""

        def map(self, job, given):
            tasks.extend(given)
            yield given[0], TaskResult({"seconds": 0.5 / len(tasks)})

    assert sample_seconds(Takes(), None, SimpleNamespace(samples=samples)) == 0.25 / timed
    assert tasks == 2 * [Task(0, timed, writes=False)]


def test_a_disk_that_is_too_small_is_told_of_before(tmp_path):
    check_disk(tmp_path / "run.zarr", 1)
    with pytest.raises(ArgumentError, match="before they are compressed"):
        check_disk(tmp_path / "run.zarr", 1 << 62)
