"""Trees whose costs are printed in Featherstone 2005 and 2010, as topologies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from treesim.model.topology import Topology

from .featherstone_2005 import FLOATING_DOFS

TREE_1 = (0, 1, 1, 2, 2, 3, 3)


class TaskTree(NamedTuple):
    """A tree and the bodies of its operational-space tasks."""

    tree: Topology
    hands: tuple[int, ...]
    feet: tuple[int, ...]
    head: int
    fingertips: tuple[int, ...]


def every_coordinate(bodies: Sequence[int]) -> list[int]:
    """Return b(1) ... b(m) of all six coordinates of each body."""
    return [body for body in bodies for _ in range(6)]


def floating_chain() -> Topology:
    """Return the 30-DoF unbranched chain on a floating base of Featherstone 2005, section 6."""
    return _floating(list(range(25)))


def humanoid() -> Topology:
    """Return the 30-DoF humanoid of Featherstone 2005, section 6: a floating torso and four limbs of six joints."""
    parent = [0]
    for _ in range(4):
        _limb(parent, 1, 6)
    return _floating(parent)


def asimo(pairs: int = 1, extra: int = 0, fingers: int = 2, finger_joints: int = 1) -> TaskTree:
    """Return the ASIMO-like tree of Featherstone 2010 or one of its variants (Table 3).

    pairs: of arms and of legs. extra: additional joints in each arm and leg. fingers: per hand. Bodies are
    numbered torso, head, arms with their fingers, waist, legs. `fingertips` contains two of each hand.
    """
    parent = [0]
    head = _limb(parent, 1, 3)
    hands, tips = [], []
    for _ in range(2 * pairs):
        palm = _limb(parent, 1, 7 + extra)
        hands.append(palm)
        tips += [_limb(parent, palm, finger_joints) for _ in range(fingers)][:2]
    waist = _limb(parent, 1, 1)
    feet = tuple(_limb(parent, waist, 6 + extra) for _ in range(2 * pairs))
    return TaskTree(_floating(parent), tuple(hands), feet, head, tuple(tips))


def _limb(parent: list[int], root: int, joints: int) -> int:
    """Append a chain of `joints` bodies to body `root`; return the last one's number."""
    for _ in range(joints):
        parent.append(root)
        root = len(parent)
    return root


def _floating(parent: list[int]) -> Topology:
    return Topology(parent, [FLOATING_DOFS] + [1] * (len(parent) - 1))
