"""Block-tridiagonal systems along paths by parallel cyclic reduction: every block at once, O(log N) stages.

All rows stay active while the distance h of neighbours doubles, until none is left: O(N log N) work, no substitution,
and fewer correct digits than cyclic reduction. Six more right-hand sides E carry the response to the first block's, so
that what moves a path's base can be added afterwards.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .blocks import (
    SIX,
    copy,
    factorize,
    put_identity,
    put_zero,
    solve,
    solve_columns,
    subtract_apply,
    subtract_product,
    subtract_transposed_apply,
    subtract_transposed_product,
)
from .heavy_paths import bits

EXTRA = 6 + 5 * 36  # further numbers per body


class Extra(NamedTuple):
    """Memory beyond that of the method: couplings of odd halvings, D^-1 times everything, the factor, E."""

    M: Any  # L of odd halvings
    Zd: Any  # D^-1 times the coupling to the lower neighbour
    ZE: Any  # D^-1 E
    factor: Any  # of D
    E: Any
    z: Any  # D^-1 r


def extra_of(w):
    """The further memory, by name."""
    M, Zd, ZE, factor, E = (w.extra[:, 36 * k : 36 * k + 36] for k in range(5))
    return Extra(M, Zd, ZE, factor, E, w.extra[:, 180:186])
