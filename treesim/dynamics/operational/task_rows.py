"""Base rows of tasks: whole frames in world axes, and the centre of mass; tasks are combinations of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ...engine.call.fast_entry import FastEntry
from ...errors import ArgumentError
from ...kernels.entries.status import FINE
from ...kernels.kinematics.frame_motion import NUMBERS
from ...kernels.operational.consistent_inverse import (
    mass_jacobian_states,
    null_projection_states,
    weighted_inverse_states,
)
from ...kernels.operational.operational_space import operational_rows_states
from ...model.frozen import frozen
from ...model.named_axes import velocity_argument
from ...model.quaternions import configuration
from ...model.tree import Tree
from ...states.states import on_states, state_function
from ...types import Reference
from ...validation.arrays import coerce, refuse_non_finite
from ...validation.values import parts_or_none, short_repr
from ..base import explain_failure
from ..inverse_dynamics import bias_forces
from ..tables import constants_of, kernel_wrenches
from .frames import in_world_axes, known_frame_codes
from .mimic import constraint_response
from .motion import FrameMotion, as_motion, massive
from .rows import is_all
from .tasks import CenterOfMassTask, FramesTask, FrameTask, Task

ROWS = FastEntry(operational_rows_states)
WEIGHTED, MASS_JACOBIAN = state_function(weighted_inverse_states), state_function(mass_jacobian_states)
PROJECTION = state_function(null_projection_states)
CENTERS = np.arange(0), np.arange(3)  # the kernels' rows of the centre of mass, without and with it
NO_FORCES = np.empty(0)
ONE_TASK = (str, FramesTask, CenterOfMassTask)


def transposed(matrix: np.ndarray) -> np.ndarray:
    """Return the transposes of matrices (..., a, b)."""
    return np.swapaxes(matrix, -1, -2)


def symmetric(matrix: np.ndarray) -> np.ndarray:
    """Return the symmetric parts of matrices (..., a, a)."""
    return (matrix + transposed(matrix)) / 2


def several_of(tasks: Task | Sequence[Task]) -> tuple[Any, ...]:
    """Return the tasks as a tuple, from one task or a sequence."""
    one: Any = tasks
    parts = None if isinstance(tasks, ONE_TASK) else parts_or_none(tasks)
    return (one,) if parts is None else parts


def listed_tasks(several: Sequence[Any]) -> list[FramesTask | CenterOfMassTask]:
    """Return the tasks as objects; raises ArgumentError for other values."""
    listed = [FrameTask(task) if isinstance(task, str) else task for task in several]
    for task in listed:
        if not isinstance(task, FramesTask | CenterOfMassTask):
            raise ArgumentError(f"a task is a frame's name or a task object, not {short_repr(task)}")
    return listed


def frames_of(tasks: Sequence[FramesTask | CenterOfMassTask]) -> tuple[str, ...]:
    """Return the names of the tasks' frames, without duplicates."""
    return tuple(dict.fromkeys(name for task in tasks if isinstance(task, FramesTask) for name in task.frames))


def centers_in(tasks: Sequence[FramesTask | CenterOfMassTask]) -> bool:
    """Return whether the centre of mass is among the tasks."""
    return any(isinstance(task, CenterOfMassTask) for task in tasks)


def _same_batch(robot: Tree, q: ArrayLike, v: ArrayLike, f_ext: ArrayLike | None) -> dict[str, np.ndarray | None]:
    """Return q, v and wrenches in kernel coordinates by name, with the same leading axes."""
    given = {"q": coerce(configuration(robot, q)), "v": coerce(velocity_argument(robot, "v", v))}
    forces = kernel_wrenches(robot, f_ext)
    if forces is not None:
        given["f_ext"] = forces
    inner = {"q": 1, "v": 1, "f_ext": 2}
    axes = {name: x.shape[: x.ndim - inner[name]] for name, x in given.items()}
    try:
        batch = np.broadcast_shapes(*axes.values())
    except ValueError:
        details = " and ".join(f"{name} {shape}" for name, shape in axes.items())
        raise ArgumentError(f"the batch axes of {details} do not fit together") from None
    found = {name: np.broadcast_to(x, (*batch, *x.shape[x.ndim - inner[name] :])) for name, x in given.items()}
    return {"f_ext": None, **found}


