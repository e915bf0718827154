"""`compare`: treesim beside one engine or several, each in a process of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, overload

from ..errors import ArgumentError, UnsupportedError
from ..system.display import ReprMixin
from ..types import Base
from ..validation.values import checked_parts
from .checks import compare_source
from .controls import controlled
from .engines import EngineAdapter, chosen_engines
from .isolation import TIME_LIMIT, Isolated
from .report import Report
from .source import RobotSource, is_floating, read


@dataclass(frozen=True, repr=False)
class Comparison(ReprMixin):
    """One robot beside several engines.

    robot, base, sha256, gravity [m/s^2], seed, states, steps, dt [s]: as in every report. reports: one for each engine
    that takes the robot. refused: why others do not, by their names.
    """

    robot: str
    base: str
    seed: int
    states: int
    steps: int
    dt: float
    reports: tuple[Report, ...]
    refused: dict[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        outcome = "passed" if self.passed else "not passed"
        return f"<Comparison: {self.robot!r} beside {', '.join(self.engines) or 'no engine'}, {outcome}>"

    def _repr_fields(self) -> list[tuple[Any, ...]]:
        return [(report.engine, report.summary) for report in self.reports] + list(self.refused.items())

    @property
    def engines(self) -> tuple[str, ...]:
        """The names of the engines that take the robot."""
        return tuple(report.engine for report in self.reports)

    @property
    def passed(self) -> bool:
        """Whether every report passed; False if no engine takes the robot."""
        return bool(self.reports) and all(report.passed for report in self.reports)

    @property
    def versions(self) -> dict[str, str]:
        """The versions of treesim and of the engines."""
        return {name: number for report in self.reports for name, number in report.versions.items()}

    def report(self, engine: str) -> Report:
        """Return the report of an engine; raises KeyError if there is none."""
        for report in self.reports:
            if report.engine == engine:
                return report
        raise KeyError(f"there is no report on {engine!r}; there are: {', '.join(self.engines) or 'none'}")

    def to_dict(self) -> dict[str, Any]:
        """Return plain types: dictionaries, lists, numbers and words."""
        return {
            "robot": self.robot, "base": self.base, "seed": self.seed, "states": self.states, "steps": self.steps,
            "dt": self.dt, "versions": self.versions, "passed": self.passed, "refused": self.refused,
            "reports": [report.to_dict() for report in self.reports],
        }  # fmt: skip


@overload
def compare(  # type: ignore[overload-overlap]
    robot_source: object, against: str | EngineAdapter = ..., base: Base = ..., seed: int = ..., states: int = ...,
    steps: int = ..., dt: float = ..., controls: bool = ..., timeout: float = ...,
) -> Report: ...  # fmt: skip


@overload
def compare(
    robot_source: object, against: Sequence[str | EngineAdapter], base: Base = ..., seed: int = ..., states: int = ...,
    steps: int = ..., dt: float = ..., controls: bool = ..., timeout: float = ...,
) -> Comparison: ...  # fmt: skip
def compare(
    robot_source: object,
    against: str | EngineAdapter | Sequence[str | EngineAdapter] = "pybullet",
    base: Base = "floating",
    seed: int = 0,
    states: int = 100,
    steps: int = 1000,
    dt: float = 1e-3,
    controls: bool = False,
    timeout: float = TIME_LIMIT,
) -> Report | Comparison:
    """Compare treesim with other engines on one robot.

    robot_source: whatever `treesim.load` takes, or a Tree; a Tree has no file, so only the canonical level is compared.
    against: an engine's name in `available("engines")`, which works in a process of its own and for at most timeout [s]
    on one text of the robot, so that its crash is a finding; or an adapter, which works in this process (unless it is
    `Isolated`); or a sequence of them. base: "fixed" or "floating", for anything but a Tree. states: random states.
    steps, dt [s]: length and step of the trajectory, by the other engine's stepping rule. controls: repeat it all with
    things made wrong on purpose, each of which must be noticed.
    Returns the Report of one engine, the Comparison of a sequence. Raises UnsupportedError when the one engine cannot
    evaluate the robot, PluginError when one is not installed.

    Example:
        >>> from treesim.compare import compare
        >>> compare("ur5", against="pybullet", base="fixed", states=5, steps=10)
        <Report: 'ur5' beside 'pybullet', 19 rows, passed>
        >>> compare("ur5", against=["pybullet", "mujoco"], base="fixed", states=5, steps=0)
        <Comparison: 'ur5' beside pybullet, mujoco, passed>
    """
    several = not isinstance(against, (str, EngineAdapter))
    asked = checked_parts("against", against, (str, EngineAdapter))
    if not asked:
        raise ArgumentError("against must name an engine, or several")
    engines = chosen_engines("against", asked)  # it may be a typo
    source = read(robot_source, base)
    how = {"seed": seed, "states": states, "steps": steps, "dt": dt}
    reports, refused = [], {}
    for each, engine in zip(asked, engines, strict=True):
        try:
            reports.append(_one(source, engine, isinstance(each, str), controls, timeout, how))
        except UnsupportedError as error:
            if not several:
                raise
            refused[engine.name] = str(error)
    if not several:
        return reports[0]
    return Comparison(source.robot.name, "floating" if is_floating(source.robot) else "fixed", seed, states, steps, dt,
                      tuple(reports), refused)  # fmt: skip


def _one(
    source: RobotSource, engine: EngineAdapter, apart: bool, controls: bool, timeout: float, how: dict[str, Any]
) -> Report:
    """The report on one engine, which works in a process of its own if `apart`."""
    if apart:
        with Isolated(engine, timeout) as isolated:
            return _one(source, isolated, False, controls, timeout, how)
    report = compare_source(source, engine, **how)
    return controlled(report, source, engine, how["seed"]) if controls else report
