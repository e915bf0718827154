"""Worker processes on this machine, one for each NUMA node, with treesim's own threads.

A worker is a program of its own (`treesim.sweeps.worker`), neither a fork nor a child of `multiprocessing`.
It inherits no lock or thread, and does not import the user's script.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Any, NamedTuple, Protocol

from ..errors import SweepError
from ..system.cores import usable_cores
from ..system.subprocesses import PythonProcess, module_command
from .chunk import Job, Task, run_task

NODES = Path("/sys/devices/system/node")
DEATHS = 2  # of workers by one task, after which the task is blamed


class TaskResult(NamedTuple):
    """Outcome of a finished task; record: for the manifest."""

    record: dict[str, Any]


class Failed(NamedTuple):
    """Outcome of a task that raised an error, or killed its worker each time.

    reason: the error, or how the worker ended. kills: whether it killed its worker.
    """

    reason: str
    kills: bool


Outcome = TaskResult | Failed


def outcome_of(job: Job, task: Task, threads: int | None) -> Outcome | SweepError:
    """Run a task and return its outcome; a returned SweepError means that no task can run here."""
    try:
        return TaskResult(run_task(job, task, threads))
    except SweepError as error:
        return error
    except (Exception, SystemExit) as error:
        return Failed(f"{type(error).__name__}: {error}", kills=False)


class Pool(Protocol):
    """Interface of a pool of workers.

    workers: number of tasks that run at a time. exact: whether a task reported to have killed its worker did so
    itself, and not another task on the same worker.
    """

    workers: int
    exact: bool

    def map(self, job: Job, tasks: Sequence[Task]) -> Iterator[tuple[Task, Outcome]]:
        """Yield each task and its outcome in order of completion; raises SweepError if no task can run."""

    def close(self) -> None:
        """Stop at once."""


class LocalPool:
    """Worker processes on this machine, started with the first task; also a context manager, which ends them.

    workers: their number, by default one for each NUMA node with cores of this process; the cores are divided
    evenly. threads: of treesim in each worker, by default its number of cores.
    """

    exact = True

    def __init__(self, workers: int | None = None, threads: int | None = None) -> None:
        self.shares = _shares(workers)
        self.workers, self.threads = len(self.shares), threads
        self._processes: list[WorkerProcess] = []
        self._threads: list[Thread] = []

    def map(self, job: Job, tasks: Sequence[Task]) -> Iterator[tuple[Task, Outcome]]:
        """Yield each task and its outcome in order of completion; raises SweepError if no task can run."""
        waiting: SimpleQueue[Task] = SimpleQueue()
        ended: SimpleQueue[tuple[Task, Outcome | BaseException]] = SimpleQueue()
        for task in tasks:
            waiting.put(task)
        while len(self._processes) < min(self.workers, len(tasks)):
            self._processes.append(WorkerProcess(self.shares[len(self._processes)], self.threads))
        for process in self._processes:
            thread = Thread(target=_serve, args=(process, job, waiting, ended), daemon=True)
            thread.start()
            self._threads.append(thread)
        for _ in tasks:
            task, outcome = ended.get()
            if isinstance(outcome, BaseException):
                raise outcome
            yield task, outcome

    def close(self) -> None:
        """End the workers at once."""
        for process in self._processes:
            process.end()
        for thread in self._threads:
            thread.join()
        for process in self._processes:
            process.forget()
        self._processes, self._threads = [], []


def _serve(process: WorkerProcess, job: Job, waiting: Any, ended: Any) -> None:
    """Run waiting tasks on one worker until there are none."""
    with suppress(Empty):
        while True:
            task = waiting.get_nowait()
            try:
                outcome: Any = process.do((job, task, process.threads))
            except BaseException as error:  # raised by the waiting thread
                outcome = error
            ended.put((task, outcome))


class WorkerProcess:
    """Worker process, restarted after it has died."""

    def __init__(self, cores: Sequence[int], threads: int | None) -> None:
        self.cores, self.threads = cores, threads or max(1, len(cores))
        self._process: PythonProcess | None = None
        self._ended, self._lock = False, Lock()

    def do(self, order: tuple[Job, Task, int]) -> Outcome | SweepError:
        """Return the outcome of an order (the arguments of `run_task`).

        A task that kills its worker is tried again, unless it belongs to the search for such samples.
        """
        reason = "the worker was ended"
        for _ in range(DEATHS if order[1].writes else 1):
            try:
                connection = self._connected()
            except OSError as error:
                return SweepError(f"no worker process can be started: {error}: the same call goes on")
            if connection is None:
                break
            try:
                connection.send(order)
                return connection.recv()  # type: ignore[no-any-return]
            except (EOFError, OSError):
                if self._ended:
                    break
                reason = self._cause()
                self.forget()
        return Failed(reason, kills=True)

    def _connected(self) -> Connection | None:
        """Return the socket to the process, which is started if need be; None after the end of the pool."""
        with self._lock:
            if self._process is None and not self._ended:
                self._start()
            return None if self._ended or self._process is None else self._process.connection

    def _start(self) -> None:
        self._process = PythonProcess(module_command("treesim.sweeps.worker", ",".join(map(str, self.cores))))

    def _cause(self) -> str:
        """Return how the process ended."""
        assert self._process is not None
        found = self._process.ending()
        return f"killed its worker ({found})" if found.signal else f"ended its worker with {found}"

    def forget(self) -> None:
        """Close the connection to a process that has ended."""
        if self._process is not None:
            self._process.close()
        self._process = None

    def end(self) -> None:
        """Kill the process."""
        with self._lock:
            self._ended = True
            if self._process is not None:
                self._process.kill()


def _shares(workers: int | None) -> list[list[int]]:
    """Return the cores of each worker."""
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else list(range(os.cpu_count() or 1))
    if workers is None:
        by_node = [sorted(set(cores) & set(node)) for node in numa_nodes()]
        shares = [share for share in by_node if share] or [cores]
        most = usable_cores()  # a quota may be less than the number of cores
        return [share[: max(1, most // len(shares))] for share in shares] if most < len(cores) else shares
    return [cores[k * len(cores) // workers : (k + 1) * len(cores) // workers] or cores for k in range(workers)]


def numa_nodes(folder: Path = NODES) -> list[list[int]]:
    """Return the cores of each NUMA node; empty if the system does not report them."""
    nodes = []
    for path in sorted(folder.glob("node[0-9]*/cpulist")):
        with suppress(OSError, ValueError):
            cores: list[int] = []
            for part in filter(None, path.read_text(encoding="ascii").strip().split(",")):
                first, _, last = part.partition("-")
                cores += range(int(first), int(last or first) + 1)
            nodes.append(cores)
    return [node for node in nodes if node]
