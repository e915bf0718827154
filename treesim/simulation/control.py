"""Controllers: functions of time and state that return joint torques."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, get_args

import numpy as np
from numpy.typing import ArrayLike

from ..dynamics.operational.frames import frame_pose
from ..engine.graph.trace import is_traced
from ..errors import ArgumentError, listed, quoted, unknown_name
from ..model.conventions import warn_of_conventions
from ..model.named_axes import VELOCITIES, coordinate_argument, velocity_argument
from ..model.tree import Body, Tree
from ..states.arguments import checked_robot, positive_number, short_repr
from ..system.display import ReprMixin, span, vector
from ..system.memory import SMALL, check_memory
from ..types import ControllerName
from ..validation.arrays import NUMBER, batch_shape, coerce, ordered_numbers
from ..validation.labels import in_order
from ..validation.values import call_fault, finite_vector, is_name_of

if TYPE_CHECKING:
    from ..contact.report import ContactReport
    from ..kernels.stepping.rules import Rule
    from .step_settings import StepSettings

CONTROLLERS = get_args(ControllerName)
SAME_TIME = 1e-9  # s: times of steps are products, and contain rounding errors


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
        """Return the torque (nv,) for a substep again whose mean force was `force` (nv,); None if that is right.

        It serves controllers with effort limits of their own, whose gains would be beyond them.
        """
        return None


class Function(ReprMixin):
    """Controller that wraps a function of (t, q, v) or of (t, q, v, contact), which returns the torque."""

    def __init__(self, function: Callable[..., ArrayLike]) -> None:
        self.function = function

    _row_labels = ("function",)

    def __repr__(self) -> str:
        return f"<Function: {controller_name(self)}>"

    @property
    def torque(self) -> Callable[..., ArrayLike]:
        """Wrapped function, which returns the torque."""
        return self.function


def sees_contact(controller: Any) -> bool:
    """Return whether a controller takes the contact report of the step before, as its fourth argument."""
    if isinstance(controller, (ExtendedController, Pushed)):
        return sees_contact(controller.controller)
    return call_fault(controller.torque, 3) is not None


def unlimited_torque(controller: Any) -> Callable[..., Any]:
    """Return the function that computes a controller's torque, of treesim's own PD controllers before effort limits."""
    own = isinstance(controller, PD) and type(controller).torque is PD.torque
    if own or type(controller) in (Pushed, ExtendedController):
        return controller._law  # type: ignore[no-any-return]
    torque: Callable[..., Any] = controller.torque
    return torque


def as_controller(robot: Tree, given: Any) -> Controller:
    """Return a controller from an object with `torque`, a function of (t, q, v), or None (no torque).

    Raises ArgumentError for anything else, and for a callable that takes neither (t, q, v) nor (t, q, v, contact).
    """
    if given is None:
        return Zero(robot)
    if isinstance(given, str):
        known = str.__str__(given) if is_name_of(given, CONTROLLERS) else "hold"
        raise ArgumentError(
            f"controller must be an object, not the name {quoted(given)}: "
            f"treesim.control.make_controller({known!r}, robot, q0) makes one of a name"
        )
    if isinstance(given, type):
        raise ArgumentError(f"controller must be an object, not the class {given.__name__}: make an object of it")
    torque = getattr(given, "torque", given)
    if not callable(torque):
        raise ArgumentError(
            "controller must have a method torque(t, q, v), be a function of (t, q, v), or None, got "
            + short_repr(given)
        )
    controller: Controller = Function(given) if torque is given else given
    fault = call_fault(torque, 3)
    if fault is not None and call_fault(torque, 4) is not None:
        name = controller_name(controller)
        raise ArgumentError(f"the controller {quoted(name)} must take (t, q, v), or (t, q, v, contact): {fault}")
    return controller


def controller_name(controller: Controller) -> str:
    """Return the name of a controller's class, or of the function that it wraps."""
    if isinstance(controller, ExtendedController):
        return controller_name(controller.controller)
    what: Any = controller.function if isinstance(controller, Function) else type(controller)
    return str(getattr(what, "__name__", type(what).__name__))


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


