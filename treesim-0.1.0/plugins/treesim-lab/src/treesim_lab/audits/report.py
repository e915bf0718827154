"""Result of an accuracy report: a row for every method and identity, with its bound."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from treesim.system.display import ReprMixin

MOST_DIGITS = 16.0  # of a float


@dataclass(frozen=True)
class Row:
    """One method or identity at the state with the largest error relative to its bound.

    group: "quantities", "forward dynamics", "factorizations", "inverse mass matrix", "operational space" or
    "identities". error: against the reference, relative to the largest number; None if the method refused.
    bound: allowed error. residual: of the equations that are solved, relative to the sizes of their terms; None
    without a linear solve. apart: distance from the median of all methods of the group, relative to the largest
    number; None for a single method. where: the number with the largest error: a joint, a row. note: reason of
    a refusal, or meaning of the error.
    """

    group: str
    name: str
    error: float | None
    bound: float
    residual: float | None = None
    apart: float | None = None
    where: str = ""
    note: str = ""

    @property
    def passed(self) -> bool:
        """True if the error is within its bound, or the method refused."""
        return self.error is None or self.error <= self.bound

    @property
    def digits(self) -> float | None:
        """Correct decimal digits of the largest number, at most 16; None if the method refused."""
        if self.error is None:
            return None
        if math.isnan(self.error):
            return 0.0
        return MOST_DIGITS if self.error == 0 else min(max(-math.log10(self.error), 0.0), MOST_DIGITS)


@dataclass(frozen=True, repr=False)
class Audit(ReprMixin):
    """Accuracy report of a robot.

    condition: smallest and largest cond(M) of all states, in the 2-norm; eps times the largest is the error of
    a solution in the worst case. rows: one for each method and identity. notes: methods that were left out, and
    the reasons.

    Example:
        >>> from treesim_lab import audit
        >>> audit(treesim.load("ur5"), states=1)
        <Audit of 'ur5': 45 rows, passed>
    """

    robot: str
    nv: int
    states: int
    seed: int
    condition: tuple[float, float]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """True if every error is within its bound."""
        return all(row.passed for row in self.rows)

    def __repr__(self) -> str:
        return f"<Audit of {self.robot!r}: {len(self.rows)} rows, {'passed' if self.passed else 'not passed'}>"

    def _repr_fields(self) -> Iterator[tuple[Any, ...]]:
        yield "cond(M)", f"{self.condition[0]:.2g} ... {self.condition[1]:.2g}"
        for row in self.rows:
            error = "refused" if row.error is None else f"{row.error:.1e}"
            yield f"{row.group}: {row.name}", error, f"{row.bound:.1e}", "" if row.passed else f"beyond, {row.where}"

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values for JSON, including `passed` and digits."""
        rows = [{**asdict(row), "digits": row.digits, "passed": row.passed} for row in self.rows]
        return {**asdict(self), "passed": self.passed, "rows": rows}
