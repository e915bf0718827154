"""Tables by name whose KeyErrors suggest similar names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TypeVar

import numpy as np

from ..errors import ModelError, UnknownNameError, quoted, unknown_name
from .joints import Joint
from .mimic import MimicMap

T = TypeVar("T")


def unique(kind: str, names: list[str]) -> tuple[str, ...]:
    """Return the names as a tuple; raises ModelError for an empty or repeated name."""
    seen: set[str] = set()
    for name in names:
        if not name:
            raise ModelError(f"a {kind} has no name")
        if name in seen:
            raise ModelError(f"{kind} {quoted(name)} is defined twice")
        seen.add(name)
    return tuple(names)


def slices(
    robot: str, joints: Sequence[Joint], sizes: Sequence[int], mimic_map: MimicMap | None
) -> Mapping[str, slice]:
    """Return a table {joint: slice of its coordinates}, from the joints' numbers of coordinates `sizes`.

    Looking up a mimic joint raises UnknownNameError, which names its mimicked joint.
    """
    edges = np.cumsum([0, *sizes]).tolist()
    table = {joint.name: slice(edges[i], edges[i + 1]) for i, joint in enumerate(joints)}
    led = {} if mimic_map is None else dict(zip(mimic_map.names, mimic_map.mimicked_joints, strict=True))
    return named("joint", table, repr(robot), led)


class _Named(dict[str, T]):
    """A dictionary that raises UnknownNameError for a missing key.

    kind: what the error calls the key. of: the quoted name of the robot. led: {mimic joint: mimicked joint}.
    """

    kind: str
    of: str
    led: Mapping[str, str]

    def __missing__(self, name: str) -> T:
        if name in self.led:
            raise UnknownNameError(
                f"{self.kind} {quoted(name)} mimics {quoted(self.led[name])} and has no independent coordinate in "
                f"{self.of}; `expand` gives its position, in the order of `spanning.q_index`"
            )
        raise unknown_name(self.kind, name, self, of=self.of)


def looked_up(kind: str, name: object, table: Mapping[str, T], robot: str) -> T:
    """Return the part of a name, also of a subclass of str that cannot be hashed; raises UnknownNameError."""
    if isinstance(name, str):
        return table[str.__str__(name)]
    raise unknown_name(kind, name, table, of=repr(robot))


def named(kind: str, table: Mapping[str, T], of: str, led: Mapping[str, str] | None = None) -> Mapping[str, T]:
    """Return a read-only table that raises UnknownNameError, with similar names, for a missing name."""
    found = _Named(table)
    found.kind, found.of, found.led = kind, of, led or {}
    return MappingProxyType(found)
