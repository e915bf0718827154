"""Constrained forward dynamics by the constraints' inverse inertia Λ⁻¹: forces first, then accelerations."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ... import plugins
from ...engine.call.evaluate import refuse_overflow
from ...errors import ConstraintError
from ...kernels.algebra.cholesky import factor
from ...kernels.constrained.constraints import constraint_derivatives_states
from ...model.named_axes import velocity_argument, wrenches_argument
from ...model.parts import changed_joints
from ...model.tree import Tree
from ...states.states import on_states
from ...validation.arrays import coerce
from ..forward_dynamics import forward_dynamics
from ..operational.mimic import inverse_inertia_by
from ..tables import constants_of, on_mimicked
from .base import ConstrainedAcceleration, Method, Problem


class ForceSpaceMethod(Method):
    """A method that solves Λ⁻¹ f = gamma for the constraint forces f.

    gamma is the target minus the derivative in the unconstrained motion.
    """

    def solve(self, problem: Problem) -> ConstrainedAcceleration:
        """Return accelerations and constraint forces; see `treesim.constrained_dynamics`."""
        derivative, rows = constraint_terms(problem, _accelerations(problem, problem.f_ext))
        inverse = inverse_inertia(problem, rows)
        force, iterations = self.forces(problem, inverse, problem.wanted - derivative)
        acceleration = _accelerations(problem, _with_constraint_forces(problem, rows, force))
        residual = problem.wanted - constraint_terms(problem, acceleration)[0]
        refuse_overflow("constrained dynamics", acceleration, force, residual)
        return ConstrainedAcceleration(acceleration, force, residual, iterations, problem.robot.name)

    def forces(self, problem: Problem, inverse: np.ndarray, gamma: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return f (..., m) with Λ⁻¹ f = gamma, and iterations (...)."""
        raise NotImplementedError


def _accelerations(problem: Problem, f_ext: ArrayLike | None) -> np.ndarray:
    state = problem.q, problem.v, problem.tau
    return forward_dynamics(problem.robot, *state, f_ext=f_ext, gravity=problem.gravity, armature=problem.armature)


def constraint_terms(problem: Problem, qdd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return R d/dt (v_first - v_second) (..., m) at accelerations qdd, and the constraints' rows (..., 2, m, 6).

    The rows apply to the velocities of the first and second bodies, linear first, in the bodies' own frames.
    """
    robot, tables = problem.robot, problem.tables
    constants = (*constants_of(robot), tables.layout, tables.geometry)
    values = {"q": problem.q, "v": problem.v, "qdd": qdd}
    derivative, A = on_states(constraint_derivatives_states, robot, constants, values)
    turns = robot.body_rotations[np.repeat(tables.bodies, np.diff(tables.start), axis=0).T]  # (2, m, 3, 3)
    moment, force = (np.einsum("srij,...srj->...sri", turns, part) for part in (A[..., :3], A[..., 3:]))
    return derivative, np.concatenate([force, moment], axis=-1)


def inverse_inertia(problem: Problem, rows: np.ndarray) -> np.ndarray:
    """Return the constraints' Λ⁻¹ (..., m, m) = T Λ_b⁻¹ T', with Λ_b⁻¹ of all constrained bodies.

    T has their rows side by side; for a loop, those of the first body and the negative ones of the second.
    """
    bodies = np.unique(problem.tables.bodies[problem.tables.bodies > 0])
    if bodies.size == 0:
        return np.zeros((*rows.shape[:-3], problem.m, problem.m))
    robot = problem.robot if problem.armature is None else _with_armature(problem.robot, problem.armature)
    names = [robot.body_names[b - 1] for b in bodies]
    method = plugins.get("operational", problem.operational)
    of_bodies = inverse_inertia_by(method, robot, problem.q, tuple(names), "local")
    T = np.zeros((*rows.shape[:-3], problem.m, 6 * bodies.size))
    for own, side, part in _ends(problem):
        k = 6 * int(np.searchsorted(bodies, own))
        T[..., part, k : k + 6] += rows[..., side, part, :]
    return T @ of_bodies @ np.swapaxes(T, -1, -2)


def _ends(problem: Problem) -> list[tuple[int, int, slice]]:
    """Return (body, side, rows) of every constrained body of every constraint."""
    tables = problem.tables
    return [
        (int(body), side, slice(int(tables.start[c]), int(tables.start[c + 1])))
        for c, pair in enumerate(tables.bodies)
        for side, body in enumerate(pair)
        if body > 0
    ]


def _with_constraint_forces(problem: Problem, rows: np.ndarray, force: np.ndarray) -> np.ndarray:
    """Return the wrenches (..., N, 6) on all bodies: external and constraint forces."""
    batch = np.broadcast_shapes(rows.shape[:-3], force.shape[:-1])
    total = np.zeros((*batch, problem.robot.n_bodies, 6))
    if problem.f_ext is not None:
        total = total + coerce(wrenches_argument(problem.robot, problem.f_ext))
    for body, side, part in _ends(problem):
        total[..., body - 1, :] += np.einsum("...r,...rk->...k", force[..., part], rows[..., side, part, :])
    return total


def _with_armature(robot: Tree, armature: ArrayLike | None) -> Tree:
    """Return the robot with other rotor inertias, without frames besides the bodies' own."""
    constants_of(robot, None, armature)  # raises what is wrong with it
    values = coerce(velocity_argument(robot, "armature", armature))
    rotors = on_mimicked(robot, values)
    index = robot.spanning.v_index
    bodies = changed_joints(robot.bodies, lambda joint: {"armature": rotors[index[joint.name]].tolist()})
    return Tree(robot.name, bodies, gravity=robot.gravity.tolist())


def dependence(problem: Problem, inverse: np.ndarray) -> ConstraintError | None:
    """Return the error that names the first row that depends on rows before it, or None."""
    for one in inverse.reshape(-1, problem.m, problem.m):
        r = factor(one.copy())
        if r >= 0:
            return _dependent_row(problem, one, r)
    return None


def _dependent_row(problem: Problem, inverse: np.ndarray, r: int) -> ConstraintError:
    tables, size = problem.tables, np.sqrt(np.diag(inverse))
    advice = "leave it out, or use method='proximal', which allows redundant constraints that agree"
    if size[r] <= 1e-12 * size.max(initial=0.0) or size[r] == 0:
        return ConstraintError(f"{tables.name_of_row(r)} cannot be influenced by any joint: {advice}")
    weights = np.linalg.lstsq(inverse[:r, :r], inverse[:r, r], rcond=None)[0] * size[:r] / size[r]
    repeated = [int(s) for s in np.flatnonzero(np.abs(weights) > 1e-6)]
    names = ", ".join(tables.name_of_row(s) for s in repeated[:6]) + (", ..." if len(repeated) > 6 else "")
    return ConstraintError(f"{tables.name_of_row(r)} depends on {names or 'the rows before it'}: {advice}")
