"""Run the missing chunks of a sweep, and search for the samples that cannot be computed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..errors import SweepError
from .chunk import Job, Task
from .manifest import Manifest
from .workers import Failed, Pool, TaskResult

MOST_LEFT_OUT = 1000  # samples found by one search


def finish(pool: Pool, job: Job, chunks: Sequence[Task], manifest: Manifest, report: Callable[[int], None]) -> None:
    """Run tasks that write results, and record them in the manifest; report(samples): called after each task.

    A task that raises an error, or kills its worker, is bisected until the responsible samples are found. They
    are recorded as left out, and the task is repeated without them. Raises SweepError if both halves can be
    computed but not the whole, and if more than MOST_LEFT_OUT samples fail.
    """
    failed = _written(pool, job, [_without(task, manifest) for task in chunks], manifest, report)
    if not failed:
        return
    for sample, reason in culprits(pool, job, [task for task, _ in failed]).items():
        manifest.add({"sample": sample, "reason": reason})
    again = [_without(task, manifest) for task, _ in failed]
    for task, outcome in _written(pool, job, again, manifest, report):  # also those of workers killed by others
        if task in [before for before, _ in failed]:
            raise SweepError(
                f"samples {task.start} to {task.stop - 1} cannot be computed together: {outcome.reason}; each half of "
                f"them can be: take smaller chunks (chunk=) in a new store, or see whether memory or disk are full"
            )
        known = f", even without {len(task.left_out)} of them" if task.left_out else ""
        raise SweepError(
            f"samples {task.start} to {task.stop - 1} cannot be computed{known}: {outcome.reason}: the same call tries "
            f"them again"
        )


def _written(
    pool: Pool, job: Job, tasks: Sequence[Task], manifest: Manifest, report: Callable[[int], None]
) -> list[tuple[Task, Failed]]:
    """Run tasks and record the finished ones; return those that failed."""
    failed = []
    for task, outcome in pool.map(job, tasks):
        if isinstance(outcome, TaskResult):
            manifest.add(outcome.record)
            report(task.stop - task.start)
        else:
            failed.append((task, outcome))
    return failed


def _without(task: Task, manifest: Manifest) -> Task:
    known = sorted(sample for sample in manifest.left_out if task.start <= sample < task.stop)
    return task._replace(left_out=tuple(known))


def culprits(pool: Pool, job: Job, tasks: Sequence[Task]) -> dict[int, str]:
    """Return the samples that cannot be computed, with reasons, by bisection of failed tasks.

    One such sample among n takes 2 log2(n) tries.
    """
    found: dict[int, str] = {}
    suspects = [half for task in tasks for half in _halves(task)]
    while suspects:
        failed = [(task, one) for task, one in pool.map(job, suspects) if isinstance(one, Failed)]
        found |= {
            task.start: one.reason
            for task, one in failed
            if task.stop - task.start == 1 and (pool.exact or not one.kills or _fails_alone(pool, job, task))
        }
        if len(found) > MOST_LEFT_OUT:
            raise SweepError(f"more than {MOST_LEFT_OUT} samples cannot be computed, such as {_failures_text(found)}")
        suspects = [half for task, _ in failed if task.stop - task.start > 1 for half in _halves(task)]
    return found


def _fails_alone(pool: Pool, job: Job, task: Task) -> bool:
    """Return whether a task kills its worker while no other task runs, which might have killed it instead."""
    return any(isinstance(one, Failed) for _, one in pool.map(job, [task]))


def _failures_text(found: dict[int, str]) -> str:
    sample, reason = min(found.items())
    return f"sample {sample}: {reason}"


def _halves(task: Task) -> list[Task]:
    middle = (task.start + task.stop) // 2
    parts = ((task.start, middle), (middle, task.stop))
    return [task._replace(start=a, stop=b, writes=False) for a, b in parts if b > a]
