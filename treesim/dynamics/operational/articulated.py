"""One pass of articulated quantities at configurations, for many answers."""

from __future__ import annotations

from numpy.typing import ArrayLike

from ...model.tree import Tree
from ...states.arguments import checked_robot
from ...types import Engine
from .articulated_bodies import Articulated
from .articulated_mimic import MimicArticulated


def articulated(robot: Tree, q: ArrayLike, *, engine: Engine = "auto") -> Articulated:
    """Compute articulated-body quantities of configurations once, for use by the methods of the result.

    Methods of the result solve with the mass matrix M, and return forward dynamics and sparse factors of M. Other
    methods return articulated-body inertias, inverse operational-space inertias, and samples of the normal distribution
    N(0, M^-1). The attribute `log_det` is the natural logarithm of the determinant of M. The function raises the errors
    of `treesim.solve_mass_matrix`.

    Parameters
    ----------
    robot : Tree
        Robot. For a robot with mimic joints, which couple branches, nothing is computed in advance: each method calls
        the function with the same name, and factors are computed from the mass matrix.
    q, engine
        As in `treesim.forward_dynamics`.

    Returns
    -------
    Articulated
        Articulated-body quantities. Later changes of the array q do not change them.

    Notes
    -----
    Cost: O(N). Source: Jain 1991, section 6.

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> art = treesim.articulated(robot, np.full(6, 0.5))
    >>> np.allclose(treesim.mass_matrix(robot, np.full(6, 0.5)) @ art.solve(np.arange(6.0)), np.arange(6.0))
    True
    >>> art.inverse_inertia("ee_link").shape
    (6, 6)
    >>> float(art.log_det.round(2))
    -6.35
    >>> art.sample(np.random.default_rng(0), 1000).shape
    (1000, 6)
    """
    robot = checked_robot(robot)
    if robot.mimic_map is not None:
        return MimicArticulated(robot, q, engine)
    return Articulated(robot, q, engine)
