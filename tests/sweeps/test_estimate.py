"""How many samples a task has."""

import pytest

from treesim import ArgumentError
from treesim.sweeps.estimate import CHUNK_BYTES, TASK_SECONDS, check_disk, chunk_size


@pytest.mark.parametrize("seconds", [1e-6, 1e-4, 1e-2])
def test_a_task_takes_about_as_long_as_it_should(seconds):
    chunk = chunk_size(seconds, 100, 10**9, 8)
    assert TASK_SECONDS <= chunk * seconds <= 2 * TASK_SECONDS or chunk == 1 << 20
    assert chunk & (chunk - 1) == 0


def test_all_workers_have_some_and_results_fit():
    assert chunk_size(1e-9, 100, 1000, 4) == 256
    assert chunk_size(1e-9, CHUNK_BYTES // 100, 10**9, 4) <= 128
    assert chunk_size(10.0, 100, 10, 1) == 64


def test_a_disk_that_is_too_small_is_told_of_before(tmp_path):
    check_disk(tmp_path / "run.zarr", 1)
    with pytest.raises(ArgumentError, match="before they are compressed"):
        check_disk(tmp_path / "run.zarr", 1 << 62)
