"""Conformance checks for authors of plugins: does an implementation do what its protocol promises?

One call for each kind, of a name or of an object that nobody registered yet; a test of a plugin is then one line:

    def test_my_backend():
        treesim.testing.check_dynamics(MyBackend())

`bounds` holds how far results may be off, by the problem; `random_state` and `sample_robots` what to try on.
"""

from __future__ import annotations

from .constrained import check_constrained
from .contact import check_contact_solver
from .dynamics import check_dynamics
from .engines import check_engine, check_layout
from .integrators import check_integrator
from .operational import check_operational
from .report import Conformance, ConformanceError, Finding, farthest
from .samples import State, random_state, sample_robots
from .viewers import check_viewer

__all__ = [
    "Conformance",
    "ConformanceError",
    "Finding",
    "State",
    "check_constrained",
    "check_contact_solver",
    "check_dynamics",
    "check_engine",
    "check_integrator",
    "check_layout",
    "check_operational",
    "check_viewer",
    "farthest",
    "random_state",
    "sample_robots",
]
