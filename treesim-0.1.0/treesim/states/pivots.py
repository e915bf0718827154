"""Detection of degrees of freedom that move no inertia, from the pivots of the mass matrix."""

from __future__ import annotations

import numpy as np


def first_massless_dof(D: np.ndarray, H: np.ndarray) -> int | None:
    """Return the index of the last degree of freedom without inertia, or None.

    Its pivot in D (nv,) vanishes relative to its diagonal entry of the mass matrix in H (nv,), both [kg, kg m^2].
    """
    scale = np.abs(H).max(initial=0.0)
    vanishing = np.flatnonzero(~(1e-14 * np.maximum(H, 1e-12 * scale) < D))
    return int(vanishing[-1]) if len(vanishing) else None
