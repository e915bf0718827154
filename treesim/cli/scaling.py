"""`treesim scaling`: time of every backend over the number of bodies, with fitted exponents, and its memory."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..bench.timing import one_blas_thread, shortest
from ..errors import TreesimError
from .common import JsonOption, checked_positive, guarded, messages, output, print_json

if TYPE_CHECKING:
    from ..cost.scaling import Family
    from ..model.tree import Tree

QUICK_SIZES = (10, 30, 100)
FACTORIZATION_ROUNDS = {False: 30, True: 1}
_PEAK = """
import sys
import numpy as np
import treesim
from treesim.model import generators
def kilobytes(name):
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith(name))
backend, n = sys.argv[1], int(sys.argv[2])
small, robot = generators.chain(3), generators.chain(n)
treesim.forward_dynamics(small, *np.zeros((3, 3)), backend=backend)
state = np.zeros((3, n))
with open("/proc/self/clear_refs", "w") as peak:
    peak.write("5")
before = kilobytes("VmRSS")
treesim.forward_dynamics(robot, *state, backend=backend)
print(kilobytes("VmHWM") - before)
"""


@guarded
def scaling(
    plot: Annotated[Path | None, typer.Option(help="Draw times over sizes to this file, by matplotlib.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Sizes up to 100 only.")] = False,
    budget: Annotated[
        float, typer.Option(help="Longest single call to wait for (s); larger sizes are left out.")
    ] = 0.5,
    factorization: Annotated[
        bool, typer.Option("--factorization", help="Time sparse LTDL beside dense Cholesky instead.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Time every backend on chains, binary trees, side branches and grids of 10 to 10,000 bodies.

    Exponents are fitted to the upper decade and stand beside those that the published orders mean; a backend stops
    where its next size would take longer than --budget. Also measures what memory O(N) backends add on long chains.
    """
    if factorization:
        from .factorization import show_factorization

        return show_factorization(FACTORIZATION_ROUNDS[quick], json)
    from ..cost.scaling import SIZES

    checked_positive("--budget", budget)
    one_blas_thread()
    sizes = QUICK_SIZES if quick else SIZES
    with messages().status("timing ...") as status:
        rows = sweep(sizes, budget, lambda text: status.update(f"timing: {text} ..."))
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


def sweep(sizes: Sequence[int], budget: float, tell: Callable[[str], None]) -> list[dict[str, Any]]:
    """Return a row for each family and backend: sizes, seconds, exponents fitted and expected, and why it stopped."""
    from ..cost.scaling import FAMILIES

    return [row for family in FAMILIES for row in _family_rows(family, sizes, budget, tell)]


def _family_rows(
    family: Family, sizes: Sequence[int], budget: float, tell: Callable[[str], None]
) -> list[dict[str, Any]]:
    import treesim

    from .. import plugins
    from ..cost.robot import AUTO
    from ..cost.scaling import expected_exponent, fitted_exponent

    rows: list[dict[str, Any]] = []
    for name in treesim.available("dynamics"):
        if name != AUTO:
            order = getattr(plugins.get("dynamics", name).capabilities, "cost", "")
            row: dict[str, Any] = {
                "family": family.name,
                "backend": name,
                "sizes": [],
                "seconds": [],
                "stopped": None,
                "order": order,
            }
            rows.append({**row, "expected": expected_exponent(order, family)})
    for size in sizes:
        tell(f"{family.name}, {size} bodies")
        robot = family.make(size)
        for row in rows:
            _measure(row, robot, budget)
    for row in rows:
        row["exponent"] = fitted_exponent(row["sizes"], row["seconds"])
    return rows


def _measure(row: dict[str, Any], robot: Tree, budget: float) -> None:
    """Add one size to a row, unless it would take too long."""
    from ..cost.scaling import next_seconds

    if row["stopped"] is not None:
        return
    if row["sizes"]:
        ahead = next_seconds(row["sizes"], row["seconds"], robot.n_bodies)
        if ahead > budget:
            row["stopped"] = f"N = {robot.n_bodies} would take about {ahead:.2g} s"
            return
    try:
        row["seconds"].append(shortest(_call(robot, row["backend"])))
        row["sizes"].append(robot.n_bodies)
    except TreesimError as error:
        row["stopped"] = f"N = {robot.n_bodies}: {error}"


def _call(robot: Tree, backend: str) -> Callable[[], object]:
    """Forward dynamics in a random state with the torque of a random acceleration."""
    import numpy as np

    import treesim

    rng = np.random.default_rng(0)
    q, (v, a) = robot.random(rng), rng.normal(size=(2, robot.nv))
    tau = treesim.inverse_dynamics(robot, q, v, a)
    return lambda: treesim.forward_dynamics(robot, q, v, tau, backend=backend)


def _is_linear_on_chains(row: dict[str, Any]) -> bool:
    return bool(row["family"] == "chain" and row["expected"] == 1 and row["stopped"] is None)


def added_memory(backend: str, n: int) -> dict[str, Any]:
    """Return the bytes that one call on a chain of n bodies adds to a new process, at its peak. Linux only.

    Raises TreesimError with what the process said if it fails.
    """
    command = [sys.executable, "-c", _PEAK, backend, str(n)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode:
        last = (ended.stderr.strip() or "no message").splitlines()[-1]
        raise TreesimError(f"the process that measures memory failed: {last}")
    return {"backend": backend, "n_bodies": n, "added_bytes": 1024 * int(ended.stdout)}


def _print(rows: list[dict[str, Any]], memory: list[dict[str, Any]], sizes: Sequence[int], budget: float) -> None:
    from rich.table import Table

    console = output()
    for family in dict.fromkeys(row["family"] for row in rows):
        of_family = [row for row in rows if row["family"] == family]
        title = f"{family}: microseconds of one forward dynamics with about N bodies"
        table = Table("backend", title=title, title_justify="left")
        for heading in (*(f"N={size}" for size in sizes), "exponent", "expected"):
            table.add_column(heading, justify="right")
        table.add_column("published order")
        for row in of_family:
            times = [f"{1e6 * seconds:.4g}" for seconds in row["seconds"]]
            exponents = ["-" if row[key] is None else f"{row[key]:.2f}" for key in ("exponent", "expected")]
            table.add_row(row["backend"], *times, *[""] * (len(sizes) - len(times)), *exponents, row["order"])
        console.print(table)
    stopped = [f"{row['family']}, {row['backend']}: {row['stopped']}" for row in rows if row["stopped"]]
    for line in (f"left out beyond a budget of {budget:g} s a call:", *stopped) if stopped else ():
        console.print(line, soft_wrap=True)
    for row in memory:
        told = f"{row['added_bytes'] / 2**20:.1f} MiB beyond the robot itself"
        console.print(f"memory, {row['backend']} on a chain of {row['n_bodies']} bodies: {told}", soft_wrap=True)
