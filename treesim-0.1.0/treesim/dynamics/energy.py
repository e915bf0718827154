"""Energy and momentum of a tree."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..kernels.kinematics.bodies import energy_and_momentum_states
from ..model.tree import Tree
from ..states.arguments import checked_robot
from ..states.states import on_states, state_function
from ..types import Engine
from .physics import ModelParameters, physics_of
from .tables import constants_of

ENERGY_AND_MOMENTUM = state_function(energy_and_momentum_states)


def energy(
    robot: Tree,
    q: ArrayLike,
    v: ArrayLike,
    *,
    gravity: ArrayLike | None = None,
    engine: Engine = "auto",
    model_parameters: ModelParameters | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the kinetic and the potential energy of a robot.

    The kinetic energy includes the energy of rotors (armature). The potential energy of a mass at the world's origin is
    zero. The function raises the errors of `treesim.forward_dynamics`. Cost: O(N).

    Parameters
    ----------
    robot : Tree
        As in `treesim.forward_dynamics`.
    q, v : array_like
        As in `treesim.forward_dynamics`.
    gravity : array_like, optional
        As in `treesim.forward_dynamics`.
    engine : str
        As in `treesim.forward_dynamics`.
    model_parameters : mapping, optional
        As in `treesim.forward_dynamics`.

    Returns
    -------
    kinetic : numpy.ndarray
        (...) kinetic energies [J].
    potential : numpy.ndarray
        (...) potential energies [J].

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> kinetic, potential = treesim.energy(robot, np.full(6, 0.5), np.ones(6))
    >>> print(f"{kinetic:.3f} J, {potential:.3f} J")
    6.113 J, -19.195 J
    """
    robot = checked_robot(robot)
    if model_parameters is None:
        out = ENERGY_AND_MOMENTUM(robot, *constants_of(robot, gravity), q, v, engine)
    else:
        out = _own_energy_and_momentum(robot, q, v, gravity, engine, model_parameters, "energy")
    return out[..., 0], out[..., 1]


def _own_energy_and_momentum(
    robot: Tree,
    q: ArrayLike,
    v: ArrayLike,
    gravity: ArrayLike | None,
    engine: Engine,
    model_parameters: ModelParameters,
    what: str,
) -> np.ndarray:
    """Return energy and momentum of states with batched model parameters."""
    constants, physics = constants_of(robot, gravity), physics_of(robot, model_parameters, what, gravity)
    given = {"q": q, "v": v}
    return on_states(energy_and_momentum_states, robot, constants, given, physics=physics, engine=engine)[0]


def momentum(
    robot: Tree,
    q: ArrayLike,
    v: ArrayLike,
    *,
    engine: Engine = "auto",
    model_parameters: ModelParameters | None = None,
) -> np.ndarray:
    """Return the total momentum of all bodies about the world's origin, in world axes, without the momentum of rotors.

    The function raises the errors of `treesim.forward_dynamics`. Cost: O(N).

    Parameters
    ----------
    robot : Tree
        As in `treesim.forward_dynamics`.
    q, v : array_like
        As in `treesim.forward_dynamics`.
    engine : str
        As in `treesim.forward_dynamics`.
    model_parameters : mapping, optional
        As in `treesim.forward_dynamics`.

    Returns
    -------
    numpy.ndarray
        (..., 6) linear momentum [N s], then angular momentum about the world's origin [N m s].

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> treesim.momentum(robot, np.full(6, 0.5), np.ones(6)).round(2)
    array([-7.69,  1.2 , -5.56, -1.98,  4.81,  2.9 ])
    """
    robot = checked_robot(robot)
    if model_parameters is None:
        return ENERGY_AND_MOMENTUM(robot, robot.ints, robot.reals, q, v, engine)[..., 2:]
    return _own_energy_and_momentum(robot, q, v, None, engine, model_parameters, "momentum")[..., 2:]
