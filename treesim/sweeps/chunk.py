"""Tasks of workers: draw a chunk of samples, roll them out, reduce and write the results."""

from __future__ import annotations

import hashlib
import os
import pickle
import platform
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..errors import SweepError, reason_of
from ..rollouts.arguments import RolloutInput
from ..rollouts.rollout import Rollouts, roll_out
from ..rollouts.save_at import SaveAt
from ..simulation.provenance import surroundings
from ..types import Keep
from .manifest import Manifest
from .plan import VERSIONS, Inputs, Plan
from .programs import program_digest, read_program
from .store import SENSOR, Store

NOT_FINITE, LEFT_OUT = 1, 2  # reasons, as stored in columns; 0 for none
KEPT: dict[str, Keep] = {"last": "last", "all": "all"}  # argument `keep` of rollouts, by the plan's
LOOKED_AT_BYTES = 1 << 26  # of states of failed samples in memory at a time


class Task(NamedTuple):
    """Samples from `start` up to `stop`.

    left_out: those of them that are not computed. writes: whether the results, a whole chunk, are written to
    the store; otherwise the task only tests whether the samples can be computed.
    """

    start: int
    stop: int
    left_out: tuple[int, ...] = ()
    writes: bool = True


class Job(NamedTuple):
    """Data that workers need for the tasks of one call of `treesim.sweep`.

    folder: path of the store. program, digest: file of the call's plan in it, and its digest. store: the
    store's identity, "" before there is one. treesim: version and hash of the sources, which must be the
    worker's, too.
    """

    folder: str
    program: str
    digest: str
    store: str
    treesim: tuple[str, ...]


def job_of(folder: Path, program: str, content: bytes, store: str = "") -> Job:
    """Return the job of a call whose program is written in a store."""
    return Job(os.fspath(folder.absolute()), program, program_digest(content), store, version_of_treesim())


def version_of_treesim() -> tuple[str, ...]:
    """Return version and source hash of treesim, which determine a sample's bits besides the plan."""
    here = surroundings()
    return tuple(here[name] for name in VERSIONS)


def run_task(job: Job, task: Task, threads: int | None = None) -> dict[str, Any]:
    """Run a task; return its record for the manifest, about 200 bytes.

    threads: of treesim, by default as in `treesim.use_threads`. Warnings of rollouts are suppressed: diverged
    samples are marked in the results. Raises SweepError if no task can run here: no store, another version of
    treesim, a full disk. All other errors are those of samples.
    """
    began = time.perf_counter()
    plan = _plan(job)
    store = _store(job) if task.writes else None
    samples = np.setdiff1d(np.arange(task.start, min(task.stop, plan.samples)), task.left_out)
    with warnings.catch_warnings(action="ignore"):
        columns = results(plan, samples, threads) if len(samples) else {}
    failed = int(np.count_nonzero(columns.get("failed_reason", ()))) + len(task.left_out)
    record: dict[str, Any] = {"start": task.start, "failed": failed, "left_out": list(task.left_out)}
    if store is not None:
        whole = store.blank()
        for name, column in columns.items():
            whole[name][samples - task.start] = column
        whole["failed_reason"][np.array(task.left_out, int) - task.start] = LEFT_OUT
        with _impossible_here("cannot write results"):
            store.write(task.start, whole)
        record["checksum"] = checksum(whole)
    return {**record, "seconds": round(time.perf_counter() - began, 4)}


@lru_cache(maxsize=1)
def _plan(job: Job) -> Plan:
    """Load the plan of a call; raises SweepError if the file's digest is not the job's."""
    if job.treesim != version_of_treesim():
        here, there = (", sources ".join(one) for one in (version_of_treesim(), job.treesim))
        raise SweepError(f"the worker {_here()} has treesim {here}, not {there} as the call: install the same version")
    with _impossible_here("cannot load the sweep: all workers need the store under the same path, and your modules"):
        return pickle.loads(read_program(Path(job.folder, job.program), job.digest))  # type: ignore[no-any-return]


def _store(job: Job) -> Store:
    with _impossible_here("cannot open the store"):
        store = Store(job.folder)
        if store.identity != job.store:
            raise ValueError(f"{job.folder} holds another sweep by now")
    return store


@contextmanager
def _impossible_here(what: str) -> Iterator[None]:
    """Convert errors of the worker's environment, not of samples, to SweepError."""
    try:
        yield
    except Exception as error:
        raise SweepError(
            f"the worker {_here()} {what}: {type(error).__name__}: {reason_of(error)}; the same call goes on"
        ) from error


def _here() -> str:
    return f"{os.getpid()} on {platform.node()}"


