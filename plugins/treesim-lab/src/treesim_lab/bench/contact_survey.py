"""Many robots on a plane, in child processes: a crash or hang costs only that robot's rows."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from treesim.errors import named
from treesim.system.cores import usable_cores
from treesim.system.progress import counted
from treesim.system.subprocesses import ProcessFailure, PythonProcess, module_command
from treesim.types import Base
from treesim.urdf import installed_robots

from .contact_runs import ContactRun, ContactSettings
from .contact_worker import ContactJob

DEFAULTS = ContactSettings()
TIME_LIMIT = 600.0  # s, for one robot on one base


def contact_survey(
    names: Sequence[str] | None = None,
    bases: Sequence[Base] = ("floating", "fixed"),
    settings: ContactSettings = DEFAULTS,
    timeout: float = TIME_LIMIT,
    processes: int | None = None,
) -> list[ContactRun]:
    """Return the rows of all robots, in their order, each on every base.

    names: sources that `treesim.load` reads; None for all installed robots, one per file. timeout: [s] for one robot on
    one base. processes: the number of cores by default.
    Takes about 1 s for each run; a robot has eight.
    """
    jobs = [ContactJob(name, base, settings) for name in (distinct_robots() if names is None else names)
            for base in bases]  # fmt: skip
    count = max(1, min(processes or usable_cores(), len(jobs)))
    idle: SimpleQueue[_Worker] = SimpleQueue()
    workers = [_Worker(timeout) for _ in range(count)]
    for worker in workers:
        idle.put(worker)

    def rows(job: ContactJob) -> list[ContactRun]:
        worker = idle.get()
        try:
            return worker.rows(job)
        finally:
            idle.put(worker)

    try:
        with ThreadPoolExecutor(count) as pool:
            found = zip(counted(jobs, lambda job: named(job.name)), pool.map(rows, jobs), strict=True)
            return [row for _, of_job in found for row in of_job]
    finally:
        for worker in workers:
            worker.close()


def distinct_robots() -> list[str]:
    """Return the names of installed robots, one for each file."""
    names: dict[Path, str] = {}
    for entry in installed_robots():
        names.setdefault(entry.path, entry.name)
    return list(names.values())


class _Worker:
    """Process that answers jobs, started again after a job that ended it."""

    def __init__(self, timeout: float) -> None:
        self.timeout = timeout
        self._process: PythonProcess | None = None

    def rows(self, job: ContactJob) -> list[ContactRun]:
        """Return the rows of a job; one row with the reason if the process ended."""
        try:
            self._process = self._process or PythonProcess(module_command("treesim_lab.bench.contact_worker"))
            return list(self._process.ask(job, self.timeout, "the robot"))
        except (ProcessFailure, OSError) as error:
            self.close()
            return [ContactRun(job.name, job.base, "", "", 0.0, why=f"the process {error}")]

    def close(self) -> None:
        """End the process, if there is one."""
        if self._process is not None:
            self._process.close()
            self._process = None
