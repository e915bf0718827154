"""Which degree of freedom moves no inertia, as pivots of the mass matrix tell."""

from __future__ import annotations

import numpy as np


def first_massless_dof(D: np.ndarray, H: np.ndarray) -> int | None:
    """Return the last degree of freedom whose pivot D vanishes against its own diagonal entry of the mass matrix, H,
    or None; both (nv,), [kg] or [kg m^2] by its joint's motion."""
    scale = np.abs(H).max(initial=0.0)
    vanishing = np.flatnonzero(~(1e-14 * np.maximum(H, 1e-12 * scale) < D))
    return int(vanishing[-1]) if len(vanishing) else None
