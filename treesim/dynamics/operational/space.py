"""Operational space of tasks: J, Λ, J̄, N and the equation of motion in task coordinates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ... import plugins
from ...engine.call.evaluate import in_precision, refuse_overflow
from ...engine.call.fast_entry import FastEntry
from ...engine.call.generic import compiled
from ...errors import ArgumentError, plain_text
from ...kernels.entries.status import FINE
from ...kernels.operational.consistent_inverse import consistent_inverse_states
from ...kernels.operational.scaled_inverse import scaled_inverses
from ...model.frozen import frozen
from ...model.tree import Tree
from ...states.arguments import checked_robot
from ...system.display import ReprMixin, arrays, batch, span
from ...types import OperationalMethod, Reference
from ...validation.arrays import Argument, coerce, precision
from ...validation.values import finite_or_nan, is_name_of, short_repr
from .frames import in_world_axes
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


ARRAYS = ("jacobian", "inverse_inertia", "inertia", "jbar", "nullspace", "bias")


@dataclass(frozen=True, eq=False, repr=False)
class OperationalSpace(ReprMixin):
    """Dynamics of a robot in the coordinates of its tasks, at one state or a batch of states.

    Parameters
    ----------
    jacobian : numpy.ndarray
        (..., m, nv) task Jacobian J, so that J v is the task velocity xdot.
    inverse_inertia : numpy.ndarray
        (..., m, m) inverse inertia Λ^-1 = J H^-1 J', where H is the mass matrix.
    inertia : numpy.ndarray
        (..., m, m) inertia Λ: the pseudo-inverse of Λ^-1, so that J H^-1 J' Λ J = J. Only if the rank is m, Λ Λ^-1 = 1.
    rank : int or numpy.ndarray
        Rank of Λ^-1: the number of directions in which the robot can accelerate its tasks.
    jbar : numpy.ndarray
        (..., nv, m) dynamically consistent inverse J̄ = H^-1 J' Λ, with J J̄ J = J. If the rank is m, J J̄ = 1.
    nullspace : numpy.ndarray
        (..., nv, nv) projection N = 1 - J̄ J, with J N = 0 and N^2 = N. Generalised forces N' tau do not accelerate the
        tasks.
    bias : numpy.ndarray
        (..., m) acceleration β = Jdot v - J H^-1 C of the tasks if tau is zero. The bias forces C include gravity and
        f_ext.
    robot_name : str
        Name of the robot.

    Notes
    -----
    Source: Featherstone 2010, sections 4 and 8. The attribute `inverse_mass_jacobian` is computed when it is first
    read.

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> task = treesim.FrameTask("ee_link", "linear")
    >>> space = treesim.operational_space(robot, np.full(6, 0.5), np.zeros(6), task)
    >>> tau = space.torque(space.force([0, 0, 1]))  # accelerates the tool upward by 1 m/s^2
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
    robot_name: str = ""
    _mass_jacobian: Callable[[], np.ndarray] | None = field(default=None, init=False)

    def __repr__(self) -> str:
        m, nv = self.jacobian.shape[-2:]
        name = f" of {self.robot_name!r}" if self.robot_name else ""
        rank = span(np.ravel(self.rank).tolist())
        return f"<OperationalSpace{name}: {m} rows, rank {rank}, nv {nv}{batch(self.bias)}>"

    def _repr_fields(self) -> list[tuple[str, Any]]:
        return arrays(self, *ARRAYS[:3], "rank", *ARRAYS[3:])

    @cached_property
    def inverse_mass_jacobian(self) -> np.ndarray:
        """Product H^-1 J' (..., nv, m) of the inverse mass matrix and the transposed Jacobian of the tasks."""
        assert self._mass_jacobian is not None
        return in_precision("H^-1 J'", self._mass_jacobian(), self.bias.dtype)

    def acceleration(self, tau: ArrayLike) -> np.ndarray:
        """Return the accelerations of the tasks that given generalised forces cause.

        Parameters
        ----------
        tau : array_like
            (..., nv) generalised forces.

        Returns
        -------
        numpy.ndarray
            (..., m) xddot = J H^-1 tau + β.
        """
        return _apply(transposed(self.inverse_mass_jacobian), "tau", tau) + self.bias

    def force(self, acceleration: ArrayLike) -> np.ndarray:
        """Return the task forces that produce given accelerations of the tasks.

        Parameters
        ----------
        acceleration : array_like
            (..., m) required accelerations xddot.

        Returns
        -------
        numpy.ndarray
            (..., m) task forces F = Λ (xddot - β). If the rank is below m, the forces `torque(F)` produce only the
            attainable part of xddot.
        """
        given = Argument("acceleration", acceleration, (self.bias.shape[-1],))
        wanted = coerce(given, precision(self.bias, acceleration))
        return _apply(self.inertia, "acceleration", wanted - self.bias)

    def torque(self, force: ArrayLike, tau0: ArrayLike | None = None) -> np.ndarray:
        """Return the generalised forces that are equivalent to task forces F; the tasks then accelerate by Λ^-1 F + β.

        Parameters
        ----------
        force : array_like
            (..., m) task forces F.
        tau0 : array_like, optional
            (..., nv) additional generalised forces. They are projected by N', so that they do not accelerate the tasks.

        Returns
        -------
        numpy.ndarray
            (..., nv) tau = J' F + N' tau0.
        """
        tau = _apply(transposed(self.jacobian), "force", force)
        return tau if tau0 is None else tau + _apply(transposed(self.nullspace), "tau0", tau0)


