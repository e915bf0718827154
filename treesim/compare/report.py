"""The results of a comparison: rows of errors against tolerances, and a summary in words."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from ..display import Shown


@dataclass(frozen=True)
class Row:
    """One compared quantity.

    states: how many states went in. largest, median: errors max|d| / max(physical scale, max|reference|) per state.
    where: the body, joint or step that differs most. passed: largest <= tolerance, False for NaN.
    """

    quantity: str
    level: str
    states: int
    largest: float
    median: float
    tolerance: float
    passed: bool
    where: str = ""
    note: str = ""


@dataclass(frozen=True, repr=False)
class Report(Shown):
    """The outcome of a comparison, with what is needed to repeat it.

    base: "fixed" or "floating". sha256: of the robot's file, if it has one. gravity [m/s^2], seed, dt [s]: as asked.
    skipped: what was not compared, and why. changes: what was changed to suit the other engine, by level.
    summary: one sentence; where something disagrees it names the first body or joint and the likely cause.
    """

    robot: str
    engine: str
    base: str
    sha256: str | None
    gravity: tuple[float, ...]
    seed: int
    dt: float
    versions: dict[str, str]
    rows: tuple[Row, ...]
    skipped: dict[str, str] = field(default_factory=dict)
    changes: dict[str, tuple[str, ...]] = field(default_factory=dict)
    summary: str = ""

    def __repr__(self) -> str:
        outcome = "passed" if self.passed else "not passed"
        return f"<Report: {self.robot!r} beside {self.engine!r}, {len(self.rows)} rows, {outcome}>"

    def _facts(self) -> list[tuple[Any, ...]]:
        rows = [(row.quantity, row.level, f"{row.largest:.2g}", f"{row.tolerance:.2g}", row.where) for row in self.rows]
        return [("summary", self.summary), *rows]

    @property
    def passed(self) -> bool:
        """Whether every quantity agrees; False if nothing was compared."""
        return bool(self.rows) and all(row.passed for row in self.rows)

    def row(self, quantity: str, level: str) -> Row:
        """Return the row of a quantity at a level; raises KeyError if it was not compared."""
        for row in self.rows:
            if (row.quantity, row.level) == (quantity, level):
                return row
        raise KeyError(f"{quantity} was not compared in level {level}")

    def to_dict(self) -> dict[str, Any]:
        """Return plain types: dictionaries, lists, numbers and words."""
        return asdict(self) | {"passed": self.passed}
