"""Linearization of time steps, in free motion and in contact."""

from __future__ import annotations

from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..contact.base import ContactSolver
from ..errors import ArgumentError, UnsupportedError, quoted
from ..simulation.step_arguments import checked_control, checked_states
from ..simulation.stepper import Stepper
from ..simulation.world import World
from ..system.display import arrays, html_table
from ..types import ContactSolverName
from ..validation.arrays import Argument, coerce, refuse_non_finite
from ..validation.values import checked_part
from .command_gradient import CommandGradient, refuse_memory
from .part_pullback import PartPullback, PartTape
from .step_gradient import StepGradient
from .step_sweep import BatchedPlaces

ROWS = 4096  # gradients that are computed together
SOLVERS = ("pgs", "admm")  # contact solvers with Coulomb's conditions


class Linearization(NamedTuple):
    """Derivatives of a time step: dx+ = A dx + B du, x = (q, v), u the control.

    Changes of q are displacements along the velocity coordinates (`Tree.integrate`, `Tree.difference`). If actuators
    have memory, x = (q, v, m) with their memory m (na,), and n = 2 nv + na; else n = 2 nv.

    Parameters
    ----------
    A : ndarray, shape (..., n, n)
        Derivative of the state at the end of the step in the state at its start.
    B : ndarray, shape (..., n, nv)
        Derivative in the control.
    next_q : ndarray, shape (..., nq)
        Configuration at the end of the step.
    next_v : ndarray, shape (..., nv)
        Velocity at the end of the step.
    gradient : StepGradient or tuple of StepGradient
        What was differentiated at each contact and limit; a tuple for a batch of states.

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> A, B, *_ = treesim.linearize(treesim.Stepper(robot), np.full(6, 0.5), np.zeros(6), None)
    >>> A.shape, B.shape
    ((12, 12), (12, 6))
    """

    A: np.ndarray
    B: np.ndarray
    next_q: np.ndarray
    next_v: np.ndarray
    gradient: Any

    def __repr__(self) -> str:
        rows, columns = self.B.shape[-2:]
        states = "" if self.B.ndim == 2 else f", {self.B.shape[0]} states"
        return f"<Linearization: A {rows} x {rows}, B {rows} x {columns}{states}>"

    def _repr_html_(self) -> str:
        return html_table(repr(self), arrays(self, "A", "B", "next_q", "next_v"))


