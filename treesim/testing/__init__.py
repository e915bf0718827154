"""Conformance checks for authors of plugins: requirements of each protocol, tested on an implementation.

There is one function for each kind of plugin; its argument is a registered name or an object. A plugin's
test is one line:

    def test_my_backend():
        treesim.testing.check_dynamics(MyBackend())

`bounds` computes allowed errors from the conditioning of the problem; `random_state` and `sample_robots`
provide inputs.
"""

from ..dynamics.base import Capabilities
from .constrained import check_constrained
from .contact import check_contact_solver
from .dynamics import check_dynamics
from .engines import check_engine, check_layout
from .formats import check_format
from .integrators import check_integrator
from .operational import check_operational
from .report import Conformance, ConformanceError, Finding, farthest
from .samples import State, random_state, sample_robots
from .viewers import check_viewer

__all__ = [
    "Capabilities",
    "Conformance",
    "ConformanceError",
    "Finding",
    "State",
    "check_constrained",
    "check_contact_solver",
    "check_dynamics",
    "check_engine",
    "check_format",
    "check_integrator",
    "check_layout",
    "check_operational",
    "check_viewer",
    "farthest",
    "random_state",
    "sample_robots",
]
__dir__ = __all__.copy
