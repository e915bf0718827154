"""`treesim bench scaling`: time of every backend over the number of bodies, with fitted exponents, and its memory."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from treesim.cli.common import JsonOption, checked_positive, examples, guarded, output, print_json
from treesim.system.progress import progress_bar

from .tables import new_table

QUICK_SIZES = (10, 30, 100)
DEPTH_SIZES = {True: (8, 16, 32), False: (8, 16, 32, 64, 128)}
FACTORIZATION_ROUNDS = {False: 30, True: 1}


@guarded
@examples(
    "treesim bench scaling",
    "treesim bench scaling --depth",
    "treesim bench scaling --factorization",
)
def scaling(
    plot: Path | None = None,
    quick: bool = False,
    budget: float = 0.5,
    factorization: bool = False,
    depth: bool = False,
    json: JsonOption = False,
) -> None:
    """Measure the time of every backend on chains, binary trees, side branches and grids of 10 to 10,000 bodies.

    In the largest decade of sizes, the command fits the time by a power of the number of bodies. It compares the
    exponents with the published orders. A backend is not timed at sizes that would take longer than --budget. The
    command also measures the memory of O(N) backends on long chains.

    Options
    -------
    --plot
        File for a plot of times over sizes, drawn by matplotlib.
    --quick
        Measure only sizes of up to 100 bodies.
    --budget
        Time limit of a single call (s). Sizes that would take longer are omitted.
    --factorization
        Measure the time of sparse LTDL and dense Cholesky factorization, instead of that of the backends.
    --depth
        Count operations on the critical paths of level-parallel methods, instead of timing backends.
    """
    if factorization:
        from .factorization import show_factorization

        return show_factorization(FACTORIZATION_ROUNDS[quick], json)
    if depth:
        return _show_depths(DEPTH_SIZES[quick], plot, json)
    from ..bench.scaling import added_memory, sweep
    from ..bench.timing import one_blas_thread
    from ..cost.scaling import SIZES

    checked_positive("--budget", budget)
    one_blas_thread()
    sizes = QUICK_SIZES if quick else SIZES
    with progress_bar("timing"):
        rows = sweep(sizes, budget)
        linear = [row["backend"] for row in rows if _is_linear_on_chains(row)]
        memory = [added_memory(backend, max(sizes)) for backend in linear if sys.platform == "linux"]
    if plot is not None:
        from ..plotting.cost import save_scaling

        save_scaling(plot, rows)
    if json:
        print_json({"budget_seconds": budget, "times": rows, "memory": memory})
        return
    _print(rows, memory, sizes, budget)
    if plot is not None:
        output().print(f"wrote {plot}", soft_wrap=True)


def _show_depths(sizes: Sequence[int], plot: Path | None, json: bool) -> None:
    from ..bench.depth import depths

    with progress_bar("counting"):
        rows = depths(sizes)
    if plot is not None:
        from ..plotting.cost import save_depths

        save_depths(plot, rows)
    if json:
        return print_json(rows)
    for family, quantity in dict.fromkeys((row["family"], row["quantity"]) for row in rows):
        chosen = [row for row in rows if (row["family"], row["quantity"]) == (family, quantity)]
        title = f"{family}, {quantity}: operations on the critical path / depth, over bodies N"
        headings = (*(f"N={n}" for n in chosen[0]["bodies"]), "per doubling")
        table = new_table(title, "method", numbers=headings)
        for row in chosen:
            numbers = [f"{path} / {chain}" for path, chain in zip(row["critical_path"], row["depth"], strict=True)]
            added = f"{row['critical_path_per_doubling']:.0f} / {row['depth_per_doubling']:.0f}"
            table.add_row(row["method"], *numbers, added)
        output().print(table)
    if plot is not None:
        output().print(f"wrote {plot}", soft_wrap=True)


def _is_linear_on_chains(row: dict[str, Any]) -> bool:
    return bool(row["family"] == "chain" and row["expected"] == 1 and row["stopped"] is None)


def _print(rows: list[dict[str, Any]], memory: list[dict[str, Any]], sizes: Sequence[int], budget: float) -> None:
    console = output()
    for family in dict.fromkeys(row["family"] for row in rows):
        of_family = [row for row in rows if row["family"] == family]
        title = f"{family}: microseconds of one forward dynamics with about N bodies"
        headings = (*(f"N={size}" for size in sizes), "exponent", "expected")
        table = new_table(title, "backend", numbers=headings, last=["published order"])
        for row in of_family:
            times = [f"{1e6 * seconds:.4g}" for seconds in row["seconds"]]
            exponents = ["-" if row[key] is None else f"{row[key]:.2f}" for key in ("exponent", "expected")]
            table.add_row(row["backend"], *times, *[""] * (len(sizes) - len(times)), *exponents, row["order"])
        console.print(table)
    stopped = [f"{row['family']}, {row['backend']}: {row['stopped']}" for row in rows if row["stopped"]]
    for line in (f"left out beyond a budget of {budget:g} s a call:", *stopped) if stopped else ():
        console.print(line, soft_wrap=True)
    for row in memory:
        details = f"{row['added_bytes'] / 2**20:.1f} MiB beyond the robot itself"
        console.print(f"memory, {row['backend']} on a chain of {row['n_bodies']} bodies: {details}", soft_wrap=True)