class Pushed(ReprMixin):
    """Controller that adds a push to another controller: a force on a floating robot's root link, for a time interval.

    The force acts at the root link's centre of mass, during every step that begins in the time interval. During a step,
    the force turns with the link. The root joint has no effort limit, so the force is not clipped. The energy balance
    counts the work of the force as work of the controller. Cost of a step: O(1).

    Parameters
    ----------
    controller : Controller, callable or None
        Controller of the joints, as in `Simulation`; None for no torque. Integrators treat its gains implicitly, as
        they do without `Pushed`.
    robot : Tree
        Robot with one root body, whose joint is floating.
    force : array_like, shape (3,)
        Force [N] along the world's axes.
    start : float
        Time at which the force begins [s].
    duration : float
        Length of time for which the force acts [s].

    Raises
    ------
    ArgumentError
        If the base of the robot is not floating, or the force, a time or the controller is invalid.

    Examples
    --------
    >>> robot = treesim.load("g1_29dof_rev_1_0", base="floating")
    >>> pushed = treesim.Pushed(treesim.PD(robot, robot.neutral()), robot, (150, 0, 0))
    >>> pushed
    <Pushed: (150, 0, 0) N on 'pelvis' from 1 to 1.2 s, and <PD of 'g1_29dof_rev_1_0': kp 0 ... 100, kd 0 ... 10>>
    >>> pushed.torque(1.1, robot.neutral(), np.zeros(robot.nv))[:3]
    array([150.,   0.,   0.])
    """

    def __init__(
        self,
        controller: Controller | Callable[..., ArrayLike] | None,
        robot: Tree,
        force: ArrayLike,
        *,
        start: float = 1.0,
        duration: float = 0.2,
    ) -> None:
        self.controller, self.robot = as_controller(checked_robot(robot), controller), robot
        self._root = _floating_root(robot)
        self.force = finite_vector("force", force, 3).copy()
        self.start = positive_number("start", start, zero=True)
        self.duration = positive_number("duration", duration)
        self.stiffness, self.damping = (
            getattr(self.controller, label, np.zeros(robot.nv)) for label in ("stiffness", "damping")
        )

    def __repr__(self) -> str:
        when = f"from {self.start:g} to {self.start + self.duration:g} s"
        return f"<Pushed: {vector(self.force)} N on {self._root.name!r} {when}, and {self.controller!r}>"

    def _repr_fields(self) -> list[tuple[str, Any]]:
        when = [("start [s]", self.start), ("duration [s]", self.duration)]
        return [("robot", self.robot), ("force [N]", vector(self.force)), *when, ("controller", self.controller)]

    def torque(self, t: float, q: np.ndarray, v: np.ndarray, *contact: ContactReport) -> ArrayLike:
        """Return the torque of the wrapped controller, plus the generalised force of the push while the push acts.

        Parameters
        ----------
        t : float
            Time [s].
        q : ndarray, shape (nq,)
            Configuration.
        v : ndarray, shape (nv,)
            Velocity.
        *contact : ContactReport
            Report of the step before, if the other controller takes it as an argument.

        Returns
        -------
        array_like, shape (nv,)
            Generalised forces [N m, N].
        """
        return self._with_push(self.controller.torque(t, q, v, *contact), t, q)  # type: ignore[call-arg]

    def _law(self, t: float, q: np.ndarray, v: np.ndarray, *contact: ContactReport) -> ArrayLike:
        """Return the torque before effort limits."""
        return self._with_push(unlimited_torque(self.controller)(t, q, v, *contact), t, q)

    def _with_push(self, given: Any, t: float, q: np.ndarray) -> Any:
        """Add the force of the push, while it acts, to a torque (nv,)."""
        acts = -SAME_TIME <= t - self.start < self.duration - SAME_TIME
        if not acts or np.shape(given) != (self.robot.nv,):  # the caller rejects an invalid torque
            return given
        f = frame_pose(self.robot, q, self._root.name)[:3, :3].T @ self.force
        push = np.zeros(self.robot.nv)
        push[self.robot.v_index[self._root.joint.name]] = [*f, *np.cross(self._root.inertia.com, f)]
        return np.add(in_order("torque", given, VELOCITIES, self.robot), push)


