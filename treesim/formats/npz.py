"""Trajectories as NumPy archives (.npz): every array, bit for bit."""

from __future__ import annotations

from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import IO, Any

import numpy as np

from ..simulation.readings import recorded
from ..simulation.trajectory import Trajectory
from ..system.archives import open_arrays
from ..system.input_files import LARGEST_RECORDING
from .description import described, read_description, restored

OLD_SOLVER_INFO = "told"  # its name in files of older versions
ARRAYS = ("t", "q", "v", "tau", "energy", "work")


def size_of(trajectory: Trajectory) -> int:
    """Return the number of bytes of the state arrays, for messages about full disks."""
    return sum(getattr(trajectory, name).nbytes for name in ARRAYS)


def write(trajectory: Trajectory, stream: IO[bytes]) -> None:
    """Write the archive to a stream of bytes."""
    arrays = {name: getattr(trajectory, name) for name in ARRAYS}
    contact = trajectory.contact
    if contact is not None:
        arrays |= {"wrench": contact.wrench_array, "solver_info": contact.solver_info}
        arrays["pairs"] = contact.pair_wrench_array
        if contact.points is not None:
            arrays |= {"contact_points": contact.points, "first_point": contact.first_point}
    arrays |= {f"sensor_{k}": readings for k, readings in enumerate(trajectory.sensors.values())}
    np.savez(stream, description=np.array(described(trajectory).encode()), **arrays)


def read(source: Path | BytesIO) -> Trajectory:
    """Return the trajectory of an archive; nothing in it is executed."""
    with open_arrays(source, LARGEST_RECORDING) as archive:
        arrays: dict[str, Any] = {name: archive[name] for name in ARRAYS if name != "work" or name in archive}
        description = read_description(archive["description"].item())  # bytes; a str in files of older versions
        solver_info = next((archive[name] for name in ("solver_info", OLD_SOLVER_INFO) if name in archive), None)
        if solver_info is not None:
            contact = description.contact(archive["wrench"], solver_info, archive.get("pairs"))
            if "contact_points" in archive:
                contact = replace(contact, points=archive["contact_points"], first_point=archive["first_point"])
            arrays["contact"] = contact
        found = {name: archive[f"sensor_{k}"] for k, name in enumerate(description.sensors)}
        arrays["sensors"] = recorded(description.sensors, found)
        return restored(description, arrays)
