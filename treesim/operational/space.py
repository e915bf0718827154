"""The operational space of tasks: J, Λ, J̄, N and the equation of motion in the tasks' coordinates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .. import plugins
from ..display import Shown, arrays, batch, span
from ..dynamics.base import explain_failure
from ..dynamics.functions import bias_forces
from ..engine.call.evaluate import Argument, coerce, refuse_overflow
from ..engine.call.fast_entry import FastEntry
from ..engine.generic import compiled
from ..errors import ArgumentError
from ..kernels.frame_motion import NUMBERS
from ..kernels.operational_space import operational_rows_and_center_states, operational_rows_states
from ..kernels.scaled_inverse import scaled_inverses
from ..kernels.status import FINE
from ..model.given import checked_robot
from ..model.quaternions import configuration
from ..model.states import on_states
from ..model.tree import Tree
from ..types import Reference
from .frames import known_frame_codes
from .motion import ACCELERATION, FrameMotion, as_motion, massive
from .tasks import CenterOfMassTask, FramesTask, FrameTask, Task

RTOL = 1e-9
ROWS = FastEntry(operational_rows_states), FastEntry(operational_rows_and_center_states)  # by centres of mass
FLOOR = 1e-3  # with RTOL: what moves 1e12 times less easily than the rest moves by round-off only


@dataclass(frozen=True, eq=False, repr=False)
class OperationalSpace(Shown):
    """The dynamics of a robot in the coordinates of its tasks, at one state or a batch of them (leading axes).

    jacobian (..., m, nv): J, xdot = J v. inverse_inertia (..., m, m): Λ^-1 = J H^-1 J'. rank: of Λ^-1, how many
    directions the robot can accelerate its tasks in; an integer, or (...) of them. inertia (..., m, m): Λ, the inverse
    of Λ^-1 on those directions and zero beyond, so that J H^-1 J' Λ J = J always, and Λ Λ^-1 = 1 only if rank is m.
    jbar (..., nv, m): J̄ = H^-1 J' Λ, the dynamically consistent inverse: J J̄ = 1 if rank is m, J J̄ J = J always.
    nullspace (..., nv, nv): N = 1 - J̄ J; J N = 0, N^2 = N, and N' tau leaves the tasks alone. bias (..., m):
    β = Jdot v - J H^-1 C, the tasks' acceleration without any forces but gravity's (C holds it) and f_ext.
    inverse_mass_jacobian (..., nv, m): H^-1 J'. robot_name: of the robot. Source: Featherstone 2010, section 4.

    Example:
        >>> robot = treesim.load("ur5")
        >>> task = treesim.FrameTask("ee_link", "position")
        >>> space = treesim.operational_space(robot, np.full(6, 0.5), np.zeros(6), task)
        >>> tau = space.torque(space.force([0, 0, 1]))  # up, with what the other joints need to stay out of it
        >>> np.allclose(space.acceleration(tau), [0, 0, 1])
        True
    """

    jacobian: np.ndarray
    inverse_inertia: np.ndarray
    inertia: np.ndarray
    rank: Any
    jbar: np.ndarray
    nullspace: np.ndarray
    bias: np.ndarray
    inverse_mass_jacobian: np.ndarray
    robot_name: str = ""

    def __repr__(self) -> str:
        m, nv = self.jacobian.shape[-2:]
        name = f" of {self.robot_name!r}" if self.robot_name else ""
        rank = span(np.ravel(self.rank).tolist())
        return f"<OperationalSpace{name}: {m} rows, rank {rank}, nv {nv}{batch(self.bias)}>"

    def _facts(self) -> list[tuple[str, Any]]:
        labels = ("jacobian", "inverse_inertia", "inertia", "rank", "jbar", "nullspace", "bias")
        return arrays(self, *labels, "inverse_mass_jacobian")

    def acceleration(self, tau: ArrayLike) -> np.ndarray:
        """Return xddot (..., m) = J H^-1 tau + β under generalised forces tau (..., nv)."""
        return _apply(transposed(self.inverse_mass_jacobian), "tau", tau) + self.bias

    def force(self, acceleration: ArrayLike) -> np.ndarray:
        """Return the task force F (..., m) = Λ (xddot - β) for wanted accelerations xddot (..., m).

        Of accelerations that the robot cannot reach (rank below m), `torque(F)` gives their attainable part.
        """
        wanted = coerce(Argument("acceleration", acceleration, (self.bias.shape[-1],)))
        return _apply(self.inertia, "acceleration", wanted - self.bias)

    def torque(self, force: ArrayLike, tau0: ArrayLike | None = None) -> np.ndarray:
        """Return tau (..., nv) = J' F + N' tau0: task forces F (..., m), and tau0 (..., nv) as far as it does not
        disturb the tasks. The tasks then accelerate by Λ^-1 F + β."""
        tau = _apply(transposed(self.jacobian), "force", force)
        return tau if tau0 is None else tau + _apply(transposed(self.nullspace), "tau0", tau0)


def transposed(matrix: np.ndarray) -> np.ndarray:
    """Return the transposes of matrices (..., a, b)."""
    return np.swapaxes(matrix, -1, -2)


def _apply(matrix: np.ndarray, label: str, vector: ArrayLike) -> np.ndarray:
    x = coerce(Argument(label, vector, (matrix.shape[-1],)))
    return (matrix @ x[..., None])[..., 0]


def operational_space(
    robot: Tree,
    q: ArrayLike,
    v: ArrayLike,
    tasks: Task | Sequence[Task],
    method: str = "pv_osim",
    reference: Reference = "world",
    f_ext: ArrayLike | None = None,
    gravity: ArrayLike | None = None,
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

    Example:
        >>> robot = treesim.load("ur5")
        >>> q, v = np.full(6, 0.5), np.zeros(6)
        >>> treesim.operational_space(robot, q, v, "ee_link")
        <OperationalSpace of 'ur5': 6 rows, rank 6, nv 6>
        >>> treesim.operational_space(robot, q, v, ["ee_link", "tool0"])  # twelve rows of six joints
        <OperationalSpace of 'ur5': 12 rows, rank 6, nv 6>
    """
    robot = checked_robot(robot)
    if not 0 < rtol < 1:
        raise ArgumentError(f"rtol must lie between 0 and 1, got {rtol}")
    listed = _listed(tasks)
    q, v = _same_batch(robot, q, v)
    base = _base_rows(robot, q, v, listed)
    T, J, X, velocity_terms = _combined(base, listed, reference)
    inverse = _inverse_inertia(robot, q, base, method)
    if T is not None:
        inverse = _symmetric(T @ inverse @ transposed(T))
    inertia, rank = invert_on_range(inverse, rtol)
    jbar = X @ inertia
    bias = velocity_terms - (bias_forces(robot, q, v, f_ext, gravity)[..., None, :] @ X)[..., 0, :]
    nullspace = _identity_minus(jbar @ J)
    refuse_overflow("the operational space", nullspace, bias)  # all else enters one of the two
    return OperationalSpace(J, inverse, inertia, rank, jbar, nullspace, bias, X, robot.name)