class BaseRows(NamedTuple):
    """Six rows for each frame and, last, three of the centre of mass if required.

    frames: their names. tables: constants of kernels for these rows. motions (..., k, 24): see `as_motion`.
    J (..., m, nv). inverse (..., m, m): Λ^-1. bias (..., m): β. Without mimic joints, Y (..., m, nv): Y_D, packed along
    paths, and factors (..., nnz) of H = L' D L; with mimic joints, X (..., nv, m): H^-1 J'.
    """

    frames: tuple[str, ...]
    tables: tuple[np.ndarray, ...]
    motions: np.ndarray
    J: np.ndarray
    inverse: np.ndarray
    bias: np.ndarray
    Y: np.ndarray | None = None
    factors: np.ndarray | None = None
    X: np.ndarray | None = None

    def mass_jacobian(self, robot: Tree) -> np.ndarray:
        """Return H^-1 J' (..., nv, m)."""
        if self.X is not None:
            return self.X
        if not self.J.size:
            return transposed(self.J).copy()
        constants = robot.ints, robot.reals, *self.tables
        return MASS_JACOBIAN(robot, *constants, self.Y, self.factors, "auto" if self.J.ndim == 2 else "generic")

    def weighted(self, robot: Tree, A: np.ndarray) -> np.ndarray:
        """Return H^-1 J' A (..., nv, w) for A (..., m, w), of one state by sparse rows."""
        if self._dense or not A.size:
            return self.mass_jacobian(robot) @ A
        constants = robot.ints, robot.reals, *self.tables, _columns(A.shape[-1])
        return WEIGHTED(robot, *constants, np.ascontiguousarray(A), self.Y, self.factors)

    def null_projection(self, robot: Tree, B: np.ndarray) -> np.ndarray:
        """Return 1 - B J (..., nv, nv) for B (..., nv, m), of one state by sparse rows."""
        if self._dense:
            return _identity_minus(B @ self.J)
        constants = robot.ints, robot.reals, *self.tables
        return PROJECTION(robot, *constants, np.ascontiguousarray(B), self.J)

    @property
    def _dense(self) -> bool:
        """Whether products are dense: with mimic joints, and in batches, where those of a library are faster."""
        return self.X is not None or self.J.ndim > 2 or not self.J.size


def _identity_minus(product: np.ndarray) -> np.ndarray:
    """Return 1 - P of contiguous square matrices P (..., n, n). Overwrites P."""
    np.negative(product, out=product)
    n = product.shape[-1]
    product.reshape(*product.shape[:-2], n * n)[..., :: n + 1] += 1
    return product


@lru_cache(maxsize=64)
def _columns(count: int) -> np.ndarray:
    """Return a table of so many columns, read-only, as the kernel of weighted inverses takes it."""
    return frozen(np.arange(count), np.int64)


def base_rows(
    robot: Tree,
    q: ArrayLike,
    v: ArrayLike,
    f_ext: ArrayLike | None,
    gravity: ArrayLike | None,
    frames: tuple[str, ...],
    centers: bool,
) -> BaseRows:
    """Return the rows of frames and, if required, of the centre of mass; arguments as in `operational_space`."""
    k, n, m = len(frames), robot.nv, 6 * len(frames) + 3 * centers
    tables = (*known_frame_codes(robot, frames, "local_world_aligned"), CENTERS[centers])
    constants = (*constants_of(robot, gravity), *tables)
    if centers:
        massive(robot)
    if robot.mimic_map is not None:
        return _held_rows(robot, q, v, f_ext, gravity, frames, centers)
    if f_ext is None:
        motions, J, Y = np.empty((k + centers, NUMBERS)), np.empty((m, n)), np.empty((m, n))
        factors, inverse, bias = np.empty(robot.nnz), np.empty((m, m)), np.empty(m)
        if ROWS.call(*constants, q, v, NO_FORCES, motions, J, Y, factors, inverse, bias) == FINE:
            return BaseRows(frames, tables, motions, J, inverse, bias, Y, factors)
    given = _same_batch(robot, q, v, f_ext)  # anything but one state in float arrays
    found = on_states(ROWS.entry, robot, constants, given, lambda named: explain_failure(robot, named))
    motions, J, Y, factors, inverse, bias = found
    return BaseRows(frames, tables, motions, J, inverse, bias, Y, factors)