class ExtendedController(ReprMixin):
    """Controller of a robot that shares a world with free bodies; the torque on the bodies is 0.

    controller: a controller of the robot `alone`, whose coordinates are the first ones of `whole`, the tree of
    the robot and all bodies. Its gains stay implicit. Raises ArgumentError for an invalid controller or robot.
    """

    def __init__(self, controller: Any, alone: Tree, whole: Tree) -> None:
        self.controller = as_controller(checked_robot(alone), controller)
        self.alone, self.whole = alone, checked_robot(whole)

    def __repr__(self) -> str:
        return f"<BesideBodies: {self.controller!r}>"

    def _repr_fields(self) -> list[tuple[str, Any]]:
        return [("robot", self.alone), ("controller", self.controller)]

    @property
    def stiffness(self) -> Any:
        """Position gains (nv,) [N m/rad, N/m], 0 for the bodies."""
        return self._extended(getattr(self.controller, "stiffness", 0.0))

    @property
    def damping(self) -> Any:
        """Velocity gains (nv,) [N m s/rad, N s/m], 0 for the bodies."""
        return self._extended(getattr(self.controller, "damping", 0.0))

    def torque(self, t: float, q: np.ndarray, v: np.ndarray, *contact: ContactReport) -> Any:
        """Return the controller's torque (nv,) [N m, N], 0 for the bodies."""
        state = q[: self.alone.nq], v[: self.alone.nv]
        return self._extended(self.controller.torque(t, *state, *contact))  # type: ignore[call-arg]

    def _law(self, t: float, q: np.ndarray, v: np.ndarray, *contact: ContactReport) -> Any:
        """Return the torque before effort limits."""
        return self._extended(unlimited_torque(self.controller)(t, q[: self.alone.nq], v[: self.alone.nv], *contact))

    def _extended(self, given: Any) -> Any:
        """Append zeros for the bodies to the robot's values; values of another shape are returned unchanged."""
        if np.shape(given) == (self.alone.nv,):
            given = in_order("torque", given, VELOCITIES, self.alone)
        numbers = np.asanyarray(given)
        if numbers.shape == () and numbers.dtype.kind in "fiu":
            numbers = np.full(self.alone.nv, numbers)
        if numbers.shape != (self.alone.nv,):
            return given
        concatenate = np.ma.concatenate if np.ma.isMaskedArray(numbers) else np.concatenate
        return concatenate([numbers, np.zeros(self.whole.nv - self.alone.nv, numbers.dtype)])  # type: ignore[operator]


def in_world_of(controller: Controller, alone: Tree, whole: Tree) -> Controller:
    """Return a controller for the tree `whole` of a world, from one of the robot `alone` or of `whole`.

    alone: the robot of the description. whole: the robot and all free bodies as one tree. Raises ArgumentError
    if one of treesim's own controllers was made for another robot.
    """
    if not isinstance(controller, (Zero, PD, Pushed, RobotController)) or _sizes(controller.robot) == _sizes(whole):
        return controller
    if whole is alone or controller.robot.joint_names != alone.joint_names or _sizes(controller.robot) != _sizes(alone):
        which = "world.robot" if whole is alone else f"the world's robot alone, {quoted(alone.name)}, or world.robot"
        raise ArgumentError(
            f"the controller {quoted(controller_name(controller))} is of {quoted(controller.robot.name)}, which has "
            f"{controller.robot.nv} degrees of freedom, but {quoted(whole.name)} has {whole.nv}: make it of {which}"
        )
    return Zero(whole) if isinstance(controller, Zero) else ExtendedController(controller, alone, whole)


def _sizes(robot: Tree) -> tuple[int, int]:
    return robot.nq, robot.nv


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


def innermost(controller: Any) -> Any:
    """Return the controller that others, of treesim, wrap."""
    while type(controller) in (Pushed, ExtendedController):
        controller = controller.controller
    return controller


def is_own(controller: Controller) -> bool:
    """Return whether a controller has no state, so that its torque may be evaluated at any time within a step.

    True for the controllers of this module, and for subclasses of StatelessController.
    """
    inner = innermost(controller)
    return type(inner) in (Zero, PD) or isinstance(inner, StatelessController)


def _floating_root(robot: Tree) -> Body:
    """Return the robot's one root body; raises ArgumentError if there are several or its joint is not floating."""
    roots = [body for body in robot.bodies if body.parent == 0]
    if len(roots) > 1:
        raise ArgumentError(
            f"{quoted(robot.name)} has several bodies on the world, {listed([body.name for body in roots])}: "
            "give the robot that is pushed, without a world's bodies"
        )
    if [body.joint.type for body in roots] != ["floating"]:
        raise ArgumentError(
            f"{quoted(robot.name)} cannot be pushed, since its base does not float: load it with base='floating'"
        )
    return roots[0]


def actuated(robot: Tree) -> np.ndarray:
    """Return 1 for each degree of freedom that has an actuator, 0 for those of floating joints (nv,)."""
    joints = [body.joint for body in robot.bodies if body.joint.mimic is None]
    driven = [np.full(joint.nv, float(joint.type != "floating")) for joint in joints]
    return np.concatenate(driven or [np.empty(0)])
