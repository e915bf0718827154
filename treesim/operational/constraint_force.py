"""Λ^-1 by the constraint-force method, which solves along paths in three ways."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..dynamics.constraint_force import explain_inertia
from ..errors import NonFiniteError
from ..kernels.operational_constraint_force_cr import inverse_inertia_constraint_force_cr_states
from ..kernels.operational_constraint_force_pcr import inverse_inertia_constraint_force_pcr_states
from ..kernels.operational_constraint_force_serial import inverse_inertia_constraint_force_states
from ..model.tree import Tree
from ..types import Reference
from .base import CompiledMethod


class HeavyPathMethod(CompiledMethod):
    """Λ^-1 by the constraint-force method."""

    source = "Fijany and Featherstone 2013; heavy paths on trees"

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


class ConstraintForce(HeavyPathMethod):
    """Elimination along each path, O(N + k N') for k frames on paths of N' bodies."""

    name = "constraint_force"
    entry = inverse_inertia_constraint_force_states


class ConstraintForceCr(HeavyPathMethod):
    """Cyclic reduction along each path, O(N + k N') work, O(log^2 N) stages, O(log N) on a chain."""

    name = "constraint_force_cr"
    entry = inverse_inertia_constraint_force_cr_states


class ConstraintForcePcr(HeavyPathMethod):
    """Parallel cyclic reduction along each path, O((N + k N') log N) work and memory, O(log^2 N) stages."""

    name = "constraint_force_pcr"
    entry = inverse_inertia_constraint_force_pcr_states
