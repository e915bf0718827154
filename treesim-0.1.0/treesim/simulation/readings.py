"""Readings of sensors by name, with the names and units of their columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from ..errors import ArgumentError, quoted, unknown_name

AXES = ("x", "y", "z")
UNITS = {
    **{f"a{axis}": "m/s^2" for axis in AXES},
    **{f"w{axis}": "rad/s" for axis in AXES},
    **{f"f{axis}": "N" for axis in AXES},
    **{f"m{axis}": "N m" for axis in AXES},
    **{axis: "m" for axis in AXES},
    **{f"q{part}": "1" for part in "xyzw"},
}


class Readings(Mapping[str, np.ndarray]):
    """Readings of sensors by name.

    columns: names of each sensor's columns. read: function that returns the readings of a name.
    """

    __eq__ = object.__eq__  # of arrays there is no single truth
    __hash__ = object.__hash__

    def __init__(self, columns: Mapping[str, Sequence[str]], read: Callable[[str], np.ndarray]) -> None:
        self.columns, self._read = {name: tuple(parts) for name, parts in columns.items()}, read

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self.columns:
            raise unknown_name("sensor", name, self.columns)
        return self._read(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def __repr__(self) -> str:
        return f"<Readings of {', '.join(self.columns) or 'no sensors'}>"


def unit_of(column: str) -> str:
    """Return the unit of a column of readings; those without a name of their own are torques of joints."""
    return UNITS.get(column, "N m")


_NONE: dict[str, np.ndarray] = {}
NO_READINGS = Readings({}, _NONE.__getitem__)


def recorded(columns: Mapping[str, Sequence[str]], arrays: Mapping[str, np.ndarray], axes: int = 1) -> Readings:
    """Return the readings of a trajectory from arrays (K, n), or rollouts from (B, K, n), with `axes` before the last.

    Raises ArgumentError for other shapes.
    """
    for name, array in arrays.items():
        if array.ndim != axes + 1 or array.shape[-1] != len(columns[name]):
            raise ArgumentError(f"sensor {quoted(name)} has {len(columns[name])} columns, but shape {array.shape}")
    return Readings(columns, dict(arrays).__getitem__)