def _identity_minus(product: np.ndarray) -> np.ndarray:
    """1 - P of square matrices P (..., n, n), dense in memory, in their place."""
    np.negative(product, out=product)
    n = product.shape[-1]
    product.reshape(*product.shape[:-2], n * n)[..., :: n + 1] += 1
    return product


def invert_on_range(inverse: np.ndarray, rtol: float = RTOL) -> tuple[np.ndarray, Any]:
    """Return Λ (..., m, m) and the rank of a positive semi-definite Λ^-1 (..., m, m).

    Rows in metres and radians compare badly, so Λ^-1 is scaled to a unit diagonal first: C = S^-1 Λ^-1 S^-1, where rows
    that move a thousand times less easily than the easiest are measured against that. Eigenvalues of C above rtol times
    the largest count; Λ = S^-1 C^+ S^-1, for which Λ^-1 Λ Λ^-1 = Λ^-1 up to what is cut. O(m^3).
    """
    m, batch = inverse.shape[-1], inverse.shape[:-2]
    inertia = np.empty(inverse.shape)
    states = np.ascontiguousarray(inverse).ravel()
    if m and compiled(scaled_inverses)(states, m, np.array([rtol, FLOOR]), inertia.ravel()) < 0:
        return inertia, np.full(batch, m) if batch else m
    refuse_overflow("the inverse operational-space inertia", states)
    diagonal = inverse.diagonal(0, -2, -1)
    easiest = diagonal.max(axis=-1, keepdims=True, initial=0.0)
    scale = np.sqrt(np.maximum(diagonal, FLOOR * (easiest + (easiest == 0))))
    C = inverse / (scale[..., :, None] * scale[..., None, :])
    values, vectors = np.linalg.eigh(C)
    attainable = values > rtol * values.max(axis=-1, keepdims=True, initial=0.0)
    directions = np.where(attainable[..., None, :], vectors, 0.0) / scale[..., :, None]
    inertia = (directions / np.where(attainable, values, 1.0)[..., None, :]) @ transposed(directions)
    rank = attainable.sum(axis=-1)
    return _symmetric(inertia), rank if rank.ndim else int(rank)


def _listed(tasks: Task | Sequence[Task]) -> list[FramesTask | CenterOfMassTask]:
    given: Any = tasks
    one = isinstance(tasks, str | FramesTask | CenterOfMassTask) or not isinstance(tasks, Iterable)
    several = [given] if one else list(given)
    listed = [FrameTask(task) if isinstance(task, str) else task for task in several]
    for task in listed:
        if not isinstance(task, FramesTask | CenterOfMassTask):
            raise ArgumentError(f"a task is a frame's name or a task object, not {task!r}")
    return listed


