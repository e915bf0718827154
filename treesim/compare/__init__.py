"""Comparison with other engines: the protocol of an engine adapter, the checks, and the report."""

from .cases import BenchmarkCase, Motion, Standing, States, Stepping
from .census import Census, CensusRow, take_census
from .comparison import Comparison, compare
from .engines import (
    CANONICAL,
    RAW,
    ControlledAdapter,
    EngineAdapter,
    EngineError,
    EngineModel,
    Results,
    StateBatch,
    find_engine,
    installed_engines,
)
from .isolation import Isolated
from .layouts import Layout
from .report import Conservation, Control, Convergence, Report, Row, TrajectoryCurves
from .source import RobotSource

__all__ = [
    "CANONICAL",
    "RAW",
    "BenchmarkCase",
    "Census",
    "CensusRow",
    "Comparison",
    "Conservation",
    "Control",
    "ControlledAdapter",
    "Convergence",
    "EngineAdapter",
    "EngineError",
    "EngineModel",
    "Isolated",
    "Layout",
    "Motion",
    "Report",
    "Results",
    "RobotSource",
    "Row",
    "Standing",
    "StateBatch",
    "States",
    "Stepping",
    "TrajectoryCurves",
    "compare",
    "find_engine",
    "installed_engines",
    "take_census",
]
