"""Subtrees of the base, which contacts connect to components (see `treesim.kernels.contact.components`)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Sequence
from itertools import accumulate

from ..kernels.contact.layout import SubtreeColumns
from ..model.tree import Tree


def subtrees_of(
    robot: Tree,
    kinematic: Collection[int],
    held: Sequence[int],
    starts: Collection[int],
    rows: Sequence[Sequence[int]],
) -> tuple[list[SubtreeColumns], list[int], bool]:
    """Return the subtrees of the base with a last row of ends, each body's subtree, and whether several can move.

    The bodies of a subtree are consecutive. Subtrees of one robot on a fixed base are one. kinematic: numbers of
    kinematic bodies, which are of no subtree: -1, as the base. held: bodies with constrained frames or loops. starts:
    first body of each robot of the world. rows: degrees of freedom of all joint limits, joints with friction and speed
    limits, in ascending order.
    """
    cuts, subtree_of = _cuts(robot, starts), [-1] * (robot.n_bodies + 1)
    constrained, t = set(held if robot.mimic_map is None else (*held, *_mimicking(robot))), -1
    for i in range(1, robot.n_bodies + 1):
        t += i == cuts[t + 1]
        subtree_of[i] = t
    dofs, found, moving = [0, *accumulate(robot.topology.dofs.tolist())], [], 0
    for t, i in enumerate(cuts):
        dof, end = dofs[i - 1], t == len(cuts) - 1
        limit, friction, speed = rows
        holds = not end and not constrained.isdisjoint(range(i, cuts[t + 1]))
        found.append(
            SubtreeColumns(
                body=i, dof=dof, limit=bisect_left(limit, dof), friction=bisect_left(friction, dof),
                speed=bisect_left(speed, dof), kinematic=int(i in kinematic), constrained=int(holds),
            )
        )  # fmt: skip
        moving += not end and i not in kinematic
    for i in kinematic:
        subtree_of[i] = -1
    return found, subtree_of, moving > 1


def _cuts(robot: Tree, starts: Collection[int]) -> list[int]:
    """Return the first bodies of subtrees, of free ones, of what follows these, and of each robot; then their end."""
    parents, last = robot.parent.tolist(), robot.n_bodies + 1
    roots, cuts = [0] * last, [last]  # roots: first body of each body's subtree
    for i, parent in enumerate(parents, 1):
        roots[i] = roots[parent] or i
    for i in range(robot.n_bodies, 0, -1):
        last = roots[i] if roots[i] < last else last  # of the bodies from i on
        if last == i and (i == 1 or i in starts or _is_free(robot, i) or _is_free(robot, roots[i - 1])):
            cuts.append(i)
    return cuts[::-1]


def _is_free(robot: Tree, i: int) -> bool:
    return robot.bodies[i - 1].joint.type == "floating"


def _mimicking(robot: Tree) -> list[int]:
    """Return the numbers of the bodies of mimic joints, and of the joints that they mimic."""
    joints = {body.joint.name: i for i, body in enumerate(robot.bodies, 1)}
    pairs = [(i, body.joint.mimic) for i, body in enumerate(robot.bodies, 1)]
    return [k for i, mimic in pairs if mimic is not None for k in (i, joints[mimic.joint])]
