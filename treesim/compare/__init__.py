"""Comparison with other engines: the protocol of an engine adapter, the checks, and the report."""

from .cases import BenchmarkCase, Motion, Standing, States, Stepping
from .causes import Causes, Explanation, explain
from .checks import compare
from .engines import (
    CANONICAL,
    RAW,
    EngineAdapter,
    EngineError,
    EngineModel,
    Results,
    StateBatch,
    find_engine,
    installed_engines,
)
from .layouts import Layout
from .report import Report, Row
from .source import RobotSource
from .two_robots import OtherRobot, TwoRobots, compare_robots

__all__ = [
    "CANONICAL",
    "RAW",
    "BenchmarkCase",
    "Causes",
    "EngineAdapter",
    "EngineError",
    "EngineModel",
    "Explanation",
    "Layout",
    "Motion",
    "OtherRobot",
    "Report",
    "Results",
    "RobotSource",
    "Row",
    "Standing",
    "StateBatch",
    "States",
    "Stepping",
    "TwoRobots",
    "compare",
    "compare_robots",
    "explain",
    "find_engine",
    "installed_engines",
]
