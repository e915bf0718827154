"""Batch comparison: many robots, several engines, both bases, with an outcome for each combination."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from itertools import chain
from typing import Any, NamedTuple

import treesim

from ..errors import SingularInertiaError, TreesimError, UnsupportedError, UrdfError, named
from ..system.display import ReprMixin
from ..system.progress import counted
from ..types import BaseChoice
from ..validation.values import checked_flag, checked_parts
from .adapter import EngineAdapter
from .checks import compare_source
from .engines import chosen_engines
from .isolation import TIME_LIMIT, Isolated
from .renumbering import OwnRows, own_rows, with_renumberings
from .report import Report
from .results import CANONICAL, RAW
from .scene_checks import SCENE, chosen_scenes
from .scene_comparison import with_scenes
from .source import RobotSource, read
from .treesim_engine import TreesimEngine

AGREES, KNOWN, DIFFERS, FAILED, REFUSED = OUTCOMES = "agrees", "known fault", "differs", "failed", "refused"


@dataclass(frozen=True)
class CensusRow:
    """Outcome of the comparison of treesim with one engine, on one robot with a fixed or floating base.

    Parameters
    ----------
    robot : str
        Name of the robot.
    base : str
        "fixed" or "floating".
    engine : str
        Name of the engine.
    outcome : str
        AGREES: all compared quantities agree. KNOWN: quantities differ at the raw level only, because of a known fault
        of the engine. DIFFERS: a quantity differs. FAILED: the engine crashed, exceeded the time limit, or raised an
        error. REFUSED: the engine or treesim does not support the robot.
    errors : dict
        Largest error of each quantity of the canonical level and of scenes.
    why : str
        Reason for the outcome, in one sentence. If the outcome is AGREES, known faults of the engine, or empty without
        them.
    skipped : dict
        Quantities that were not compared, and the reasons.
    tolerances : dict
        Tolerances of `errors`.
    """

    robot: str
    base: str
    engine: str
    outcome: str
    errors: dict[str, float] = field(default_factory=dict)
    why: str = ""
    skipped: dict[str, str] = field(default_factory=dict)
    tolerances: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, repr=False)
class Census(ReprMixin):
    """Result of a comparison of treesim with other engines on many robots.

    Parameters
    ----------
    findings : tuple of CensusRow
        One row for each robot, base and engine.
    versions : dict
        Versions of treesim and of the engines.
    """

    findings: tuple[CensusRow, ...]
    versions: dict[str, str]

    def __repr__(self) -> str:
        counts = ", ".join(f"{self.count(outcome)} {outcome}" for outcome in OUTCOMES if self.count(outcome))
        return f"<Census of {len(self.robots)} robots: {counts}>"

    def _repr_fields(self) -> list[tuple[Any, ...]]:
        return [(each.robot, each.base, each.engine, each.outcome) for each in self.findings]

    @property
    def robots(self) -> tuple[str, ...]:
        """Names of the compared robots, each once, in the order of the request."""
        return tuple(dict.fromkeys(each.robot for each in self.findings))

    def count(self, outcome: str, engine: str | None = None, base: str | None = None) -> int:
        """Return the number of comparisons in the census that have a given outcome.

        Parameters
        ----------
        outcome : str
            Outcome to count.
        engine : str, optional
            Count rows of this engine only.
        base : str, optional
            Count rows of this base only.

        Returns
        -------
        int
            Number of rows.
        """
        return sum(
            each.outcome == outcome and engine in (None, each.engine) and base in (None, each.base)
            for each in self.findings
        )

    def largest_errors(self, engine: str) -> dict[str, float]:
        """Return the largest error of each quantity, over all robots for which an engine agrees with treesim.

        Parameters
        ----------
        engine : str
            Name of the engine.

        Returns
        -------
        dict
            Errors by quantity, relative to physical scales.
        """
        return _largest([each.errors for each in self._agreed(engine)])

    def largest_shares(self, engine: str) -> dict[str, float]:
        """Return the largest ratio of error to tolerance of each quantity, over all robots for which an engine agrees.

        Parameters
        ----------
        engine : str
            Name of the engine.

        Returns
        -------
        dict
            Ratios of error to tolerance by quantity.
        """
        found = self._agreed(engine)
        return _largest(
            [{name: each.errors[name] / each.tolerances[name] for name in each.tolerances} for each in found]
        )

    def _agreed(self, engine: str) -> list[CensusRow]:
        return [each for each in self.findings if (each.engine, each.outcome) == (engine, AGREES)]

    def to_dict(self) -> dict[str, Any]:
        """Return the census as plain data: dictionaries, lists and values.

        Returns
        -------
        dict
            Versions and rows.
        """
        return {"versions": self.versions, "findings": [asdict(each) for each in self.findings]}


def take_census(
    robots: str | Iterable[str],
    engines: str | EngineAdapter | Sequence[str | EngineAdapter],
    bases: BaseChoice | Sequence[BaseChoice] = ("fixed", "floating"),
    seed: int = 0,
    states: int = 20,
    steps: int = 200,
    timeout: float = TIME_LIMIT,
    scenes: str | Sequence[str] = (),
    renumber: bool = False,
) -> Census:
    """Compare treesim with engines on many robots. If a robot fails, a row of the result reports the failure.

    Parameters
    ----------
    robots : str or iterable of str
        Sources that `treesim.load` reads.
    engines : str, EngineAdapter, or a sequence of them
        Engine adapters, or their names. Each engine runs in a process of its own.
    bases : {"fixed", "floating", "auto"} or a sequence of them
        Bases on which each robot is compared.
    seed, states, steps : int
        As for `compare`.
    timeout : float
        Time limit [s] of an engine for one robot at one level.
    scenes, renumber
        As for `compare`.

    Returns
    -------
    Census
        One row for each robot, base and engine.

    Examples
    --------
    >>> from treesim.compare import find_engine, take_census
    >>> take_census(["ur5"], [find_engine("mujoco")], states=3, steps=5)
    <Census of 1 robots: 2 agrees>
    """
    findings: list[CensusRow] = []
    sources: tuple[Any, ...] = checked_parts("robots", robots, (str, os.PathLike))
    adapters = chosen_engines("engines", engines)
    kinds: tuple[Any, ...] = checked_parts("bases", bases, str)
    how = {"seed": seed, "states": states, "steps": steps}
    more = _Further(chosen_scenes(scenes), checked_flag("renumber", renumber))
    versions = {"treesim": treesim.__version__} | {engine.name: engine.version() for engine in adapters}
    with ExitStack() as stack:
        apart = [stack.enter_context(Isolated(engine, timeout)) for engine in adapters]
        for robot in counted(sources, lambda robot: named(str(robot))):
            for base in kinds:
                findings += _of(robot, base, apart, more, how)
    return Census(tuple(findings), versions)


class _Further(NamedTuple):
    """Further comparisons: the names of scenes, and whether robots are renumbered."""

    scenes: list[str]
    renumber: bool

    def of(self, report: Report, source: RobotSource, engine: EngineAdapter, own: OwnRows | None) -> Report:
        """Return the report with these comparisons."""
        report = report if own is None else with_renumberings(report, source, engine, own)
        return with_scenes(report, source, engine, self.scenes, report.seed, False) if self.scenes else report


def _of(
    robot: str, base: BaseChoice, engines: Sequence[EngineAdapter], more: _Further, how: dict[str, Any]
) -> Iterator[CensusRow]:
    try:
        source = read(robot, base)
    except TreesimError as error:
        why = _cause(error)
        yield from (CensusRow(robot, base, engine.name, REFUSED, why=why) for engine in engines)
        return
    if source.robot.nv == 0:
        yield from (CensusRow(robot, base, engine.name, REFUSED, why="nothing moves") for engine in engines)
        return
    methods = own_rows(source, how["seed"]) if more.renumber else None
    for engine in engines:
        try:
            own = TreesimEngine(engine.integrator, "generic")  # its compiled code serves all robots
            report = compare_source(source, engine, **how, own=own)
            yield _finding(robot, more.of(report, source, engine, methods))
        except UnsupportedError as error:
            yield CensusRow(robot, base, engine.name, REFUSED, why=str(error))
        except TreesimError as error:
            yield CensusRow(robot, base, engine.name, REFUSED, why=_cause(error))


def _cause(error: TreesimError) -> str:
    """Return a short reason why treesim rejects a robot."""
    if isinstance(error, UrdfError) and error.findings:
        codes = sorted({finding.code for finding in error.findings if finding.severity == "error"})
        return f"treesim does not read the file ({', '.join(codes)})"
    if isinstance(error, SingularInertiaError):
        return "the mass matrix is singular"
    return f"treesim: {' '.join(str(error).split())}"


def _finding(robot: str, report: Report) -> CensusRow:
    dynamics_agree = all(row.accepted for row in report.rows if row.level != RAW)
    differs = KNOWN if report.explanations and dynamics_agree else DIFFERS
    outcome = FAILED if report.failures else AGREES if report.passed else differs
    faults = dict.fromkeys(row.known_fault for row in report.rows if row.known_fault)
    why = "; ".join(faults) if report.passed else "; ".join(report.explanations) or report.summary
    rows = [row for row in report.rows if row.level in (CANONICAL, SCENE)]
    errors, tolerances = {row.quantity: row.largest for row in rows}, {row.quantity: row.tolerance for row in rows}
    return CensusRow(robot, report.base, report.engine, outcome, errors, why, report.skipped, tolerances)


def _largest(each: Sequence[dict[str, float]]) -> dict[str, float]:
    """Return the largest number of each name."""
    return {name: max(numbers[name] for numbers in each if name in numbers) for name in dict.fromkeys(chain(*each))}
