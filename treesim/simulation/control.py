"""Controllers: functions of time and state that return joint torques."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Protocol, get_args

import numpy as np
from numpy.typing import ArrayLike

from ..actuators.actuators import PositionServo
from ..engine.graph.trace import is_traced
from ..errors import ArgumentError, unknown_name
from ..model.conventions import warn_of_conventions
from ..model.named_axes import coordinate_argument, velocity_argument
from ..model.tree import Tree
from ..states.arguments import checked_robot
from ..system.display import ReprMixin, span, vector
from ..system.memory import SMALL, check_memory
from ..types import ControllerName
from ..validation.arrays import NUMBER, batch_shape, coerce, ordered_numbers
from ..validation.values import finite_vector

if TYPE_CHECKING:
    from ..kernels.stepping.rules import Rule
    from .step_settings import StepSettings
    from .world import World

CONTROLLERS = get_args(ControllerName)


class Controller(Protocol):
    """Interface of controllers: the method `torque` maps time and state to generalised forces.

    The method receives copies of q and v. The result of the method is checked and copied. Later changes of these arrays
    therefore do not influence the run.

    A controller may also have attributes `stiffness` and `damping`, (nv,) each [N m/rad, N m s/rad]. `stiffness` and
    `damping` are the negative derivatives of the torque with respect to position and velocity. With these attributes,
    an integrator may add dt * damping + dt^2 * stiffness to the diagonal of the mass matrix. Stiff gains then remain
    stable at large steps.

    If a controller needs contact, its method is `torque(t, q, v, contact)`, where `contact` is the `ContactReport` of
    the step before. A function that is used as a controller may also have the argument `contact`.
    """

    def torque(self, t: float, q: np.ndarray, v: np.ndarray) -> ArrayLike:
        """Return the generalised forces (nv,) [N m, N] at time t [s], configuration q (nq,) and velocity v (nv,)."""


class StatelessController:
    """Base class of controllers without a state, whose `torque` is evaluated at every substep.

    Subclasses must have `stiffness` and `damping`, (nv,) each: the derivatives of the latest torque, 0 where a
    motor is saturated. Before the first call they are those of unsaturated motors.
    """

    stiffness: np.ndarray
    damping: np.ndarray

    def begin(self, settings: StepSettings, rule: Rule) -> None:
        """Prepare for substeps with these settings by an integrator."""

    def limited(self, force: np.ndarray) -> np.ndarray | None:
        """Return the torque (nv,) with which to repeat a substep with the mean force `force` (nv,); None to keep it.

        It serves controllers with effort limits of their own, whose gains would be beyond them.
        """
        return None


class Zero(ReprMixin):
    """Controller that applies no torque.

    Parameters
    ----------
    robot : Tree
        The robot.

    Examples
    --------
    >>> treesim.control.Zero(treesim.load("ur5")).torque(0.0, np.zeros(6), np.zeros(6))
    array([0., 0., 0., 0., 0., 0.])
    """

    def __init__(self, robot: Tree) -> None:
        self._torque = np.zeros(checked_robot(robot).nv)
        self.robot = robot
        self._torque.setflags(write=False)

    def __repr__(self) -> str:
        return "<Zero: no torque>"

    def _repr_fields(self) -> list[tuple[str, Any]]:
        return [("degrees of freedom", len(self._torque))]

    def torque(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the torque 0, an array (nv,)."""
        return self._torque


