"""Controllers: what drives the joints during a simulation."""

from __future__ import annotations

import copy
import inspect
import io
import pickle
from collections.abc import Callable
from typing import Any, Protocol, get_args

import numpy as np
from numpy.typing import ArrayLike

from .display import Shown, span, vector
from .engine.call.arguments import Argument, coerce
from .errors import ArgumentError, quoted, unknown_name
from .model.given import checked_robot, told
from .model.tree import Tree
from .types import ControllerName

CONTROLLERS = get_args(ControllerName)


class Controller(Protocol):
    """Anything that turns a time and a state into generalised forces.

    What `torque` returns is checked and copied, and what it is given are copies: writing to them changes no run.

    A controller may also carry `stiffness` and `damping`, both (nv,) [N m/rad, N m s/rad]: the derivatives of its
    torque with respect to position and velocity, sign reversed. An integrator that sees them may add
    dt * damping + dt^2 * stiffness to the mass matrix's diagonal, which keeps stiff gains stable at large steps.
    """

    def torque(self, t: float, q: np.ndarray, v: np.ndarray) -> ArrayLike:
        """Return the (nv,) generalised forces [N m, N] at time t [s], configuration q (nq,), velocity v (nv,)."""
        ...


class Function(Shown):
    """A plain function of (t, q, v) that returns the torque, as a controller."""

    def __init__(self, function: Callable[[float, np.ndarray, np.ndarray], ArrayLike]) -> None:
        self.function = function

    def __repr__(self) -> str:
        return f"<Function: {controller_name(self)}>"

    def _facts(self) -> list[tuple[str, Any]]:
        return [("function", self.function)]

    def torque(self, t: float, q: np.ndarray, v: np.ndarray) -> ArrayLike:
        """Return what the function does."""
        return self.function(t, q, v)


def as_controller(robot: Tree, given: Any) -> Controller:
    """Return the controller that a user gives: an object with `torque`, a function of (t, q, v), or None for none.

    Raises ArgumentError, saying what would be right, for anything else, and for arguments that are not (t, q, v).
    """
    if given is None:
        return Zero(robot)
    if isinstance(given, str):
        known = given if given in CONTROLLERS else "hold"
        raise ArgumentError(
            f"controller must be an object, not the name {quoted(given)}: "
            f"treesim.control.make_controller({known!r}, robot, q0) makes one of a name"
        )
    if isinstance(given, type):
        raise ArgumentError(f"controller must be an object, not the class {given.__name__}: make an object of it")
    torque = getattr(given, "torque", given)
    if not callable(torque):
        raise ArgumentError(
            f"controller must have a method torque(t, q, v), be a function of (t, q, v), or None, got {told(given)}"
        )
    controller: Controller = Function(given) if torque is given else given
    try:
        inspect.signature(torque).bind(0.0, None, None)
    except TypeError as error:
        raise ArgumentError(f"the controller {controller_name(controller)!r} must take (t, q, v): {error}") from None
    except ValueError:  # a function of C's that tells nothing of its arguments
        pass
    return controller


def controller_name(controller: Controller) -> str:
    """Return what to call a controller: its class, or the name of its function."""
    what: Any = controller.function if isinstance(controller, Function) else type(controller)
    return str(getattr(what, "__name__", type(what).__name__))


class Carried:
    """A controller on its way into a copy or a pickle, which it must be fit for.

    Pickling raises ArgumentError naming the controller if it, or what it holds, cannot be pickled.
    """

    def __init__(self, controller: Controller) -> None:
        self.controller = controller

    def __deepcopy__(self, memo: dict[int, Any]) -> Carried:
        return Carried(copy.deepcopy(self.controller, memo))

    def __reduce__(self) -> tuple[Any, ...]:
        try:
            _Trial(self).dump(self.controller)
        except Exception as error:
            raise ArgumentError(
                f"the controller {told(self.controller)} cannot be pickled: {error}; "
                "define its class, and the functions that it holds, at the top level of a module"
            ) from error
        return Carried, (self.controller,)


class _Trial(pickle.Pickler):
    """A pickler whose output nobody reads, which does not come back to where it began."""

    def __init__(self, beginning: Carried) -> None:
        super().__init__(io.BytesIO(), pickle.HIGHEST_PROTOCOL)
        self.beginning = beginning

    def persistent_id(self, thing: Any) -> str | None:
        """Return what stands for a carried controller: it is on trial already."""
        return "carried" if isinstance(thing, Carried) and thing.controller is self.beginning.controller else None


