"""Further robots in the world of a robot: option --with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

import treesim

from ..errors import ArgumentError, quoted
from .common import finite_number, load_robot

if TYPE_CHECKING:
    from ..contact.ground import Ground
    from ..model.tree import Tree

APART = 1.0  # m along y, between robots without a place


def other_robots(texts: Sequence[str]) -> list[tuple[Tree, np.ndarray]]:
    """Return robots, written as ROBOT@x,y,z [m], at their places, each with its configuration (nq,).

    Raises ArgumentError for a wrong place, and what `treesim.load` raises.
    """
    return [_placed(text, [0.0, APART * k, 0.0]) for k, text in enumerate(texts, start=1)]


def _placed(text: str, place: list[float]) -> tuple[Tree, np.ndarray]:
    source, _, numbers = text.partition("@")
    if numbers:
        place = [finite_number("--with", number) for number in numbers.split(",")]
    if len(place) != 3:
        raise ArgumentError(f"--with takes ROBOT@x,y,z with three numbers, got {quoted(text)}")
    robot = load_robot(source, "auto", None)
    if robot.base == "fixed":
        robot = robot.with_base_pose(treesim.Placement(translation=tuple(place)))
        return robot, robot.neutral()
    q = robot.neutral()
    q[:3] += place
    return robot, q


def on_ground(robots: Sequence[tuple[Tree, np.ndarray]], ground: Ground) -> list[tuple[Tree, np.ndarray]]:
    """Return robots whose floating bases are placed on a ground."""
    return [(robot, treesim.standing(robot, q, ground) if robot.base == "floating" else q) for robot, q in robots]


def joined(robots: Sequence[tuple[Tree, np.ndarray]], v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return configuration and velocity of several robots in one tree, of which the first moves with v (nv,)."""
    rest = [np.zeros(robot.nv) for robot, _ in robots[1:]]
    return np.concatenate([q for _, q in robots]), np.concatenate([v, *rest])