def _apply(matrix: np.ndarray, label: str, vector: ArrayLike) -> np.ndarray:
    x = coerce(Argument(label, vector, (matrix.shape[-1],)), precision(matrix, vector))
    return (matrix @ x[..., None])[..., 0]


def operational_space(
    robot: Tree,
    q: ArrayLike,
    v: ArrayLike,
    tasks: Task | Sequence[Task],
    *,
    method: OperationalMethod = LTDL,
    reference: Reference = "local_world_aligned",
    f_ext: ArrayLike | None = None,
    gravity: ArrayLike | None = None,
    rtol: float = RTOL,
) -> OperationalSpace:
    """Return the operational-space quantities of tasks; `OperationalSpace` defines J, Λ, J̄, N and β.

    Parameters
    ----------
    robot, q, v
        As in `treesim.forward_dynamics`.
    tasks : str, FrameTask, RelativeTask, CenterOfMassTask or sequence of them
        Tasks. The rows of the results are in the order of the tasks. The name of a frame stands for six rows, linear
        before angular.
    method : str
        Method for Λ^-1 of the tasks' frames, see `available("operational")`. Other quantities are computed with the
        factors of "ltdl".
    reference : str
        Axes of tasks that have no reference of their own: "local_world_aligned" or "local".
    f_ext, gravity : array_like, optional
        As in `treesim.forward_dynamics`. Both change β only.
    rtol : float
        Threshold for the rank. Λ^-1 is scaled so that its diagonal is 1. Directions whose eigenvalue is below rtol
        times the largest eigenvalue count as unattainable. Redundant, singular or fixed rows therefore reduce the rank.

    Returns
    -------
    OperationalSpace
        Quantities of the operational space.

    Raises
    ------
    UnknownNameError
        If a frame, the method or the reference is unknown.
    ArgumentError
        If an argument has another type or shape.
    NonFiniteError
        If an argument is not finite, or a result overflows.
    SingularInertiaError
        If a joint moves no inertia.
    ModelError
        If a task concerns the centre of mass, and the robot has no mass.

    Notes
    -----
    Cost for n degrees of freedom, m rows and tree depth d: O(n d^2) for the mass matrix and its factors, O(m d^2 + m^2
    d) for Λ^-1, O(m n (m + d)) for J̄ and N, and O(m^3) for Λ. If tasks are not the six rows of frames in world axes,
    the total cost is O(m n^2). Source: Featherstone 2010, eq. 8, 10, 22 and 33.

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> q, v = np.full(6, 0.5), np.zeros(6)
    >>> treesim.operational_space(robot, q, v, "ee_link")
    <OperationalSpace of 'ur5': 6 rows, rank 6, nv 6>
    >>> treesim.operational_space(robot, q, v, ["ee_link", "tool0"])  # twelve rows of six joints
    <OperationalSpace of 'ur5': 12 rows, rank 6, nv 6>
    """
    robot = checked_robot(robot)
    if not 0 < (limit := finite_or_nan(rtol)) < 1:
        raise ArgumentError(f"rtol must lie between 0 and 1, got {short_repr(rtol)}")
    rtol = limit
    number = precision(q, v)  # computed in double precision; float32 arguments have results in float32
    several = tuple(map(plain_text, several_of(tasks)))
    plain = in_world_axes(reference) and {*map(type, several)} == {str} and len({*several}) == len(several)
    listed = [] if plain else listed_tasks(several)
    base = base_rows(robot, q, v, f_ext, gravity, several if plain else frames_of(listed), centers_in(listed))
    if not is_name_of(method, (LTDL,)):
        rows, solver = slice(6 * len(base.frames)), plugins.get("operational", method)
        base.inverse[..., rows, rows] = inverse_inertia_by(solver, robot, q, base.frames, "local_world_aligned")
    T, J, inverse, bias = None, base.J, base.inverse, base.bias
    if plain or are_the_base(base, listed, reference):
        regular = _of_full_rank(robot, base, rtol)
        if regular is not None:
            inertia, jbar, nullspace = regular
            space = OperationalSpace(J, inverse, inertia, len(J), jbar, nullspace, bias, robot.name)
            return _finished(space, robot, base, None, number)
    else:
        T, J, inverse, bias = combined(base, listed, reference)
    inertia, rank = invert_on_range(inverse, rtol)
    jbar = base.weighted(robot, inertia if T is None else transposed(T) @ inertia)
    nullspace = base.null_projection(robot, jbar if T is None else jbar @ T)
    refuse_overflow("the operational space", nullspace, bias)  # all else enters one of the two
    space = OperationalSpace(J, inverse, inertia, rank, jbar, nullspace, bias, robot.name)
    return _finished(space, robot, base, T, number)


