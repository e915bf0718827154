"""Result of a benchmark of one robot, as plain data."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from treesim.compare.cases import OURS
from treesim.system.display import ReprMixin

MADE_OF = {"calls": "calls on one state", "batches": "calls on {} states each", "sizes": "sizes of batches",
           "contact": "methods of stepping with contact", "requests": "requests of rollouts in contact",
           "derivatives": "calls of derivatives", "worlds": "rows of scenes and integrators"}  # fmt: skip


@dataclass(frozen=True, repr=False)
class Benchmark(ReprMixin):
    """Times of one robot's calls.

    kind: "calls", "batches", "sizes", "contact", "requests", "derivatives" or "worlds". base: "fixed" or "floating".
    repeats: rounds of each call. states: of each batch; None for single states. engines: versions of the other engines
    that support the robot. notes: remarks on the times. more: further measurements, by name. rows: a dictionary for
    each call, with quantity, engine, call, numbers, min_s, median_s (seconds per state), error (relative), does
    (description), and for treesim times_faster_than by engine; for each size states, min_s and bytes.
    """

    kind: str
    robot: str
    base: str
    nv: int
    rows: tuple[dict[str, Any], ...]
    repeats: int | None = None
    states: int | None = None
    engines: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    more: dict[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        others = f", compared with {', '.join(self.engines)}" if self.engines else ""
        return f"<Benchmark of {self.robot!r}: {len(self.rows)} {MADE_OF[self.kind].format(self.states)}{others}>"

    def _repr_fields(self) -> list[tuple[Any, ...]]:
        if self.kind == "sizes":
            return [(f"{row['states']} states", f"{1e9 * row['min_s']:.0f} ns per state") for row in self.rows]
        if self.kind == "requests":
            return [(row["request"], f"{1e6 * row['min_s']:.3g} us, factor {row['factor']:.2f}") for row in self.rows]
        if self.kind == "worlds":
            return [(row["scene"], row["call"], f"{1e6 * row['mean_s']:.3g} us a step") for row in self.rows]
        return [
            (row["quantity"], row["engine"], row["call"], row["numbers"], f"{1e6 * row['min_s']:.3g} us")
            for row in self.rows
        ]

    def fastest(self, quantity: str, engine: str = OURS) -> dict[str, Any]:
        """Return the row of an engine's fastest call for a quantity; raises KeyError if it has none."""
        rows = [row for row in self.rows if (row.get("quantity"), row.get("engine")) == (quantity, engine)]
        if not rows:
            raise KeyError(f"no call of {engine} computes {quantity!r}")
        return min(rows, key=lambda row: row["min_s"])

    def to_dict(self) -> dict[str, Any]:
        """Return dictionaries, lists, numbers and strings."""
        return asdict(self)
