"""`treesim bench`: speed of treesim, compared with other engines in the same process."""

from __future__ import annotations

import json as json_format
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import numpy as np
import typer

import treesim
from treesim.cli.common import (
    BaseOption,
    JsonOption,
    MimicOption,
    SeedOption,
    checked_loading,
    examples,
    guarded,
    option,
    output,
    plain,
    print_json,
)
from treesim.engine.frontend.fastcall import STATES
from treesim.engine.llvm.machine_code import processor
from treesim.engine.threads import thread_count, use_threads
from treesim.errors import ArgumentError, named
from treesim.system.files import write_whole
from treesim.system.progress import progress_bar

if TYPE_CHECKING:
    from treesim.types import Base, Mimic

    from ..bench import Benchmark, BenchRobot

CALL_ROUNDS, BATCH_ROUNDS, CONTACT_ROUNDS = 50, 10, 3
BATCH, SUMMARY_BATCH_ROUNDS = 4096, 8
BUSY = 0.5  # load average above which other processes disturb the times


@guarded
@examples(
    "treesim bench go2 --base floating",
    "treesim bench ur5 --batch 4096 --threads 1",
    "treesim bench g1_29dof_rev_1_0 --contact --scene moving-1 --scene stack",
    "treesim bench ur5 --derivatives",
    "treesim bench --summary",
    "treesim bench --worlds --scene towers --scene dominoes",
    "treesim bench energy ur5",
)
def bench(
    robots: Annotated[list[str] | None, typer.Argument(metavar="ROBOT...")] = None,
    base: BaseOption = "auto",
    mimic: MimicOption = None,
    batch: Annotated[int, option(min=0)] = 0,
    sizes: Annotated[int, option(min=0)] = 0,
    single: bool = False,
    derivatives: bool = False,
    summary: bool = False,
    contact: bool = False,
    requests: bool = False,
    worlds: bool = False,
    scene: list[str] | None = None,
    kp: Annotated[float, option(min=0)] = 1000.0,
    backends: bool = False,
    cold: bool = False,
    repeats: Annotated[int | None, option(min=1)] = None,
    threads: Annotated[int | None, option(min=1)] = None,
    seed: SeedOption = 0,
    plot: Path | None = None,
    save: Path | None = None,
    json: JsonOption = False,
) -> None:
    """Measure treesim and installed engines (Pinocchio, MuJoCo, PyBullet) on ROBOT, alternately in one process.

    By default, the command times single calls and the start of a new process. With --batch, it times calls for many
    states at once. With --sizes, it times calls for up to a million states. With --contact, it times steps of a robot
    that stands, moves or falls, and of stacks of boxes. It then also measures the drift of scenes at rest, and the
    overlap of shapes. The commands `bench energy` (drift of integrators), `bench accuracy`, `bench scaling` and `bench
    schedule` have help of their own (-h).

    Options
    -------
    robots
        URDF files or names of installed robots. `chain30` is an unbranched chain of 30 joints. For several robots, the
        table shows how many times longer other engines take.
    --batch
        Number of states in a batch. The command times batches instead of single calls.
    --sizes
        Largest number of states. The command times batches of 100, 1000, ... states.
    --single
        Measure the calls of --sizes in single precision.
    --derivatives
        Time derivatives of inverse and forward dynamics, and M^-1, of single states and batches, and gradients of
        rollouts, on one thread.
    --summary
        Print for several robots how many times longer other engines take than treesim. Without ROBOT, the command times
        five standard robots.
    --contact
        Measure the time of steps and rollouts with contact, for ROBOT and for stacks of boxes.
    --requests
        Measure the time of a step in rollouts of the standing ROBOT, with forces, measures, sensors and parameters of
        each.
    --worlds
        Measure solves, residuals and times of steps and rollouts of worlds of many bodies, without ROBOT.
    --scene
        Scene whose steps are timed with --contact or --worlds. May be repeated. By default all scenes.
    --kp
        Position gain kp of every joint with --contact (N m/rad, N/m). The velocity gain is 0.05 s times kp.
    --backends
        Also measure all other backends of treesim.
    --cold
        Also measure the start of a process with an empty kernel cache.
    --repeats
        Number of rounds. Every call is timed once in each round.
    --threads
        Number of threads of each engine. By default, one thread runs on each core.
    --plot
        File for a plot of the result, drawn by matplotlib.
    --save
        JSON file to which the result is also written.
    """
    if plot is not None:
        from treesim.plotting import require_matplotlib

        require_matplotlib()  # before minutes of timing
    report = _Report(json, plot, save)
    with use_threads(threads):
        if summary or len(robots or ()) > 1:
            _summary(report, robots, base, mimic, batch, repeats, seed)
            return
        if worlds:
            _worlds(report, scene, repeats or CONTACT_ROUNDS)
            return
        if not robots:
            raise ArgumentError("name a robot, or take --summary for the five standard ones")
        if contact:
            _contact(report, robots[0], kp, scene, repeats or CONTACT_ROUNDS)
            return
        if requests:
            _requests(report, robots[0], repeats or CONTACT_ROUNDS)
            return
        from ..bench.robots import bench_robot

        with checked_loading(base, mimic):
            robot = bench_robot(robots[0], base, mimic, report.notes)
        if sizes:
            _sizes(report, robot, sizes, single, seed)
        elif derivatives:
            _derivatives(report, robot, repeats or BATCH_ROUNDS, seed)
        elif batch:
            _batches(report, robot, batch, repeats or BATCH_ROUNDS, seed)
        else:
            _calls(report, robot, repeats or CALL_ROUNDS, seed, backends, cold)


