"""Pinocchio's own routines for the mass matrix and its inverse, whose results depend on the numbering of bodies."""

from __future__ import annotations

from typing import Self

import numpy as np
import pinocchio as pin

from treesim.compare.layouts import both_triangles
from treesim.model.links import is_depth_first

from .model import PinocchioModel

FAULT = "Pinocchio's crba and computeMinverse are wrong for bodies that are not numbered depth-first"


class RoutinesModel(PinocchioModel):
    """Model whose mass matrix and its inverse are those of `crba` and `computeMinverse`."""

    @classmethod
    def of(cls, model: PinocchioModel) -> Self:
        """Return the same model with these routines."""
        found = cls(model.robot, model.model, model.turned)
        if not is_depth_first([int(p) for p in model.model.parents][1:]):
            found.faulty = dict.fromkeys(("mass_matrix", "inverse_mass_matrix"), FAULT)
        return found

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        """Return the mass matrix M (nv, nv), by `crba`."""
        theirs = self.layout.configuration_to_engine(q)
        found = pin.crba(self.model, self.data, theirs).copy()
        return self.layout.matrix_from_engine(q, both_triangles(found))

    def inverse_mass_matrix(self, q: np.ndarray) -> np.ndarray:
        """Return the inverse of M (nv, nv), by `computeMinverse`."""
        theirs = self.layout.configuration_to_engine(q)
        found = pin.computeMinverse(self.model, self.data, theirs).copy()
        return self.layout.matrix_from_engine(q, both_triangles(found))
