"""Trajectories as JSON text; the digits of each number are those that Python needs to read it back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import IO

import numpy as np

from treesim import Trajectory
from treesim.formats import described, read_description, restored

ARRAYS = ("t", "q", "v", "tau", "energy", "work")
OF_CONTACT = ("wrench", "solver_info", "pair_wrench")


def write(trajectory: Trajectory, stream: IO[bytes]) -> None:
    """Write the description and the arrays."""
    contact = trajectory.contact
    arrays = {name: getattr(trajectory, name).tolist() for name in ARRAYS}
    parts = {} if contact is None else {name: _packed(getattr(contact, name)) for name in OF_CONTACT}
    content = {"description": described(trajectory), "arrays": arrays, "contact": parts}
    stream.write(json.dumps(content).encode())


def read(path: Path) -> Trajectory:
    """Return the trajectory in a file."""
    content = json.loads(path.read_bytes())
    description = read_description(content["description"])
    arrays = {name: np.array(content["arrays"][name], float) for name in ARRAYS}
    if content["contact"]:
        arrays["contact"] = description.contact(*(_unpacked(content["contact"][name]) for name in OF_CONTACT))
    return restored(description, arrays)


def _packed(array: np.ndarray) -> tuple[tuple[int, ...], list[float]]:
    return array.shape, array.ravel().tolist()


def _unpacked(packed: tuple[list[int], list[float]]) -> np.ndarray:
    shape, numbers = packed
    return np.array(numbers, float).reshape(shape)
