"""Workers of a Dask cluster: any that `dask.distributed` knows how to start, by Slurm, Kubernetes or SSH."""

from __future__ import annotations

import pickle
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from threading import Event, Thread
from typing import Any

from ..engine.threads import VARIABLES
from ..errors import ArgumentError, SweepError, installed_by
from ..states.arguments import short_repr
from .chunk import Job, Task
from .workers import Failed, Outcome, numa_nodes

WITHOUT_WORKERS = 300.0  # seconds for which a cluster may have none, as while a queue starts them
LOST = ("FutureCancelledError", "CancelledError", "CommClosedError", "FutureLostError")


def require_distributed() -> None:
    """Raise ArgumentError, saying how to install it, if dask.distributed is missing."""
    if find_spec("distributed") is None:
        raise ArgumentError(f"a cluster needs dask.distributed: {installed_by('.[sweep,cluster]')}")


class DaskPool:
    """The workers of a `dask.distributed.Client`, which stays open; they reach the store under the same path.

    threads: of treesim's own for a task, by default what $TREESIM_NUM_THREADS says where a worker runs, else
    $OMP_NUM_THREADS, which Dask sets to 1. Raises ArgumentError for what is no client, and for one without workers.
    """

    exact = False  # a scheduler counts the deaths of a worker against all tasks that it had

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
        """Yield each task and what came of it, as they end; raises SweepError where the scheduler is lost,
        where a worker cannot do any task, and where there are no workers for long."""
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
        """Give up futures once the cluster has had no worker for WITHOUT_WORKERS seconds: they would wait for ever.
        Yields the event of it."""
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
                except Exception:  # the scheduler is lost, which the futures tell
                    return

        Thread(target=watch, daemon=True).start()
        try:
            yield lonely
        finally:
            ended.set()

    def _cancel(self, futures: list[Any]) -> None:
        """Give up what is not done, such as after Ctrl-C."""
        if self.client.status == "running":
            self.client.cancel([future for future in futures if not future.done()])

    def close(self) -> None:
        """The client is the caller's, who closes it."""


def _do(order: bytes) -> Any:
    """Do a task where a worker runs. It is sent as code, since a worker that cannot import a function that it gets by
    name, as one without treesim, or with an older one, never answers."""
    import pickle

    from treesim.sweeps.workers import outcome_of

    return outcome_of(*pickle.loads(order))


_do.__module__ = "__main__"  # which cloudpickle sends as code


def _outcome(future: Any, lonely: Event) -> Outcome:
    """What came of a task; lonely: whether it was given up for want of workers."""
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
    """Return a Client of workers on this machine as sweeps want them: one process for each NUMA node, with threads of
    treesim's own on its cores, where Dask would start one process for each core.

    workers: how many, by default one for each NUMA node. options: other arguments of `dask.distributed.LocalCluster`.
    Closing the client closes the cluster. Raises ArgumentError where dask.distributed is not installed.
    """
    require_distributed()
    import dask
    from distributed import LocalCluster

    from ..system.cores import usable_cores

    count = workers or max(1, len(numa_nodes()))
    threads = str(max(1, usable_cores() // count))
    # what a process is started with: Dask's own setting is one thread of OpenMP's
    with dask.config.set({f"distributed.nanny.pre-spawn-environ.{name}": threads for name in VARIABLES}):
        cluster = LocalCluster(n_workers=count, threads_per_worker=1, processes=True, **options)
    client = cluster.get_client()
    return client
