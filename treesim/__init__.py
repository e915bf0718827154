"""treesim: the dynamics of kinematic trees, from a robot's URDF to operational space and simulation."""

from __future__ import annotations

from .dynamics.factorization import Factorization, ltdl, ltl
from .dynamics.functions import bias_forces, energy, forward_dynamics, inverse_dynamics, mass_matrix, momentum
from .dynamics.schedules import schedule
from .errors import (
    AccuracyError,
    ArgumentError,
    ConvergenceError,
    ModelError,
    NonFiniteError,
    PluginError,
    SingularInertiaError,
    TreesimError,
    UnknownNameError,
    UnsupportedError,
    UrdfError,
)
from .model.inertia import Inertia, Placement
from .model.joints import Joint
from .model.topology import Topology
from .model.tree import Body, Frame, Tree, Visual
from .operational.frames import body_poses, frame_jacobian, frame_pose, frame_velocity
from .operational.functions import inverse_operational_inertia
from .plugins import available
from .simulation import Simulation
from .trajectory import Trajectory
from .urdf import UrdfWarning, load, to_urdf

__version__ = "0.1.0"

__all__ = [
    "AccuracyError",
    "ArgumentError",
    "Body",
    "ConvergenceError",
    "Factorization",
    "Frame",
    "Inertia",
    "Joint",
    "ModelError",
    "NonFiniteError",
    "Placement",
    "PluginError",
    "Simulation",
    "SingularInertiaError",
    "Topology",
    "Trajectory",
    "Tree",
    "TreesimError",
    "UnknownNameError",
    "UnsupportedError",
    "UrdfError",
    "UrdfWarning",
    "Visual",
    "__version__",
    "available",
    "bias_forces",
    "body_poses",
    "energy",
    "forward_dynamics",
    "frame_jacobian",
    "frame_pose",
    "frame_velocity",
    "inverse_dynamics",
    "inverse_operational_inertia",
    "load",
    "ltdl",
    "ltl",
    "mass_matrix",
    "momentum",
    "schedule",
    "to_urdf",
]