def checksum(columns: Mapping[str, np.ndarray]) -> str:
    """Return a digest of the names and bits of columns."""
    digested = hashlib.sha256()
    for name in sorted(columns):
        column = np.ascontiguousarray(columns[name])
        digested.update(f"{name} {column.dtype.str} {column.shape}\n".encode())
        digested.update(column.data)
    return digested.hexdigest()[:32]


def sound_chunk(store: Store, manifest: Manifest, start: int) -> dict[str, np.ndarray]:
    """Return the columns of a finished chunk; raises SweepError if their checksum is not the manifest's."""
    try:
        columns = store.read(start)
        reason = "they do not have the checksum in the manifest"
        if checksum(columns) == manifest.finished[start]["checksum"]:
            return columns
    except Exception as error:  # of Zarr and its codecs, for damaged files
        reason = f"{type(error).__name__}: {reason_of(error)}"
    raise SweepError(
        f"columns of samples from {start} on in {store.folder} are damaged: {reason}: the same call of treesim.sweep "
        f"computes them again"
    )


def results(plan: Plan, samples: np.ndarray, threads: int | None = None) -> dict[str, np.ndarray]:
    """Return the columns (B, ...) of samples (B,) by name: drawn values, measures, recorded states and failures.

    A sample's bits do not depend on the other samples.
    """
    return _columns(plan, plan.inputs(samples), threads)


def nominal_results(plan: Plan) -> dict[str, np.ndarray]:
    """Return the columns (1, ...) of one rollout with nominal values.

    It raises errors and warnings of the arguments in this process, and compiles the code that workers load from
    the cache.
    """
    return _columns(plan, plan.nominal(), None)


def _columns(plan: Plan, inputs: Inputs, threads: int | None) -> dict[str, np.ndarray]:
    runs = rolled(plan, inputs, threads=threads)
    columns = {**plan.kept_inputs(inputs), **(runs.measures or {})}
    recorded = {"q": runs.q, "v": runs.v} | {f"{SENSOR}{name}": x for name, x in runs.sensors.items()}
    if plan.keep == "last":
        columns |= {name: x[:, -1] for name, x in recorded.items()}
    if plan.keep == "all":
        columns |= recorded
    return columns | _failures(plan, inputs, np.flatnonzero(runs.diverged), threads)


def rolled(
    plan: Plan, inputs: Inputs, keep: Keep | None = None, every: int | None = None, threads: int | None = None
) -> Rollouts:
    """Return the rollouts of inputs; keep, every: replace the plan's."""
    if keep is None:  # without measures, the last state shows whether a rollout diverged
        keep = KEPT.get(plan.keep, "none" if plan.measure else "last")
    p = inputs.p if inputs.p.shape[1] else None
    start = inputs.q0, inputs.v0, plan.policy, plan.steps, p, inputs.physics or None, plan.f_ext
    given = RolloutInput(*start, plan.seed, inputs.samples)
    save = SaveAt(every=plan.every if every is None else every, keep=keep, measure=plan.measure)
    options = replace(plan.options, threads=threads)
    return roll_out(plan.world, given, options, save)


def _failures(plan: Plan, inputs: Inputs, failed: np.ndarray, threads: int | None) -> dict[str, np.ndarray]:
    """Return columns on the failed samples: step, fastest degree of freedom before it, and reason.

    failed: indices of samples that are not finite. They are rolled out again with all states.
    """
    count, robot = len(inputs.q0), plan.world.robot
    step, dof = np.full(count, -1, np.int32), np.full(count, -1, np.int16)
    reason = np.zeros(count, np.int8)
    reason[failed] = NOT_FINITE
    most = max(1, LOOKED_AT_BYTES // (8 * plan.steps * max(1, robot.nq + robot.nv)))
    for k in range(0, len(failed), most):
        part = failed[k : k + most]
        runs = rolled(plan, _rows(inputs, part), "all", 1, threads)
        seen = runs.diverged_at if runs.measured is None else runs.measured  # steps to finite states
        step[part] = np.where(runs.diverged, seen + 1, -1)
        before = np.concatenate([inputs.v0[part, None], runs.v], axis=1)[np.arange(len(part)), seen]
        dof[part] = np.abs(before).argmax(axis=1)
    return {"failed_step": step, "failed_dof": dof, "failed_reason": reason}


def _rows(inputs: Inputs, rows: np.ndarray) -> Inputs:
    q0, v0, p, physics, drawn, samples = inputs
    return Inputs(
        q0[rows], v0[rows], p[rows], {name: x[rows] for name, x in physics.items()},
        {name: x[rows] for name, x in drawn.items()}, samples[rows],
    )  # fmt: skip
