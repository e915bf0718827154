"""Compare treesim with other engines: adapter protocol, numerical checks, and reports."""

from .adapter import ControlledAdapter, EngineAdapter, SimulatingAdapter
from .cases import BenchmarkCase, ContactScene, Motion, States, Stepping
from .causes import Causes, Explanation, explain
from .census import Census, CensusRow, take_census
from .comparison import Comparison, compare
from .engine_model import EngineModel
from .engines import find_engine, installed_engines
from .isolation import Isolated
from .layouts import Layout
from .report import Conservation, Control, Convergence, Report, Row, TrajectoryCurves
from .results import CANONICAL, NUMBERED, RAW, EngineError, Results, StateBatch
from .scenes import GroundForces, Law, Scene, SceneRun, Softness
from .source import RobotSource
from .two_robots import OtherRobot, TwoRobots, compare_robots

__all__ = [
    "CANONICAL",
    "NUMBERED",
    "RAW",
    "BenchmarkCase",
    "Causes",
    "Census",
    "CensusRow",
    "Comparison",
    "Conservation",
    "ContactScene",
    "Control",
    "ControlledAdapter",
    "Convergence",
    "EngineAdapter",
    "EngineError",
    "EngineModel",
    "Explanation",
    "GroundForces",
    "Isolated",
    "Law",
    "Layout",
    "Motion",
    "OtherRobot",
    "Report",
    "Results",
    "RobotSource",
    "Row",
    "Scene",
    "SceneRun",
    "SimulatingAdapter",
    "Softness",
    "StateBatch",
    "States",
    "Stepping",
    "TrajectoryCurves",
    "TwoRobots",
    "compare",
    "compare_robots",
    "explain",
    "find_engine",
    "installed_engines",
    "take_census",
]
__dir__ = __all__.copy
