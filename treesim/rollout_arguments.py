"""Arguments of rollouts, checked and laid out for the kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .engine.call.arguments import Argument, coerce, refuse_non_finite
from .engine.call.steps import all_finite
from .errors import ArgumentError
from .model.given import whole_number
from .model.quaternions import unit_quaternions
from .model.tree import Tree

COUNTED_IN_SINGLE = 1 << 24  # steps: a policy's clock counts them, and float32 holds no more whole numbers


def state_arrays(
    robot: Tree,
    q0: ArrayLike,
    v0: ArrayLike,
    controls: Any,
    parameters: ArrayLike | None,
    steps: Any,
    number: type[np.floating],
) -> list[np.ndarray]:
    """q0 (B, nq), v0 (B, nv), controls (B, steps, nv), parameters (B, k); what all rollouts share is not repeated."""
    if steps is not None:
        steps = whole_number("steps", steps)
    if controls is None:
        if steps is None:
            raise ArgumentError("give controls, or the number of steps")
        controls = np.broadcast_to(np.zeros(robot.nv, number), (steps, robot.nv))
    given = [
        Argument("q0", q0, (robot.nq,)),
        Argument("v0", v0, (robot.nv,)),
        Argument("controls", controls, (robot.nv,)),
        Argument("parameters", np.empty(0, number) if parameters is None else parameters, ()),
    ]
    q, v, u, p = (coerce(argument, number) for argument in given)
    if q.ndim > 2 or v.ndim > 2 or u.ndim not in (2, 3):
        raise ArgumentError(
            f"q0, v0 and controls have shapes {q.shape}, {v.shape}, {u.shape}, but (B, nq), (B, nv) and (B, steps, nv) "
            "or parts of them are needed"
        )
    if p.ndim not in (1, 2):
        raise ArgumentError(f"parameters have shape {p.shape}, but (k,) or (B, k) is needed")
    if steps is not None and u.shape[-2] != steps:
        raise ArgumentError(f"controls hold {u.shape[-2]} steps, but steps is {steps}")
    refuse_non_finite((given[0], given[1], given[3]), (q, v, p))  # controls are looked at as they are used
    q = unit_quaternions(robot, "q0", q)
    axes = ((q, 1), (v, 1), (u, 2), (p, 1))  # of one rollout
    sizes = {x.shape[0] for x, own in axes if x.ndim > own and x.shape[0] != 1}
    if len(sizes) > 1:
        raise ArgumentError(f"q0, v0, controls and parameters are for different numbers of rollouts: {sorted(sizes)}")
    count = sizes.pop() if sizes else 1
    return [np.broadcast_to(x, (count, *x.shape[x.ndim - own :])) for x, own in axes]


def refuse_non_finite_controls(part: np.ndarray, controls: np.ndarray) -> None:
    """Raise NonFiniteError, naming the place in all controls (B, steps, nv), if a part of them is not finite."""
    if not all_finite(part):
        shared = controls.strides[0] == 0
        refuse_non_finite([Argument("controls", controls, controls.shape[-1:])], [controls[0] if shared else controls])


def check_clock(steps: int, number: Any) -> None:
    """Raise ArgumentError if a policy's clock cannot count so many steps."""
    if number == np.float32 and steps > COUNTED_IN_SINGLE:
        raise ArgumentError(
            f"steps must be at most {COUNTED_IN_SINGLE} under a policy in float32, got {steps}: give float64 arrays"
        )
