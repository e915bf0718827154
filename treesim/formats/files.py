"""File formats by suffix, with their readers and writers."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from ..errors import ArgumentError
from ..simulation.trajectory import Trajectory
from ..system.files import DAMAGED, check_suffix, checked_output, path_of, write_whole
from . import csv, mcap, npz, parquet, xarray


@dataclass(frozen=True)
class Format:
    """Reader and writer of a file format.

    write: to a stream of bytes. read: from a file. size_of: returns the number of bytes to write; None if
    unknown.
    """

    write: Callable[[Trajectory, IO[bytes]], Any]
    read: Callable[[Path], Trajectory]
    size_of: Callable[[Trajectory], int | None] = lambda _: None


FORMATS = {
    ".npz": Format(npz.write, npz.read, npz.size_of),
    ".csv": Format(csv.write, csv.read),
    ".parquet": Format(parquet.write, parquet.read),
    ".nc": Format(xarray.write, xarray.read),
    ".mcap": Format(mcap.write, mcap.read),
}
SUFFIXES = tuple(FORMATS)


def save(trajectory: Trajectory, path: str | os.PathLike[str]) -> Path:
    """Write a trajectory to a file atomically, in the format of its suffix; see `Trajectory.save`.

    Parameters
    ----------
    trajectory : Trajectory
        Trajectory.
    path : path
        File, with a suffix of `SUFFIXES`.

    Returns
    -------
    Path
        Path of the file.
    """
    target = checked_output(path, SUFFIXES)
    of = FORMATS[target.suffix.lower()]
    return write_whole(target, lambda stream: of.write(trajectory, stream), of.size_of(trajectory))


def load(path: str | os.PathLike[str]) -> Trajectory:
    """Return the trajectory in a file, in the format of its suffix; see `Trajectory.load`.

    Parameters
    ----------
    path : path
        File, with a suffix of `SUFFIXES`.

    Returns
    -------
    Trajectory
        Trajectory.

    Raises
    ------
    ArgumentError
        If the file cannot be read, is damaged, or was not written by treesim.
    """
    path = path_of(path)
    check_suffix(path, SUFFIXES)
    try:
        return FORMATS[path.suffix.lower()].read(path)
    except OSError as error:
        raise ArgumentError(f"cannot read {path}: {error.strerror or error}") from error
    except DAMAGED as error:
        what = str(error) or type(error).__name__
        raise ArgumentError(f"{path} is not a trajectory that treesim wrote, or is damaged: {what}") from error