class Zero(Shown):
    """No torque at all: the robot moves under gravity and its own friction.

    Example:
        >>> treesim.control.Zero(treesim.load("ur5")).torque(0.0, np.zeros(6), np.zeros(6))
        array([0., 0., 0., 0., 0., 0.])
    """

    def __init__(self, robot: Tree) -> None:
        self._torque = np.zeros(checked_robot(robot).nv)
        self._torque.setflags(write=False)

    def __repr__(self) -> str:
        return "<Zero: no torque>"

    def _facts(self) -> list[tuple[str, Any]]:
        return [("degrees of freedom", len(self._torque))]

    def torque(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return zeros (nv,)."""
        return self._torque


class PD(Shown):
    """Springs and dampers that pull every joint towards a configuration: tau = kp (target - q) - kd v.

    The difference is taken on the configuration manifold, so spherical and planar joints work too. A floating joint
    is not actuated. The torque stays within the robot's effort limits.

    robot: the tree. target: (nq,) configuration. kp, kd: gains [N m/rad, N m s/rad; N/m, N s/m], one for all degrees
    of freedom or (nv,). Raises ArgumentError for a wrong shape, a negative gain, or NaN.

    Example:
        >>> robot = treesim.load("ur5")
        >>> treesim.control.PD(robot, np.full(6, 0.5), kp=10, kd=1).torque(0.0, np.zeros(6), np.zeros(6))
        array([5., 5., 5., 5., 5., 5.])
    """

    def __init__(self, robot: Tree, target: ArrayLike, kp: ArrayLike, kd: ArrayLike) -> None:
        self.target = coerce(Argument("target", target, ())).copy()
        if self.target.shape != (checked_robot(robot).nq,) or not np.isfinite(self.target).all():
            raise ArgumentError(f"target must be {robot.nq} finite numbers (nq), got shape {self.target.shape}")
        actuated = _actuated(robot)
        self.stiffness = checked_gain("kp", kp, robot.nv) * actuated
        self.damping = checked_gain("kd", kd, robot.nv) * actuated
        self._effort = robot.effort_limit
        self._robot = robot

    def __repr__(self) -> str:
        gains = ", ".join(f"{label} {span(x.tolist())}" for label, x in (("kp", self.stiffness), ("kd", self.damping)))
        return f"<{type(self).__name__} of {self._robot.name!r}: {gains}>"

    def _facts(self) -> list[tuple[str, Any]]:
        gains = [("kp", vector(self.stiffness)), ("kd", vector(self.damping))]
        return [("robot", self._robot), ("target", vector(self.target)), *gains]

    def torque(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return kp (target - q) - kd v within the effort limits (nv,) [N m, N]."""
        error = self._robot.difference(q, self.target)
        return np.clip(self.stiffness * error - self.damping * v, -self._effort, self._effort)


class Hold(PD):
    """PD control about the configuration at which the robot starts.

    Example:
        >>> robot = treesim.load("ur5")
        >>> treesim.control.Hold(robot, robot.neutral())
        <Hold of 'ur5': kp 100, kd 10>
    """

    def __init__(self, robot: Tree, q0: ArrayLike, kp: ArrayLike = 100.0, kd: ArrayLike = 10.0) -> None:
        super().__init__(robot, q0, kp, kd)


def make_controller(
    name: ControllerName,
    robot: Tree,
    q0: ArrayLike,
    kp: ArrayLike = 100.0,
    kd: ArrayLike = 10.0,
) -> Zero | PD:
    """Return the controller called `name`: "none", "hold" (about q0), or "pd" (towards the neutral configuration,
    or the nearest one within the position limits).

    q0: (nq,) initial configuration. kp, kd: gains, scalar or (nv,). Raises UnknownNameError for another name,
    ArgumentError for what is no robot, configuration or gain.

    Example:
        >>> robot = treesim.load("ur5")
        >>> treesim.control.make_controller("hold", robot, robot.neutral(), kp=50)
        <Hold of 'ur5': kp 50, kd 10>
    """
    checked_robot(robot)
    if name == "none":
        return Zero(robot)
    if name == "hold":
        return Hold(robot, q0, kp, kd)
    if name == "pd":
        return PD(robot, np.clip(robot.neutral(), robot.lower, robot.upper), kp, kd)
    raise unknown_name("controller", name, CONTROLLERS)


def checked_gain(label: str, value: ArrayLike, nv: int) -> np.ndarray:
    """Return gains (nv,) from one number or nv of them; raises ArgumentError naming `label` for anything else."""
    gain = coerce(Argument(label, value, ()))
    if gain.shape not in ((), (nv,)):
        raise ArgumentError(f"{label} must be one number or {nv} of them (nv), got shape {gain.shape}")
    if not (np.isfinite(gain).all() and (gain >= 0).all()):
        raise ArgumentError(f"{label} must be finite and not negative, got {value!s}")
    return np.broadcast_to(gain, (nv,))


def _actuated(robot: Tree) -> np.ndarray:
    """Return 1 for each degree of freedom that has an actuator, 0 for those of floating joints (nv,)."""
    joints = [body.joint for body in robot.bodies if body.joint.mimic is None]
    actuated = [np.full(joint.nv, float(joint.type != "floating")) for joint in joints]
    return np.concatenate(actuated or [np.empty(0)])
