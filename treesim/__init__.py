"""Dynamics of kinematic trees, from a robot's URDF to operational space and simulation.

Examples in docstrings assume `import numpy as np` and `import treesim`, and the robots of example-robot-data.
"""

from __future__ import annotations

import ast
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from .system import interrupts as interrupts  # before slow imports

__version__ = "0.1.0"


def _read_stub() -> tuple[dict[str, str], list[str]]:
    """Return the module of each name that `__init__.pyi` imports, and the names that it exports."""
    modules: dict[str, str] = {}
    exported: list[str] = []
    for statement in ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")).body:
        if isinstance(statement, ast.ImportFrom):
            modules |= {name.name: f"{__name__}.{statement.module or ''}".rstrip(".") for name in statement.names}
        elif isinstance(statement, ast.Assign):
            exported = ast.literal_eval(statement.value)
    return modules, exported


_modules, __all__ = _read_stub()
_other_names = {  # of other libraries: the call here
    "aba": "forward_dynamics(robot, q, v, tau)",
    "crba": "mass_matrix(robot, q)",
    "rnea": "inverse_dynamics(robot, q, v, a)",
    "forward_kinematics": "frame_poses(robot, q), or body_poses(robot, q)",
    "simulate": "Simulation(robot).run(seconds, q0=q)",
}


def __getattr__(name: str) -> Any:
    """Load a name at its first use (PEP 562): loading all of them takes three quarters of a second."""
    if name in _modules:
        home = import_module(_modules[name])
        value = vars(home).get(name) or import_module(f"{home.__name__}.{name}")
    elif not name.startswith("_") and find_spec(f"{__name__}.{name}"):
        value = import_module(f"{__name__}.{name}")
    else:
        hint = f": use treesim.{_other_names[name]}" if name in _other_names else ""
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *_modules})