class _Report:
    """Output of a result: tables or JSON on standard output, and files."""

    def __init__(self, json: bool, plot: Path | None, save: Path | None) -> None:
        self.json, self.plot, self.save = json, plot, save
        self.notes: list[str] = []
        self.load = _load()
        if self.load is not None and self.load > BUSY:
            self.notes.append(
                f"the machine is busy with other work (load average {self.load:.1f} before the start): "
                "times are too long, those of several threads most"
            )

    def print(self, *renderables: Any) -> None:
        """Print tables or lines, unless the output is JSON."""
        for each in () if self.json else renderables:
            output().print(each, soft_wrap=isinstance(each, str))

    def explain(self, rows: Sequence[dict[str, Any]]) -> None:
        """Print what the calls of these rows do, and the notes."""
        from .bench_tables import print_calls

        if not self.json:
            print_calls(output(), rows)
            for note in self.notes:
                output().print(f"note: {note}", soft_wrap=True)

    def draw(self, how: Literal["save_timings", "save_sizes", "save_ratios"], *what: Any) -> None:
        """Draw the requested plot by a function of `plotting.bench`."""
        if self.plot is not None:
            from ..plotting import bench as plots

            getattr(plots, how)(self.plot, *what)

    def finish(self, facts: dict[str, Any]) -> None:
        """Write the result to all requested outputs; raises ArgumentError for a file that cannot be written."""
        facts = {**_environment(), "load_before": self.load, **facts, "notes": self.notes}
        if self.save is not None:
            text = json_format.dumps(plain(facts), indent=2, ensure_ascii=False).encode()
            write_whole(self.save, lambda stream: stream.write(text), len(text))
        if self.json:
            print_json(facts)
        for path in (self.plot, self.save):
            if path is not None:
                self.print(f"wrote {path}")


def _load() -> float | None:
    """Return the system load average over one minute; None if the system does not report it."""
    try:
        return os.getloadavg()[0]
    except (AttributeError, OSError):
        return None


def _environment() -> dict[str, Any]:
    """Return the processor, the number of threads, and the versions of treesim and numpy."""
    here = processor()
    return {
        "processor": here.name, "vector_bytes": here.vector_bytes, "threads": thread_count(),
        "versions": {"treesim": treesim.__version__, "numpy": np.__version__},
    }  # fmt: skip


def _calls(report: _Report, robot: BenchRobot, rounds: int, seed: int, every_backend: bool, cold: bool) -> None:
    from ..bench import time_calls, time_start
    from .bench_tables import start_table, timing_table

    with progress_bar("preparing kernels and timing"):
        found = time_calls(robot, rounds=rounds, seed=seed, every_backend=every_backend)
        kinds = {"kept": False, **({"none yet": True} if cold else {})}
        starts = {label: time_start(robot, cold=empty) for label, empty in kinds.items()}
    report.notes += found.notes
    title = f"{named(found.robot)}, {found.base} base, {found.nv} degrees of freedom: one state"
    report.print(timing_table(title, found.rows, "us"))
    report.explain(found.rows)
    report.print(start_table(starts, _first_batch(robot)))
    report.draw("save_timings", title, found.rows, "us")
    report.finish({**_repr_fields(found), "calls": found.rows, "new_process": starts})


def _repr_fields(found: Benchmark) -> dict[str, Any]:
    """Return the fields of a benchmark for `--json`, except its rows."""
    facts = {"robot": found.robot, "base": found.base, "nv": found.nv}
    if found.states is not None:
        facts["states"] = found.states
    return {**facts, "repeats": found.repeats, "engines": found.engines}


def _first_batch(robot: BenchRobot) -> str:
    from ..bench.engine_choice import engine_of_batch

    return f"the batch of {STATES} states by the {engine_of_batch(robot.tree, STATES, np.float64)} one"


def _batches(report: _Report, robot: BenchRobot, count: int, rounds: int, seed: int) -> None:
    from ..bench import time_batches
    from .bench_tables import arithmetic_table, timing_table

    with progress_bar("preparing kernels and timing"):
        found = time_batches(robot, states=count, rounds=rounds, seed=seed)
    report.notes += found.notes
    arithmetic, disturbed = found.more["arithmetic"], found.more["after_another"]
    title = f"{named(found.robot)}, {found.base} base, {found.nv} degrees of freedom: "
    title += f"{count} states on {thread_count()} threads"
    if disturbed:
        details = ", ".join(f"{label} {1e9 * seconds:.0f}" for label, seconds in disturbed.items())
        report.notes.append(
            f"ns per state of forward_dynamics {details} (pin.abaInParallel's threads keep spinning; hence the pauses)"
        )
    report.print(timing_table(f"{title}; per state, or step of a rollout", found.rows, "ns"))
    report.print(arithmetic_table(arithmetic))
    report.explain(found.rows)
    report.draw("save_timings", title, found.rows, "ns")
    more = {"batches": found.rows, "arithmetic": arithmetic, "after_another": disturbed}
    report.finish({**_repr_fields(found), **more})


