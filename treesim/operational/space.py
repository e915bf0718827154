"""The operational space of tasks: J, Λ, J̄, N and the equation of motion in the tasks' coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import plugins
from ..dynamics.functions import bias_forces
from ..dynamics.solve import solve_mass_matrix, times_inverse_mass
from ..engine.evaluate import Argument, coerce
from ..errors import ArgumentError
from ..kernels.operational import jacobian_states
from ..model.tree import Tree
from .frames import for_each_state, frame_codes
from .motion import FrameMotion, center_of_mass_jacobian, center_of_mass_motion, frame_motions
from .tasks import CenterOfMassTask, FramesTask, FrameTask, Task

RTOL = 1e-9
FLOOR = 1e-3  # with RTOL: what moves 1e12 times less easily than the rest moves by round-off only


@dataclass(frozen=True, eq=False)
class OperationalSpace:
    """The dynamics of a robot in the coordinates of its tasks, at one state or a batch of them (leading axes).

    jacobian (..., m, nv): J, xdot = J v. inverse_inertia (..., m, m): Λ^-1 = J H^-1 J'. rank: of Λ^-1, how many
    directions the robot can accelerate its tasks in; an integer, or (...) of them. inertia (..., m, m): Λ, the inverse
    of Λ^-1 on those directions and zero beyond, so that J H^-1 J' Λ J = J always, and Λ Λ^-1 = 1 only if rank is m.
    jbar (..., nv, m): J̄ = H^-1 J' Λ, the dynamically consistent inverse: J J̄ = 1 if rank is m, J J̄ J = J always.
    nullspace (..., nv, nv): N = 1 - J̄ J; J N = 0, N^2 = N, and N' tau leaves the tasks alone. bias (..., m):
    β = Jdot v - J H^-1 C, the tasks' acceleration without any forces but gravity's (C holds it) and f_ext.
    inverse_mass_jacobian (..., nv, m): H^-1 J'. Source: Featherstone 2010, section 2.
    """

    jacobian: np.ndarray
    inverse_inertia: np.ndarray
    inertia: np.ndarray
    rank: Any
    jbar: np.ndarray
    nullspace: np.ndarray
    bias: np.ndarray
    inverse_mass_jacobian: np.ndarray

    def acceleration(self, tau: Any) -> np.ndarray:
        """Return xddot (..., m) = J H^-1 tau + β under generalised forces tau (..., nv)."""
        return _apply(transposed(self.inverse_mass_jacobian), "tau", tau) + self.bias

    def force(self, acceleration: Any) -> np.ndarray:
        """Return the task force F (..., m) = Λ (xddot - β) for wanted accelerations xddot (..., m).

        Of accelerations that the robot cannot reach (rank below m), `torque(F)` gives their attainable part.
        """
        wanted = coerce(Argument("acceleration", acceleration, (self.bias.shape[-1],)))
        return _apply(self.inertia, "acceleration", wanted - self.bias)

    def torque(self, force: Any, tau0: Any = None) -> np.ndarray:
        """Return tau (..., nv) = J' F + N' tau0: task forces F (..., m), and tau0 (..., nv) as far as it does not
        disturb the tasks. The tasks then accelerate by Λ^-1 F + β."""
        tau = _apply(transposed(self.jacobian), "force", force)
        return tau if tau0 is None else tau + _apply(transposed(self.nullspace), "tau0", tau0)


def transposed(matrix: np.ndarray) -> np.ndarray:
    """Return the transposes of matrices (..., a, b)."""
    return np.swapaxes(matrix, -1, -2)


def _apply(matrix: np.ndarray, label: str, vector: Any) -> np.ndarray:
    x = coerce(Argument(label, vector, (matrix.shape[-1],)))
    return (matrix @ x[..., None])[..., 0]


def operational_space(
    robot: Tree,
    q: Any,
    v: Any,
    tasks: Task | Sequence[Task],
    method: str = "pv_osim",
    reference: str = "world",
    f_ext: Any = None,
    gravity: Any = None,
    rtol: float = RTOL,
) -> OperationalSpace:
    """Return the operational space of `tasks`: J, Λ^-1, Λ, its rank, J̄, N and β.

    q (..., nq), v (..., nv): configuration and velocity. tasks: names of frames (six rows, linear first), `FrameTask`,
    `RelativeTask`, `CenterOfMassTask`, in any mixture; rows follow their order. method: a name of
    `available("operational")`, for Λ^-1 of the frames the tasks are made of. reference: the axes, "world" or "local",
    of tasks that do not say. f_ext, gravity: as in `forward_dynamics`, they enter β.
    rtol: directions whose eigenvalue of Λ^-1, scaled to a unit diagonal, is below rtol of the largest count as
    unattainable: redundant, singular or fixed rows lower the rank, and nothing singular is inverted.
    Raises UnknownNameError, ArgumentError, NonFiniteError, SingularInertiaError, ModelError (centre of mass of no
    mass). Cost: the method's, plus O(m n d) for H^-1 J', O(m^3), and O(m n^2) for N. Source: Featherstone 2010.
    """
    if not 0 < rtol < 1:
        raise ArgumentError(f"rtol must lie between 0 and 1, got {rtol}")
    listed = _listed(tasks)
    q, v = _same_batch(robot, q, v)
    frames = tuple(dict.fromkeys(name for task in listed if isinstance(task, FramesTask) for name in task.frames))
    T, J, velocity_terms = _rows(robot, q, v, listed, frames, reference)
    X = times_inverse_mass(robot, q, J, J.shape[-2:])
    inverse = _contracted(robot, q, frames, method, T)
    of_frames = np.repeat([isinstance(task, FramesTask) for task in listed], [task.count for task in listed])
    if not of_frames.all():  # what frames do not tell, the centre of mass, from the definition
        inverse = np.where(np.logical_and.outer(of_frames, of_frames), inverse, _symmetric(J @ transposed(X)))
    inertia, rank = invert_on_range(inverse, rtol)
    jbar = transposed(X) @ inertia
    bias = velocity_terms - _apply(J, "bias", solve_mass_matrix(robot, q, bias_forces(robot, q, v, f_ext, gravity)))
    return OperationalSpace(J, inverse, inertia, rank, jbar, np.eye(robot.nv) - jbar @ J, bias, transposed(X))


def invert_on_range(inverse: np.ndarray, rtol: float = RTOL) -> tuple[np.ndarray, Any]:
    """Return Λ (..., m, m) and the rank of a positive semi-definite Λ^-1 (..., m, m).

    Rows in metres and radians compare badly, so Λ^-1 is scaled to a unit diagonal first: C = S^-1 Λ^-1 S^-1, where rows
    that move a thousand times less easily than the easiest are measured against that. Eigenvalues of C above rtol times
    the largest count; Λ = S^-1 C^+ S^-1, for which Λ^-1 Λ Λ^-1 = Λ^-1 up to what is cut. O(m^3).
    """
    diagonal = np.diagonal(inverse, axis1=-2, axis2=-1)
    easiest = diagonal.max(axis=-1, keepdims=True, initial=0.0)
    scale = np.sqrt(np.maximum(diagonal, FLOOR * np.where(easiest > 0, easiest, 1.0)))
    values, vectors = np.linalg.eigh(inverse / (scale[..., :, None] * scale[..., None, :]))
    attainable = values > rtol * values.max(axis=-1, keepdims=True, initial=0.0)
    directions = np.where(attainable[..., None, :], vectors, 0.0) / scale[..., :, None]
    inertia = (directions / np.where(attainable, values, 1.0)[..., None, :]) @ transposed(directions)
    rank = attainable.sum(axis=-1)
    return _symmetric(inertia), rank if rank.ndim else int(rank)


def _listed(tasks: Task | Sequence[Task]) -> list[FramesTask | CenterOfMassTask]:
    several = [tasks] if isinstance(tasks, str | FramesTask | CenterOfMassTask) else list(tasks)
    listed = [FrameTask(task) if isinstance(task, str) else task for task in several]
    for task in listed:
        if not isinstance(task, FramesTask | CenterOfMassTask):
            raise ArgumentError(f"a task is a frame's name or a task object, not {task!r}")
    return listed


def _same_batch(robot: Tree, q: Any, v: Any) -> tuple[np.ndarray, np.ndarray]:
    """q and v as arrays with the same leading axes."""
    q, v = coerce(Argument("q", q, (robot.nq,))), coerce(Argument("v", v, (robot.nv,)))
    try:
        batch = np.broadcast_shapes(q.shape[:-1], v.shape[:-1])
    except ValueError:
        raise ArgumentError(f"the batch axes of q {q.shape[:-1]} and v {v.shape[:-1]} do not fit together") from None
    return np.broadcast_to(q, (*batch, robot.nq)).copy(), np.broadcast_to(v, (*batch, robot.nv)).copy()


def _rows(
    robot: Tree,
    q: np.ndarray,
    v: np.ndarray,
    tasks: Sequence[FramesTask | CenterOfMassTask],
    frames: tuple[str, ...],
    reference: str,
) -> tuple[np.ndarray, ...]:
    """The rows of all tasks: T (..., m, 6 k) on the frames' velocities, J (..., m, nv), and Jdot v (..., m)."""
    batch, width, still = q.shape[:-1], 6 * len(frames), np.zeros(robot.nv)
    motion = frame_motions(robot, q, v, still, frames)
    J_frames = for_each_state(jacobian_states, robot, q, frame_codes(robot, frames, "world"), (width, robot.nv))
    parts = [(np.zeros((*batch, 0, width)), np.zeros((*batch, 0, robot.nv)), np.zeros((*batch, 0)))]
    for task in tasks:
        if isinstance(task, CenterOfMassTask):
            R, acceleration = task.matrix, center_of_mass_motion(robot, q, v, still)[2]
            T, J = np.zeros((*batch, task.count, width)), R @ center_of_mass_jacobian(robot, q)
            parts.append((T, J, acceleration @ R.T))
        else:
            T, terms = _on_frames(task, frames, motion, reference)
            parts.append((T, T @ J_frames, terms))
    return tuple(np.concatenate(part, axis=len(batch)) for part in zip(*parts, strict=True))


