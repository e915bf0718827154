"""Second derivatives of forward dynamics, contracted with weights and a direction."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..dynamics.derivatives import forward_dynamics_derivatives
from ..dynamics.forward_dynamics import forward_dynamics
from ..dynamics.inverse_dynamics import inverse_dynamics
from ..dynamics.solve import solve_mass_matrix
from ..engine.call.evaluate import in_precision, refuse_overflow
from ..engine.call.expression_code import Columns, states_of
from ..engine.graph import derivatives
from ..engine.graph.expressions import Expression
from ..engine.graph.graph import TooLongError
from ..errors import ArgumentError, UnsupportedError, quoted
from ..model.named_axes import coordinate_argument, velocity_argument
from ..model.tree import Tree
from ..states.arguments import checked_robot
from ..system.display import arrays, batch, html_table
from ..validation.arrays import batch_shape, check_copy, coerce, precision, refuse_invalid

WHAT = "the second derivative of forward dynamics"


class HessianVector(NamedTuple):
    """Product of the second derivatives of weights . FD(q, v, tau) with a direction.

    Parameters
    ----------
    q, v, tau : ndarray, shape (..., nv)
        Derivatives of the gradient in q (along the velocity coordinates), v and tau along the direction.

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> given = np.full(6, 0.5), np.ones(6), np.zeros(6), np.ones(6)
    >>> treesim.forward_dynamics_hessian_vector(robot, *given, (np.ones(6), None, None))
    <HessianVector: q, v, tau of 6 numbers>
    """

    q: np.ndarray
    v: np.ndarray
    tau: np.ndarray

    def __repr__(self) -> str:
        return f"<HessianVector: q, v, tau of {self.q.shape[-1]} numbers{batch(self.q)}>"

    def _repr_html_(self) -> str:
        return html_table(repr(self), arrays(self, *self._fields))


def forward_dynamics_hessian_vector(
    robot: Tree,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    weights: ArrayLike,
    direction: tuple[ArrayLike | None, ArrayLike | None, ArrayLike | None],
) -> HessianVector:
    """Return the second derivatives of forward dynamics, contracted with weights and a direction.

    They are the derivatives of the gradient of the sum of weights times accelerations, as differential dynamic
    programming needs them.

    Parameters
    ----------
    robot, q, v, tau
        As in `treesim.forward_dynamics`.
    weights : array_like
        (..., nv) weights of the accelerations.
    direction : tuple of array_like or None
        Directions (..., nv) of q (along the velocity coordinates, `Tree.integrate`), v and tau. None is zero.

    Returns
    -------
    HessianVector
        Tuple (q, v, tau) of (..., nv) arrays. Second derivatives in q are those of displacements d of q (+) d.

    Raises
    ------
    ArgumentError, NonFiniteError, SingularInertiaError
        As `treesim.forward_dynamics`.
    UnsupportedError
        If the robot is so large that the second derivatives of its inverse dynamics have more than 150,000 operations.

    Notes
    -----
    With mu = M^-1 weights, the gradient is -mu . dID(q, v, a), at the accelerations a. Its derivatives follow from
    forward mode over reverse mode of inverse dynamics. Code is compiled once for each robot, which takes some seconds.

    References
    ----------
    S. Singh, R. P. Russell, P. M. Wensing, On second-order derivatives of rigid-body dynamics, IEEE Transactions on
    Robotics (2024).

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> q, v, tau, w, dv = np.full(6, 0.5), np.ones(6), np.zeros(6), np.ones(6), np.eye(6)[0]
    >>> second = treesim.forward_dynamics_hessian_vector(robot, q, v, tau, w, (None, dv, None))
    >>> ahead, behind = (treesim.forward_dynamics_derivatives(robot, q, v + s * dv, tau) for s in (1e-5, -1e-5))
    >>> np.allclose(second.q, w @ (ahead.dqdd_dq - behind.dqdd_dq) / 2e-5, atol=1e-6)
    True
    """
    robot = checked_robot(robot)
    if not isinstance(direction, tuple | list) or len(direction) != 3:
        raise ArgumentError(f"direction must be a tuple of three, of q, v and tau, got {quoted(direction)}")
    named = {"v": v, "tau": tau, "weights": weights}
    named |= {f"direction[{k}]": x for k, x in enumerate(direction) if x is not None}
    arguments = [coordinate_argument(robot, "q", q), *(velocity_argument(robot, name, x) for name, x in named.items())]
    given = [coerce(argument, np.float64) for argument in arguments]
    shape = batch_shape(arguments, given)
    for argument in arguments:
        check_copy(argument.label, shape + argument.shape)
    refuse_invalid(arguments, given)
    count = math.prod(shape)
    rows = [np.array(np.broadcast_to(x, shape + x.shape[-1:])).reshape(count, x.shape[-1]) for x in given]
    left = iter(rows[4:])
    along = [np.zeros_like(rows[1]) if x is None else next(left) for x in direction]
    number = precision(q, v, tau, weights, *(x for x in direction if x is not None))
    found = along if not rows[1].size else _products(robot, rows[0], rows[1], rows[2], rows[3], along)
    refuse_overflow(WHAT, *found)
    return HessianVector(*(in_precision(WHAT, x.reshape(*shape, robot.nv), number) for x in found))


def _products(
    robot: Tree, q: np.ndarray, v: np.ndarray, tau: np.ndarray, weights: np.ndarray, along: list[np.ndarray]
) -> list[np.ndarray]:
    """Return the three products (B, nv), from arrays (B, n)."""
    first = forward_dynamics_derivatives(robot, q, v, tau)
    a, mu = forward_dynamics(robot, q, v, tau), solve_mass_matrix(robot, q, weights)
    in_a = sum((D @ x[..., None])[..., 0] for D, x in zip(first, along, strict=True))
    second, gradient = _codes(robot)
    still, nv = np.zeros_like(v), robot.nv
    found = second(still, q, v, a, mu, along[0], along[1], in_a)
    in_q, in_v, in_M = (found[:, 3 * nv + k * nv : 3 * nv + (k + 1) * nv] for k in range(3))
    in_mu = -solve_mass_matrix(robot, q, in_M)  # M mu = weights
    by_mu = gradient(still, q, v, a, in_mu)
    return [-(in_q + by_mu[:, :nv]), -(in_v + by_mu[:, nv : 2 * nv]), in_mu]


@lru_cache(maxsize=16)
def _codes(robot: Tree) -> tuple[Columns, Columns]:
    """Return functions of (d, q, v, a, mu): derivatives of the gradient of mu . ID(q (+) d, v, a), and the gradient.

    The gradient is that in d, v and a. Its derivatives follow it, along directions of d, v and a.
    """
    nq, nv = robot.nq, robot.nv
    sizes = nv, nq, nv, nv, nv

    def force(d: Any, q: Any, v: Any, a: Any, mu: Any) -> list[Any]:
        return [np.sum(mu * inverse_dynamics(robot, robot.integrate(q, d), v, a))]

    def gradient(*groups: Any) -> list[Any]:
        in_d, _, in_v, in_a, _ = np.split(np.array(whole(*groups, [1.0])[1:], dtype=object), np.cumsum(sizes)[:-1])
        return [*in_d, *in_v, *in_a]

    try:
        whole = derivatives.reverse(Expression(sizes, force))
        first = derivatives.SteadyExpression(sizes, gradient)
        return states_of(derivatives.forward(first, (True, False, True, True, False))), states_of(first)
    except TooLongError as error:
        raise UnsupportedError(f"second derivatives of {quoted(robot.name)} cannot be compiled: {error}") from error
