"""What an audit found: a row for every method and identity, with its bound and a verdict."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from treesim.system.display import ReprMixin

MOST_DIGITS = 16.0  # of a float


@dataclass(frozen=True)
class Row:
    """One method, or one identity, at the worst of all states: where its error is largest beside its bound.

    group: "quantities", "forward dynamics", "factorizations", "inverse mass matrix", "operational space" or
    "identities". error: from exact digits, relative to the largest number; None where the method refused. bound: how
    large it may be. residual: of the equations that are solved, relative to the sizes of their terms; None of what
    solves none. apart: from the median of all methods of its group, relative to the largest number; None of what stands
    alone. where: the number with the largest error: a joint, a row. note: why it refused, or what it means.
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
        """Whether the error is within its bound; a method that refused made no error."""
        return self.error is None or self.error <= self.bound

    @property
    def digits(self) -> float | None:
        """The decimal digits of the largest number that are right, at most 16; None where the method refused."""
        if self.error is None:
            return None
        if math.isnan(self.error):
            return 0.0
        return MOST_DIGITS if self.error == 0 else min(max(-math.log10(self.error), 0.0), MOST_DIGITS)


@dataclass(frozen=True, repr=False)
class Audit(ReprMixin):
    """What an audit of a robot found.

    condition: cond(M) in the 2-norm, the smallest and the largest of all states; eps times the largest, 2.2e-16 cond,
    is what a solution may lose in the worst case. rows: what was checked. notes: methods that were left out, and why.

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
        """Whether every error is within its bound."""
        return all(row.passed for row in self.rows)

    def __repr__(self) -> str:
        return f"<Audit of {self.robot!r}: {len(self.rows)} rows, {'passed' if self.passed else 'not passed'}>"

    def _repr_fields(self) -> Iterator[tuple[Any, ...]]:
        yield "cond(M)", f"{self.condition[0]:.2g} ... {self.condition[1]:.2g}"
        for row in self.rows:
            error = "refused" if row.error is None else f"{row.error:.1e}"
            yield f"{row.group}: {row.name}", error, f"{row.bound:.1e}", "" if row.passed else f"beyond, {row.where}"

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values for JSON, verdicts and digits included."""
        rows = [{**asdict(row), "digits": row.digits, "passed": row.passed} for row in self.rows]
        return {**asdict(self), "passed": self.passed, "rows": rows}
