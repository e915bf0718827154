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
from .report import Report, Row
from .source import RobotSource

__all__ = [
    "CANONICAL",
    "RAW",
    "BenchmarkCase",
    "Census",
    "CensusRow",
    "Comparison",
    "ControlledAdapter",
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
    "compare",
    "find_engine",
    "installed_engines",
    "take_census",
]
