"""The Coriolis matrix of a tree."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..kernels.dynamics.coriolis import coriolis_matrix_states
from ..model.tree import Tree
from ..states.arguments import checked_robot
from ..states.states import one_state_first, state_function
from ..types import Engine
from .physics import ModelParameters, physics_of

CORIOLIS = state_function(coriolis_matrix_states)


@one_state_first(coriolis_matrix_states)
def coriolis_matrix(
    robot: Tree,
    q: ArrayLike,
    v: ArrayLike,
    *,
    engine: Engine = "auto",
    out: np.ndarray | None = None,
    model_parameters: ModelParameters | None = None,
) -> np.ndarray:
    """Return the Coriolis matrix C, defined by Christoffel symbols of the mass matrix M.

    In the equation of motion M a + C v + g = tau, a are the accelerations, v the velocities, g the gravity forces, and
    tau the generalised forces. The function raises the errors of `treesim.forward_dynamics`.

    The product C v, the Coriolis and centrifugal forces, is equal to `bias_forces` minus `gravity_forces`. The time
    derivative of the mass matrix is dM/dt = C + C', with the transpose C'. Therefore dM/dt - 2 C is skew-symmetric.

    Parameters
    ----------
    robot, q, v, engine, out, model_parameters
        As in `treesim.forward_dynamics`.

    Returns
    -------
    numpy.ndarray
        (..., nv, nv) matrices, with exact zeros at the places at which the mass matrix has exact zeros.

    Notes
    -----
    Cost: O(N d) for N bodies and depth d of the tree. The method sums the Coriolis matrices of single bodies from the
    leaves to the base. The velocity v of a joint with several degrees of freedom is not the derivative of its
    coordinates q. For such joints, dM/dt is the time derivative of M during a motion with velocity v.

    References
    ----------
    S. Echeandia, P. M. Wensing, Numerical methods to compute the Coriolis matrix and Christoffel symbols for rigid-body
    systems, J. Comput. Nonlinear Dynam. 16 (2021), Algorithm 1.

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> q, v = np.full(6, 0.5), np.ones(6)
    >>> C = treesim.coriolis_matrix(robot, q, v)
    >>> np.allclose(C @ v, treesim.bias_forces(robot, q, v) - treesim.gravity_forces(robot, q))
    True
    """
    robot = checked_robot(robot)
    physics = None if model_parameters is None else physics_of(robot, model_parameters, "coriolis_matrix")
    return CORIOLIS(robot, robot.ints, robot.reals, q, v, engine, out, physics)
