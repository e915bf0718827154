"""Energy and momentum of a tree."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..kernels.kinematics.bodies import energy_and_momentum_states
from ..model.tree import Tree
from ..states.arguments import checked_robot
from ..states.states import state_function
from ..types import Engine
from .physics import ModelParameters, physics_of
from .springs import sprung, with_spring_energy
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
    zero. It includes k (q - rest)^2 / 2 of joint springs. Springs of mimic joints are added up to one spring of the
    mimicked joint, whose energy differs from theirs by a constant. The function raises the errors of
    `treesim.forward_dynamics`. Cost: O(N).

    Parameters
    ----------
    robot, q, v, gravity, engine, model_parameters
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
    physics = None if model_parameters is None else physics_of(robot, model_parameters, "energy", gravity)
    out = ENERGY_AND_MOMENTUM(robot, *constants_of(robot, gravity), q, v, engine, physics=physics)
    kinetic, potential = out[..., 0], out[..., 1]
    return kinetic, with_spring_energy(robot, q, potential) if sprung(robot)[1].size else potential


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
    robot, q, v, engine, model_parameters
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
    physics = None if model_parameters is None else physics_of(robot, model_parameters, "momentum")
    return ENERGY_AND_MOMENTUM(robot, robot.ints, robot.reals, q, v, engine, physics=physics)[..., 2:]
