"""Trajectories as NumPy archives (.npz): every array, bit for bit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import IO

import numpy as np

from ..contact.history import ContactHistory, names_of
from ..trajectory import Trajectory
from .description import described, restored

ARRAYS = ("t", "q", "v", "tau", "energy", "work")


def size_of(trajectory: Trajectory) -> int:
    """Return the bytes of the arrays of states, for messages about full disks."""
    return sum(getattr(trajectory, name).nbytes for name in ARRAYS)


def write(trajectory: Trajectory, stream: IO[bytes]) -> None:
    """Write the archive to a stream of bytes."""
    arrays = {name: getattr(trajectory, name) for name in ARRAYS}
    contact = trajectory.contact
    if contact is not None:
        arrays |= {"wrench": contact.wrench, "told": contact.told, "pairs": contact.pair_wrench}
    np.savez(stream, description=np.array(described(trajectory)), **arrays)


def read(source: Path | IO[bytes]) -> Trajectory:
    """Return the trajectory of an archive; nothing in it is executed."""
    with np.load(source, allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in ARRAYS if name != "work" or name in archive}
        description = json.loads(str(archive["description"]))
        if "told" in archive:
            bodies, names = tuple(description["touching"]), names_of(description)
            pairs = archive.get("pairs")
            arrays["contact"] = ContactHistory(bodies, archive["wrench"], archive["told"], *names, pairs)
        return restored(description, arrays)
