"""Functions of states with their gradients, as plugins pass them to the automatic differentiation of other libraries.

An operation takes and returns NumPy arrays. Gradients in q are those in its numbers; quaternions are normalized first,
so their gradients are tangent to the unit sphere (`differentiation.tangent_gradients`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NoReturn

import numpy as np

from ..dynamics.derivatives import forward_dynamics_derivatives, inverse_dynamics_derivatives
from ..dynamics.forward_dynamics import forward_dynamics
from ..dynamics.inverse_dynamics import inverse_dynamics
from ..dynamics.operational.frames import frame_jacobian, frame_pose
from ..engine.graph.function_identity import FunctionIdentity
from ..errors import ArgumentError, UnsupportedError, listed
from ..model.tree import Tree
from ..simulation.stepper import Stepper
from ..states.arguments import checked_robot
from ..validation.arrays import Argument, Shape, batch_shape, coerce, precision
from ..validation.values import checked_part
from .linearize import linearize
from .products import Primals, gradients_of
from .tangent_gradients import along_velocities, in_numbers
from .traced_function import traced_function

OPTIONS = ("f_ext", "gravity", "armature", "engine", "model_parameters")  # of dynamics: constants
Arrays = tuple[np.ndarray, ...]
SECOND = "{} has no second derivatives; treesim.forward_dynamics_hessian_vector returns those of forward dynamics"


class Operation(ABC):
    """Function of arrays (..., n), whose leading axes are broadcast together, and its gradients.

    name: of the function, in errors. shapes: by argument, of one state. results: shapes of the results of one state.
    Operations are equal if their functions refer to the same robot and equal numbers.
    """

    def __init__(self, name: str, call: Callable[..., Any], shapes: Mapping[str, Shape], *results: Shape) -> None:
        self.name, self.call, self.shapes, self.results = name, call, dict(shapes), results
        self._identity = FunctionIdentity(call), tuple(self.shapes.values())

    def __hash__(self) -> int:
        return hash(self._identity)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Operation) and type(self) is type(other) and self._identity == other._identity

    def __repr__(self) -> str:
        return f"<Operation {self.name}({', '.join(self.shapes)})>"

    def batch(self, shapes: Sequence[Shape]) -> Shape:
        """Return the batch axes of arguments of these shapes; raises ArgumentError, by the argument's name."""
        given = zip(self.shapes.items(), shapes, strict=True)
        arguments = [Argument(label, np.broadcast_to(0.0, shape), own) for (label, own), shape in given]
        return batch_shape(arguments, [coerce(each) for each in arguments])

    def values(self, *primals: np.ndarray) -> Arrays:
        """Return the results (..., n)."""
        return (self.call(*primals),)

    @abstractmethod
    def gradients(self, weights: Sequence[np.ndarray], *primals: np.ndarray) -> Arrays:
        """Return the gradient (..., n) of the sum of weights times results, in each argument.

        weights: by result. Batch axes are those of weights and primals together.
        """

    def refuse_second(self) -> NoReturn:
        """Raise UnsupportedError for second derivatives."""
        raise UnsupportedError(SECOND.format(self.name))


class DynamicsFunction(Operation):
    """Function of q, v and a third argument; `derivatives` returns its derivatives in them."""

    def __init__(
        self,
        function: Callable[..., np.ndarray],
        derivatives: Callable[..., Sequence[np.ndarray]],
        third: str,
        robot: Tree,
        options: Mapping[str, Any],
    ) -> None:
        name, self.derivatives = function.__name__, derivatives
        self.robot, self.options = checked_robot(robot), _options(name, options)
        nq, nv = (robot.nq,), (robot.nv,)
        super().__init__(name, partial(function, robot, **self.options), {"q": nq, "v": nv, third: nv}, nv)

    def gradients(self, weights: Sequence[np.ndarray], *primals: np.ndarray) -> Arrays:
        """Return the gradients in q, v and the third argument."""
        in_q, *others = (_weighted(D, weights[0]) for D in self.derivatives(self.robot, *primals, **self.options))
        return in_numbers(self.robot, primals[0], in_q), *others


class ForwardDynamics(DynamicsFunction):
    """Accelerations by `treesim.forward_dynamics`, as a function of q, v and tau."""

    def __init__(self, robot: Tree, options: Mapping[str, Any]) -> None:
        super().__init__(forward_dynamics, forward_dynamics_derivatives, "tau", robot, options)


class InverseDynamics(DynamicsFunction):
    """Forces by `treesim.inverse_dynamics`, as a function of q, v and a."""

    def __init__(self, robot: Tree, options: Mapping[str, Any]) -> None:
        super().__init__(inverse_dynamics, inverse_dynamics_derivatives, "a", robot, options)


