"""Loop joints: joints that close the kinematic loops of a spanning tree."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import KW_ONLY, field
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ModelError, plain_text, quoted
from ..system.display import ReprMixin, vector
from ..types import LoopType
from ..validation.arrays import real_numbers
from ..validation.values import checked_text, is_name_of, short_repr
from .frozen import frozen, record
from .matrices import unit_vector
from .names import unique

LOOP_TYPES = get_args(LoopType)


@record(eq=False)
class Loop(ReprMixin):
    """A joint that closes a kinematic loop: a constraint between two frames of a tree.

    A `treesim.World` closes the loops of its robot. Functions of a tree, such as `forward_dynamics`, ignore loops.

    Parameters
    ----------
    name : str
        Name of the loop.
    first, second : str
        Names of the two frames.
    type : str
        "spherical": the origins of the frames coincide. "revolute": the origins and the directions of `axis` coincide.
        "fixed": the frames coincide.
    axis : array_like
        (3,) axis of a revolute loop joint, with the same coordinates in the first and in the second frame. x by
        default.

    Raises
    ------
    ModelError
        If the type is unknown, or the axis is not a direction.

    Examples
    --------
    >>> treesim.Loop("pin", "coupler_tip", "rocker_tip", type="revolute", axis=(0, 1, 0))
    <Loop 'pin': revolute about (0, 1, 0), joins 'coupler_tip' and 'rocker_tip'>
    """

    name: str
    first: str
    second: str
    _: KW_ONLY
    type: LoopType = "spherical"
    axis: np.ndarray = field(default_factory=lambda: np.array([1.0, 0.0, 0.0]))

    if TYPE_CHECKING:  # what is given becomes an array

        def __init__(self, name: str, first: str, second: str, type: LoopType = ..., axis: ArrayLike = ...) -> None: ...

    def __post_init__(self) -> None:
        for label in ("name", "first", "second"):
            object.__setattr__(self, label, checked_text(f"{label} of a loop", getattr(self, label)))
        if not is_name_of(self.type, LOOP_TYPES):
            raise ModelError(
                f"type of loop {quoted(self.name)} must be {', '.join(LOOP_TYPES)}, got {quoted(self.type)}"
            )
        object.__setattr__(self, "type", plain_text(self.type))
        axis = real_numbers(f"axis of loop {quoted(self.name)}", self.axis)
        if axis.shape != (3,) or not np.isfinite(axis).all() or not axis.any():
            given = short_repr(self.axis)
            raise ModelError(f"axis of loop {quoted(self.name)} must be a direction of three numbers, got {given}")
        object.__setattr__(self, "axis", frozen(unit_vector(axis)))

    def __repr__(self) -> str:
        about = f" about {vector(self.axis)}" if self.type == "revolute" else ""
        return f"<Loop {self.name!r}: {self.type}{about}, joins {self.first!r} and {self.second!r}>"

    def _repr_fields(self) -> list[tuple[str, Any]]:
        return [("frames", (self.first, self.second)), ("type", self.type), ("axis", vector(self.axis))]


def checked_loops(robot: str, loops: Sequence[Loop], frames: Container[str]) -> tuple[Loop, ...]:
    """Return the loops of a tree; raises ModelError for a repeated name, or a frame that is not in `frames`."""
    unique("loop", [loop.name for loop in loops])
    for loop in loops:
        for end in (loop.first, loop.second):
            if end not in frames:
                raise ModelError(f"loop {quoted(loop.name)} joins {quoted(end)}, which is no frame of {quoted(robot)}")
    return tuple(loops)
