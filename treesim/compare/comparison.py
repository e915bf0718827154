"""`compare`: compare treesim with one or several engines, each in a process of its own."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, overload

from .. import plugins
from ..errors import ArgumentError, UnsupportedError
from ..system.display import ReprMixin
from ..system.progress import counted
from ..types import BaseChoice
from ..validation.values import checked_flag, checked_parts
from .adapter import EngineAdapter
from .checks import compare_source
from .controls import controlled
from .engines import chosen_engines
from .isolation import TIME_LIMIT, Isolated
from .renumbering import OwnRows, own_rows, with_renumberings
from .report import Report
from .scene_checks import chosen_scenes
from .scene_comparison import with_scenes
from .source import RobotSource, read

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True, repr=False)
class Comparison(ReprMixin):
    """Comparison of treesim with several engines on one robot.

    Parameters
    ----------
    robot : str
        Name of the robot.
    base : str
        "fixed" or "floating".
    seed, states, steps : int
        As for `compare`.
    dt : float
        Time step [s] of the trajectories.
    reports : tuple of Report
        One report for each engine that supports the robot.
    refused : dict
        {engine: reason} of the engines that do not support the robot.
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
        return f"<Comparison: {self.robot!r} against {', '.join(self.engines) or 'no engine'}, {outcome}>"

    def _repr_fields(self) -> list[tuple[Any, ...]]:
        return [(report.engine, report.summary) for report in self.reports] + list(self.refused.items())

    @property
    def engines(self) -> tuple[str, ...]:
        """Names of the compared engines that support the robot."""
        return tuple(report.engine for report in self.reports)

    @property
    def passed(self) -> bool:
        """True if at least one engine supports the robot, and every report passed."""
        return bool(self.reports) and all(report.passed for report in self.reports)

    @property
    def versions(self) -> dict[str, str]:
        """Versions of treesim and of the compared engines."""
        return {name: number for report in self.reports for name, number in report.versions.items()}

    def plot(self, *, axes: Axes | None = None, path: str | os.PathLike[str] | None = None) -> Figure:
        """Plot the largest error of every quantity over its tolerance, for every engine and level.

        Parameters
        ----------
        axes, path
            As in `treesim.Trajectory.plot`, whose errors this method raises.

        Returns
        -------
        matplotlib.figure.Figure
            The figure, which a notebook shows.
        """
        figure: Figure = plugins.get("plots", "comparison")(self, axes, path)
        return figure

    def report(self, engine: str) -> Report:
        """Return the report of the comparison with one engine.

        Parameters
        ----------
        engine : str
            Name of the engine.

        Returns
        -------
        Report
            Report of the comparison with this engine.

        Raises
        ------
        KeyError
            If the comparison has no report of this engine.
        """
        for report in self.reports:
            if report.engine == engine:
                return report
        raise KeyError(f"there is no report on {engine!r}; there are: {', '.join(self.engines) or 'none'}")

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as plain data: dictionaries, lists and values.

        Returns
        -------
        dict
            Arguments, versions, reports, and `passed`.
        """
        return {
            "robot": self.robot, "base": self.base, "seed": self.seed, "states": self.states, "steps": self.steps,
            "dt": self.dt, "versions": self.versions, "passed": self.passed, "refused": self.refused,
            "reports": [report.to_dict() for report in self.reports],
        }  # fmt: skip


@overload
def compare(  # type: ignore[overload-overlap]
    robot_source: object, against: str | EngineAdapter = ..., base: BaseChoice = ..., seed: int = ...,
    states: int = ..., steps: int = ..., dt: float = ..., controls: bool = ..., timeout: float = ...,
    scenes: str | Sequence[str] = ..., renumber: bool = ...,
) -> Report: ...  # fmt: skip


@overload
def compare(
    robot_source: object, against: Sequence[str | EngineAdapter], base: BaseChoice = ..., seed: int = ...,
    states: int = ..., steps: int = ..., dt: float = ..., controls: bool = ..., timeout: float = ...,
    scenes: str | Sequence[str] = ..., renumber: bool = ...,
) -> Comparison: ...  # fmt: skip
def compare(
    robot_source: object,
    against: str | EngineAdapter | Sequence[str | EngineAdapter] = "pybullet",
    base: BaseChoice = "floating",
    seed: int = 0,
    states: int = 100,
    steps: int = 1000,
    dt: float = 1e-3,
    controls: bool = False,
    timeout: float = TIME_LIMIT,
    scenes: str | Sequence[str] = (),
    renumber: bool = False,
) -> Report | Comparison:
    """Compare treesim with other engines on one robot.

    If an engine is given by name, it runs in a process of its own. If the engine crashes, the report names the crash as
    the reason of the failure. If an engine is given as an adapter, it runs in this process, unless the adapter is
    `Isolated`.

    Parameters
    ----------
    robot_source : str, path, file or Tree
        Any source that `treesim.load` reads, or a Tree. A Tree has no file, so comparisons are made at the canonical
        level only.
    against : str, EngineAdapter, or a sequence of them
        Name of an engine, as in `available("engines")`, or an adapter.
    base : {"floating", "fixed", "auto"}
        Base of the robot. It is ignored for a Tree.
    seed : int
        Seed of the random states.
    states : int
        Number of random states.
    steps : int
        Number of steps of the trajectory, for which treesim uses the integrator of the other engine.
    dt : float
        Time step [s] of the trajectory.
    controls : bool
        Repeat the comparison with deliberate errors (negative controls). The comparison must detect each of them.
    timeout : float
        Time limit [s] for one level or scene of an engine that is given by name.
    scenes : str or sequence of str
        Further motions to compare: "torques", "pd", "damping", "armature", "limit", "mimic", "standing", "push_held",
        "push_sliding", or "all". By default none, because motions on a plane take seconds for each engine.
    renumber : bool
        Also compare the robot with its bodies in random numberings that are not depth-first, in the engines and by all
        methods of treesim.

    Returns
    -------
    Report or Comparison
        A Report for one engine; a Comparison for a sequence of engines.

    Raises
    ------
    UnsupportedError
        If one engine is given, and it cannot evaluate the robot.
    PluginError
        If an engine's plugin is not installed.
    UnknownNameError
        If the name of a scene is unknown.

    Examples
    --------
    >>> from treesim.compare import compare
    >>> compare("ur5", against="pybullet", base="fixed", states=5, steps=10)
    <Report: 'ur5' against 'pybullet', 19 rows, passed>
    >>> compare("ur5", against=["pybullet", "mujoco"], base="fixed", states=5, steps=0)
    <Comparison: 'ur5' against pybullet, mujoco, passed>
    """
    several = not isinstance(against, (str, EngineAdapter))
    asked = checked_parts("against", against, (str, EngineAdapter))
    if not asked:
        raise ArgumentError("against must name an engine, or several")
    engines = chosen_engines("against", asked)  # it may be a typo
    source = read(robot_source, base)
    how = {"seed": seed, "states": states, "steps": steps, "dt": dt}
    chosen = chosen_scenes(scenes)
    controls = checked_flag("controls", controls)
    own = own_rows(source, seed) if checked_flag("renumber", renumber) else None
    reports, refused = [], {}
    for each, engine in zip(asked, counted(engines, lambda engine: engine.name), strict=True):
        try:
            reports.append(_one(source, engine, isinstance(each, str), controls, timeout, chosen, own, how))
        except UnsupportedError as error:
            if not several:
                raise
            refused[engine.name] = str(error)
    if not several:
        return reports[0]
    return Comparison(source.robot.name, source.robot.base, seed, states, steps, dt,
                      tuple(reports), refused)  # fmt: skip


def _one(
    source: RobotSource, engine: EngineAdapter, apart: bool, controls: bool, timeout: float, scenes: Sequence[str],
    own: OwnRows | None, how: dict[str, Any],
) -> Report:  # fmt: skip
    """Return the report on one engine; `apart` runs it in a process of its own.

    own: rows of treesim's methods in other numberings, None if these are not requested.
    """
    if apart:
        with Isolated(engine, timeout) as isolated:
            return _one(source, isolated, False, controls, timeout, scenes, own, how)
    report = compare_source(source, engine, **how)
    report = controlled(report, source, engine, how["seed"]) if controls else report
    report = report if own is None else with_renumberings(report, source, engine, own)
    return with_scenes(report, source, engine, scenes, how["seed"], controls) if scenes else report
