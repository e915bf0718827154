"""Names of the package, each from the module that defines it: `__init__.py` reads this file."""

from . import compare as compare
from . import control as control
from . import errors as errors
from . import formats as formats
from . import measures as measures
from . import numbers as numbers
from . import policies as policies
from . import testing as testing
from .actuators.actuators import DCMotor, Motor, PositionServo, VelocityServo
from .contact.bodies import free_body
from .contact.ground import Ground
from .contact.height_field import HeightField
from .contact.report import ContactReport
from .contact.static_box import StaticBox
from .contact.static_mesh import StaticMesh
from .contact.surface import Surface
from .conversion.converters import convert_state, to_mujoco, to_mujoco_spec, to_pinocchio
from .conversion.matching import match_state
from .differentiation.equilibrium import Equilibrium, equilibrium
from .differentiation.linearize import Linearization, linearize
from .differentiation.products import jvp, vjp
from .differentiation.second_derivatives import HessianVector, forward_dynamics_hessian_vector
from .differentiation.step_gradient import StepGradient
from .doctor import Diagnosis, check
from .dynamics.compiled.batch_function import BatchFunction
from .dynamics.compiled.bound import Dynamics
from .dynamics.compiled.schedules import schedule
from .dynamics.constrained.base import ConstrainedAcceleration
from .dynamics.constrained.constraints import FrameConstraint, LoopConstraint, loop_constraints
from .dynamics.constrained.derivatives import ConstrainedDynamicsDerivatives, constrained_dynamics_derivatives
from .dynamics.constrained.functions import constrained_dynamics
from .dynamics.coriolis import coriolis_matrix
from .dynamics.derivatives import (
    ForwardDynamicsDerivatives,
    InverseDynamicsDerivatives,
    forward_dynamics_derivatives,
    inverse_dynamics_derivatives,
)
from .dynamics.energy import energy, momentum
from .dynamics.factorization import Factorization, ltdl, ltl
from .dynamics.forward_dynamics import forward_dynamics
from .dynamics.inverse_dynamics import bias_forces, gravity_forces, inverse_dynamics
from .dynamics.joint_wrenches import joint_wrenches
from .dynamics.mass_matrix import mass_matrix
from .dynamics.operational.articulated import articulated
from .dynamics.operational.articulated_bodies import Articulated
from .dynamics.operational.centroidal import centroidal_dynamics, centroidal_momentum, centroidal_momentum_matrix
from .dynamics.operational.frame_acceleration_derivatives import (
    FrameAccelerationDerivatives,
    frame_acceleration_derivatives,
)
from .dynamics.operational.frames import body_poses, frame_jacobian, frame_pose, frame_poses, frame_velocity
from .dynamics.operational.functions import inverse_operational_inertia
from .dynamics.operational.inverse_kinematics import IKResult, IKTarget, solve_ik
from .dynamics.operational.jacobian_derivative import frame_jacobian_derivative
from .dynamics.operational.motion import center_of_mass, center_of_mass_jacobian, frame_acceleration
from .dynamics.operational.space import OperationalSpace, operational_space
from .dynamics.operational.sparse_jacobian import SparseJacobian, sparse_jacobian
from .dynamics.operational.tasks import CenterOfMassTask, FrameTask, RelativeTask
from .dynamics.packed_mass_matrix import mass_matrix_pattern, unpack_mass_matrix
from .dynamics.solve import inverse_mass_matrix, solve_mass_matrix
from .dynamics.torque_regressor import inertial_parameters, joint_torque_regressor
from .engine.threads import use_threads
from .errors import (
    AccuracyError,
    ArgumentError,
    ConstraintError,
    ContactWarning,
    ContinuationWarning,
    ConventionWarning,
    ConvergenceError,
    ConversionWarning,
    DivergedWarning,
    EffortWarning,
    EnergyWarning,
    FrictionWarning,
    LayoutWarning,
    LightJointWarning,
    LimitWarning,
    ModelError,
    NonFiniteError,
    PluginError,
    ReachWarning,
    ShapeWarning,
    SingularInertiaError,
    SlowWarning,
    StoppedWarning,
    SweepError,
    TreesimError,
    TreesimWarning,
    UnknownNameError,
    UnsupportedError,
    UrdfError,
    UrdfWarning,
)
from .model.convex_parts import ConvexParts, convex_parts
from .model.inertia import Inertia, Placement
from .model.joints import Joint
from .model.loops import Loop
from .model.mimic import Mimic
from .model.shapes import CollisionShape
from .model.topology import Topology
from .model.tree import Body, Frame, Tree, Visual
from .model.welds import Weld
from .plugins import available
from .rollouts.batch_stepper import BatchStepper
from .rollouts.gradient import RolloutGradient, rollout_vjp
from .rollouts.replay import Repetition, replay
from .rollouts.rollout import Rollouts, rollout
from .simulation.control import PD
from .simulation.controlled import ControllerError
from .simulation.external_forces import ExternalForce
from .simulation.ground_heights import ground_heights
from .simulation.motions import Conveyor, Waypoints
from .simulation.player import Player
from .simulation.report import Report
from .simulation.sensor_errors import SensorErrors
from .simulation.sensors import ContactForce, ForceTorque, FramePose, Imu, JointTorque
from .simulation.simulation import Simulation
from .simulation.state import State
from .simulation.stepper import Stepper
from .simulation.trajectory import Trajectory
from .simulation.world import World
from .simulation.wrapped_controllers import Pushed
from .states.standing import standing
from .states.support import lowest_point
from .sweeps.sweep import sweep
from .urdf import Repaired, load, repair, to_urdf
from .viewing import live as live
from .viewing.live.show import show
from .viewing.view import View, viewer

