"""Errors of the engines on robots, and growth of every backend's errors along chains."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import attrgetter, itemgetter
from typing import Any

import treesim
from treesim.errors import TreesimError, named
from treesim.system.progress import counted

from ..cost import error_growth as growth
from ..cost.engine_errors import errors, problems
from ..cost.error_growth import Case, error
from ..cost.expected_errors import GROWTH, ILL_CONDITIONED, expected
from ..cost.robot import AUTO
from .robots import bench_robot

EXACT_STATES = 3  # at which the high-precision reference is computed


def error_rows(lengths: tuple[int, ...]) -> Iterator[dict[str, Any]]:
    """Yield a row for each case: its table, regime and name, and for every backend its errors and the expected one."""
    cases, total = growth.growth_cases(lengths), len(growth.REGIMES) * len(growth.KINDS) * len(lengths)
    for regime, kind, n, case in counted(cases, lambda of: f"{of[1]} chain of {of[2]}", total):
        facts = {"table": f"{kind} chain", "regime": regime, "case": f"N = {n}"}
        yield {**facts, "errors": _errors(case, GROWTH.get((regime, kind, n), {}))}
    for name, regime, factor, case in counted(list(growth.ill_conditioned_cases()), itemgetter(0)):
        facts = {"table": f"{name} in a random chain of 20", "regime": regime, "case": f"mass x {factor:.0e}"}
        yield {**facts, "errors": _errors(case, ILL_CONDITIONED[name, regime, factor])}


def _errors(case: Case, seen: dict[str, float]) -> list[dict[str, Any]]:
    """Return every backend's error, its error after one refinement, and the expected one; None if it refuses."""
    rows = []
    for name in treesim.available("dynamics"):
        if name != AUTO:
            values: list[float | None] = []
            for refinements in (0, 1):
                try:
                    values.append(error(case, name, refinements))
                except TreesimError:  # such as iterations that do not converge
                    values.append(None)
            rows.append({"backend": name, "error": values[0], "refined": values[1], "expected": expected(seen, name)})
    return rows


def robot_rows(
    names: Sequence[str], base: str, mimic: str | None, states: int, notes: list[str]
) -> Iterator[dict[str, Any]]:
    """Yield for each robot its name, nv, and for every kernel its errors (see `engine_errors.Errors`).

    notes: messages on robots are added.
    """
    for name in counted(names, named):
        tree = bench_robot(name, base, mimic, notes).tree
        found = []
        for problem in counted(list(problems(tree, states)), attrgetter("name")):
            found.append(errors(problem, min(states, EXACT_STATES))._asdict())
        yield {"robot": name, "nv": tree.nv, "errors": found}
