"""Errors of independent implementations of the methods, for comparison.

They were measured with an independent implementation of each method in numpy, on chains like those of
`error_growth` (revolute joints; one sample per entry), against 80-bit arithmetic. Keys: regime, kind of
chain, N, and the names of the methods here.
"""

from __future__ import annotations

COLUMNS = {
    "aba": ("aba",),
    "reference": ("cholesky",),
    "crba_ltdl": ("ltdl", "cholesky"),
    "crba_ltl": ("ltdl", "cholesky"),
    "constraint_force": ("cfa", "cr"),
    "constraint_force_cr": ("cr",),
    "constraint_force_pcr": ("pcr",),
    "constraint_force_grouped": ("cfa", "cr"),
    "constraint_force_branches_first": ("cfa", "cr"),
    "divide_and_conquer": ("dca",),
    "tree_contraction": ("dca",),
}
"""Which column of the tables a backend stands in: the first of these that a row has."""
ALSO_ARTICULATED = ("divide_and_conquer", "tree_contraction")
"""Backends that eliminate bodies much lighter than their neighbours as `aba` does: no light link costs them digits, and
next to a heavy one they may err as much as `aba`."""

Errors = dict[str, float]


def _columns(names: str, *values: float) -> Errors:
    return dict(zip(names.split(), values, strict=True))


_ALL, _PRESCRIBED = "aba cholesky ltdl cfa cr pcr dca", "aba cholesky cr pcr dca"
GROWTH: dict[tuple[str, str, int], Errors] = {
    ("force-driven", "random", 10): _columns(_ALL, 3e-16, 8e-16, 1e-15, 4e-15, 6e-15, 2e-14, 6e-15),
    ("force-driven", "random", 100): _columns(_ALL, 4e-14, 5e-13, 1e-12, 3e-15, 4e-15, 3e-14, 5e-15),
    ("force-driven", "random", 300): _columns(_ALL, 2e-13, 3e-11, 3e-11, 5e-15, 5e-15, 2e-14, 7e-15),
    ("force-driven", "random", 1000): _columns(_ALL, 2e-13, 1e-9, 1e-9, 5e-15, 5e-15, 2e-14, 6e-15),
    ("force-driven", "pendulum", 100): _columns(_ALL, 3e-14, 7e-11, 2e-10, 5e-16, 5e-16, 6e-16, 3e-16),
    ("force-driven", "pendulum", 1000): _columns(_ALL, 4e-13, 1e-7, 1e-7, 3e-15, 3e-15, 3e-15, 2e-15),
    ("force-driven", "snake", 100): _columns(_ALL, 9e-14, 2e-11, 5e-11, 6e-15, 7e-15, 2e-14, 9e-15),
    ("force-driven", "snake", 1000): _columns(_ALL, 5e-11, 5e-8, 5e-8, 1e-14, 1e-14, 2e-14, 1e-14),
    ("prescribed motion", "random", 10): _columns(_PRESCRIBED, 6e-15, 7e-15, 7e-13, 2e-12, 9e-13),
    ("prescribed motion", "random", 100): _columns(_PRESCRIBED, 8e-13, 1e-12, 2e-11, 1e-10, 3e-11),
    ("prescribed motion", "random", 1000): _columns(_PRESCRIBED, 2e-10, 3e-9, 5e-9, 3e-8, 7e-9),
    ("prescribed motion", "pendulum", 100): _columns(_PRESCRIBED, 3e-11, 2e-10, 5e-11, 6e-11, 9e-11),
    ("prescribed motion", "pendulum", 1000): _columns(_PRESCRIBED, 9e-9, 2e-7, 2e-8, 1e-8, 3e-8),
    ("prescribed motion", "snake", 100): _columns(_PRESCRIBED, 9e-12, 6e-11, 4e-10, 2e-9, 8e-10),
    ("prescribed motion", "snake", 1000): _columns(_PRESCRIBED, 1e-8, 1e-7, 1e-6, 2e-6, 1e-6),
}

_ILL, FAILS = "aba cholesky cfa cr pcr dca", float("inf")
ILL_CONDITIONED: dict[tuple[str, str, float], Errors] = {
    ("light middle link", "force-driven", 1e-3): _columns(_ILL, 3e-15, 3e-15, 5e-13, 5e-13, 5e-10, 4e-11),
    ("light middle link", "force-driven", 1e-6): _columns(_ILL, 5e-16, 7e-15, 9e-10, 9e-10, 1e-2, 2e-5),
    ("light middle link", "force-driven", 1e-9): _columns(_ILL, 8e-16, 1e-14, 1e-6, 1e-6, FAILS, FAILS),
    ("heavy tip", "force-driven", 1e3): _columns(_ILL, 2e-13, 8e-13, 8e-15, 8e-15, 3e-14, 8e-15),
    ("heavy tip", "force-driven", 1e6): _columns(_ILL, 1e-10, 1e-9, 8e-14, 8e-14, 8e-14, 8e-14),
    ("heavy tip", "force-driven", 1e9): _columns(_ILL, 1e-7, 1e-6, 1e-10, 1e-10, 1e-10, 1e-10),
    ("heavy tip", "prescribed motion", 1e3): _columns(_ILL, 4e-12, 5e-12, 2e-10, 2e-10, 8e-10, 2e-10),
    ("heavy tip", "prescribed motion", 1e6): _columns(_ILL, 4e-9, 7e-9, 2e-7, 2e-7, 1e-6, 2e-7),
    ("heavy tip", "prescribed motion", 1e9): _columns(_ILL, 5e-6, 3e-6, 2e-4, 2e-4, 7e-4, 2e-4),
    ("light tip", "force-driven", 1e-12): _columns(_ILL, 4e-17, 2e-16, 9e-17, 9e-17, 3e-16, 4e-17),
}


def expected(errors: Errors, backend: str) -> float | None:
    """Return the error measured for a backend in one row of the tables; None if it has no column."""
    seen = next((errors[column] for column in COLUMNS.get(backend, ()) if column in errors), None)
    return max(seen, errors["aba"]) if seen is not None and backend in ALSO_ARTICULATED else seen
