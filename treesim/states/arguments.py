"""Validation of arguments other than arrays: robots, names of frames, functions, and single values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from typing import Any

import numpy as np

from ..errors import ArgumentError, UnsupportedError, listed, quoted
from ..model.mimic import no_mimic_joints
from ..model.tree import Tree
from ..validation.values import LONGEST, MOST, call_fault, parts_or_none, positive_number, short_repr, whole_number

__all__ = [
    "LONGEST", "MOST", "checked_frames", "checked_progress", "checked_robot", "positive_number", "refuse_mimic_joints",
    "refuse_regularized_rotors", "short_repr", "whole_number",
]  # fmt: skip


def checked_robot(value: Any) -> Tree:
    """Return `value` if it is a Tree; raises ArgumentError otherwise."""
    if not isinstance(value, Tree):
        hint = ": give its robot" if isinstance(getattr(value, "robot", None), Tree) else ""
        raise ArgumentError(f"robot must be a Tree, as treesim.load returns it, not {short_repr(value)}{hint}")
    return value


def refuse_mimic_joints(robot: Tree, what: str) -> None:
    """Raise UnsupportedError for a robot with mimic joints, which the feature `what` does not support."""
    if robot.mimic_map is not None:
        raise no_mimic_joints(robot.name, robot.mimic_joints, what)


def checked_frames(value: Any) -> tuple[str, ...]:
    """Return the names of frames as a tuple, from one name or a sequence; raises ArgumentError for other values."""
    names = (value,) if isinstance(value, str) else parts_or_none(value)
    if names is None and isinstance(value, Mapping | Set):
        names = tuple(value)
    if names is None:
        raise ArgumentError(f"frames must be a frame's name, or a sequence of names, not {short_repr(value)}")
    return names


def refuse_regularized_rotors(robot: Tree, what: str, instead: str) -> None:
    """Raise UnsupportedError for a robot with mimic joints whose mass matrix needs regularization.

    Such joints, or their mimicked joints, move no inertia. `what` names the feature that does not support the negative
    rotor inertias of the regularization (`MimicMap.regularization`). `instead` is the alternative that the error
    suggests.
    """
    regularization = np.zeros(0) if robot.mimic_map is None else robot.mimic_map.regularization
    if (regularization > 0).any():
        names = listed([robot.spanning.dof_name(int(k)) for k in np.flatnonzero(regularization > 0)], limit=3)
        raise UnsupportedError(
            f"{what} does not support mimic joints, or mimicked joints, that carry no inertia, such as {names} of "
            f"{quoted(robot.name)}: give their links some, or use {instead!r}"
        )


def checked_progress(value: Any) -> Callable[[int, int], None] | None:
    """Return `value` if it is None or a function progress(done, total); raises ArgumentError otherwise."""
    if value is None:
        return None
    if not callable(value) or isinstance(value, type):
        raise ArgumentError(f"progress must be a function progress(done, total) or None, got {short_repr(value)}")
    if fault := call_fault(value, 2):
        raise ArgumentError(f"progress must take two numbers, (done, total): {fault}")
    return value  # type: ignore[no-any-return]
