"""`sweep`: very many rollouts with random model parameters, starts and policies, on one machine or a cluster."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..contact.base import ContactSolver
from ..dynamics.base import DynamicsBackend
from ..errors import ArgumentError, StoppedWarning, SweepError
from ..model.tree import Tree
from ..plugins import DEFAULT_INTEGRATOR
from ..rollouts.measures import Measure
from ..simulation.external_forces import Wrenches
from ..simulation.options import StepOptions
from ..simulation.world import World
from ..states.arguments import checked_progress, whole_number
from ..system.progress import progress_bar
from ..system.user_warnings import warn
from ..types import BackendName, ContactSolverName, Engine, IntegratorName
from .chunk import Task, job_of, nominal_results, sound_chunk
from .cluster import DaskPool
from .distributions import Distribution, Scale
from .estimate import Estimate, check_disk, chunk_size, sample_bytes, sample_seconds
from .manifest import Manifest, held
from .plan import Plan, plan_of
from .programs import check_program, keep_program, packed, written_for_workers
from .rounds import finish
from .store import Store, create, in_the_making, report_full_disk, require_zarr
from .study import Study
from .workers import LocalPool, Pool

MOST_CHUNK = 1 << 26


def sweep(
    robot: Tree | World,
    q0: ArrayLike | None = None,
    v0: ArrayLike | None = None,
    control: ArrayLike | Callable[..., None] | None = None,
    *,
    steps: int,
    samples: int,
    store: str | os.PathLike[str],
    dt: float = 1e-3,
    seed: int = 0,
    vary: Mapping[str, Distribution | Scale | ArrayLike] | None = None,
    measure: Mapping[str, Measure] | None = None,
    policy_parameters: ArrayLike | None = None,
    kp: ArrayLike = 0.0,
    kd: ArrayLike = 0.0,
    keep: str = "summary",
    every: int = 1,
    chunk: int | None = None,
    client: Any = None,
    workers: int | None = None,
    threads: int | None = None,
    progress: Callable[[int, int], None] | bool | None = None,
    announce: Callable[[Estimate], None] | None = None,
    integrator: IntegratorName = DEFAULT_INTEGRATOR,
    substeps: int | None = None,
    backend: BackendName | DynamicsBackend = "aba",
    contact_solver: ContactSolverName | ContactSolver = "pgs",
    engine: Engine = "auto",
    f_ext: Wrenches | None = None,
) -> Study:
    """Run rollouts with random model parameters, initial states and policy parameters, and store their results.

    If a sweep is interrupted, repeat the call: only missing results are computed. Ctrl-C ends the sweep with a
    StoppedWarning; `Study.stopped` then contains the reason. The bits of a sample's results do not depend on chunks,
    workers, threads or retries.

    Samples that diverge have results, and are listed in `Study.failed`. Samples that raise an error or kill their
    worker have no results; treesim finds these samples by bisection of the task. `Study.failed` lists these samples,
    too.

    Parameters
    ----------
    robot : Tree or World
        As in `treesim.rollout`.
    q0 : array_like, shape (nq,), optional
        Nominal initial configuration. Neutral by default.
    v0 : array_like, shape (nv,), optional
        Nominal initial velocity. 0 by default.
    control : array_like, shape (steps, nv), or callable, optional
        Controls, or a policy as in `treesim.rollout`, whose memory starts at its attribute `memory`.
    steps : int
        Number of steps.
    samples : int
        Number of samples.
    store : path-like
        Folder such as "run.zarr" on a disk that all workers can access. A store contains a program (policy and
        measures, by cloudpickle), so do not open a store that you do not trust.
    dt : float
        Step [s].
    seed : int
        Seed of the random draws. A draw depends only on the seed, the number of the sample, and the name in `vary`.
        Samples are the rollouts of random numbers of sensors.
    vary : mapping, optional
        {name: distribution or list of values}. Distributions are Normal, Uniform, LogUniform and Choice of
        `treesim.sweeps`. The Notes list the names.
    measure : mapping of str to Measure, optional
        Measures by name, see `treesim.measures`.
    policy_parameters : array_like, shape (k,), optional
        Nominal policy parameters.
    kp : float or array_like, shape (nv,)
        Nominal position gains [N m/rad, N/m].
    kd : float or array_like, shape (nv,)
        Nominal velocity gains [N m s/rad, N s/m].
    keep : {"summary", "last", "all"}
        Stored results. "summary": draws and measures. "last": also the last state of each sample. "all": also the state
        after every `every` steps. If states are stored, the readings of the world's sensors are stored as columns
        sensor.NAME.
    every : int
        Number of steps between two stored states.
    chunk : int, optional
        Number of samples of one task. By default, a task takes about five seconds.
    client : dask.distributed.Client, optional
        Client of a cluster whose workers run the sweep. By default processes on this machine run it.
    workers : int, optional
        Number of processes on this machine. By default, one process runs on each NUMA node.
    threads : int, optional
        Number of treesim's threads of each worker. By default one for each core of the worker.
    progress : callable or bool, optional
        Function that is called as progress(done, total) after each task, with numbers of samples. By default, and if
        True, a bar shows the progress if standard error is a terminal. False shows none.
    announce : callable, optional
        Function that is called with an Estimate of time and size before the work begins. An exception of this function
        ends the sweep.
    integrator, substeps, backend, contact_solver, engine
        As in `treesim.rollout`.
    f_ext : mapping, array_like, ExternalForce or sequence of ExternalForce, optional
        External forces as in `treesim.rollout`, the same for all samples.

    Returns
    -------
    Study
        The sweep and its results in the store.

    Raises
    ------
    ArgumentError
        If an argument is invalid. If the store contains another sweep; the message names the differences.
    UnknownNameError
        If a name in `vary` is unknown.
    SweepError
        If the scheduler of the cluster is lost.
    TreesimError
        Every error of `treesim.rollout`, raised before the computation.

    Notes
    -----
    A draw replaces the nominal value; with `scale(distribution)`, the draw is multiplied by the nominal value. Names in
    `vary` are: "mass", "center_of_mass" and "inertia" of links; "damping", "joint_friction", "armature",
    "effort_limit", "kp", "kd", "stiffness", "rest" and "v0" of degrees of freedom; "q0" of coordinates, also with
    `around(q, sd)`; "gravity"; "ground_friction"; and "p", the parameters of the policy. "mass[torso]",
    "joint_friction[hip]", "gravity[z]" and "p[0]" mean single values. "mass[*]" makes an independent draw for each
    link; "mass" makes one draw for all links. If several entries set the same number, they act in the given order.

    Examples
    --------
    >>> import tempfile
    >>> from treesim.sweeps import Uniform, scale
    >>> robot, folder = treesim.load("ur5"), tempfile.mkdtemp()
    >>> study = treesim.sweep(
    ...     robot, steps=20, samples=100, seed=7, vary={"mass[forearm_link]": scale(Uniform(0.8, 1.2))},
    ...     measure={"fastest": treesim.measures.maximum(lambda t, q, v: v[2])}, store=f"{folder}/run.zarr",
    ... )
    >>> study, study.summary.sizes["sample"], study.failed
    (<Study of 'ur5': 100 samples of 20 steps>, 100, ())
    """
    if not isinstance(progress, bool):
        checked_progress(progress)
    options = StepOptions(
        dt=dt, integrator=integrator, backend=backend, engine=engine, kp=kp, kd=kd, substeps=substeps,
        contact_solver=contact_solver,
    )  # fmt: skip
    plan = plan_of(
        robot, q0=q0, v0=v0, policy=control, policy_parameters=policy_parameters, options=options, f_ext=f_ext,
        vary=vary or {}, measure=measure, samples=samples, steps=steps, every=every, seed=seed, keep=keep,
    )  # fmt: skip
    chunk = None if chunk is None else whole_number("chunk", chunk, 1, MOST_CHUNK)
    require_zarr()
    content = packed(plan)
    folder = Path(store)
    pool = _pool(client, workers, threads)
    try:
        if os.path.lexists(folder):
            refuse_other(Store(folder, "r"), plan, chunk)
        columns = nominal_results(plan)
        if not os.path.lexists(folder):
            with suppress(FileExistsError):  # another call has created it meanwhile
                _begin(folder, plan, content, pool, columns, chunk, announce)
            announce = None
        return _go_on(folder, plan, content, pool, chunk, sample_bytes(columns), progress, announce)
    finally:
        pool.close()


def _pool(client: Any, workers: int | None, threads: int | None) -> Pool:
    if client is not None and workers is not None:
        raise ArgumentError("workers is for processes on this machine: a client's cluster has its own")
    if client is not None:
        return DaskPool(client, threads)
    return LocalPool(None if workers is None else whole_number("workers", workers, 1, 4096), threads)


def _begin(
    folder: Path,
    plan: Plan,
    content: bytes,
    pool: Pool,
    columns: Mapping[str, np.ndarray],
    chunk: int | None,
    announce: Callable[[Estimate], None] | None,
) -> None:
    """Create the store; time some samples if chunk size or estimate require it.

    content: the pickled plan. Raises FileExistsError if another process creates the store first.
    """
    size = sample_bytes(columns)
    with in_the_making(folder) as temporary:
        seconds = 0.0
        if chunk is None or announce is not None:
            with written_for_workers(temporary, content) as program:
                seconds = sample_seconds(pool, job_of(temporary, program, content), plan)
        if chunk is None:
            chunk = chunk_size(seconds, size, plan.samples, pool.workers)
        check_disk(folder, size * plan.samples)
        if announce is not None:
            announce(_estimate(plan.samples, plan, chunk, seconds, size, pool))
        with report_full_disk(folder):
            keep_program(temporary, Manifest(create(temporary, plan, chunk, columns)), content)


def _estimate(samples: int, plan: Plan, chunk: int, seconds: float, size: int, pool: Pool) -> Estimate:
    """Return the estimate for `samples` samples; seconds, size: time [s] and bytes of one sample."""
    tasks = -(-samples // chunk)
    together = min(pool.workers, max(tasks, 1))
    return Estimate(samples, plan.samples, chunk, seconds * samples / together, size * samples, pool.workers)


def refuse_other(store: Store, plan: Plan, chunk: int | None) -> None:
    """Raise ArgumentError naming the differences if a store contains another sweep, or naming a damaged file."""
    check_program(store.folder, Manifest(store))
    kept, asked = store.description(), plan.description()
    names = [name for name in {**kept, **asked} if kept.get(name) != asked.get(name)]
    details = [
        f"{name} is {kept.get(name, 'not there')} in it, {asked.get(name, 'not asked for')} here" for name in names
    ]
    if chunk is not None and chunk != store.chunk:
        details.append(f"chunk is {store.chunk} in it, {chunk} here")
    if details:
        raise ArgumentError(
            f"{store.folder} holds another sweep: {'; '.join(details[:4])}: take another store, or remove it"
        )


class _Missing(NamedTuple):
    tasks: list[Task]
    done: int  # samples


def _go_on(
    folder: Path,
    plan: Plan,
    content: bytes,
    pool: Pool,
    chunk: int | None,
    size: int,
    progress: Callable[[int, int], None] | bool | None,
    announce: Callable[[Estimate], None] | None,
) -> Study:
    """Compute what is missing, until Ctrl-C.

    The store is locked and compared with this call again. Workers receive this call's program, `content`. size:
    bytes of one sample's results.
    """
    with held(folder):
        store = Store(folder)
        refuse_other(store, plan, chunk)
        manifest = Manifest(store)
        if (loss := manifest.loss()) is not None:
            warn(loss)
        keep_program(folder, manifest, content)
        missing = _missing(store, manifest)
        if announce is not None:
            each = [record["seconds"] / store.chunk for record in manifest.finished.values()]
            count = plan.samples - missing.done
            announce(_estimate(count, plan, store.chunk, float(np.mean(each or [0.0])), size, pool))
        done = missing.done

        def report(samples: int) -> None:
            nonlocal done
            done = min(done + samples, plan.samples)
            if notify is not None:
                notify(done, plan.samples)

        try:
            with (
                written_for_workers(folder, content) as program,
                progress_bar("rolling out", progress is None or progress is True, done, plan.samples) as bar,
            ):
                notify = progress if callable(progress) else bar
                finish(pool, job_of(folder, program, content, store.identity), missing.tasks, manifest, report)
        except KeyboardInterrupt:
            warn(
                f"Ctrl-C: {done} of {plan.samples} samples are in {folder}: the same call goes on", StoppedWarning,
            )  # fmt: skip
            return Study(folder, "interrupted")
    return Study(folder)


def _missing(store: Store, manifest: Manifest) -> _Missing:
    """Return the chunks that are unfinished or damaged, and the number of finished samples."""
    tasks, done = [], 0
    for start in store.starts:
        stop = start + store.chunk
        if _is_sound(store, manifest, start):
            done += min(stop, store.samples) - start
        else:
            manifest.finished.pop(start, None)
            tasks.append(Task(start, stop))
    return _Missing(tasks, done)


def _is_sound(store: Store, manifest: Manifest, start: int) -> bool:
    if start not in manifest.finished:
        return False
    with suppress(SweepError):
        sound_chunk(store, manifest, start)
        return True
    return False
