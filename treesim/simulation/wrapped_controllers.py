"""Controllers that wrap others or functions: checks, pushes, and controllers of a robot in a world with free bodies."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..dynamics.operational.frames import frame_pose
from ..errors import ArgumentError, listed, quoted
from ..model.named_axes import VELOCITIES
from ..model.tree import Body, Tree
from ..states.arguments import checked_robot, positive_number, short_repr
from ..system.display import ReprMixin, vector
from ..validation.labels import in_order
from ..validation.values import call_fault, finite_vector, is_name_of
from .control import CONTROLLERS, PD, Controller, RobotController, StatelessController, Zero

if TYPE_CHECKING:
    from ..contact.report import ContactReport

SAME_TIME = 1e-9  # s: times of steps are products, and contain rounding errors


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
