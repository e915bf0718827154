"""`treesim bench scaling --factorization`: sparse LTDL compared with LAPACK's dense Cholesky, time and operations."""

from __future__ import annotations

from treesim.cli.common import output, print_json
from treesim.system.progress import progress_bar

from ..bench.factorization import WHAT_IS_TIMED, factorization_rows
from ..bench.timing import one_blas_thread
from .tables import new_table, print_notes


def show_factorization(rounds: int, json: bool) -> None:
    """Print times and operations of factoring the mass matrix of the trees of Featherstone 2005, Table 2."""
    one_blas_thread()
    with progress_bar("timing"):
        rows = factorization_rows(rounds)
    if json:
        print_json({"rows": rows, "note": WHAT_IS_TIMED})
        return
    title = "LTDL against dense Cholesky: factor H, then solve for one vector (shortest of the rounds)"
    numbers = ("ltdl [us]", "dense [us]", "time", "solve [us]", "dense [us]", "time")
    table = new_table(title, "tree", numbers=("n", "D1", "D2", "operations", "printed", *numbers))
    for row in rows:
        cells = [row["family"], *(str(row[key]) for key in ("n", "D1", "D2"))]
        cells += [f"{row['operation_ratio']:.1f}x", "" if row["printed"] is None else f"{row['printed']:g}"]
        for task in ("factorize", "solve"):
            times = row[task]
            cells += [f"{times[key]['min_us']:.2f}" for key in ("ltdl", "dense")] + [f"{times['ratio']:.1f}x"]
        table.add_row(*cells)
    output().print(table)
    print_notes([WHAT_IS_TIMED])
