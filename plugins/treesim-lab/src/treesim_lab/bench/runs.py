"""Benchmarks of a robot: calls on one state, batches, batch sizes, process start; and of several robots."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from treesim.compare.adapter import EngineAdapter
from treesim.compare.engine_model import EngineModel
from treesim.compare.engines import chosen_engines, installed_engines, read_by_engines
from treesim.engine.threads import use_threads
from treesim.errors import named
from treesim.system.progress import counted
from treesim.types import Base, Mimic
from treesim.validation.values import checked_parts

from .arithmetic import arithmetic_rows
from .batches import after_another, batch_rows
from .derivatives import BATCHES, SINGLES, derivative_rows
from .results import Benchmark
from .robots import CHAIN, BenchRobot, bench_robot, random_states
from .single import call_rows
from .sizes import SIZES, size_rows
from .startup import first_results

CALL_ROUNDS, BATCH_ROUNDS = 50, 10
Engines = str | EngineAdapter | Sequence[str | EngineAdapter] | None


def time_calls(
    robot: str | BenchRobot,
    base: Base = "fixed",
    mimic: Mimic | None = None,
    rounds: int = CALL_ROUNDS,
    seed: int = 0,
    every_backend: bool = False,
    engines: Engines = None,
) -> Benchmark:
    """Time calls on one random state, of treesim and other engines, in turns.

    Parameters
    ----------
    robot : str or BenchRobot
        URDF file, name of an installed robot, "chain30" (an unbranched chain of 30 joints), or a result of
        `bench_robot`, with its base and mimic.
    base : {"fixed", "floating"}
        As for `treesim.load`.
    mimic : {None, "free"}
        As for `treesim.load`.
    rounds : int
        Number of turns of each call.
    seed : int
        Seed of the random state.
    every_backend : bool
        Time all forward-dynamics backends of treesim instead of two.
    engines : optional
        Adapters of other engines; all installed ones by default.

    Returns
    -------
    Benchmark
        One row for each call.

    Examples
    --------
    >>> from treesim_lab import bench
    >>> found = bench.time_calls("chain3", rounds=1, engines=[])
    >>> found
    <Benchmark of 'chain3': 15 calls on one state>
    >>> found.fastest("mass matrix")["min_s"] < 1e-3
    True
    """
    notes: list[str] = []
    taken, models, versions = _read(robot, base, mimic, engines, notes)
    tree = taken.tree
    rows = call_rows(tree, models, random_states(tree, seed), rounds, every_backend, notes)
    return Benchmark("calls", tree.name, taken.base, tree.nv, tuple(rows), rounds, engines=versions, notes=tuple(notes))


def time_batches(
    robot: str | BenchRobot,
    base: Base = "fixed",
    mimic: Mimic | None = None,
    states: int = 4096,
    rounds: int = BATCH_ROUNDS,
    seed: int = 0,
    engines: Engines = None,
) -> Benchmark:
    """Time calls on a batch of random states, and rollouts, in double and single precision, on all threads.

    Parameters
    ----------
    robot, base, mimic, rounds, seed, engines : optional
        As for `time_calls`.
    states : int
        Number of states.

    Returns
    -------
    Benchmark
        One row for each call. `more` contains "arithmetic", operations per second and the processor's peak, and
        "after_another", the time of a call after one of another engine.

    Examples
    --------
    >>> from treesim_lab import bench
    >>> bench.time_batches("chain2", states=70, rounds=1, engines=[])
    <Benchmark of 'chain2': 24 calls on 70 states each>
    """
    notes: list[str] = []
    taken, models, versions = _read(robot, base, mimic, engines, notes)
    tree = taken.tree
    drawn = random_states(tree, seed, states)
    rows = batch_rows(tree, models, drawn, rounds, notes)
    more = {
        "arithmetic": arithmetic_rows(tree, drawn, rounds, notes),
        "after_another": after_another(tree, models, drawn, rounds),
    }
    return Benchmark(
        "batches", tree.name, taken.base, tree.nv, tuple(rows), rounds, states, versions, tuple(notes), more
    )


def time_derivatives(
    robot: str | BenchRobot,
    base: Base = "fixed",
    mimic: Mimic | None = None,
    batches: Sequence[int] = BATCHES,
    rounds: int = BATCH_ROUNDS,
    seed: int = 0,
    engines: Engines = None,
) -> Benchmark:
    """Time derivatives of inverse and forward dynamics, M^-1 and gradients of rollouts, on one thread.

    Parameters
    ----------
    robot, base, mimic, rounds, seed, engines : optional
        As for `time_calls`.
    batches : sequence of int
        Numbers of states of the batches.

    Returns
    -------
    Benchmark
        One row for each call. Single states are different ones, and all are random. The rows of "rollout" are times of
        the same rollouts without gradients.

    Examples
    --------
    >>> from treesim_lab import bench
    >>> bench.time_derivatives("chain2", batches=[16], rounds=1, engines=[])
    <Benchmark of 'chain2': 19 calls of derivatives>
    """
    notes: list[str] = []
    taken, models, versions = _read(robot, base, mimic, engines, notes)
    tree = taken.tree
    with use_threads(1):
        rows = derivative_rows(taken, models, random_states(tree, seed, max(SINGLES, *batches)), batches, rounds)
    return Benchmark(
        "derivatives", tree.name, taken.base, tree.nv, tuple(rows), rounds, None, versions, tuple(notes), {"threads": 1}
    )


def time_sizes(
    robot: str | BenchRobot,
    base: Base = "fixed",
    mimic: Mimic | None = None,
    largest: int = SIZES[2],
    number: type[np.floating] = np.float64,
    seed: int = 0,
) -> Benchmark:
    """Time forward dynamics on batches of 100, 1000, ... up to `largest` states, and measure their memory.

    number: numpy.float64 or numpy.float32. Other arguments as for `time_calls`.

    Example:
        >>> from treesim_lab import bench
        >>> bench.time_sizes("chain2", largest=1000)
        <Benchmark of 'chain2': 2 sizes of batches>
    """
    notes: list[str] = []
    taken = _taken(robot, base, mimic, notes)
    rows = size_rows(taken.tree, number, largest, seed)
    return Benchmark("sizes", taken.tree.name, taken.base, taken.tree.nv, tuple(rows), notes=tuple(notes))


def time_start(
    robot: str | BenchRobot, base: Base = "fixed", mimic: Mimic | None = None, cold: bool = False
) -> dict[str, Any]:
    """Return the time [s] from the start of a new process to its first results, and its peak memory.

    See `first_results`. cold: without machine code cached by earlier processes. Other arguments as for
    `time_calls`.

    Example:
        >>> from treesim_lab import bench
        >>> start = bench.time_start("chain2")
        >>> start["to_first_step_s"] > start["import_s"]
        True
    """
    taken = _taken(robot, base, mimic, [])
    return first_results(taken.source, taken.base, taken.mimic, cold)


def time_robots(
    robots: str | Sequence[str],
    base: Base = "fixed",
    mimic: Mimic | None = None,
    states: int = 4096,
    rounds: int = CALL_ROUNDS,
    batch_rounds: int = BATCH_ROUNDS,
    seed: int = 0,
    engines: Engines = None,
) -> list[dict[str, Any]]:
    """Time calls on one state and on batches of several robots; return a dictionary for each robot.

    Each has the robot's name, base, nv, states, notes, and the rows "calls" and "batches", from which
    `bench.ratios` makes a table. Chains always have a fixed base. Other arguments as for
    `time_batches`.

    Example:
        >>> from treesim_lab import bench
        >>> found = bench.time_robots(["chain2"], states=70, rounds=1, batch_rounds=1, engines=[])
        >>> found[0]["robot"], len(found[0]["calls"]), len(found[0]["batches"])
        ('chain2', 15, 24)
    """
    names = checked_parts("robots", robots, str)
    return [_both(name, base, mimic, states, rounds, batch_rounds, seed, engines) for name in counted(names, named)]


def _both(
    name: str, base: Base, mimic: Mimic | None, states: int, rounds: int, batch_rounds: int, seed: int,
    engines: Engines,
) -> dict[str, Any]:  # fmt: skip
    notes: list[str] = []
    taken, models, _ = _read(name, "fixed" if CHAIN.fullmatch(name) else base, mimic, engines, notes)
    tree = taken.tree
    calls = call_rows(tree, models, random_states(tree, seed), rounds, False, notes)
    batches = batch_rows(tree, models, random_states(tree, seed, states), batch_rounds, notes)
    return {
        "robot": tree.name, "base": taken.base, "nv": tree.nv, "states": states,
        "calls": calls, "batches": batches, "notes": notes,
    }  # fmt: skip


def _taken(robot: str | BenchRobot, base: Base, mimic: Mimic | None, notes: list[str]) -> BenchRobot:
    return robot if isinstance(robot, BenchRobot) else bench_robot(robot, base, mimic, notes)


def _read(
    robot: str | BenchRobot, base: Base, mimic: Mimic | None, engines: Engines, notes: list[str]
) -> tuple[BenchRobot, list[EngineModel], dict[str, str]]:
    """Return the robot, the engines that support it, and their versions."""
    taken = _taken(robot, base, mimic, notes)
    adapters = installed_engines(notes) if engines is None else chosen_engines("engines", engines)
    models = read_by_engines(adapters, taken.tree, taken.text, notes)
    titles = {model.engine for model in models}
    return taken, models, {each.title: each.version() for each in adapters if each.title in titles}
