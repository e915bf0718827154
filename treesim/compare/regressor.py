"""Regressor of inverse dynamics, which is linear in the bodies' inertias, and inertias fitted to forces."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import treesim

from ..model.inertia import Inertia
from ..model.tree import Tree
from .source import with_inertias

PARAMETERS = 10  # m, m c (3), and the inertia about the body's origin: xx, xy, xz, yy, yz, zz
ROWS, COLUMNS = np.triu_indices(3)


def parameters(inertia: Inertia) -> np.ndarray:
    """Return the ten inertial parameters (10,): m [kg], m c [kg m], I about the origin [kg m^2]."""
    about = inertia.about_origin()
    return np.concatenate([[inertia.mass], inertia.mass * np.asarray(inertia.com), about[ROWS, COLUMNS]])


def _probes() -> list[Inertia]:
    """Return ten inertias with linearly independent parameters: 1 kg at four points, and six massless matrices."""
    places = [np.zeros(3), *np.eye(3)]
    found = [Inertia(1.0, place) for place in places]
    for row, column in zip(ROWS, COLUMNS, strict=True):
        matrix = np.zeros((3, 3))
        matrix[row, column] = matrix[column, row] = 1.0
        found.append(Inertia(0.0, rotational=matrix))
    return found


PROBES = _probes()
TO_PARAMETERS = np.linalg.inv(np.array([parameters(probe) for probe in PROBES]).T)


def regressor(robot: Tree, body: int, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Return Y (K nv, 10): the joint forces of body number `body` (from 1) alone are Y @ parameters.

    q (K, nq), v, a (K, nv): states. tau = sum of Y_i pi_i over the bodies: Atkeson, An and Hollerbach 1986, eq. 12.
    Cost: ten inverse dynamics. Armature is left out.

    Example:
        >>> from treesim.compare.regressor import parameters, regressor
        >>> robot = treesim.load("ur5")
        >>> q, v, a = np.ones((3, 1, robot.nv))
        >>> bodies = enumerate(robot.bodies, start=1)
        >>> tau = sum(regressor(robot, i, q, v, a) @ parameters(body.inertia) for i, body in bodies)
        >>> bool(np.allclose(tau, treesim.inverse_dynamics(robot, q, v, a).ravel()))
        True
    """
    bare = [
        replace(each, inertia=Inertia(), joint=replace(each.joint, armature=0.0, mimic=None)) for each in robot.bodies
    ]
    massless = Tree(robot.name, bare, gravity=robot.gravity.tolist())
    alone = (with_inertias({body: probe}, massless) for probe in PROBES)
    return np.array([treesim.inverse_dynamics(each, q, v, a).ravel() for each in alone]).T @ TO_PARAMETERS


def fitted_change(robot: Tree, body: int, q: np.ndarray, v: np.ndarray, a: np.ndarray, forces: np.ndarray) -> tuple[
    np.ndarray, float
]:  # fmt: skip
    """Return the change (10,) of one body's parameters that fits the force change (K, nv), and the residual.

    The change is the minimum-norm least-squares solution, so parameters without effect do not change. The
    residual is the largest remaining force [N, N m].
    """
    Y = regressor(robot, body, q, v, a)
    change, *_ = np.linalg.lstsq(Y, forces.ravel(), rcond=1e-10)
    return change, float(np.abs(Y @ change - forces.ravel()).max())


def inertia_from(values: np.ndarray) -> Inertia:
    """Return the inertia with ten parameters; raises ModelError (a ValueError) if the mass is not positive."""
    mass, about = float(values[0]), np.zeros((3, 3))
    about[ROWS, COLUMNS] = about[COLUMNS, ROWS] = values[4:]
    com = values[1:4] / mass if mass else np.zeros(3)
    point = Inertia(mass, com)
    rotational = about - point.about_origin()
    return Inertia(mass, com, 0.5 * (rotational + rotational.T))
