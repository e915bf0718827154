"""Comparison with other engines: the protocol of an engine adapter, the checks, and the report."""

from .cases import BenchmarkCase, Motion, Standing, States, Stepping
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

__all__ = [
    "CANONICAL",
    "RAW",
    "BenchmarkCase",
    "EngineAdapter",
    "EngineError",
    "EngineModel",
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
]
