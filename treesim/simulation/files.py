"""Trajectories in files: the suffix selects a format among those registered, treesim's and those of plugins."""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol, runtime_checkable

from .. import plugins
from ..errors import ArgumentError, PluginError, quoted, reason_of
from ..system.files import DAMAGED, check_suffix, checked_output, path_of, write_whole
from ..system.input_files import LARGEST_RECORDING, size_of_input

if TYPE_CHECKING:
    from .trajectory import Trajectory


@runtime_checkable
class Format(Protocol):
    """A file format: a module or an object, registered under its suffix without the dot.

    A format may also have `size_of(trajectory)`, the number of bytes to write, for messages about full disks.
    """

    def write(self, trajectory: Trajectory, stream: IO[bytes]) -> Any:
        """Write a trajectory to a stream of bytes."""

    def read(self, path: Path) -> Trajectory:
        """Return the trajectory in a file; raises ValueError or OSError if that is not possible."""


def suffixes() -> tuple[str, ...]:
    """Return the file suffixes of all registered trajectory formats.

    Examples
    --------
    >>> from treesim.formats import suffixes
    >>> suffixes()[:3]
    ('.npz', '.csv', '.parquet')
    """
    return tuple(f".{name}" for name in plugins.available("formats"))


def _format_of(path: Path) -> Format:
    """Return the format of a path with a known suffix; raises PluginError for a plugin that is no `Format`."""
    name = path.suffix[1:].lower()
    found = plugins.get("formats", name)
    if not isinstance(found, Format):
        raise PluginError(
            f"the format {quoted(name)} ({quoted(found)}) must have write(trajectory, stream) and read(path)"
        )
    return found


def save(trajectory: Trajectory, path: str | os.PathLike[str]) -> Path:
    """Write a trajectory to a file atomically, as `Trajectory.save` does.

    Parameters
    ----------
    trajectory : Trajectory
        Trajectory.
    path : path
        Path of the file, with one of the suffixes that `suffixes()` returns.

    Returns
    -------
    Path
        Path of the file.
    """
    target = checked_output(path, suffixes())
    form = _format_of(target)
    size_of = getattr(form, "size_of", lambda _: None)
    return write_whole(target, lambda stream: form.write(trajectory, stream), size_of(trajectory))


def load(path: str | os.PathLike[str]) -> Trajectory:
    """Read a trajectory from a file, as `Trajectory.load` does.

    Parameters
    ----------
    path : path
        Path of the file, with one of the suffixes that `suffixes()` returns.

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
    check_suffix(path, suffixes())
    form = _format_of(path)
    try:
        size_of_input(path, LARGEST_RECORDING)  # readers of plugins open the file themselves
        return form.read(path)
    except OSError as error:
        raise ArgumentError(f"cannot read {path}: {reason_of(error)}") from error
    except DAMAGED as error:
        raise ArgumentError(
            f"{path} is not a trajectory that treesim wrote, or is damaged: {reason_of(error)}"
        ) from error
