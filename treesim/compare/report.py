"""The results of a comparison: rows of errors against tolerances, motions, controls, and a summary in words."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from ..system.display import ReprMixin

Curve = tuple[float, ...]


def as_curve(values: np.ndarray) -> Curve:
    """Return numbers (K,) as a curve, plain floats."""
    return tuple(values.tolist())


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


@dataclass(frozen=True)
class TrajectoryCurves:
    """What the row "trajectory" was judged by, at every step.

    t [s]; apart: distance of both engines' runs; divergence: distance of treesim's run and its perturbed copy; allowed:
    the tolerance at each step. valid: the number of steps, from the first, over which the perturbed copy stays near.
    """

    t: Curve
    apart: Curve
    divergence: Curve
    allowed: Curve
    valid: int


@dataclass(frozen=True)
class Convergence:
    """How the end of an engine's motion nears that of an accurate integrator as dt falls.

    order: of the engine's stepping rule. horizon [s]: length of the motion. dt [s], errors: of each run. extrapolated:
    errors of Richardson's extrapolation of neighbouring runs, at the smaller dt. slope, extrapolated_slope: fitted in
    logarithms. passed: they are order and order + 1, within the tolerances.
    """

    order: int
    horizon: float
    dt: Curve
    errors: Curve
    extrapolated: Curve
    slope: float
    extrapolated_slope: float
    tolerance: float
    extrapolated_tolerance: float
    passed: bool


@dataclass(frozen=True)
class Conservation:
    """What a run of free motion makes of what should stay: reported, not judged, for rules differ in it.

    run: whose, by which rule. t [s]; energy: error at each step, as a part of the energy in play; linear_momentum,
    angular_momentum: errors, as parts of the largest, gravity's impulse taken out, the latter about the centre of mass,
    and as parts of the former on an arm of the robot's length where that is more; empty where a base is held, which
    takes momentum.
    """

    run: str
    t: Curve
    energy: Curve
    linear_momentum: Curve = ()
    angular_momentum: Curve = ()


@dataclass(frozen=True)
class Control:
    """A negative control: something made wrong on purpose, which the comparison must notice.

    applies: whether it changes any number of this robot by more than rounding. noticed: whether the comparison failed.
    found: what it then said.
    """

    name: str
    applies: bool
    noticed: bool
    found: str

    @property
    def passed(self) -> bool:
        """Whether the comparison noticed it, or could not."""
        return self.noticed or not self.applies


@dataclass(frozen=True, repr=False)
class Report(ReprMixin):
    """The outcome of a comparison, with what is needed to repeat it.

    base: "fixed" or "floating". sha256: of the robot's file, if it has one. gravity [m/s^2], seed, dt [s]: as asked.
    skipped: what was not compared, and why. changes: what was changed to suit the other engine, by level. failures: how
    the engine failed, by level: it crashed, did not finish in time, or raised. trajectory, convergence, conservation:
    of free motion, where the engine has it. controls: negative controls, where they were asked for. explanations:
    causes that would explain what differs. summary: one sentence; where something disagrees it names the first body or
    joint and the likely cause.
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
    failures: dict[str, str] = field(default_factory=dict)
    trajectory: TrajectoryCurves | None = None
    convergence: Convergence | None = None
    conservation: tuple[Conservation, ...] = ()
    controls: tuple[Control, ...] = ()
    explanations: tuple[str, ...] = ()

    def __repr__(self) -> str:
        outcome = "passed" if self.passed else "not passed"
        return f"<Report: {self.robot!r} beside {self.engine!r}, {len(self.rows)} rows, {outcome}>"

    def _repr_fields(self) -> list[tuple[Any, ...]]:
        rows = [(row.quantity, row.level, f"{row.largest:.2g}", f"{row.tolerance:.2g}", row.where) for row in self.rows]
        return [("summary", self.summary), *rows]

    @property
    def passed(self) -> bool:
        """Whether every quantity agrees, the motion converges, and every control was noticed; False if nothing was
        compared, or the engine failed."""
        judged: list[Row | Control | Convergence] = [*self.rows, *self.controls]
        judged += [self.convergence] if self.convergence else []
        return bool(self.rows) and not self.failures and all(each.passed for each in judged)

    def row(self, quantity: str, level: str) -> Row:
        """Return the row of a quantity at a level; raises KeyError if it was not compared."""
        for row in self.rows:
            if (row.quantity, row.level) == (quantity, level):
                return row
        raise KeyError(f"{quantity} was not compared in level {level}")

    def to_dict(self) -> dict[str, Any]:
        """Return plain types: dictionaries, lists, numbers and words."""
        controls = [asdict(control) | {"passed": control.passed} for control in self.controls]
        return asdict(self) | {"passed": self.passed, "controls": controls}
