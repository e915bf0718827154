"""Workers of a Dask cluster, which `dask.distributed` starts by Slurm, Kubernetes, SSH and others."""

from __future__ import annotations

import pickle
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from threading import Event, Thread
from typing import Any

from ..engine.threads import VARIABLES
from ..errors import ArgumentError, SweepError
from ..states.arguments import short_repr
from ..system.installation import installed_by
from .chunk import Job, Task
from .workers import Failed, Outcome, numa_nodes

WITHOUT_WORKERS = 300.0  # seconds without workers that are tolerated, for example while a queue starts them
LOST = ("FutureCancelledError", "CancelledError", "CommClosedError", "FutureLostError")


def require_distributed() -> None:
    """Raise ArgumentError, with installation advice, if dask.distributed is missing."""
    if find_spec("distributed") is None:
        raise ArgumentError(f"a cluster needs dask.distributed: {installed_by('.[sweep,cluster]')}")


class DaskPool:
    """Workers of a `dask.distributed.Client`, which stays open; they reach the store by the same path.

    threads: of treesim for a task, by default $TREESIM_NUM_THREADS of the worker, else $OMP_NUM_THREADS, which
    Dask sets to 1. Raises ArgumentError if `client` is no client, or has no workers.
    """

    exact = False  # a scheduler blames all tasks of a worker for its death

    def __init__(self, client: Any, threads: int | None = None) -> None:
        require_distributed()
        from distributed import Client

        if not isinstance(client, Client):
            raise ArgumentError(f"client must be a dask.distributed.Client, or None, got {short_repr(client)}")
        self.client, self.threads = client, threads
        self.workers = sum(client.nthreads().values())
        if not self.workers:
            raise ArgumentError("the client's cluster has no workers yet: client.wait_for_workers(1) waits for them")

    def map(self, job: Job, tasks: Sequence[Task]) -> Iterator[tuple[Task, Outcome]]:
        """Yield each task and its outcome in order of completion.

        Raises SweepError if the scheduler is lost, a worker cannot run any task, or there are no workers for long.
        """
        from distributed import as_completed

        futures = {self.client.submit(_do, self._order(job, task), pure=False): task for task in tasks}
        try:
            with self._watched(list(futures)) as lonely:
                for future in as_completed(futures):
                    yield futures[future], _outcome(future, lonely)
        finally:
            self._cancel(list(futures))

    def _order(self, job: Job, task: Task) -> bytes:
        return pickle.dumps((job, task, self.threads))

    @contextmanager
    def _watched(self, futures: list[Any]) -> Iterator[Event]:
        """Cancel futures once the cluster has had no worker for WITHOUT_WORKERS seconds; they would wait for ever.

        Yields the event that is then set.
        """
        ended, lonely = Event(), Event()

        def watch() -> None:
            since = time.monotonic()
            while not ended.wait(WITHOUT_WORKERS / 10):
                try:
                    if self.client.nthreads():
                        since = time.monotonic()
                    elif time.monotonic() - since > WITHOUT_WORKERS:
                        lonely.set()
                        self.client.cancel(futures)
                        return
                except Exception:  # the scheduler is lost, which the futures report
                    return

        Thread(target=watch, daemon=True).start()
        try:
            yield lonely
        finally:
            ended.set()

    def _cancel(self, futures: list[Any]) -> None:
        """Cancel the futures that are not done, for example after Ctrl-C."""
        if self.client.status == "running":
            self.client.cancel([future for future in futures if not future.done()])

    def close(self) -> None:
        """Do nothing: the caller closes the client."""


def _do(order: bytes) -> Any:
    """Run a task in a worker.

    The function is sent as code, not by name. A worker without treesim, or with an older version, would never
    answer a function that it cannot import.
    """
    import pickle

    from treesim.sweeps.workers import outcome_of

    return outcome_of(*pickle.loads(order))


_do.__module__ = "__main__"  # which cloudpickle sends as code


def _outcome(future: Any, lonely: Event) -> Outcome:
    """Return the outcome of a task's future; lonely: set if the task was cancelled for lack of workers."""
    from distributed import KilledWorker

    try:
        outcome = future.result()
    except KilledWorker as error:
        return Failed(f"killed its workers: {str(error).splitlines()[0]}", kills=True)
    except BaseException as error:
        if lonely.is_set():
            raise SweepError(
                f"the cluster has had no workers for {WITHOUT_WORKERS:g} s: the same call goes on once it has some"
            ) from None
        if type(error).__name__ in LOST:
            raise SweepError(f"the cluster's scheduler is lost ({type(error).__name__}): call again to go on") from None
        if not isinstance(error, Exception):
            raise
        raise SweepError(
            f"a worker of the cluster cannot do tasks: {type(error).__name__}: {error}: has it the same version of "
            f"treesim? The same call goes on"
        ) from error
    if isinstance(outcome, SweepError):
        raise outcome
    return outcome  # type: ignore[no-any-return]


def local_cluster(workers: int | None = None, **options: Any) -> Any:
    """Return a Dask client of workers on this machine: one process for each NUMA node, with one thread on each core.

    By default, Dask would start more processes, and restrict treesim to one thread in each. Closing the client closes
    the cluster.

    Parameters
    ----------
    workers : int, optional
        Number of workers, by default one for each NUMA node.
    **options
        Other arguments of `dask.distributed.LocalCluster`.

    Returns
    -------
    dask.distributed.Client
        The client.

    Raises
    ------
    ArgumentError
        If dask.distributed is not installed.
    """
    require_distributed()
    import dask
    from distributed import LocalCluster

    from ..system.cores import usable_cores

    count = workers or max(1, len(numa_nodes()))
    threads = str(max(1, usable_cores() // count))
    # environment of the processes: Dask's default is one OpenMP thread
    with dask.config.set({f"distributed.nanny.pre-spawn-environ.{name}": threads for name in VARIABLES}):
        cluster = LocalCluster(n_workers=count, threads_per_worker=1, processes=True, **options)
    client = cluster.get_client()
    return client