def _finished(
    space: OperationalSpace, robot: Tree, base: BaseRows, T: np.ndarray | None, number: type[np.floating]
) -> OperationalSpace:
    """Return the space in a number type; it will compute H^-1 J' of combinations T of the base rows when it is read."""
    if number is not np.float64:
        rounded: dict[str, Any] = {label: in_precision(label, getattr(space, label), number) for label in ARRAYS}
        space = replace(space, **rounded)
    object.__setattr__(space, "_mass_jacobian", partial(_mass_jacobian, robot, base, T))
    return space


def _mass_jacobian(robot: Tree, base: BaseRows, T: np.ndarray | None) -> np.ndarray:
    """Return H^-1 J' (..., nv, m) of combinations T of the base rows, all of them if None."""
    X = base.mass_jacobian(robot)
    return X if T is None else X @ transposed(T)


def _of_full_rank(robot: Tree, base: BaseRows, rtol: float) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Return Λ, J̄ and N of the base rows at one state by sparse rows; None if Λ^-1 may not have full rank.

    Also None for batches and robots with mimic joints.
    """
    J, inverse = base.J, base.inverse
    if J.ndim > 2 or not J.size or base.X is not None:
        return None
    found = np.empty_like(inverse), np.empty((robot.nv, len(J))), np.empty((robot.nv, robot.nv))
    constants = (robot.ints, robot.reals, *base.tables, _limits(rtol))
    return found if CONSISTENT.call(*constants, inverse, J, base.Y, base.factors, *found) == FINE else None


@lru_cache(maxsize=16)
def _limits(rtol: float) -> np.ndarray:
    """Return the tolerances for `scaled_inverse`, read-only."""
    return frozen([rtol, FLOOR])


def invert_on_range(inverse: np.ndarray, rtol: float = RTOL) -> tuple[np.ndarray, Any]:
    """Return Λ (..., m, m) and the rank of a positive semi-definite Λ^-1 (..., m, m).

    Rows in metres and radians are not comparable, so Λ^-1 is scaled to a unit diagonal first: C = S^-1 Λ^-1 S^-1. The
    diagonal entries used for S are at least a thousandth of the largest. Eigenvalues of C above rtol times the largest
    one count. Λ = S^-1 C^+ S^-1, for which Λ^-1 Λ Λ^-1 = Λ^-1 up to the eigenvalues that are cut. O(m^3).
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
