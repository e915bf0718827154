"""Centroidal momentum of a tree, its matrix and its rate.

Functions of the momentum about the centre of mass, along the world's axes, linear part first as in `momentum` and in
Pinocchio's `hg`, `Ag` and `dhg`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ...kernels.dynamics.centroidal import (
    centroidal_dynamics_states,
    centroidal_momentum_matrix_states,
    centroidal_momentum_states,
)
from ...model.tree import Tree
from ...states.arguments import checked_robot
from ...states.states import state_function
from ...types import Engine
from ..physics import ModelParameters, physics_of
from .motion import massive

MOMENTUM, RATE = state_function(centroidal_momentum_states), state_function(centroidal_dynamics_states)
MATRIX = state_function(centroidal_momentum_matrix_states)


def centroidal_momentum(
    robot: Tree,
    q: ArrayLike,
    v: ArrayLike,
    *,
    engine: Engine = "auto",
    model_parameters: ModelParameters | None = None,
) -> np.ndarray:
    """Return the total momentum of all bodies about the robot's centre of mass, without the momentum of rotors.

    The centroidal momentum is A v, where A is the result of `centroidal_momentum_matrix`. The function `momentum`
    returns the momentum about the world's origin.

    Parameters
    ----------
    robot, q, v, engine, model_parameters
        As in `treesim.forward_dynamics`.

    Returns
    -------
    numpy.ndarray
        (..., 6) linear momentum [N s], then angular momentum about the centre of mass [N m s], along the world's axes.

    Raises
    ------
    ModelError
        If the robot has no mass.
    ArgumentError
        If a type or shape does not fit.
    NonFiniteError
        If an argument is not finite, or a result overflows.
    UnknownNameError
        If the engine is unknown.

    Notes
    -----
    Cost: O(N). Pinocchio's `computeCentroidalMomentum` uses the same axes, order of components and point of reference.

    References
    ----------
    P. M. Wensing, D. E. Orin, Improved computation of the humanoid centroidal dynamics and application for whole-body
    control, Int. J. Humanoid Robotics 13 (2016).

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> treesim.centroidal_momentum(robot, np.full(6, 0.5), np.ones(6)).round(3)
    array([-7.685,  1.199, -5.565, -0.983,  2.771,  1.091])
    """
    robot = massive(checked_robot(robot))
    physics = None if model_parameters is None else physics_of(robot, model_parameters, "centroidal_momentum")
    return MOMENTUM(robot, robot.ints, robot.reals, q, v, engine, physics=physics)


def centroidal_momentum_matrix(
    robot: Tree,
    q: ArrayLike,
    *,
    engine: Engine = "auto",
    out: np.ndarray | None = None,
    model_parameters: ModelParameters | None = None,
) -> np.ndarray:
    """Return the centroidal momentum matrix A, so that A v is the robot's momentum about its centre of mass.

    The function raises the errors of `treesim.centroidal_momentum`. The method sums composite inertias. Cost: O(N).

    Parameters
    ----------
    robot, q, engine, out, model_parameters
        As in `treesim.forward_dynamics`.

    Returns
    -------
    numpy.ndarray
        (..., 6, nv) matrices. The first three rows are the robot's mass times `center_of_mass_jacobian`. The momentum
        of rotors is not included.

    Examples
    --------
    >>> robot = treesim.load("simple_humanoid", base="floating")
    >>> q, v = robot.neutral(), np.ones(robot.nv)
    >>> A = treesim.centroidal_momentum_matrix(robot, q)
    >>> np.allclose(A @ v, treesim.centroidal_momentum(robot, q, v))
    True
    """
    robot = massive(checked_robot(robot))
    physics = None if model_parameters is None else physics_of(robot, model_parameters, "centroidal_momentum_matrix")
    return MATRIX(robot, robot.ints, robot.reals, q, engine, out, physics)


def centroidal_dynamics(
    robot: Tree,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    *,
    engine: Engine = "auto",
    model_parameters: ModelParameters | None = None,
) -> np.ndarray:
    """Return the time derivative of the centroidal momentum for accelerations a.

    The derivative is A a + dA/dt v, with the matrix A of `centroidal_momentum_matrix`. It is equal to the sum of all
    external wrenches about the centre of mass, including weights and contact forces. The function raises the errors of
    `treesim.centroidal_momentum`. Cost: O(N).

    Parameters
    ----------
    robot, q, v, a, engine, model_parameters
        As in `treesim.inverse_dynamics`.

    Returns
    -------
    numpy.ndarray
        (..., 6) derivative of the linear momentum [N], then of the angular momentum about the centre of mass [N m],
        along the world's axes, as Pinocchio's `computeCentroidalMomentumTimeVariation` returns it.

    Examples
    --------
    >>> robot = treesim.load("simple_humanoid", base="floating")
    >>> q, v = robot.neutral(), np.zeros(robot.nv)
    >>> falling = treesim.forward_dynamics(robot, q, v, np.zeros(robot.nv))
    >>> rate = treesim.centroidal_dynamics(robot, q, v, falling)
    >>> np.allclose(rate, [0, 0, -9.81 * robot.mass, 0, 0, 0], atol=1e-9)
    True
    """
    robot = massive(checked_robot(robot))
    physics = None if model_parameters is None else physics_of(robot, model_parameters, "centroidal_dynamics")
    return RATE(robot, robot.ints, robot.reals, q, v, a, engine, physics=physics)
