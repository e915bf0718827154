"""`treesim cost --advice`: comparison of the advised algorithms with the fastest ones on many trees."""

from __future__ import annotations

from treesim.cli.common import output, print_json
from treesim.errors import named
from treesim.system.progress import progress_bar

from ..bench.advice import advice_rows
from ..bench.timing import one_blas_thread
from .tables import new_table


def show_advice(repeats: int, json: bool) -> None:
    """Time every algorithm on generated trees and installed robots; print the advised and the fastest ones."""
    one_blas_thread()
    with progress_bar("timing"):
        rows = advice_rows(repeats)
    if json:
        print_json(rows)
        return
    title = "advised against fastest (shortest of the rounds); ratio: the advised one's time over the fastest's"
    headings = ("robot", "nv", "depth", "task", "advised", "us", "fastest", "us", "ratio")
    table = new_table(title, *headings)
    for row in rows:
        times = f"{row['advised_us']:.2f}", f"{row['fastest_us']:.2f}"
        table.add_row(named(row["robot"]), str(row["nv"]), str(row["depth"]), row["task"], row["advised"], times[0],
                      row["fastest"], times[1], f"{row['advised_us'] / row['fastest_us']:.2f}")  # fmt: skip
    output().print(table)