__version__: str

__all__ = [
    "PD",
    "AccuracyError",
    "ArgumentError",
    "Articulated",
    "BatchFunction",
    "BatchStepper",
    "Body",
    "CenterOfMassTask",
    "CollisionShape",
    "ConstrainedAcceleration",
    "ConstrainedDynamicsDerivatives",
    "ConstraintError",
    "ContactForce",
    "ContactReport",
    "ContactWarning",
    "ContinuationWarning",
    "ControllerError",
    "ConventionWarning",
    "ConvergenceError",
    "ConversionWarning",
    "ConvexParts",
    "Conveyor",
    "DCMotor",
    "Diagnosis",
    "DivergedWarning",
    "Dynamics",
    "EffortWarning",
    "EnergyWarning",
    "Equilibrium",
    "ExternalForce",
    "Factorization",
    "ForceTorque",
    "ForwardDynamicsDerivatives",
    "Frame",
    "FrameAccelerationDerivatives",
    "FrameConstraint",
    "FramePose",
    "FrameTask",
    "FrictionWarning",
    "Ground",
    "HeightField",
    "HessianVector",
    "IKResult",
    "IKTarget",
    "Imu",
    "Inertia",
    "InverseDynamicsDerivatives",
    "Joint",
    "JointTorque",
    "LayoutWarning",
    "LightJointWarning",
    "LimitWarning",
    "Linearization",
    "Loop",
    "LoopConstraint",
    "Mimic",
    "ModelError",
    "Motor",
    "NonFiniteError",
    "OperationalSpace",
    "Placement",
    "Player",
    "PluginError",
    "PositionServo",
    "Pushed",
    "ReachWarning",
    "RelativeTask",
    "Repaired",
    "Repetition",
    "Report",
    "RolloutGradient",
    "Rollouts",
    "SensorErrors",
    "ShapeWarning",
    "Simulation",
    "SingularInertiaError",
    "SlowWarning",
    "SparseJacobian",
    "State",
    "StaticBox",
    "StaticMesh",
    "StepGradient",
    "Stepper",
    "StoppedWarning",
    "Surface",
    "SweepError",
    "Topology",
    "Trajectory",
    "Tree",
    "TreesimError",
    "TreesimWarning",
    "UnknownNameError",
    "UnsupportedError",
    "UrdfError",
    "UrdfWarning",
    "VelocityServo",
    "View",
    "Visual",
    "Waypoints",
    "Weld",
    "World",
    "__version__",
    "articulated",
    "available",
    "bias_forces",
    "body_poses",
    "center_of_mass",
    "center_of_mass_jacobian",
    "centroidal_dynamics",
    "centroidal_momentum",
    "centroidal_momentum_matrix",
    "check",
    "constrained_dynamics",
    "constrained_dynamics_derivatives",
    "convert_state",
    "convex_parts",
    "coriolis_matrix",
    "energy",
    "equilibrium",
    "forward_dynamics",
    "forward_dynamics_derivatives",
    "forward_dynamics_hessian_vector",
    "frame_acceleration",
    "frame_acceleration_derivatives",
    "frame_jacobian",
    "frame_jacobian_derivative",
    "frame_pose",
    "frame_poses",
    "frame_velocity",
    "free_body",
    "gravity_forces",
    "ground_heights",
    "inertial_parameters",
    "inverse_dynamics",
    "inverse_dynamics_derivatives",
    "inverse_mass_matrix",
    "inverse_operational_inertia",
    "joint_torque_regressor",
    "joint_wrenches",
    "jvp",
    "linearize",
    "load",
    "loop_constraints",
    "lowest_point",
    "ltdl",
    "ltl",
    "mass_matrix",
    "mass_matrix_pattern",
    "match_state",
    "momentum",
    "operational_space",
    "repair",
    "replay",
    "rollout",
    "rollout_vjp",
    "schedule",
    "show",
    "solve_ik",
    "solve_mass_matrix",
    "sparse_jacobian",
    "standing",
    "sweep",
    "to_mujoco",
    "to_mujoco_spec",
    "to_pinocchio",
    "to_urdf",
    "unpack_mass_matrix",
    "use_threads",
    "viewer",
    "vjp",
]

def __dir__() -> list[str]: ...
