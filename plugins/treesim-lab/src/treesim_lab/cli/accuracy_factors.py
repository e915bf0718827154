"""`treesim bench accuracy --factorization`: errors of LTL, LTDL and dense Cholesky, against 40 digits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from treesim.cli.common import checked_loading, output, print_json
from treesim.system.progress import progress_bar

from ..bench.factorization import factor_error_rows
from .tables import new_table, print_notes

TITLES = {
    "factors": "factors: |L' D L - H| / |H|",
    "driven": "solve for random forces: |x - exact| / |exact|",
    "prescribed": "solve for the forces of a random acceleration: |x - exact| / |exact|",
}
WHAT_IS_COMPARED = (
    "ltl, ltdl: sparse, from the tips to the base (Featherstone 2005); cholesky: LAPACK's dpotrf and dpotrs on the "
    "full matrix; same loops: Cholesky of the full matrix, from the base to the tips, in the loops of ltl"
)


def show_factors(names: Sequence[str], base: str, mimic: str | None, states: int, quick: bool, json: bool) -> None:
    """Print the errors of every factorization on robots, or on the trees of Featherstone 2005, Table 2.

    quick: only on the small trees.
    """
    notes = [WHAT_IS_COMPARED]
    with progress_bar("computing"), checked_loading(base, mimic):
        rows = list(factor_error_rows(names, base, mimic, states, quick, notes))
    if json:
        print_json({"base": base, "states": states, "rows": rows, "notes": notes})
        return
    for measure, title in TITLES.items():
        _print(f"{title}, in units of 2^-53", measure, rows)
    output().print(f"Medians of {states} random states.")
    print_notes(notes)


def _print(title: str, measure: str, rows: Sequence[dict[str, Any]]) -> None:
    """Print a table of one measure: errors of the factorizations by tree, and those of LTL and LTDL over Cholesky's."""
    names = list(rows[0]["errors"])
    shown = new_table(title, "tree", numbers=("n", "zeros", *names, "ltl / cholesky", "ltdl / cholesky"))
    for row in rows:
        errors = {name: row["errors"][name][measure] for name in names}
        ratios = [_ratio(errors[name], errors["cholesky"]) for name in ("ltl", "ltdl")]
        values = [f"{error:.3g}" for error in errors.values()]
        shown.add_row(row["tree"], str(row["n"]), f"{row['zeros']:.0%}", *values, *ratios)
    output().print(shown)


def _ratio(error: float, other: float) -> str:
    return f"{error / other:.2f}" if other else "-"
