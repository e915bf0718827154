"""Reports of comparisons: rows of errors against tolerances, motions, negative controls, and a summary."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from ..system.display import ReprMixin

Curve = tuple[float, ...]


def as_curve(values: np.ndarray) -> Curve:
    """Return numbers (K,) as a tuple of floats."""
    return tuple(values.tolist())


@dataclass(frozen=True)
class Row:
    """Errors of one compared quantity, their tolerance, and the outcome.

    Parameters
    ----------
    quantity : str
        Name of the quantity.
    level : str
        Level at which the engine read the robot (see `EngineAdapter`), "renumbered", or "scene".
    states : int
        Number of compared states.
    largest, median : float
        Largest and median error over the states. The error of a state is max|difference| / max(physical scale,
        max|reference|).
    tolerance : float
        Largest error that passes.
    passed : bool
        True if largest <= tolerance; False for NaN.
    where : str
        Body, joint or step that has the largest difference.
    note : str
        Remark.
    known_fault : str
        Known fault of the engine that explains the difference; empty if there is none.
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
    known_fault: str = ""

    @property
    def accepted(self) -> bool:
        """True if the row passed, or a known fault of the engine explains the difference."""
        return self.passed or bool(self.known_fault)

    @property
    def outcome(self) -> str:
        """Outcome of the row in tables: "ok", "known fault" or "FAIL"."""
        return "ok" if self.passed else "known fault" if self.known_fault else "FAIL"


@dataclass(frozen=True)
class TrajectoryCurves:
    """Distances between trajectories at every step, from which the row "trajectory" of a report is computed.

    Parameters
    ----------
    t : tuple of float
        Time [s].
    apart : tuple of float
        Distance between the runs of the two engines.
    divergence : tuple of float
        Distance between treesim's run and a run from a perturbed initial state.
    allowed : tuple of float
        Tolerance at each step.
    valid : int
        Number of initial steps during which the perturbed run stays close to treesim's run.
    """

    t: Curve
    apart: Curve
    divergence: Curve
    allowed: Curve
    valid: int


@dataclass(frozen=True)
class Convergence:
    """Convergence of the final state of an engine's motion as dt decreases.

    Parameters
    ----------
    order : int
        Order of the engine's integrator.
    horizon : float
        Duration of the motion [s].
    dt : tuple of float
        Time step [s] of each run.
    errors : tuple of float
        Error of each run against an accurate integrator.
    extrapolated : tuple of float
        Errors of the Richardson extrapolation of two successive runs, listed at the smaller dt.
    slope, extrapolated_slope : float
        Orders that are fitted to the logarithms of `errors` and of `extrapolated`.
    tolerance, extrapolated_tolerance : float
        Largest allowed deviations of the slopes.
    passed : bool
        True if the slopes are equal to order and order + 1, within the tolerances.
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
    """Errors of conserved quantities along a free motion. `Report.passed` does not depend on these errors.

    Parameters
    ----------
    run : str
        Engine and integrator of the run.
    t : tuple of float
        Time [s].
    energy : tuple of float
        Change of energy since the start at each step, relative to the energy range, which is the energy that could
        become motion of the joints.
    linear_momentum : tuple of float
        Error of the linear momentum after the impulse of gravity is subtracted, relative to the largest linear
        momentum; empty for a fixed base.
    angular_momentum : tuple of float
        Error of the angular momentum about the centre of mass; empty for a fixed base. It is relative to the largest
        angular momentum, or to the largest linear momentum times the robot's length if this is larger.
    """

    run: str
    t: Curve
    energy: Curve
    linear_momentum: Curve = ()
    angular_momentum: Curve = ()


@dataclass(frozen=True)
class Control:
    """Negative control: a deliberate error that the comparison must detect.

    Parameters
    ----------
    name : str
        Description of the error.
    applies : bool
        True if the error changes a result for this robot by more than rounding.
    noticed : bool
        True if the comparison failed, as it must.
    found : str
        Failure that the comparison reported.
    """

    name: str
    applies: bool
    noticed: bool
    found: str

    @property
    def passed(self) -> bool:
        """True if the comparison detected the deliberate error, or the error has no effect on this robot."""
        return self.noticed or not self.applies


@dataclass(frozen=True, repr=False)
class Report(ReprMixin):
    """Result of the comparison of treesim with one engine on one robot, with all data needed to repeat the comparison.

    Parameters
    ----------
    robot : str
        Name of the robot.
    engine : str
        Name of the engine.
    base : str
        "fixed" or "floating".
    sha256 : str or None
        SHA-256 of the robot's file; None if the robot has no file.
    gravity : tuple of float
        Gravity [m/s^2] in the world.
    seed : int
        Seed of the random states.
    dt : float
        Time step [s] of the trajectory.
    versions : dict
        Versions of treesim and of the engine.
    rows : tuple of Row
        Compared quantities.
    skipped : dict
        Quantities that were not compared, and the reasons.
    changes : dict
        {level: changes to the robot that the other engine required}.
    summary : str
        Summary in one sentence. If quantities differ, it names the first body or joint and the likely cause.
    failures : dict
        {level: failure of the engine}, which is a crash, the time limit, or an exception.
    trajectory : TrajectoryCurves, optional
        Distances of the runs, if the engine computes trajectories.
    convergence : Convergence, optional
        Fitted orders of the engine's runs.
    conservation : tuple of Conservation
        Energy and momentum errors of the runs.
    controls : tuple of Control
        Negative controls, if requested.
    explanations : tuple of str
        Causes that would explain differences.
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
        return f"<Report: {self.robot!r} against {self.engine!r}, {len(self.rows)} rows, {outcome}>"

    def _repr_fields(self) -> list[tuple[Any, ...]]:
        rows = [(row.quantity, row.level, f"{row.largest:.2g}", f"{row.tolerance:.2g}", row.where) for row in self.rows]
        return [("summary", self.summary), *rows]

    @property
    def passed(self) -> bool:
        """True if every quantity agrees, the motion converges, and every deliberate error was detected.

        A difference that a known fault of the engine explains counts as agreement. The value is False if nothing was
        compared, or the engine failed.
        """
        checked: list[Control | Convergence] = [*self.controls, *([self.convergence] if self.convergence else [])]
        agreed = bool(self.rows) and all(row.accepted for row in self.rows)
        return agreed and not self.failures and all(each.passed for each in checked)

    def row(self, quantity: str, level: str) -> Row:
        """Return the row of the report for a quantity at a level.

        Parameters
        ----------
        quantity : str
            Name of the quantity.
        level : str
            Level of the row, as in `Row`.

        Returns
        -------
        Row
            The row.

        Raises
        ------
        KeyError
            If the quantity was not compared at this level.
        """
        for row in self.rows:
            if (row.quantity, row.level) == (quantity, level):
                return row
        raise KeyError(f"{quantity} was not compared in level {level}")

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain data: dictionaries, lists and values.

        Returns
        -------
        dict
            The fields, and `passed`.
        """
        controls = [asdict(control) | {"passed": control.passed} for control in self.controls]
        return asdict(self) | {"passed": self.passed, "controls": controls}
