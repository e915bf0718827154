"""Techniques for large arrays, selected by $TREESIM_MEMORY, all by default. No result depends on them.

"prefetch": code for one robot prefetches memory (`llvm.prefetch`). "nontemporal": results larger than the
caches bypass them (`llvm.nontemporal_stores`). "pool": memory of large results is reused
(`call.buffer_pool`).
"""

from __future__ import annotations

import os
from functools import lru_cache

from ...errors import ArgumentError, quoted

VARIABLE = "TREESIM_MEMORY"
PREFETCH, NONTEMPORAL, POOL = TECHNIQUES = ("prefetch", "nontemporal", "pool")
PLAIN = "plain"  # no technique


def used(technique: str) -> bool:
    """Return whether one of TECHNIQUES is used: $TREESIM_MEMORY is not set, or lists it, separated by commas.

    Raises ArgumentError if the variable contains anything but TECHNIQUES, or "plain" alone for none.
    """
    details = os.environ.get(VARIABLE)
    return not details or technique in _listed(details)


@lru_cache(maxsize=16)
def _listed(details: str) -> tuple[str, ...]:
    names = () if details == PLAIN else tuple(name.strip() for name in details.split(","))
    if not set(names) <= set(TECHNIQUES):
        choices = f"{PLAIN}, or some of {', '.join(TECHNIQUES)}, separated by commas"
        raise ArgumentError(f"{VARIABLE} is {quoted(details)}, but must be {choices}")
    return names