def _held_rows(
    robot: Tree,
    q: ArrayLike,
    v: ArrayLike,
    f_ext: ArrayLike | None,
    gravity: ArrayLike | None,
    frames: tuple[str, ...],
    centers: bool,
) -> BaseRows:
    """Return the rows of a robot with mimic joints, from those of its spanning tree; see `mimic`."""
    mimic_map, answer = robot.mimic_map, constraint_response(robot, q)
    assert mimic_map is not None
    velocity = velocity_argument(robot, "v", v)
    speeds = coerce(velocity)
    refuse_non_finite([velocity], [speeds])
    whole, V = answer.whole, robot.expand_velocity(speeds)
    base = base_rows(whole, answer.q, V, f_ext, gravity, frames, centers)
    B = base.J @ answer.X
    lost = B @ answer.S_inv
    C = bias_forces(whole, answer.q, V, f_ext=f_ext, gravity=gravity)
    X = base.mass_jacobian(whole) - answer.X @ transposed(lost)
    bias = base.bias + (lost @ (transposed(answer.X) @ C[..., None]))[..., 0]
    J, inverse = base.J @ mimic_map.G, symmetric(base.inverse - lost @ transposed(B))
    X = np.ascontiguousarray(X[..., mimic_map.independent_v, :])
    return BaseRows(frames, base.tables, base.motions, J, inverse, bias, X=X)


def combined(
    base: BaseRows, tasks: Sequence[FramesTask | CenterOfMassTask], reference: Reference
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return T, J, Λ^-1 and β of tasks, which are combinations T of the base rows."""
    T, terms = _combinations(base, tasks, reference)
    bias = (T @ base.bias[..., None])[..., 0] + terms
    return T, T @ base.J, symmetric(T @ base.inverse @ transposed(T)), bias


def _combinations(
    base: BaseRows, tasks: Sequence[FramesTask | CenterOfMassTask], reference: Reference
) -> tuple[np.ndarray, np.ndarray]:
    """Return T (..., m, base rows), and the velocity terms (..., m) of the tasks' accelerations.

    A task's acceleration is T times that of the base rows, plus its velocity term.
    """
    batch, width = base.J.shape[:-2], base.J.shape[-2]
    motion = as_motion(base.motions)
    blocks, terms = [np.zeros((*batch, 0, width))], [np.zeros((*batch, 0))]
    for task in tasks:
        block = np.zeros((*batch, task.count, width))
        if isinstance(task, CenterOfMassTask):
            block[..., width - 3 :] = task.matrix
            terms.append(np.zeros((*batch, task.count)))
        else:
            places = [base.frames.index(name) for name in task.frames]
            theirs = FrameMotion(*(part.take(places, axis=len(batch)) for part in motion))
            T = task.combination(theirs, reference)
            for k, place in enumerate(places):
                block[..., 6 * place : 6 * place + 6] += T[..., 6 * k : 6 * k + 6]
            terms.append(task.velocity_terms(theirs, reference))
        blocks.append(block)
    return np.concatenate(blocks, axis=-2), np.concatenate(terms, axis=-1)


def are_the_base(base: BaseRows, tasks: Sequence[FramesTask | CenterOfMassTask], reference: Reference) -> bool:
    """Return whether the tasks are the base rows in order: full frames, then optionally the centre of mass."""
    k = len(base.frames)
    whole = all(
        isinstance(task, FrameTask)
        and is_all(task.rows)
        and in_world_axes(reference if task.reference is None else task.reference)
        for task in tasks[:k]
    )
    last = all(isinstance(task, CenterOfMassTask) and is_all(task.rows) for task in tasks[k:])
    return whole and last and k <= len(tasks) <= k + 1
