"""Base class of surfaces with edges and corners."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from ..model.tree import Tree
from .standing import set_down
from .surface import StaticSurface


@dataclass(frozen=True, repr=False, eq=False)
class SolidSurface(StaticSurface):
    """Base of the surfaces on which `treesim.standing` places robots by their first contact."""

    _has_edges = True

    def set_down(self, robot: Tree, q: np.ndarray) -> np.ndarray:
        """Return q with the floating base moved until the first shape touches the surface, as `treesim.standing` does.

        Parameters
        ----------
        robot : Tree
            Robot with a floating base.
        q : numpy.ndarray
            Configuration (nq,).

        Returns
        -------
        numpy.ndarray
            Configuration (nq,).
        """
        return set_down(robot, q, self, *self._upward())

    @abstractmethod
    def _upward(self) -> tuple[np.ndarray, float, float]:
        """Return the direction (3,) along which robots are placed, the highest height along it, and the extent [m]."""