def _sizes(report: _Report, robot: BenchRobot, largest: int, single: bool, seed: int) -> None:
    from ..bench import time_sizes
    from ..bench.sizes import SIZES
    from .bench_tables import size_table

    if largest < SIZES[0]:
        raise ArgumentError(f"--sizes begins with {SIZES[0]} states, got {largest}")
    with progress_bar("timing"):
        found = time_sizes(robot, largest=largest, number=np.float32 if single else np.float64, seed=seed)
    title = f"{named(found.robot)}, {found.base} base, {found.rows[0]['threads']} threads"
    report.print(size_table(title, found.rows))
    report.draw("save_sizes", title, found.rows)
    report.finish({"robot": found.robot, "base": found.base, "nv": found.nv, "sizes": found.rows})


def _derivatives(report: _Report, robot: BenchRobot, rounds: int, seed: int) -> None:
    from ..bench import time_derivatives
    from .bench_tables import timing_table

    with progress_bar("preparing kernels and timing"):
        found = time_derivatives(robot, rounds=rounds, seed=seed)
    report.notes += found.notes
    title = f"{named(found.robot)}, {found.base} base, {found.nv} degrees of freedom: one thread; per state"
    report.print(timing_table(title, found.rows, "us"))
    report.explain(found.rows)
    report.draw("save_timings", title, found.rows, "us")
    report.finish({**_repr_fields(found), "derivatives": found.rows, **found.more})


def _contact(report: _Report, name: str, kp: float, scenes: list[str] | None, rounds: int) -> None:
    from ..bench import time_contact
    from .bench_tables import contact_rollout_table, contact_table, incline_table

    with progress_bar("preparing kernels and timing"), checked_loading("floating", None):
        found = time_contact(name, kp=kp, scenes=scenes, rounds=rounds)
    report.notes += found.notes
    title = f"{named(found.robot)}, kp {kp:g}, one step of {1e3 * found.more['dt']:g} ms"
    report.print(contact_table(title, found.rows))
    report.print(contact_rollout_table(f"{named(found.robot)}, rollouts of the same", found.more["rollouts"]))
    report.print(incline_table(found.more["incline"]))
    report.print(*(f"{name}: {about}" for name, about in found.more["scenes"].items()))
    report.explain([*found.rows, *found.more["rollouts"]])
    report.draw("save_timings", title, [{**row, "quantity": row["scene"]} for row in found.rows], "us")
    report.finish({**_repr_fields(found), "contact": found.rows, **found.more})


def _requests(report: _Report, name: str, rounds: int) -> None:
    from ..bench import time_requests
    from .bench_tables import request_table

    with progress_bar("preparing kernels and timing"), checked_loading("floating", None):
        found = time_requests(name, rounds=rounds)
    report.print(request_table(f"{named(found.robot)}, {found.states} standing robots, one thread", found.rows))
    report.finish({**_repr_fields(found), "requests": found.rows, **found.more})


def _worlds(report: _Report, scenes: list[str] | None, rounds: int) -> None:
    from ..bench import time_worlds
    from .bench_tables import world_table

    with progress_bar("preparing kernels and timing"):
        found = time_worlds(scenes, rounds)
    report.notes += found.notes
    report.print(world_table("worlds of many bodies, one step of 1 ms", found.rows))
    report.print(*(f"{name}: {about}" for name, about in found.more["scenes"].items()))
    report.explain([])
    report.finish({"engines": found.engines, "repeats": rounds, "worlds": found.rows, **found.more})


def _summary(
    report: _Report, names: list[str] | None, base: str, mimic: str | None, batch: int, rounds: int | None, seed: int
) -> None:
    from ..bench import ratios, time_robots
    from ..bench.robots import STANDARD
    from .bench_tables import ratio_table

    if not names:
        names, base, mimic = list(STANDARD), "floating", "free"
    with progress_bar("timing"), checked_loading(base, mimic):
        found = time_robots(
            names, cast("Base", base), cast("Mimic | None", mimic), batch or BATCH, rounds or CALL_ROUNDS,
            rounds or SUMMARY_BATCH_ROUNDS, seed,
        )  # fmt: skip
    robots = [each["robot"] for each in found]
    titles = {"calls": "one state", "batches": f"{batch or BATCH} states, on as many threads"}
    tables = {kind: ratios(found, kind) for kind in titles}
    for kind, unit in (("calls", "us"), ("batches", "ns")):
        report.print(ratio_table(titles[kind], tables[kind], robots, unit))
    for each in found:
        report.notes += [f"{each['robot']}: {note}" for note in each["notes"]]
    report.explain([])
    report.draw("save_ratios", {titles[kind]: rows for kind, rows in tables.items()}, robots)
    report.finish({"robots": found})
