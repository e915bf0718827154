"""Analytic derivatives of inverse and forward dynamics."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..engine.call.evaluate import refuse_overflow
from ..kernels.dynamics.forward_dynamics_derivatives import forward_dynamics_derivatives_states
from ..kernels.dynamics.inverse_dynamics_derivatives import inverse_dynamics_derivatives_states
from ..model.tree import Tree
from ..states.arguments import checked_robot
from ..states.states import state_function
from ..system.display import arrays, batch, html_table
from ..types import Engine
from .base import copied, explain_failure
from .forward_dynamics import forward_dynamics
from .physics import ModelParameters, physics_of
from .tables import constants_of, kernel_wrenches
from .wrenches import LinkWrenches, body_wrenches

INVERSE = state_function(inverse_dynamics_derivatives_states)
FORWARD = state_function(forward_dynamics_derivatives_states, explain_failure)


def matrices_shown(matrices: Any) -> str:
    """Return the representation of a named tuple of matrices."""
    rows, columns = matrices[0].shape[-2:]
    return f"<{type(matrices).__name__}: {rows} x {columns}{batch(matrices[0], 2)}>"


class InverseDynamicsDerivatives(NamedTuple):
    """Derivatives of inverse dynamics tau = ID(q, v, a), in units of the coordinates.

    Parameters
    ----------
    dtau_dq : ndarray, shape (..., nv, nv)
        Derivative in q, along the velocity coordinates (`Tree.integrate`): column k is the rate of tau while degree of
        freedom k moves at speed 1, and v and a stay.
    dtau_dv : ndarray, shape (..., nv, nv)
        Derivative in v.
    M : ndarray, shape (..., nv, nv)
        Derivative in a, the mass matrix.

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> derivatives = treesim.inverse_dynamics_derivatives(robot, np.full(6, 0.5), np.ones(6), np.zeros(6))
    >>> derivatives.dtau_dq.shape, derivatives.M.shape
    ((6, 6), (6, 6))
    """

    dtau_dq: np.ndarray
    dtau_dv: np.ndarray
    M: np.ndarray

    def __repr__(self) -> str:
        return matrices_shown(self)

    def _repr_html_(self) -> str:
        return html_table(repr(self), arrays(self, *self._fields))


class ForwardDynamicsDerivatives(NamedTuple):
    """Derivatives of forward dynamics qdd = FD(q, v, tau), in units of the coordinates.

    Parameters
    ----------
    dqdd_dq : ndarray, shape (..., nv, nv)
        Derivative in q, along the velocity coordinates (`Tree.integrate`).
    dqdd_dv : ndarray, shape (..., nv, nv)
        Derivative in v.
    Minv : ndarray, shape (..., nv, nv)
        Derivative in tau, the inverse of the mass matrix.

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> derivatives = treesim.forward_dynamics_derivatives(robot, np.full(6, 0.5), np.ones(6), np.zeros(6))
    >>> derivatives.dqdd_dq.shape, derivatives.Minv.shape
    ((6, 6), (6, 6))
    """

    dqdd_dq: np.ndarray
    dqdd_dv: np.ndarray
    Minv: np.ndarray

    def __repr__(self) -> str:
        return matrices_shown(self)

    def _repr_html_(self) -> str:
        return html_table(repr(self), arrays(self, *self._fields))


def inverse_dynamics_derivatives(
    robot: Tree,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    *,
    f_ext: LinkWrenches | None = None,
    gravity: ArrayLike | None = None,
    armature: ArrayLike | None = None,
    engine: Engine = "auto",
    out: np.ndarray | None = None,
    model_parameters: ModelParameters | None = None,
) -> InverseDynamicsDerivatives:
    """Return the derivatives of `treesim.inverse_dynamics` in q, v and a.

    The function raises the errors of `treesim.forward_dynamics`.

    Parameters
    ----------
    robot, q, v
        As in `treesim.forward_dynamics`.
    a : array_like
        (..., nv) accelerations [m/s^2, rad/s^2].
    f_ext : array_like or mapping, optional
        Array as in `treesim.forward_dynamics`, whose wrenches have constant components along the axes of the bodies. Or
        mapping of names of links, or other frames, to wrenches (..., 6), force then moment [N, N m], about the frame's
        origin, with constant components along its axes. With a key (link, "world"), the components are constant along
        the axes of the world.
    gravity, armature, engine
        As in `treesim.forward_dynamics`.
    out : numpy.ndarray, optional
        (..., nv, 3, nv) array for the results: row i of the three matrices is ``out[..., i, 0]`` to
        ``out[..., i, 2]``. The returned matrices are parts of it.
    model_parameters : mapping, optional
        As in `treesim.forward_dynamics`.

    Returns
    -------
    InverseDynamicsDerivatives
        Tuple (dtau_dq, dtau_dv, M) of (..., nv, nv) matrices.

    Notes
    -----
    Cost: O(N d) for N bodies and depth d of the tree. Vectors have the origin and the axes of the first body of their
    subtree. So the error does not grow with the distance of a floating base from the world's origin.

    References
    ----------
    S. Singh, R. P. Russell, P. M. Wensing, Efficient analytical derivatives of rigid-body dynamics using spatial vector
    algebra, IEEE Robotics and Automation Letters 7 (2022).

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> q, v, a, d = np.full(6, 0.5), np.ones(6), np.zeros(6), 1e-6 * np.eye(6)
    >>> dtau_dq, dtau_dv, M = treesim.inverse_dynamics_derivatives(robot, q, v, a)
    >>> change = treesim.inverse_dynamics(robot, q + d, v, a) - treesim.inverse_dynamics(robot, q - d, v, a)
    >>> np.allclose(dtau_dq.T, change / 2e-6, atol=1e-7)
    True
    """
    robot = checked_robot(robot)
    physics = physics_of(robot, model_parameters, "inverse_dynamics_derivatives", gravity, armature)
    constants = constants_of(robot, gravity, armature)
    wrenches, turning = body_wrenches(robot, q, f_ext)
    D = INVERSE(robot, *constants, q, v, a, kernel_wrenches(robot, wrenches), engine, out, physics)
    if turning is not None:
        D[..., 0, :] += turning
    return _of_inverse_dynamics(D)


def forward_dynamics_derivatives(
    robot: Tree,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    *,
    f_ext: LinkWrenches | None = None,
    gravity: ArrayLike | None = None,
    armature: ArrayLike | None = None,
    engine: Engine = "auto",
    out: np.ndarray | None = None,
    model_parameters: ModelParameters | None = None,
) -> ForwardDynamicsDerivatives:
    """Return the derivatives of `treesim.forward_dynamics` in q, v and tau.

    The function raises the errors of `treesim.forward_dynamics`.

    Parameters
    ----------
    robot, q, v, tau
        As in `treesim.forward_dynamics`.
    f_ext : array_like or mapping, optional
        As in `treesim.inverse_dynamics_derivatives`.
    gravity, armature, engine
        As in `treesim.forward_dynamics`.
    out : numpy.ndarray, optional
        (..., nv, 3, nv) array for the results: row i of the three matrices is ``out[..., i, 0]`` to
        ``out[..., i, 2]``. The returned matrices are parts of it.
    model_parameters : mapping, optional
        As in `treesim.forward_dynamics`.

    Returns
    -------
    ForwardDynamicsDerivatives
        Tuple (dqdd_dq, dqdd_dv, Minv) of (..., nv, nv) matrices.

    Notes
    -----
    The derivatives of inverse dynamics at the accelerations, multiplied by -M^-1, with sparse factors of M. Cost:
    O(nv D1) multiply-adds (`Topology.D1`). For a robot with mimic joints, M is factored by LAPACK.

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> q, v, tau, d = np.full(6, 0.5), np.ones(6), np.zeros(6), 1e-6 * np.eye(6)
    >>> dqdd_dq, dqdd_dv, Minv = treesim.forward_dynamics_derivatives(robot, q, v, tau)
    >>> change = treesim.forward_dynamics(robot, q, v + d, tau) - treesim.forward_dynamics(robot, q, v - d, tau)
    >>> np.allclose(dqdd_dv.T, change / 2e-6, atol=1e-7)
    True
    """
    robot = checked_robot(robot)
    wrenches, turning = body_wrenches(robot, q, f_ext)
    if robot.mimic_map is not None:
        options = {"gravity": gravity, "armature": armature, "engine": engine, "model_parameters": model_parameters}
        D = copied(with_mimic_joints(robot, q, v, tau, wrenches, options), out)
    else:
        physics = physics_of(robot, model_parameters, "forward_dynamics_derivatives", gravity, armature)
        constants = constants_of(robot, gravity, armature)
        D = FORWARD(robot, *constants, q, v, tau, kernel_wrenches(robot, wrenches), engine, out, physics)
    if turning is not None:
        D[..., 0, :] -= D[..., 2, :] @ turning
    return _of_forward_dynamics(D)


def with_mimic_joints(
    robot: Tree, q: ArrayLike, v: ArrayLike, tau: ArrayLike, f_ext: ArrayLike | None, options: dict[str, Any]
) -> np.ndarray:
    """Return the derivatives (..., nv, 3, nv) of forward dynamics for a robot with mimic joints.

    options: further arguments of both functions. The reduced mass matrix is not sparse, so LAPACK inverts it.
    """
    a = forward_dynamics(robot, q, v, tau, f_ext=f_ext, **options)
    dtau_dq, dtau_dv, M = inverse_dynamics_derivatives(robot, q, v, a, f_ext=f_ext, **options)
    D = np.empty((*M.shape[:-1], 3, robot.nv), M.dtype)
    inverse = D[..., 2, :] = np.linalg.inv(M)
    for k, derivative in enumerate((dtau_dq, dtau_dv)):
        np.negative(inverse @ derivative, out=D[..., k, :])
    refuse_overflow("forward dynamics", D.astype(float, copy=False))
    return D


def _of_inverse_dynamics(D: np.ndarray) -> InverseDynamicsDerivatives:
    """Return the three matrices in an array (..., nv, 3, nv)."""
    return InverseDynamicsDerivatives(D[..., 0, :], D[..., 1, :], D[..., 2, :])


def _of_forward_dynamics(D: np.ndarray) -> ForwardDynamicsDerivatives:
    """Return the three matrices in an array (..., nv, 3, nv)."""
    return ForwardDynamicsDerivatives(D[..., 0, :], D[..., 1, :], D[..., 2, :])