class FramePose(Operation):
    """Pose of a frame by `treesim.frame_pose`, as a function of q."""

    def __init__(self, robot: Tree, frame: str) -> None:
        self.robot, self.frame = checked_robot(robot), robot.frame(frame).name
        super().__init__("frame_pose", partial(frame_pose, robot, frame=self.frame), {"q": (robot.nq,)}, (4, 4))

    def gradients(self, weights: Sequence[np.ndarray], *primals: np.ndarray) -> Arrays:
        """Return the gradient in q: the matrix changes by the frame's velocity, along the world's axes."""
        (q,), (weight,) = primals, weights
        columns, force = frame_pose(self.robot, q, self.frame)[..., :3, :3], weight[..., :3, 3]
        moment = np.cross(columns, weight[..., :3, :3], axis=-2).sum(axis=-1)
        wrench = np.concatenate(np.broadcast_arrays(force, moment), axis=-1)
        gradient = _weighted(frame_jacobian(self.robot, q, self.frame), wrench)
        return (in_numbers(self.robot, q, gradient),)


class Step(Operation):
    """State after `Stepper.step` from rest of the contact solver, as a function of q, v and control."""

    def __init__(self, stepper: Stepper) -> None:
        checked_part("stepper", stepper, Stepper)
        self.stepper, nq, nv = stepper, (stepper.robot.nq,), (stepper.robot.nv,)
        super().__init__("step", partial(Stepper.step, stepper), {"q": nq, "v": nv, "control": nv}, nq, nv)

    def values(self, *primals: np.ndarray) -> Arrays:
        """Return q and v after the step; raises the error of a step that fails."""
        (q, v, control), batch = self._states(primals)
        state, report = self.stepper.step(self.stepper.reset(q, v), control)
        report.check()
        return state.q.reshape(*batch, -1), state.v.reshape(*batch, -1)

    def gradients(self, weights: Sequence[np.ndarray], *primals: np.ndarray) -> Arrays:
        """Return the gradients in q, v and control by `treesim.linearize`."""
        (q, v, control), batch = self._states(primals)
        A, B, next_q, *_ = linearize(self.stepper, q, v, control)
        robot, nv = self.stepper.robot, self.stepper.robot.nv
        A, B, next_q, q = (x.reshape(*batch, *x.shape[bool(batch) :]) for x in (A, B, next_q, q))
        in_end = np.concatenate(np.broadcast_arrays(along_velocities(robot, next_q, weights[0]), weights[1]), axis=-1)
        in_state = _weighted(A, in_end)
        return in_numbers(robot, q, in_state[..., :nv]), in_state[..., nv:], _weighted(B, in_end)

    def _states(self, primals: Sequence[np.ndarray]) -> tuple[list[np.ndarray], Shape]:
        """Return q, v and controls as arrays (n,) of one state or (B, n), and their batch axes."""
        batch = np.broadcast_shapes(*(x.shape[:-1] for x in primals))
        if not batch:
            return [*primals], batch
        return [np.broadcast_to(x, (*batch, x.shape[-1])).reshape(-1, x.shape[-1]) for x in primals], batch


class Traced(Operation):
    """A user's function, differentiated as by `treesim.vjp`.

    shapes: () for a number, (n,) for an array, by argument. Gradients are those in the numbers of the arguments.
    """

    def __init__(self, function: Callable[..., Any], shapes: Sequence[Shape]) -> None:
        self.traced = traced_function(function, shapes)
        labels = {f"argument {k}": shape for k, shape in enumerate(shapes)}
        super().__init__(self.traced.called, function, labels, self.traced.result)

    def values(self, *primals: np.ndarray) -> Arrays:
        """Return the function's value."""
        given, size = self._primals(primals), int(np.prod(self.results[0]))
        found = self.traced.run(self.traced.value, given.batch, given.arrays, given.shapes, size)
        return (self.traced.shaped(found, given.batch + self.results[0], given.number),)

    def gradients(self, weights: Sequence[np.ndarray], *primals: np.ndarray) -> Arrays:
        """Return the gradients in the numbers of the arguments."""
        weight, given = weights[0].astype(float), self._primals(primals)
        batch = np.broadcast_shapes(given.batch, weight.shape[: weight.ndim - len(self.results[0])])
        weight = np.broadcast_to(weight, batch + self.results[0])
        return gradients_of(self.traced, given._replace(batch=batch), weight)

    def _primals(self, primals: Sequence[np.ndarray]) -> Primals:
        arrays, batch = [x.astype(float) for x in primals], self.batch([x.shape for x in primals])
        return Primals(arrays, [*self.shapes.values()], batch, precision(*primals))


def _options(name: str, options: Mapping[str, Any]) -> dict[str, Any]:
    unknown = [key for key in options if key not in OPTIONS]
    if unknown:
        raise ArgumentError(f"{name} with gradients has the options {listed(OPTIONS)}, not {listed(unknown)}")
    return dict(options)


def _weighted(derivative: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return the product (..., n) of the transposed derivative (..., m, n) with weights (..., m)."""
    dense = np.ascontiguousarray(weight)  # NumPy's product of numbers that share their place is slow
    found: np.ndarray = (dense[..., None, :] @ derivative)[..., 0, :]
    return found
