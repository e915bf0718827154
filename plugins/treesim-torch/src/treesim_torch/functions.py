"""Functions of tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from treesim import Stepper, Tree, World
from treesim.differentiation.operations import ForwardDynamics, FramePose, InverseDynamics, Operation, Step, Traced
from treesim.rollouts.operation import Rollout

from .bridge import Values

SINGLE = (torch.float32, torch.float16, torch.bfloat16)


def forward_dynamics(robot: Tree, q: Any, v: Any, tau: Any, **options: Any) -> torch.Tensor:
    """Return the joint accelerations of `treesim.forward_dynamics`.

    Parameters
    ----------
    robot : Tree
        Robot.
    q, v, tau : tensor
        (..., nq) configurations, (..., nv) velocities and forces, whose leading axes are broadcast together. The
        gradient in q is that in its numbers, of the function that normalizes the quaternions in q first.
    **options : object
        Constants: the options f_ext, gravity, armature, engine and model_parameters of
        `treesim.forward_dynamics_derivatives`.

    Returns
    -------
    torch.Tensor
        (..., nv) accelerations.
    """
    return _called(ForwardDynamics(robot, options), q, v, tau)[0]


def inverse_dynamics(robot: Tree, q: Any, v: Any, a: Any, **options: Any) -> torch.Tensor:
    """Return the joint forces of `treesim.inverse_dynamics`.

    Parameters
    ----------
    robot : Tree
        Robot.
    q, v, a : tensor
        (..., nq) configurations, (..., nv) velocities and accelerations; see `forward_dynamics`.
    **options : object
        As in `forward_dynamics`.

    Returns
    -------
    torch.Tensor
        (..., nv) forces.
    """
    return _called(InverseDynamics(robot, options), q, v, a)[0]


def frame_pose(robot: Tree, q: Any, frame: str) -> torch.Tensor:
    """Return the pose of a frame in the world, as `treesim.frame_pose`.

    Parameters
    ----------
    robot : Tree
        Robot.
    q : tensor
        (..., nq) configurations; see `forward_dynamics`.
    frame : str
        Name of the frame.

    Returns
    -------
    torch.Tensor
        (..., 4, 4) homogeneous matrices.
    """
    return _called(FramePose(robot, frame), q)[0]


def step(stepper: Stepper, q: Any, v: Any, control: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the state after a time step, in free motion or in contact, differentiated as by `treesim.linearize`.

    Parameters
    ----------
    stepper : Stepper
        Robot or world, integrator, time step, gains and contact parameters.
    q, v, control : tensor
        (..., nq) configurations, (..., nv) velocities and controls; see `forward_dynamics`. Each step starts without
        the contact impulses of another one.

    Returns
    -------
    q, v : torch.Tensor
        (..., nq) configurations and (..., nv) velocities at the end of the step.
    """
    q, v = _called(Step(stepper), q, v, control)
    return q, v


def rollout(
    robot: Tree | World, q0: Any, v0: Any, control: Any, *, policy_parameters: Any = None, **options: Any
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the states of rollouts, in free motion or in contact, differentiated as by `treesim.rollout_vjp`.

    Parameters
    ----------
    robot : Tree or World
        Robot or world.
    q0, v0 : tensor
        (..., nq) configurations and (..., nv) velocities at the start; see `forward_dynamics`.
    control : tensor or callable
        (..., steps, nv) controls, or a policy of `treesim.rollout`.
    policy_parameters : tensor, optional
        (..., k) parameters of the policy.
    **options : object
        Constants: the other options of `treesim.rollout_vjp`, such as dt, integrator, kp and keep; with a policy also
        steps.

    Returns
    -------
    q, v : torch.Tensor
        (..., steps, nq) configurations and (..., steps, nv) velocities after each step; with keep="last" (..., 1, nq)
        and (..., 1, nv) after the last one.
    """
    operation, given = Rollout.of(robot, control, policy_parameters, options)
    q, v = _called(operation, q0, v0, given)
    return q, v


def wrap(function: Callable[..., object]) -> Callable[..., torch.Tensor]:
    """Return a function of tensors, of one that `treesim.vjp` differentiates.

    Parameters
    ----------
    function : callable
        As in `treesim.vjp`: a function of arrays of one state, which may call treesim's functions of states, and
        returns one array or number.

    Returns
    -------
    callable
        Function of arrays (..., n), whose leading axes are broadcast together, or numbers.
    """

    def wrapped(*tensors: Any) -> torch.Tensor:
        """Return the value of the function."""
        given = [torch.as_tensor(x) for x in tensors]
        return _called(Traced(function, [x.shape[-1:] for x in given]), *given)[0]

    return wrapped


def _called(operation: Operation, *tensors: Any) -> tuple[torch.Tensor, ...]:
    """Call an operation on tensors of one floating-point type and one device, broadcast together."""
    own = next((x for x in tensors if isinstance(x, torch.Tensor)), torch.empty(0))
    given = [torch.as_tensor(x, device=own.device) for x in tensors]
    operation.batch([tuple(x.shape) for x in given])
    number = torch.float32 if all(x.dtype in SINGLE for x in given) else torch.float64
    found: tuple[torch.Tensor, ...] = Values.apply(operation, *(x.to(number) for x in given))
    return found
