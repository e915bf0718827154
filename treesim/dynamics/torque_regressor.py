"""Regressor of the joint torques: inverse dynamics as a linear function of the bodies' inertial parameters."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..kernels.dynamics.torque_regressor import torque_regressor_states
from ..model.tree import Tree
from ..states.arguments import checked_robot
from ..states.states import state_function
from ..types import Engine

REGRESSOR = state_function(torque_regressor_states)
ENTRIES = ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))  # of an inertia, in Pinocchio's order


def joint_torque_regressor(
    robot: Tree, q: ArrayLike, v: ArrayLike, a: ArrayLike, *, engine: Engine = "auto"
) -> np.ndarray:
    """Return the regressor Y, the matrix that maps the inertial parameters pi of bodies to generalised forces.

    The generalised forces are tau = Y pi + armature a for accelerations a. The function `inertial_parameters` returns
    the vector pi. The function raises the errors of `treesim.forward_dynamics`.

    Parameters
    ----------
    robot, q, v, a, engine
        As in `treesim.inverse_dynamics`.

    Returns
    -------
    numpy.ndarray
        (..., nv, 10 N) matrices, ten columns for each body, in the order of Pinocchio's `computeJointTorqueRegressor`.

    Notes
    -----
    Cost: O(N d) for N bodies and depth d of the tree. Y depends on the robot's geometry and gravity, but not on its
    inertias and armature. The returned array is a transposed view of an array (..., 10 N, nv).

    References
    ----------
    C. G. Atkeson, C. H. An, J. M. Hollerbach, Estimation of inertial parameters of manipulator loads and links,
    Int. J. Robotics Research 5 (1986).

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> q, v, a = np.full(6, 0.5), np.ones(6), np.ones(6)
    >>> Y = treesim.joint_torque_regressor(robot, q, v, a)
    >>> tau = Y @ treesim.inertial_parameters(robot) + robot.armature * a
    >>> np.allclose(tau, treesim.inverse_dynamics(robot, q, v, a))
    True
    """
    robot = checked_robot(robot)
    return np.swapaxes(
        REGRESSOR(robot, robot.ints, robot.reals, robot.body_rotations.reshape(-1), q, v, a, engine), -1, -2
    )


def inertial_parameters(robot: Tree) -> np.ndarray:
    """Return the vector pi of the inertial parameters of all bodies, in which inverse dynamics are linear.

    Parameters
    ----------
    robot : Tree
        Robot.

    Returns
    -------
    numpy.ndarray
        (10 N,) ten numbers for each body: its mass m [kg]; m c [kg m] with the centre of mass c; and the inertia about
        the body's origin as xx, xy, yy, xz, yz, zz [kg m^2]. Components are along the body's axes. The order is that of
        Pinocchio's `Inertia.toDynamicParameters`.

    Examples
    --------
    >>> treesim.inertial_parameters(treesim.load("ur5")).shape
    (60,)
    """
    robot = checked_robot(robot)
    rows = np.empty((robot.n_bodies, 10))
    for row, inertia in zip(rows, (body.inertia for body in robot.bodies), strict=True):
        row[0], row[1:4] = inertia.mass, inertia.mass * inertia.com
        row[4:] = [inertia.about_origin()[entry] for entry in ENTRIES]
    return rows.ravel()
