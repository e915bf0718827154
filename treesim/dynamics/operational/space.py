"""The operational space of tasks: J, Λ, J̄, N and the equation of motion in the tasks' coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ... import plugins
from ...engine.call.evaluate import Argument, coerce, refuse_overflow
from ...engine.call.fast_entry import FastEntry
from ...engine.call.generic import compiled
from ...errors import ArgumentError
from ...kernels.entries.status import FINE
from ...kernels.operational.consistent_inverse import consistent_inverse_states
from ...kernels.operational.scaled_inverse import scaled_inverses
from ...model.tree import Tree
from ...states.arguments import checked_robot
from ...system.display import ReprMixin, arrays, batch, span
from ...types import Reference
from .mimic import inverse_inertia_by
from .task_rows import (
    BaseRows,
    are_the_base,
    base_rows,
    centers_in,
    combined,
    frames_of,
    listed_tasks,
    several_of,
    symmetric,
    transposed,
)
from .tasks import Task

RTOL = 1e-9
FLOOR = 1e-3  # with RTOL: what moves 1e12 times less easily than the rest moves by round-off only
LTDL = "ltdl"  # the method whose factors J̄ and β need anyway
CONSISTENT = FastEntry(consistent_inverse_states)


@dataclass(frozen=True, eq=False, repr=False)
class OperationalSpace(ReprMixin):
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

    def _repr_fields(self) -> list[tuple[str, Any]]:
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


def _apply(matrix: np.ndarray, label: str, vector: ArrayLike) -> np.ndarray:
    x = coerce(Argument(label, vector, (matrix.shape[-1],)))
    return (matrix @ x[..., None])[..., 0]


def operational_space(
    robot: Tree,
    q: ArrayLike,
    v: ArrayLike,
    tasks: Task | Sequence[Task],
    *,
    method: str = LTDL,
    reference: Reference = "world",
    f_ext: ArrayLike | None = None,
    gravity: ArrayLike | None = None,
    rtol: float = RTOL,
) -> OperationalSpace:
    """Return the operational space of `tasks`: J, Λ^-1, Λ, its rank, J̄, N and β.

    q (..., nq), v (..., nv): configuration and velocity. tasks: names of frames (six rows, linear first), `FrameTask`,
    `RelativeTask`, `CenterOfMassTask`, in any mixture; rows follow their order. method: a name of
    `available("operational")`, for Λ^-1 of the frames the tasks are made of; the factors of "ltdl" are there anyway.
    reference: the axes, "world" or "local", of tasks that do not say. f_ext, gravity: as in `forward_dynamics`, they
    enter β.
    rtol: directions whose eigenvalue of Λ^-1, scaled to a unit diagonal, is below rtol of the largest count as
    unattainable: redundant, singular or fixed rows lower the rank, and nothing singular is inverted.
    Raises UnknownNameError, ArgumentError, NonFiniteError, SingularInertiaError, ModelError (centre of mass of no
    mass). Cost: O(n d^2) for H and its factors, O(m d^2 + m^2 d) for Λ^-1, O(m n (m + d)) for J̄ and N, and O(m^3);
    O(m n^2) where tasks are other than whole frames along the world's axes. Source: Featherstone 2010, eq. 8, 10, 22
    and 33.

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
    several = several_of(tasks)
    plain = reference == "world" and {*map(type, several)} == {str} and len({*several}) == len(several)
    listed = [] if plain else listed_tasks(several)
    base = base_rows(robot, q, v, f_ext, gravity, several if plain else frames_of(listed), centers_in(listed))
    if method != LTDL:
        base.inverse[..., : 6 * len(base.frames), : 6 * len(base.frames)] = _by_method(robot, q, base, method)
    J, X, inverse, bias = base.J, base.X, base.inverse, base.bias
    if plain or are_the_base(base, listed, reference):
        regular = _of_full_rank(robot, base, rtol)
        if regular is not None:
            inertia, jbar, nullspace = regular
            return OperationalSpace(J, inverse, inertia, len(J), jbar, nullspace, bias, X, robot.name)
    else:
        J, X, inverse, bias = combined(base, listed, reference)
    inertia, rank = invert_on_range(inverse, rtol)
    jbar = X @ inertia
    nullspace = _identity_minus(jbar @ J)
    refuse_overflow("the operational space", nullspace, bias)  # all else enters one of the two
    return OperationalSpace(J, inverse, inertia, rank, jbar, nullspace, bias, X, robot.name)


def _by_method(robot: Tree, q: ArrayLike, base: BaseRows, method: str) -> np.ndarray:
    """Λ^-1 of the frames by `method`."""
    return inverse_inertia_by(plugins.get("operational", method), robot, q, base.frames, "world")


def _identity_minus(product: np.ndarray) -> np.ndarray:
    """1 - P of square matrices P (..., n, n), dense in memory, in their place."""
    np.negative(product, out=product)
    n = product.shape[-1]
    product.reshape(*product.shape[:-2], n * n)[..., :: n + 1] += 1
    return product


def _of_full_rank(robot: Tree, base: BaseRows, rtol: float) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Λ, J̄ and N of the base rows at one state, by sparse rows, if Λ^-1 is certain to have full rank; dense products of
    whole batches, a library's, take as long."""
    J, X, inverse = base.J, base.X, base.inverse
    if J.ndim > 2 or not J.size:
        return None
    found = np.empty_like(inverse), np.empty_like(X), np.empty((robot.nv, robot.nv))
    constants = (robot.ints, robot.reals, *base.tables, _limits(rtol))
    return found if CONSISTENT.call(*constants, inverse, J, X, *found) == FINE else None


@lru_cache(maxsize=16)
def _limits(rtol: float) -> np.ndarray:
    """What `scaled_inverse` is told, read-only."""
    limits = np.array([rtol, FLOOR])
    limits.setflags(write=False)
    return limits


def invert_on_range(inverse: np.ndarray, rtol: float = RTOL) -> tuple[np.ndarray, Any]:
    """Return Λ (..., m, m) and the rank of a positive semi-definite Λ^-1 (..., m, m).

    Rows in metres and radians compare badly, so Λ^-1 is scaled to a unit diagonal first: C = S^-1 Λ^-1 S^-1, where rows
    that move a thousand times less easily than the easiest are measured against that. Eigenvalues of C above rtol times
    the largest count; Λ = S^-1 C^+ S^-1, for which Λ^-1 Λ Λ^-1 = Λ^-1 up to what is cut. O(m^3).
    """
    m = inverse.shape[-1]
    inertia = np.empty(inverse.shape)
    states = np.ascontiguousarray(inverse).ravel()
    if m and compiled(scaled_inverses)(states, m, _limits(rtol), inertia.ravel()) < 0:
        return inertia, np.full(inverse.shape[:-2], m) if inverse.ndim > 2 else m
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
    return symmetric(inertia), rank if rank.ndim else int(rank)