def _same_batch(robot: Tree, q: ArrayLike, v: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """q and v as arrays with the same leading axes."""
    q, v = coerce(configuration(robot, q)), coerce(Argument("v", v, (robot.nv,)))
    if q.ndim == v.ndim == 1:
        return q, v
    try:
        batch = np.broadcast_shapes(q.shape[:-1], v.shape[:-1])
    except ValueError:
        raise ArgumentError(f"the batch axes of q {q.shape[:-1]} and v {v.shape[:-1]} do not fit together") from None
    return np.broadcast_to(q, (*batch, robot.nq)).copy(), np.broadcast_to(v, (*batch, robot.nv)).copy()


class _BaseRows(NamedTuple):
    """What all tasks are combinations of: six rows a frame and, last, three of the centre of mass if wanted; rows of
    motions as `as_motion` takes them."""

    frames: tuple[str, ...]
    motions: np.ndarray
    J: np.ndarray
    X: np.ndarray


def _base_rows(robot: Tree, q: np.ndarray, v: np.ndarray, tasks: Sequence[FramesTask | CenterOfMassTask]) -> _BaseRows:
    frames = tuple(dict.fromkeys(name for task in tasks if isinstance(task, FramesTask) for name in task.frames))
    centers = any(isinstance(task, CenterOfMassTask) for task in tasks)
    m = 6 * len(frames) + 3 * centers
    shapes = (len(frames) + centers, NUMBERS), (m, robot.nv), (robot.nv, m)
    constants = (robot.ints, robot.reals, *known_frame_codes(robot, frames, "world"))
    if centers:
        massive(robot)
    if q.ndim == 1 and robot.nv:  # one state goes straight to machine code
        motions, J, X = np.empty(shapes[0]), np.empty(shapes[1]), np.empty(shapes[2])
        if ROWS[centers].call(*constants, q, v, motions, J, X) == FINE:
            return _BaseRows(frames, motions, J, X)
    motions, J, X = on_states(
        ROWS[centers].entry, robot, constants, {"q": q, "v": v}, lambda named: explain_failure(robot, named)
    )
    return _BaseRows(frames, motions, J, X)


def _inverse_inertia(robot: Tree, q: np.ndarray, base: _BaseRows, method: str) -> np.ndarray:
    """Λ^-1 of the base rows: by `method` of the frames, and from its definition J X where the centre of mass enters."""
    of_frames = plugins.get("operational", method).inverse_inertia(robot, q, base.frames, "world")
    m, k = base.J.shape[-2], of_frames.shape[-1]
    if m == k:
        return np.asarray(of_frames)
    inverse = np.empty((*of_frames.shape[:-2], m, m))
    rows = base.J[..., k:, :] @ base.X
    inverse[..., :k, :k], inverse[..., k:, :], inverse[..., :, k:] = of_frames, rows, transposed(rows)
    return inverse


def _combined(
    base: _BaseRows, tasks: Sequence[FramesTask | CenterOfMassTask], reference: Reference
) -> tuple[np.ndarray | None, np.ndarray, np.ndarray, np.ndarray]:
    """T (..., m, base rows), or None for the identity; J = T times the base's, X = H^-1 J', and Jdot v (..., m)."""
    batch, width = base.J.shape[:-2], base.J.shape[-2]
    if _are_the_base(base, tasks, reference):
        return None, base.J, base.X, base.motions[..., ACCELERATION].reshape(*batch, width)
    motion = as_motion(base.motions)
    blocks, terms = [np.zeros((*batch, 0, width))], [np.zeros((*batch, 0))]
    for task in tasks:
        block = np.zeros((*batch, task.count, width))
        if isinstance(task, CenterOfMassTask):
            block[..., width - 3 :] = task.matrix
            terms.append(motion.acceleration[..., -1, :3] @ task.matrix.T)
        else:
            places = [base.frames.index(name) for name in task.frames]
            theirs = FrameMotion(*(part.take(places, axis=len(batch)) for part in motion))
            T = task.combination(theirs, reference)
            for k, place in enumerate(places):
                block[..., 6 * place : 6 * place + 6] += T[..., 6 * k : 6 * k + 6]
            accelerations = theirs.acceleration.reshape(*batch, 6 * len(places))
            terms.append(_apply(T, "accelerations", accelerations) + task.velocity_terms(theirs, reference))
        blocks.append(block)
    T = np.concatenate(blocks, axis=-2)
    return T, T @ base.J, base.X @ transposed(T), np.concatenate(terms, axis=-1)


def _are_the_base(base: _BaseRows, tasks: Sequence[FramesTask | CenterOfMassTask], reference: Reference) -> bool:
    """Whether the tasks are the base's frames, as they stand."""
    return len(tasks) == len(base.frames) and all(
        isinstance(task, FrameTask) and task.rows is None and (task.reference or reference) == "world" for task in tasks
    )


def _symmetric(matrix: np.ndarray) -> np.ndarray:
    return (matrix + transposed(matrix)) / 2
