"""`treesim sweep`: many random rollouts of a robot, written to a store that the same command can resume."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import ArgumentError, SweepError, quoted, reason_of
from ..system.memory import peak_memory
from . import common
from .common import (
    CONTROL,
    OUTPUT,
    BaseOption,
    JsonOption,
    QuietOption,
    RobotArgument,
    checked_name,
    examples,
    guarded,
    option,
)
from .policies import OF_TASK, ContractOptions, contract_policy, policy_option
from .simulation_options import RunOptions, SimulationOptions, build_simulation
from .sweep_options import VARY, measure_options, vary_options

if TYPE_CHECKING:
    import numpy as np

    from ..model.tree import Tree
    from ..simulation.world import World
    from ..sweeps import Estimate, Study
    from .simulation_options import SimulationSetup


class StopCriterionMet(Exception):
    """Raised to end after the estimate, if only that was requested."""


@dataclass(frozen=True)
class SweepOptions(SimulationOptions):
    """Options that define the simulations of a sweep.

    Options
    -------
    --controller
        none, or hold (PD control to the initial configuration).
    """

    base: BaseOption = "auto"
    controller: Annotated[str | None, option(panel=CONTROL)] = "none"


@guarded
@examples(
    'treesim sweep ur5 --samples 1e4 --vary "mass[wrist_3_link]=uniform(0.1,2)" -o sweep.zarr',
    'treesim sweep panda --vary "joint_friction=uniform(0,1)" --measure "fast=any(v[0] > 2)" -o sweep.zarr --dry-run',
    'treesim sweep ur5 --policy reach.py:policy --parameters 20,1 --vary "p[0]=uniform(5,50)" -o sweep.zarr',
)
def sweep(
    robot: RobotArgument,
    out: Annotated[Path, option("--out", "-o", panel=OUTPUT)],
    samples: float = 1000,
    steps: int = 1000,
    vary: Annotated[list[str] | None, option(help=f"{VARY}. May be repeated.")] = None,
    measure: list[str] | None = None,
    seed: Annotated[int, option(min=0)] = 0,
    policy: Annotated[str | None, option(panel=CONTROL)] = None,
    contract: Annotated[str | None, option(panel=CONTROL, metavar="FILE.toml")] = None,
    parameters: Annotated[str | None, option(panel=CONTROL)] = None,
    noise: Annotated[int | None, option(panel=CONTROL, min=0, metavar="SEED")] = None,
    options: SweepOptions = SweepOptions(),
    keep: str = "summary",
    every: int = 1,
    chunk: int | None = None,
    workers: int | None = None,
    threads: int | None = None,
    scheduler: str | None = None,
    dry_run: bool = False,
    quiet: QuietOption = False,
    json: JsonOption = False,
) -> None:
    """Simulate ROBOT many times with random model parameters, initial states and gains, and store measurements.

    After Ctrl-C, finished samples are kept; the same command resumes the sweep. The exit code is 1 if samples have no
    results, or if the cluster was lost. Samples that diverge have results, so they do not change the exit code.

    Options
    -------
    --out
        Folder of the store. If the folder contains unfinished results, the same command resumes the sweep.
    --samples
        Number of rollouts, such as 1e6.
    --steps
        Number of steps of each rollout.
    --measure
        Measurement, written as NAME=KIND(FORMULA), such as fell=any(q[2] < 0.4). KIND is any, all, first_time, minimum,
        maximum, mean, last or stop. FORMULA uses t (s), q and v. May be repeated.
    --seed
        Seed. The random values of a sample depend on the seed and on the number of the sample.
    --policy
        Policy: FILE.py:FUNCTION for a function policy(t, q, v, p, u), or FILE.npz:TASK for a network of
        treesim-gymnasium. With --contract, an ONNX file.
    --contract
        TOML file that describes observations, actions and actuators of an ONNX file. The parameters p are the command.
    --parameters
        Parameters p of --policy, such as 10,0.5. The option --vary p[0]=... varies the first parameter.
    --noise
        Seed of the noise of the contract's observations. Default: no noise.
    --keep
        Stored data: summary (draws and measurements); last (also the final states); all (also all states).
    --every
        Number of steps between stored states, with --keep all.
    --chunk
        Number of samples in each task of a worker. By default, a task takes about 5 s.
    --workers
        Number of processes on this machine. By default, one process runs on each NUMA node.
    --threads
        Number of threads of each process. By default, one thread runs on each core.
    --scheduler
        Address of a Dask scheduler, such as tcp://head:8786.
    --dry-run
        Print an estimate of time and size, and exit.
    """
    import treesim

    checked_name("controller", str(options.controller), ("none", "hold"))
    if parameters is not None and policy is None:
        raise ArgumentError("--parameters are those of --policy: give it too, or leave them out")
    if noise is not None and contract is None:
        raise ArgumentError("--noise is that of the observations of --contract: give it too, or leave out --noise")
    contracted = None
    if contract is not None:
        contracted = contract_policy(ContractOptions(policy, contract, parameters, noise), options, "--parameters")
    setup = build_simulation(robot, RunOptions(**vars(options)), contracted)
    how = {name: getattr(options, name) for name in OF_TASK}
    world: World | Tree = setup.simulation.world
    start = setup.q, setup.v
    if policy is None:
        how |= _holding(setup, steps)
    elif contracted is not None and setup.policy is not None:
        how |= contracted.for_sweep(setup.policy, options.dt).arguments
    else:
        given = policy_option(policy, parameters, setup.robot, options)
        how |= given.arguments
        if given.start is not None and options.q0 is None and options.v0 is None:
            start = given.start
        if given.world is not None and not (options.ground or options.terrain or options.ground_friction is not None):
            world = given.world
    show = not (quiet or json)
    estimates: list[Estimate] = []

    def announce(estimate: Estimate) -> None:
        estimates.append(estimate)
        if show:
            common.messages().print(sentence(estimate), soft_wrap=True)
        if dry_run:
            raise StopCriterionMet

    began = time.perf_counter()
    client = None if scheduler is None else _client(scheduler)
    try:
        study = treesim.sweep(
            world, *start, steps=steps, samples=_whole(samples), store=out, seed=seed, vary=vary_options(vary or []),
            measure=measure_options(measure or [], setup.robot), keep=keep, every=every, chunk=chunk,
            client=client, workers=workers, threads=threads, progress=show, announce=announce, **how,
        )  # fmt: skip
    except StopCriterionMet:
        if json:
            common.print_json(vars(estimates[0]))
        return
    except SweepError as error:
        common.print_error(str(error))
        raise typer.Exit(common.FAILED) from None
    finally:
        if client is not None:
            client.close()
    account = summary(study, time.perf_counter() - began, estimates[0])
    if json:
        common.print_json(account)
    elif show:
        common.output().print(_table(account))
    raise typer.Exit(_exit_code(study, account))


def _whole(samples: float) -> int:
    if not (samples >= 1 and samples.is_integer()):
        raise ArgumentError(f"--samples must be a whole number from 1 on, got {samples:g}")
    return int(samples)


def _client(address: str) -> Any:
    from ..sweeps.cluster import require_distributed

    require_distributed()
    from distributed import Client

    try:
        return Client(address, timeout=10)
    except (OSError, ValueError) as error:
        raise ArgumentError(f"--scheduler {address}: no Dask scheduler answers: {reason_of(error)}") from None


def _holding(setup: SimulationSetup, steps: int) -> dict[str, Any]:
    """Return the arguments of --controller hold: targets and gains of all joints with one coordinate."""
    import numpy as np

    if setup.controller != "hold":
        return {}
    robot = setup.robot
    target, held = np.zeros(robot.nv), np.zeros(robot.nv)
    for name, place in robot.v_index.items():
        if place.stop - place.start == 1:
            target[place], held[place] = setup.q[robot.q_index[name]], 1.0
    return {"control": np.tile(target, (steps, 1)), "kp": setup.kp * held, "kd": setup.kd * held}


def sentence(estimate: Estimate) -> str:
    """Return an estimate as text."""
    return (
        f"{estimate.samples:,} of {estimate.total:,} samples to compute, {estimate.chunk:,} in a task, "
        f"{estimate.workers} at a time: about {_duration(estimate.seconds)}, {estimate.size / 1e6:,.3g} MB"
    )


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def summary(study: Study, seconds: float, estimate: Estimate) -> dict[str, Any]:
    """Return the results of a sweep as plain values.

    worker_memory: peak of one worker on this machine [bytes], None if unknown.
    """
    data = study.summary
    reasons = data["failed_reason"].values
    sound = study.finished & (reasons == 0)
    columns = {str(name): _spread(data[name].values[sound]) for name in data if data[name].ndim == 1}
    return {
        "store": str(study.path), "samples": study.samples, "done": study.done, "stopped": study.stopped,
        "diverged": int((reasons == 1).sum()), "left_out": int((reasons == 2).sum()),
        "first_failed": [one._asdict() for one in study.failed[:5]],
        "seconds": seconds, "estimate": vars(estimate),
        "bytes": sum(path.stat().st_size for path in study.path.rglob("*") if path.is_file()),
        "worker_memory": peak_memory(children=True),
        "columns": {name: one for name, one in columns.items() if one and not name.startswith("failed_")},
    }  # fmt: skip


def _spread(values: np.ndarray) -> dict[str, Any]:
    """Return statistics of the finite values, None if there are none, and counts.

    samples, infinite, nan: number of all values, of infinite ones, and of NaN. `first_time` and `stop` are
    infinite if their condition was never true.
    """
    import numpy as np

    x = values.astype(float)
    if not len(x):
        return {}
    finite = x[np.isfinite(x)]
    found: dict[str, Any] = dict.fromkeys(("mean", "sd", "least", "greatest"))
    if len(finite):
        scale = max(1.0, float(np.abs(finite).max()))
        part = finite / scale  # whose squares and sums are finite
        found = {
            "mean": scale * float(part.mean()), "sd": scale * float(part.std()),
            "least": float(finite.min()), "greatest": float(finite.max()),
        }  # fmt: skip
    return {**found, "samples": len(x), "infinite": int(np.isinf(x).sum()), "nan": int(np.isnan(x).sum())}


def _table(account: dict[str, Any]) -> Any:
    from rich.table import Table

    table = Table(title=f"{account['done']:,} of {account['samples']:,} samples in {account['store']}")
    partly = any(spread["infinite"] or spread["nan"] for spread in account["columns"].values())
    for label in ("column", "mean", "sd", "least", "greatest", *["finite"] * partly):
        table.add_column(label, justify="left" if label == "column" else "right")
    for name, spread in account["columns"].items():
        numbers = (spread[label] for label in ("mean", "sd", "least", "greatest"))
        finite = spread["samples"] - spread["infinite"] - spread["nan"]
        cells = ("-" if x is None else f"{x:.6g}" for x in numbers)
        table.add_row(quoted(name)[1:-1], *cells, *[f"{finite:,} of {spread['samples']:,}"] * partly)
    memory = account["worker_memory"]
    table.caption = (
        f"{account['diverged']} diverged, {account['left_out']} left out; {_duration(account['seconds'])}, "
        f"{account['bytes'] / 1e6:,.3g} MB written"
        + (f", {memory / 1e6:,.0f} MB of memory in a worker" if memory is not None else "")
        + "; mean, sd, least and greatest are of finite values: a time is infinite where it never came" * partly
    )
    return table


def _exit_code(study: Study, account: dict[str, Any]) -> int:
    for one in study.failed[:5] if account["left_out"] else ():
        if one.step < 0:
            common.print_error(f"sample {one.sample} {one.reason}")
    if study.stopped is not None:
        return common.exit_code()
    return common.FAILED if account["left_out"] else 0
