"""Tables by name that tell near misses of a name that they do not have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TypeVar

import numpy as np

from ..errors import ModelError, UnknownNameError, unknown_name
from .joints import Joint
from .mimic import MimicMap

T = TypeVar("T")


def unique(kind: str, names: list[str]) -> tuple[str, ...]:
    """Return the names; raises ModelError for one that is empty, or twice among them."""
    seen: set[str] = set()
    for name in names:
        if not name:
            raise ModelError(f"a {kind} has no name")
        if name in seen:
            raise ModelError(f"{kind} {name!r} is defined twice")
        seen.add(name)
    return tuple(names)


def slices(
    robot: str, joints: Sequence[Joint], sizes: Sequence[int], mimic_map: MimicMap | None
) -> Mapping[str, slice]:
    """Return where the coordinates of joints of these sizes are, by name; followers are named in errors."""
    edges = np.cumsum([0, *sizes]).tolist()
    table = {joint.name: slice(edges[i], edges[i + 1]) for i, joint in enumerate(joints)}
    led = {} if mimic_map is None else dict(zip(mimic_map.names, mimic_map.mimicked_joints, strict=True))
    return named(f"joint of {robot!r}", table, led)


class _Named(dict[str, T]):
    """What has names, by name; `kind` is what an unknown name is called in the error; led: followers' leaders."""

    kind: str
    led: Mapping[str, str]

    def __missing__(self, name: str) -> T:
        if name in self.led:
            raise UnknownNameError(
                f"{self.kind}: {name!r} follows {self.led[name]!r} and has no coordinate of its own; "
                f"`expand` gives its position, in the order of `spanning.q_index`"
            )
        raise unknown_name(self.kind, name, self)


def named(kind: str, table: Mapping[str, T], led: Mapping[str, str] | None = None) -> Mapping[str, T]:
    """Return a table that cannot be changed, and that tells near misses of a name that it does not have."""
    found = _Named(table)
    found.kind, found.led = kind, led or {}
    return MappingProxyType(found)