class PD(ReprMixin):
    """Proportional-derivative control of every joint towards a posture: tau = kp (posture - q) - kd v.

    The law also applies to spherical and planar joints, because posture - q is computed on the configuration manifold.
    Floating joints get no torque. The torque is clipped to the effort limits of the robot.

    Parameters
    ----------
    robot : Tree
        The robot.
    posture : array_like, shape (nq,)
        Target configuration, for example the initial one.
    kp : float or array_like, shape (nv,)
        Position gains [N m/rad, N/m], not negative.
    kd : float or array_like, shape (nv,)
        Velocity gains [N m s/rad, N s/m], not negative.

    Raises
    ------
    ArgumentError
        If a shape does not fit, a gain is negative, or a number is not finite.

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> treesim.PD(robot, robot.neutral())
    <PD of 'ur5': kp 100, kd 10>
    >>> treesim.PD(robot, np.full(6, 0.5), kp=10, kd=1).torque(0.0, np.zeros(6), np.zeros(6))
    array([5., 5., 5., 5., 5., 5.])
    """

    def __init__(self, robot: Tree, posture: ArrayLike, *, kp: ArrayLike = 100.0, kd: ArrayLike = 10.0) -> None:
        given = coordinate_argument(checked_robot(robot), "posture", posture)
        self.posture = finite_vector("posture", ordered_numbers(given), robot.nq).copy()
        warn_of_conventions(robot, "posture", self.posture)
        driven = actuated(robot)
        self.stiffness = checked_gain("kp", kp, robot) * driven
        self.damping = checked_gain("kd", kd, robot) * driven
        self._effort = robot.effort_limit
        self.robot = robot

    def __repr__(self) -> str:
        gains = ", ".join(f"{label} {span(x.tolist())}" for label, x in (("kp", self.stiffness), ("kd", self.damping)))
        return f"<{type(self).__name__} of {self.robot.name!r}: {gains}>"

    def _repr_fields(self) -> list[tuple[str, Any]]:
        gains = [("kp", vector(self.stiffness)), ("kd", vector(self.damping))]
        return [("robot", self.robot), ("posture", vector(self.posture)), *gains]

    def torque(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the torque kp (posture - q) - kd v, clipped to the effort limits.

        Parameters
        ----------
        t : float
            Time [s]; unused.
        q : ndarray, shape (nq,)
            Configuration.
        v : ndarray, shape (nv,)
            Velocity.

        Returns
        -------
        ndarray, shape (nv,)
            Generalised forces [N m, N].
        """
        return np.clip(self._law(t, q, v), -self._effort, self._effort)

    def _law(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the torque before it is clipped, which implicit integrators limit at the end of their step."""
        error = self.robot.difference(q, self.posture)
        is_plain = type(v) is np.ndarray and v.shape == error.shape and v.dtype.kind == "f" and v.nbytes <= SMALL
        if not (is_plain or is_traced(v)):
            argument = velocity_argument(self.robot, "v", v)
            v = coerce(argument)
            shape = (*batch_shape([argument._replace(label="q"), argument], [error, v]), self.robot.nv)
            check_memory(3 * NUMBER * math.prod(shape), f"torques of shape {shape}", "give fewer states at once")
        return self.stiffness * error - self.damping * v


class RobotController:
    """Base class of controllers of a `robot`, which may share a world with free bodies.

    commanded_actuators: joints whose actuators, in the world, take the controls that `torque` returns.
    """

    robot: Tree
    commanded_actuators: tuple[str, ...] = ()

    def torque(self, t: float, q: np.ndarray, v: np.ndarray) -> ArrayLike:
        """Return the controls (nv,)."""
        raise NotImplementedError


class ActuatorCommands(RobotController):
    """Controller of a world with actuators: a posture for servos, and PD control of joints without actuators.

    world: with the actuators. inner: PD control, whose posture is also that of the servos; without, all controls are 0.
    """

    def __init__(self, world: World, inner: Zero | PD | None) -> None:
        self.world, self.inner, self.robot, actuators = world, inner, world.robot, world.actuator_table
        assert actuators is not None
        servos = [name for name, actuator in actuators.by_joint.items() if isinstance(actuator, PositionServo)]
        self._places = [[axis[name].start for name in servos] for axis in (world.robot.v_index, world.robot.q_index)]
        free = actuators.driven == 0
        self.stiffness, self.damping = (getattr(inner, name, 0 * free) * free for name in ("stiffness", "damping"))

    def torque(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return target positions of servos and torques of joints without actuators (nv,)."""
        control = np.zeros(len(v))
        if isinstance(self.inner, PD):
            error = self.robot.difference(q, self.inner.posture)
            control = self.stiffness * error - self.damping * v
            control[self._places[0]] = self.inner.posture[self._places[1]]
        return control


def make_controller(
    name: ControllerName,
    robot: Tree,
    q0: ArrayLike,
    kp: ArrayLike = 100.0,
    kd: ArrayLike = 10.0,
) -> Zero | PD:
    """Return the controller "none", "hold" (PD control to q0) or "pd" (PD control to the neutral configuration).

    Parameters
    ----------
    name : str
        Name of the controller. The target of "pd" is clamped to the position limits.
    robot : Tree
        The robot.
    q0 : array_like, shape (nq,)
        Initial configuration.
    kp : float or array_like, shape (nv,)
        Position gains [N m/rad, N/m].
    kd : float or array_like, shape (nv,)
        Velocity gains [N m s/rad, N s/m].

    Returns
    -------
    Zero or PD
        The controller.

    Raises
    ------
    UnknownNameError
        If the name is unknown.
    ArgumentError
        If the robot, configuration or a gain is invalid.

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> treesim.control.make_controller("hold", robot, robot.neutral(), kp=50)
    <PD of 'ur5': kp 50, kd 10>
    """
    checked_robot(robot)
    if name == "none":
        return Zero(robot)
    if name == "hold":
        return PD(robot, q0, kp=kp, kd=kd)
    if name == "pd":
        return PD(robot, robot.clamp(robot.neutral()), kp=kp, kd=kd)
    raise unknown_name("controller", name, CONTROLLERS)


def default_controller(robot: Tree, on_ground: bool, has_gains: bool = False) -> ControllerName:
    """Return the name of the controller that viewers use by default for a robot: "hold" or "none".

    Parameters
    ----------
    robot : Tree
        The robot. If all its effort limits are 0, the result is always "none".
    on_ground : bool
        True if the world has a ground. For a floating base on a ground, the result is "hold", unless all effort limits
        are 0.
    has_gains : bool
        True if the user passed kp or kd. The result is then "hold", unless all effort limits are 0.

    Returns
    -------
    str
        Name of a controller, see `make_controller`.

    Examples
    --------
    >>> treesim.control.default_controller(treesim.load("ur5"), on_ground=False)
    'none'
    """
    stands = on_ground and robot.base == "floating"
    return "hold" if robot.effort_limit.any() and (stands or has_gains) else "none"


def checked_gain(label: str, value: ArrayLike, robot: Tree) -> np.ndarray:
    """Return gains (nv,) from one number or nv of them; raises ArgumentError naming `label` otherwise."""
    nv, gain = robot.nv, coerce(velocity_argument(robot, label, value)._replace(shape=()))
    if gain.shape not in ((), (nv,)):
        raise ArgumentError(f"{label} must be one number or {nv} of them (nv), got shape {gain.shape}")
    if not (np.isfinite(gain).all() and (gain >= 0).all()):
        raise ArgumentError(f"{label} must be finite and not negative, got {value!s}")
    return np.broadcast_to(gain, (nv,))


def actuated(robot: Tree) -> np.ndarray:
    """Return 1 for each degree of freedom that has an actuator, 0 for those of floating joints (nv,)."""
    joints = [body.joint for body in robot.bodies if body.joint.mimic is None]
    driven = [np.full(joint.nv, float(joint.type != "floating")) for joint in joints]
    return np.concatenate(driven or [np.empty(0)])
