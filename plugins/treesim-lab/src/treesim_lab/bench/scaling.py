"""Time of every backend over the number of bodies, with fitted exponents, and its memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

import treesim
from treesim import plugins
from treesim.errors import TreesimError
from treesim.model.tree import Tree
from treesim.system.progress import counted
from treesim.system.subprocesses import python_command, run

from ..cost.robot import AUTO
from ..cost.scaling import FAMILIES, Family, expected_exponent, fitted_exponent, next_seconds
from .robots import random_states
from .timing import shortest

_PEAK = """
import sys
import numpy as np
import treesim
from treesim.model import generators
def kilobytes(name):
    with open("/proc/self/status", encoding="ascii") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith(name))
backend, n = sys.argv[1], int(sys.argv[2])
small, robot = generators.chain(3), generators.chain(n)
treesim.forward_dynamics(small, *np.zeros((3, 3)), backend=backend)
state = np.zeros((3, n))
with open("/proc/self/clear_refs", "w", encoding="ascii") as peak:
    peak.write("5")
before = kilobytes("VmRSS")
treesim.forward_dynamics(robot, *state, backend=backend)
print(kilobytes("VmHWM") - before)
"""


def sweep(sizes: Sequence[int], budget: float) -> list[dict[str, Any]]:
    """Return a row for each family and backend: sizes, seconds, exponents fitted and expected, and why it stopped.

    budget: longest call [s].
    """
    return [row for family in counted(FAMILIES, attrgetter("name")) for row in _family_rows(family, sizes, budget)]


def _family_rows(family: Family, sizes: Sequence[int], budget: float) -> list[dict[str, Any]]:
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
        robot = family.make(size)
        for row in rows:
            _measure(row, robot, budget)
    for row in rows:
        row["exponent"] = fitted_exponent(row["sizes"], row["seconds"])
    return rows


def _measure(row: dict[str, Any], robot: Tree, budget: float) -> None:
    """Add one size to a row, unless it would take too long."""
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
    """Return a call of forward dynamics at a random state, with the forces of a random acceleration."""
    q, v, _, tau = random_states(robot, 0)
    return lambda: treesim.forward_dynamics(robot, q, v, tau, backend=backend)


def added_memory(backend: str, n: int) -> dict[str, Any]:
    """Return the peak memory [bytes] that one call on a chain of n bodies adds to a new process. Linux only.

    Raises TreesimError with the process's output if it fails.
    """
    ended = run(python_command(_PEAK, backend, str(n)))
    if ended.failed:
        raise TreesimError(f"the process that measures memory failed: {ended.failed.last_line}")
    return {"backend": backend, "n_bodies": n, "added_bytes": 1024 * int(ended.output)}