def _on_frames(
    task: FramesTask, frames: tuple[str, ...], motion: FrameMotion, reference: str
) -> tuple[np.ndarray, np.ndarray]:
    """T (..., r, 6 k) of one task, on all frames, and its Jdot v (..., r)."""
    batch = motion.position.shape[:-2]
    places = [frames.index(name) for name in task.frames]
    theirs = FrameMotion(*(part.take(places, axis=len(batch)) for part in motion))
    T = task.combination(theirs, reference)
    wide = np.zeros((*batch, task.count, 6 * len(frames)))
    for k, place in enumerate(places):
        wide[..., 6 * place : 6 * place + 6] += T[..., 6 * k : 6 * k + 6]
    accelerations = theirs.acceleration.reshape(*batch, 6 * len(places))
    return wide, _apply(T, "accelerations", accelerations) + task.velocity_terms(theirs, reference)


def _contracted(robot: Tree, q: np.ndarray, frames: tuple[str, ...], method: str, T: np.ndarray) -> np.ndarray:
    """T Λ^-1 T', Λ^-1 that of the frames by `method`."""
    of_frames = plugins.get("operational", method).inverse_inertia(robot, q, frames, "world")
    return _symmetric(T @ of_frames @ transposed(T))


def _symmetric(matrix: np.ndarray) -> np.ndarray:
    return (matrix + transposed(matrix)) / 2
