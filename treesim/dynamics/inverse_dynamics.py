"""Inverse dynamics, bias forces and gravity forces of a tree."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..kernels.dynamics.gravity import gravity_forces_states
from ..kernels.dynamics.rnea import inverse_dynamics_states
from ..kernels.published.composite_inverse_dynamics import inverse_dynamics_composite_states
from ..model.tree import Tree
from ..states.arguments import checked_robot
from ..states.states import one_state_first, state_function
from ..types import Engine, InverseDynamicsMethod
from ..validation.arrays import precision
from ..validation.values import known_name
from .physics import ModelParameters, physics_of
from .tables import constants_of, kernel_wrenches

GRAVITY = state_function(gravity_forces_states)
INVERSE_DYNAMICS = {
    "rnea": state_function(inverse_dynamics_states),
    "composite": state_function(inverse_dynamics_composite_states),
}


@one_state_first(inverse_dynamics_states)
def inverse_dynamics(
    robot: Tree,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    *,
    f_ext: ArrayLike | None = None,
    gravity: ArrayLike | None = None,
    armature: ArrayLike | None = None,
    method: InverseDynamicsMethod = "rnea",
    engine: Engine = "auto",
    out: np.ndarray | None = None,
    model_parameters: ModelParameters | None = None,
) -> np.ndarray:
    """Return the generalised forces tau that cause accelerations a.

    The function raises the errors of `treesim.forward_dynamics`. The methods "rnea" and "composite" cost O(N) for N
    bodies; "rnea" has fewer operations than "composite". In "composite", the backward recursion for forces and the
    forward recursion for accelerations are independent of each other; the recursions could run in parallel, but run in
    sequence.

    Parameters
    ----------
    robot, q, v
        As in `treesim.forward_dynamics`.
    a : array_like
        (..., nv) accelerations [m/s^2, rad/s^2].
    f_ext, gravity, armature : array_like, optional
        As in `treesim.forward_dynamics`.
    method : str
        "rnea", recursive Newton-Euler (RBDA Table 5.1), or "composite", by composite-body inertias (Jain 1991, eq. 29).
    engine, out, model_parameters
        As in `treesim.forward_dynamics`.

    Returns
    -------
    numpy.ndarray
        (..., nv) generalised forces [N, N m].

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> q, v, a = np.full(6, 0.5), np.ones(6), np.zeros(6)
    >>> tau = treesim.inverse_dynamics(robot, q, v, a)
    >>> np.allclose(treesim.forward_dynamics(robot, q, v, tau), a)
    True
    """
    if type(robot) is not Tree:
        robot = checked_robot(robot)
    compute = INVERSE_DYNAMICS.get(method) if type(method) is str else None
    if compute is None:
        compute = INVERSE_DYNAMICS[known_name("method of inverse dynamics", method, INVERSE_DYNAMICS)]
    physics = physics_of(robot, model_parameters, "inverse_dynamics", gravity, armature)
    constants = constants_of(robot, gravity, armature)
    return compute(robot, *constants, q, v, a, kernel_wrenches(robot, f_ext), engine, out, physics)


def bias_forces(
    robot: Tree,
    q: ArrayLike,
    v: ArrayLike,
    *,
    f_ext: ArrayLike | None = None,
    gravity: ArrayLike | None = None,
    model_parameters: ModelParameters | None = None,
) -> np.ndarray:
    """Return the bias forces C: the generalised forces that balance Coriolis, gravity and external forces.

    The function raises the errors of `treesim.forward_dynamics`. The method is recursive Newton-Euler with
    accelerations a = 0. Cost: O(N).

    Parameters
    ----------
    robot, q, v, f_ext, gravity, model_parameters
        As in `treesim.forward_dynamics`.

    Returns
    -------
    numpy.ndarray
        (..., nv) bias forces [N, N m].

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> treesim.bias_forces(robot, np.full(6, 0.5), np.zeros(6))[1:4].round(2)
    array([-46.46,  -8.3 ,   0.17])
    """
    if type(robot) is not Tree:
        robot = checked_robot(robot)
    number = precision(q, v) if getattr(q, "dtype", None) == np.float32 else np.float64
    rest = np.zeros(robot.nv, number)
    if f_ext is None and gravity is None and model_parameters is None:
        return inverse_dynamics(robot, q, v, rest)
    return inverse_dynamics(robot, q, v, rest, f_ext=f_ext, gravity=gravity, model_parameters=model_parameters)


def gravity_forces(
    robot: Tree,
    q: ArrayLike,
    *,
    gravity: ArrayLike | None = None,
    model_parameters: ModelParameters | None = None,
) -> np.ndarray:
    """Return the gravity forces g(q): the generalised forces that keep a robot at rest.

    Gravity forces are equal to the bias forces at v = 0 without external forces, and to the gradient of the potential
    energy. The function raises the errors of `treesim.forward_dynamics`. Cost: O(N).

    Parameters
    ----------
    robot, q, gravity, model_parameters
        As in `treesim.forward_dynamics`.

    Returns
    -------
    numpy.ndarray
        (..., nv) gravity forces [N, N m].

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> treesim.gravity_forces(robot, np.full(6, 0.5))[1:4].round(2)
    array([-46.46,  -8.3 ,   0.17])
    """
    if type(robot) is not Tree:
        robot = checked_robot(robot)
    physics = None if model_parameters is None else physics_of(robot, model_parameters, "gravity_forces", gravity)
    ints, reals = (robot.ints, robot.reals) if gravity is None else constants_of(robot, gravity)
    return GRAVITY(robot, ints, reals, q, physics=physics)
