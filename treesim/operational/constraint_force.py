"""Λ^-1 by the constraint-force method."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..dynamics.constraint_force import explain_inertia
from ..errors import NonFiniteError
from ..kernels.operational_constraint_force import inverse_inertia_constraint_force_states
from ..model.tree import Tree
from ..types import Reference
from .base import CompiledMethod


class ConstraintForce(CompiledMethod):
    """Λ^-1 by the constraint-force method, O(N + k N') for k frames on paths of N' bodies."""

    name = "constraint_force"
    source = "Fijany and Featherstone 2013; heavy paths on trees"
    entry = inverse_inertia_constraint_force_states

    def inverse_inertia(self, robot: Tree, q: ArrayLike, frames: Any, reference: Reference) -> np.ndarray:
        """Return Λ^-1 (..., 6k, 6k); see `treesim.inverse_operational_inertia`.

        Raises UnsupportedError, besides, for a body without inertia to divide by.
        """
        try:
            return super().inverse_inertia(robot, q, frames, reference)
        except NonFiniteError as error:
            named = {"q": np.asarray(q, dtype=float)}
            if not np.isfinite(named["q"]).all():
                raise
            raise explain_inertia(robot, named, (robot.ints, robot.reals), error, self.name) from None
