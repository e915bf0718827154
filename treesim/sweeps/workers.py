"""Processes of this machine that do tasks, one for each NUMA node, on threads of treesim's own.

A worker is a program of its own (`treesim.sweeps.worker`), not a fork and no child of `multiprocessing`: it
takes no lock or thread with it, and imports no script that has no guard.
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
DEATHS = 2  # of workers over one task, after which it is the task that kills them


class Done(NamedTuple):
    """A task was done; record: for the manifest."""

    record: dict[str, Any]


class Failed(NamedTuple):
    """A task raised an error, or killed its worker each time; reason: the error, or how the worker ended. kills: which
    of the two."""

    reason: str
    kills: bool


Outcome = Done | Failed


def outcome_of(job: Job, task: Task, threads: int | None) -> Outcome | SweepError:
    """Return what comes of a task; no error goes further. SweepError: no task can be done where it was tried."""
    try:
        return Done(run_task(job, task, threads))
    except SweepError as error:
        return error
    except Exception as error:
        return Failed(f"{type(error).__name__}: {error}", kills=False)


class Pool(Protocol):
    """What does the tasks of a sweep; workers: how many at a time. exact: whether a task that is said to have killed
    its worker did so itself, and not another one that was there, too."""

    workers: int
    exact: bool

    def map(self, job: Job, tasks: Sequence[Task]) -> Iterator[tuple[Task, Outcome]]:
        """Yield each task and what came of it, as they end; raises SweepError where none can be done."""
        ...

    def close(self) -> None:
        """Stop working, at once."""
        ...


class LocalPool:
    """Workers on this machine, which start with the first task; also a context manager, which ends them.

    workers: how many, by default one for each NUMA node whose cores this process may use; these are shared out evenly.
    threads: of treesim's own in each of them, by default as many as it has cores.
    """

    exact = True

    def __init__(self, workers: int | None = None, threads: int | None = None) -> None:
        self.shares = _shares(workers)
        self.workers, self.threads = len(self.shares), threads
        self._processes: list[WorkerProcess] = []
        self._threads: list[Thread] = []

    def map(self, job: Job, tasks: Sequence[Task]) -> Iterator[tuple[Task, Outcome]]:
        """Yield each task and what came of it, as they end; raises SweepError where none can be done."""
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
        """End the workers, at once."""
        for process in self._processes:
            process.end()
        for thread in self._threads:
            thread.join()
        for process in self._processes:
            process.forget()
        self._processes, self._threads = [], []

    def __enter__(self) -> LocalPool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _serve(process: WorkerProcess, job: Job, waiting: Any, ended: Any) -> None:
    """Let one worker do tasks until none waits."""
    with suppress(Empty):
        while True:
            task = waiting.get_nowait()
            try:
                outcome: Any = process.do((job, task, process.threads))
            except BaseException as error:  # the thread that waits raises it
                outcome = error
            ended.put((task, outcome))


class WorkerProcess:
    """One worker, which is started again when it has died."""

    def __init__(self, cores: Sequence[int], threads: int | None) -> None:
        self.cores, self.threads = cores, threads or max(1, len(cores))
        self._process: PythonProcess | None = None
        self._ended, self._lock = False, Lock()

    def do(self, order: tuple[Job, Task, int]) -> Outcome | SweepError:
        """Return what came of an order (the arguments of `run_task`); a task that kills its worker is tried again,
        unless it is a search for who does."""
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
        """The socket to the process, which is started if need be; None where it is to be no more."""
        with self._lock:
            if self._process is None and not self._ended:
                self._start()
            return None if self._ended or self._process is None else self._process.connection

    def _start(self) -> None:
        self._process = PythonProcess(module_command("treesim.sweeps.worker", ",".join(map(str, self.cores))))

    def _cause(self) -> str:
        """How the process ended, which has closed its end."""
        assert self._process is not None
        found = self._process.ending()
        return f"killed its worker ({found})" if found.signal else f"ended its worker with {found}"

    def forget(self) -> None:
        """Close what belongs to the process, which is over."""
        if self._process is not None:
            self._process.close()
        self._process = None

    def end(self) -> None:
        """End the process, whatever it does."""
        with self._lock:
            self._ended = True
            if self._process is not None:
                self._process.kill()


def _shares(workers: int | None) -> list[list[int]]:
    """The cores of each worker."""
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else list(range(os.cpu_count() or 1))
    if workers is None:
        by_node = [sorted(set(cores) & set(node)) for node in numa_nodes()]
        shares = [share for share in by_node if share] or [cores]
        most = usable_cores()  # what a quota pays for may be less than what there is
        return [share[: max(1, most // len(shares))] for share in shares] if most < len(cores) else shares
    return [cores[k * len(cores) // workers : (k + 1) * len(cores) // workers] or cores for k in range(workers)]


def numa_nodes(folder: Path = NODES) -> list[list[int]]:
    """Return the cores of each NUMA node; nothing where the system does not tell."""
    nodes = []
    for path in sorted(folder.glob("node[0-9]*/cpulist")):
        with suppress(OSError, ValueError):
            cores: list[int] = []
            for part in filter(None, path.read_text(encoding="ascii").strip().split(",")):
                first, _, last = part.partition("-")
                cores += range(int(first), int(last or first) + 1)
            nodes.append(cores)
    return [node for node in nodes if node]