def linearize(
    stepper: Stepper, q: ArrayLike, v: ArrayLike, control: ArrayLike | None, *, actuators: ArrayLike | None = None
) -> Linearization:
    """Return the derivatives of a time step in its state and control, in free motion and in contact.

    Parameters
    ----------
    stepper : Stepper
        Robot or world, integrator, time step, gains and contact parameters.
    q : array_like, shape (nq,) or (B, nq)
        Configurations at the start of the step.
    v : array_like, shape (nv,) or (B, nv)
        Velocities.
    control : array_like, shape (nv,) or (B, nv), or None
        Controls of the step: forces [N, N m], or target positions if the stepper has gains. None means 0.
    actuators : array_like, shape (na,) or (B, na), optional
        Memory of actuators, `State.actuators`. By default that before the first command.

    Returns
    -------
    Linearization
        Tuple (A, B, next_q, next_v, gradient).

    Raises
    ------
    ArgumentError, NonFiniteError
        As `Stepper.reset` and `Stepper.step`.
    UnsupportedError
        For what has no derivatives: actuators with a period, inductance or drawn delays, kinematic bodies, loops and
        other constraints, contacts that coal computes, other contact solvers than "pgs" and "admm", and steps whose
        restitution was reduced because it would have added energy. The message names it.

    Warns
    -----
    ContactWarning
        If the contact solver has not converged; or if a step in a world of several robots or bodies, with joint
        friction or rolling friction, was solved a second time at the midpoint of a fast motion. The derivative is then
        that of the first solution.

    Notes
    -----
    In free motion, the derivative is that of the integrator's formulas, exact to rounding, also of gains, damping and
    effort limits. In contact, it is the implicit derivative of the equations that the step has solved: contacts that
    separate, stick or slide, limits and joint friction stay as they are. It includes motion of the contact points and
    normals, and recovery of overlaps. Where this would change at the slightest displacement, the step has derivatives
    on each side, of which this is one; `gradient` lists such rows. A gap that is closed to 1e-9 m is differentiated as
    one that the step closes, so a displacement away from a surface does not last.

    Impulses of contacts that depend on each other are not unique, the derivatives of velocities are. One exception:
    several points of one body that slide while it turns distribute its weight in a way that the solver chooses, on
    which the torque of friction depends.

    For contacts other than those of vertices and balls on planes and faces of boxes, collision detection runs again in
    the interpreter, which takes some milliseconds a contact.

    Examples
    --------
    >>> box = treesim.free_body("box", "box", (0.2, 0.2, 0.2), 1.0)
    >>> world = treesim.World(box, ground=treesim.Ground(friction=0.5))
    >>> stepper = treesim.Stepper(world, integrator="semi_implicit_euler")
    >>> A, B, q, v, gradient = treesim.linearize(stepper, [0, 0, 0.1, 0, 0, 0, 1], [1, 0, 0, 0, 0, 0], None)
    >>> gradient
    <StepGradient: 4 contacts: 4 sliding; one-sided>
    >>> bool(np.allclose(np.diag(A)[6:9], [1, 1 - 0.5 * 9.81e-3, 0]))  # friction slows it along its velocity
    True
    """
    checked_part("stepper", stepper, Stepper)
    refuse_steps(stepper.world, stepper.contact_solver)
    start = checked_states(stepper.robot, ("q", "v"), q, v)
    u, nv, one = checked_control(stepper.robot, start[1], control), stepper.robot.nv, start[0].ndim == 1
    states, size = [np.atleast_2d(x) for x in (*start, u)], max(1, ROWS // max(1, 2 * nv))
    states.append(_memory(stepper, states[0], actuators))
    blocks = [slice(first, first + size) for first in range(0, len(states[0]), size)] or [slice(0)]
    parts = [_linearized(stepper, *(x[own] for x in states)) for own in blocks]
    *arrays, gradients = zip(*parts, strict=True)
    A, B, next_q, next_v = map(np.concatenate, arrays)
    found = Linearization(A, B, next_q, next_v, tuple(chain.from_iterable(gradients)))
    return Linearization(*(x[0] for x in found)) if one else found


def _memory(stepper: Stepper, q: np.ndarray, given: ArrayLike | None) -> np.ndarray:
    """Return the memory (B, na) of the actuators in states with configurations q (B, nq)."""
    size = 0 if stepper.memory is None else stepper.memory.size
    if given is None:
        return np.empty((len(q), 0)) if stepper.memory is None else stepper.memory.begin(q)
    argument = Argument("actuators", given, (size,))
    memory = coerce(argument)
    refuse_non_finite([argument], [memory])
    if memory.shape[:-1] not in ((), (len(q),)):
        raise ArgumentError(f"actuators has shape {memory.shape}, but ({size},) or ({len(q)}, {size}) is needed")
    return np.array(np.broadcast_to(memory, (len(q), size)), float)


def _linearized(
    stepper: Stepper, q: np.ndarray, v: np.ndarray, control: np.ndarray, memory: np.ndarray
) -> Linearization:
    """Return the derivatives of a step from B states, as gradients of each number of the state at its end."""
    pullback, nv, before = PartPullback(stepper, BatchedPlaces(), stepper.code), stepper.robot.nv, None
    model, parts = pullback.model(np.empty((len(q), 0))), list[PartTape]()
    layout, kept, command = stepper.memory, [memory], control
    for k in range(stepper.substeps if v.size else 0):
        if layout is not None:
            memory, command = layout.command(k, memory, q, v, control)
            kept.append(memory)
        parts.append(pullback.tape(pullback.solved(q, v, command, model, before), model))
        result = parts[-1].end
        q, v, before = result.q, result.v, result.warm_start
    A = np.tile(np.eye(2 * nv + memory.shape[1]), (len(q), 1, 1))
    B, (A, on_memory) = np.zeros((*A.shape[:2], nv)), np.split(A, [2 * nv], axis=2)
    through = None if layout is None else CommandGradient(layout)
    for k, part in reversed([*enumerate(parts)]):
        A, in_control, _ = pullback.back(part, A)
        if through is not None:
            on_memory, in_control = through.back(k, kept[k], control, on_memory, in_control)
        B = B + in_control
    A = np.concatenate([A, on_memory], axis=2)
    rows = [[row for k, part in enumerate(parts) for row in part.rows(b, k)] for b in range(len(q))]
    return Linearization(A, B, q, v, tuple(map(StepGradient, rows)))


def refuse_steps(world: World, contact_solver: ContactSolverName | ContactSolver) -> None:
    """Raise UnsupportedError for steps that have no derivatives."""
    refuse_memory(world)
    refused = {
        "kinematic bodies": bool(world.kinematic),
        "loops and constraints": world.m > 0,
        "contacts that coal computes": bool(world.convex.pairs),
        f"the contact solver {quoted(contact_solver)}": contact_solver not in SOLVERS,
    }
    for what, found in refused.items():
        if found:
            raise UnsupportedError(f"{quoted(world)}: steps with {what} have no derivatives")
