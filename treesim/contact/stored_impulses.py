"""Arrays of warm-start impulses (see `treesim.kernels.contact.warm_start`) that were stored."""

from __future__ import annotations

import numpy as np

from .tables import Touching


def current_impulses(found: np.ndarray, touching: Touching) -> np.ndarray | None:
    """Return stored impulses (..., R) in the layout of this version; None if they are not those of this world.

    Older versions stored impulses of all slots, then those of scalar rows, then the angular impulses of all slots.
    """
    n, rows, size = touching.counts, touching.scalar_rows, touching.warm_start_size
    if found.ndim and found.shape[-1] == size:
        return found
    kinds = 1 + n.resists
    if not found.ndim or found.shape[-1] != 3 * n.slots * kinds + rows:
        return None
    converted = np.zeros((*found.shape[:-1], size))
    for old, new in zip(found.reshape(-1, found.shape[-1]), converted.reshape(-1, size), strict=True):
        linear, scalar, angular = np.split(old, [3 * n.slots, 3 * n.slots + rows])
        by_slot = np.concatenate([x.reshape(-1, 3) for x in (linear, angular)[:kinds]], axis=1)
        used = np.flatnonzero(by_slot.any(axis=1))[: n.stored]
        entries = np.column_stack([used, by_slot[used]]).ravel()
        new[0], new[1 : 1 + entries.size], new[size - rows :] = used.size, entries, scalar
    return converted


def clear_unlisted(impulses: np.ndarray, touching: Touching) -> None:
    """Set the numbers of impulses (count, R) behind the listed contacts, which no step reads, to zero."""
    first = touching.warm_start_size - touching.scalar_rows
    used = 1 + touching.stored_size * impulses[:, :1]
    impulses[:, :first][np.arange(first) >= used] = 0.0
