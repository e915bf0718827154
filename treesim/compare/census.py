"""Many robots beside several engines, on both bases: who agrees on what, and every disagreement by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from typing import Any

import treesim

from ..display import Shown
from ..errors import TreesimError, UnsupportedError
from ..types import Base
from .checks import compare_source
from .engines import EngineAdapter
from .isolation import TIME_LIMIT, Isolated
from .report import Report
from .source import read
from .treesim_engine import TreesimEngine

AGREES, DIFFERS, FAILED, REFUSED = "agrees", "differs", "failed", "refused"


@dataclass(frozen=True)
class Finding:
    """One robot on one base beside one engine.

    outcome: AGREES on all that was compared; DIFFERS; FAILED: the engine crashed, ran out of time, or raised; REFUSED:
    there is nothing to compare, as the engine, or treesim, does not take the robot. rows: how many quantities were
    compared. why: of anything but agreement, one sentence. skipped: what was not compared, and why.
    """

    robot: str
    base: str
    engine: str
    outcome: str
    rows: int = 0
    why: str = ""
    skipped: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, repr=False)
class Census(Shown):
    """What was found of many robots; versions: of treesim and the engines."""

    findings: tuple[Finding, ...]
    versions: dict[str, str]

    def __repr__(self) -> str:
        counts = ", ".join(f"{self.count(outcome)} {outcome}" for outcome in (AGREES, DIFFERS, FAILED, REFUSED))
        return f"<Census of {len(self.robots)} robots: {counts}>"

    def _facts(self) -> list[tuple[Any, ...]]:
        return [(each.robot, each.base, each.engine, each.outcome) for each in self.findings]

    @property
    def robots(self) -> tuple[str, ...]:
        """The robots, each once, as they were asked for."""
        return tuple(dict.fromkeys(each.robot for each in self.findings))

    def count(self, outcome: str, engine: str | None = None, base: str | None = None) -> int:
        """Return how many findings have an outcome, of one engine, on one base, or of all."""
        return sum(
            each.outcome == outcome and engine in (None, each.engine) and base in (None, each.base)
            for each in self.findings
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain types: dictionaries, lists, numbers and words."""
        return {"versions": self.versions, "findings": [asdict(each) for each in self.findings]}


def take_census(
    robots: Iterable[str],
    engines: Sequence[EngineAdapter],
    bases: Sequence[Base] = ("fixed", "floating"),
    seed: int = 0,
    states: int = 20,
    steps: int = 200,
    timeout: float = TIME_LIMIT,
    progress: Callable[[str], None] = lambda text: None,
) -> Census:
    """Compare treesim with engines on many robots; whatever goes wrong with one of them is a finding.

    robots: what `treesim.load` takes. engines: adapters, each of which works in a process of its own, at most timeout
    [s] on one text of a robot. seed, states, steps: as for `compare`. progress: is told the robot at work.

    Example:
        >>> from treesim.compare import find_engine, take_census
        >>> take_census(["ur5"], [find_engine("mujoco")], states=3, steps=5)
        <Census of 1 robots: 2 agrees, 0 differs, 0 failed, 0 refused>
    """
    findings: list[Finding] = []
    how = {"seed": seed, "states": states, "steps": steps}
    versions = {"treesim": treesim.__version__} | {engine.name: engine.version() for engine in engines}
    with ExitStack() as stack:
        apart = [stack.enter_context(Isolated(engine, timeout)) for engine in engines]
        for robot in robots:
            for base in bases:
                progress(f"{robot}, {base} base")
                findings += _of(robot, base, apart, how)
    return Census(tuple(findings), versions)


def _of(robot: str, base: Base, engines: Sequence[EngineAdapter], how: dict[str, Any]) -> Iterator[Finding]:
    try:
        source = read(robot, base)
    except TreesimError as error:
        why = f"treesim: {' '.join(str(error).split())}"
        yield from (Finding(robot, base, engine.name, REFUSED, why=why) for engine in engines)
        return
    if source.robot.nv == 0:
        yield from (Finding(robot, base, engine.name, REFUSED, why="nothing moves") for engine in engines)
        return
    for engine in engines:
        try:
            own = TreesimEngine(engine.integrator, "generic")  # whose code serves all robots
            yield _finding(robot, compare_source(source, engine, **how, own=own))
        except UnsupportedError as error:
            yield Finding(robot, base, engine.name, REFUSED, why=str(error))
        except TreesimError as error:
            yield Finding(robot, base, engine.name, REFUSED, why=f"treesim: {error}")


def _finding(robot: str, report: Report) -> Finding:
    outcome = FAILED if report.failures else AGREES if report.passed else DIFFERS
    why = "" if report.passed else report.summary
    return Finding(robot, report.base, report.engine, outcome, len(report.rows), why, report.skipped)
