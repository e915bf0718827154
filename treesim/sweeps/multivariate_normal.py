"""Normal distributions of vectors, and that of velocities with the covariance of the inverse mass matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..dynamics.operational.articulated import articulated
from ..errors import ArgumentError
from ..model.named_axes import velocity_argument
from ..model.tree import Tree
from ..states.arguments import checked_robot
from ..validation.arrays import ordered_numbers
from ..validation.values import positive_number
from .distributions import OUTERMOST, Distribution, check_reach, frozen_numbers
from .normal_quantile import normal_quantile


@dataclass(frozen=True)
class MultivariateNormal(Distribution):
    """Normal distribution of vectors with a given mean and the covariance F F', where F is a given factor.

    Parameters
    ----------
    mean : array_like
        (n,) mean.
    factor : array_like
        (n, m) factor F of the covariance, for example a Cholesky factor.

    Raises
    ------
    ArgumentError
        For shapes that do not fit, or a number that is not finite.

    Examples
    --------
    >>> treesim.sweeps.MultivariateNormal([1.0, 2.0], [[0.1, 0.0], [0.1, 0.2]]).values(np.full((1, 2), 0.5))
    array([[1., 2.]])
    """

    mean: Any
    factor: Any

    def __post_init__(self) -> None:
        for label in ("mean", "factor"):
            object.__setattr__(self, label, frozen_numbers(f"{label} of MultivariateNormal", getattr(self, label)))
        mean, factor = np.asarray(self.mean), np.asarray(self.factor)
        if mean.ndim != 1 or factor.ndim != 2 or len(factor) != len(mean):
            raise ArgumentError(
                f"mean and factor of MultivariateNormal have shapes {mean.shape} and {factor.shape}, "
                f"but (n,) and (n, m) are needed"
            )
        with np.errstate(over="ignore"):
            spread = np.abs(factor).sum(axis=1)
        check_reach("mean and factor of MultivariateNormal", abs(mean), spread, OUTERMOST)
        object.__setattr__(self, "shape", mean.shape)

    @property
    def needs(self) -> int:
        """Number of uniform numbers for one draw: m, the number of columns of the factor F."""
        return np.asarray(self.factor).shape[1]

    def values(self, u: np.ndarray) -> np.ndarray:
        """Return draws (B, n) from uniform numbers u (B, m)."""
        factor, z = np.asarray(self.factor), normal_quantile(u)
        draws = np.tile(np.asarray(self.mean, float), (len(u), 1))
        for j in range(factor.shape[1]):  # one by one: the order of sums in a matrix product depends on the processor
            draws += factor[:, j] * z[:, j, None]
        return draws


def maxwell_boltzmann(robot: Tree, q: ArrayLike, energy: float, mean: ArrayLike | None = None) -> MultivariateNormal:
    """Return the normal distribution of velocities with the given mean and the covariance 2 energy M^-1.

    On average, each degree of freedom has the same kinetic energy of noise, as in a gas in equilibrium. Light bodies,
    such as fingers, therefore move faster than heavy ones.

    Parameters
    ----------
    robot : Tree
        Robot.
    q : array_like
        (nq,) configuration at which the mass matrix M is taken.
    energy : float
        Mean kinetic energy of the noise for each degree of freedom [J].
    mean : array_like, optional
        (nv,) mean velocity [rad/s, m/s]; zero by default.

    Returns
    -------
    MultivariateNormal
        An entry for `vary["v0"]`.

    Raises
    ------
    ArgumentError
        For another shape, or an energy that is not positive.

    Notes
    -----
    With M = L' D L, the factor F is L^-1 D^-1/2, times a scalar (Jain 1991, Lemma 6.4; `Articulated.color_velocities`).

    Examples
    --------
    >>> from treesim.sweeps import maxwell_boltzmann
    >>> robot = treesim.load("ur5")
    >>> maxwell_boltzmann(robot, robot.neutral(), energy=0.1).shape
    (6,)
    """
    robot = checked_robot(robot)
    if np.ndim(q) != 1:
        raise ArgumentError(f"q must be one configuration ({robot.nq},), got shape {np.shape(q)}")
    factor = articulated(robot, q).color_velocities(np.eye(robot.nv))
    scale = np.sqrt(2.0 * positive_number("energy", energy, "number of joules", most=np.inf))
    given = velocity_argument(robot, "mean", np.zeros(robot.nv) if mean is None else mean)
    return MultivariateNormal(ordered_numbers(given), scale * factor)
