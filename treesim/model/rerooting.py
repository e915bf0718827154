"""Other root links of trees: joints on the path to the new root are reversed.

A reversed joint has the axis -a, because the inverse of a turn by q about a is the turn by q about -a. It moves the
old parent body, whose frame becomes the joint's frame. If this is no link's frame, a link without mass is added there,
so that no link's frame moves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from ..errors import ModelError, quoted
from .inertia import IDENTITY, Placement
from .joints import Joint
from .links import LinkJoints, depth_first, in_walk_order, link_children, link_joints, unused
from .parts import Body
from .rehosting import kept_bodies, rehosted

if TYPE_CHECKING:
    from .tree import Tree

T = TypeVar("T", bound="Tree")
SAME = 1e-12  # largest difference [m, 1] of the poses of a link and of a joint on it that count as equal


def rerooted(self: T, link: str) -> T:
    """Return a copy of the tree whose root is another link.

    The joints between the old and the new root are reversed: each moves its old parent body. Joints of one
    coordinate have the same position, velocity, force and limits as before. `treesim.match_state` converts states.
    A floating joint at the base then moves the new root link. If the base is fixed, the new root link is fixed to
    the world instead, with its frame at the world's origin. No frame moves on its link. Where no link's frame
    coincides with a reversed joint, a link without mass is added, called "JOINT_frame". Bodies are numbered
    depth-first from the new root.

    Parameters
    ----------
    link : str
        Name of a body or of a welded link.

    Returns
    -------
    Tree
        The tree.

    Raises
    ------
    ModelError
        If `link` is a frame without a link, or if a joint of several coordinates that has limits would be reversed.
    UnknownNameError
        If there is no such link.

    Examples
    --------
    >>> arm = treesim.load("ur5").rerooted("tool0")
    >>> arm.joint_names[:2], arm.nv
    (('wrist_3_joint', 'wrist_2_joint'), 6)
    """
    frame, old = self.frame(link), link_joints(self.bodies, self.welds)
    if frame.name not in old:
        raise ModelError(f"frame {quoted(link)} is no link: name the link that it is on")
    path = [frame.name]
    while old[path[-1]][1]:
        path.append(old[path[-1]][1])
    top = self.links.get(path[-1])
    floating = top is not None and top.joint.type == "floating"
    if top is not None and not floating:
        path.append("")  # the base, which has no link of its own
    upward = dict(pairwise(path))
    turned = _reversed_joints(self, upward)
    fixed = _new_joints(self, old, upward, turned) | {frame.name: ("", "")}
    moving = {
        body.name: number for number, body in enumerate(self.bodies, start=1) if body.name not in {*upward, path[-1]}
    }
    moving |= {name: number for number, (name, _) in turned.items()} | ({frame.name: frame.body} if floating else {})
    order = [0 if floating else frame.body, *(moving[link] for link in _walk(self, fixed) if link in moving)]
    origins = {number: below.joint.placement for number, (_, below) in turned.items()}
    if frame.name not in self.links:
        origins[frame.body] = frame.placement
    place = {n: (k, origins[n].inverse() if n in origins else IDENTITY) for k, n in enumerate(order)}
    bodies, lines = [], {body.name: body.line for body in self.bodies}
    for number in order[1:]:
        if number in turned:
            name, below = turned[number]
            parent, pose = place[self.frames[below.name].body]
            bodies.append(Body(name, parent, _reversed(below.joint, pose), line=lines.get(name)))
        elif number == frame.body and top is not None:
            joint = replace(top.joint, placement=IDENTITY)
            bodies.append(Body(frame.name, 0, joint, line=lines.get(frame.name)))
        else:
            bodies += kept_bodies(self, place, [number])
    parts = rehosted(self, place, bodies, fixed=fixed)
    return self._with(**parts | {"welds": in_walk_order(parts["bodies"], parts["welds"])})


def _reversed_joints(tree: Tree, upward: Mapping[str, str]) -> dict[int, tuple[str, Body]]:
    """Return {old parent body: (name of its link at the joint, old child body)} of the moving joints to reverse."""
    found, names = {}, {*tree.frames}
    for body in tree.bodies:
        if body.name in upward:
            above = upward[body.name]
            at = IDENTITY if above in tree.links else tree.frames[above].placement if above else None
            equal = at is not None and np.abs(at.matrix() - body.joint.placement.matrix()).max() <= SAME
            found[body.parent] = above if equal else unused(f"{body.joint.name}_frame", names), body
    return found


def _new_joints(
    tree: Tree, old: LinkJoints, upward: Mapping[str, str], turned: Mapping[int, tuple[str, Body]]
) -> LinkJoints:
    """Return the joint, if it is fixed, and the parent of each link, for another root; old: as on the tree."""
    found, taken = dict(old), {joint for joint, _ in old.values()}
    for link, (joint, parent) in old.items():
        if not parent and link not in upward.values() and 0 in turned:  # fixed to the old base, which moves now
            found[link] = joint or unused(f"{link}_fixed", taken), turned[0][0]
    for below, above in upward.items():
        top = above
        if below in tree.links:
            top = turned[tree.links[below].parent][0]
            found[top] = "", below
        if above:
            found[above] = (old[below][0], below) if top == above else (unused(f"{above}_fixed", taken), top)
    return found


def _walk(tree: Tree, fixed: LinkJoints) -> list[str]:
    """Return links in the order of a depth-first walk from their new root, siblings as on the old tree."""
    children: dict[str, list[str]] = {link: [] for link in ("", *fixed)}
    old = depth_first(link_children(tree.bodies, tree.welds), "")
    for link in (*old[1:], *(link for link in fixed if link not in old)):
        children[fixed[link][1]].append(link)
    return depth_first(children, "")


def _reversed(joint: Joint, placement: Placement) -> Joint:
    """Return a joint at a placement on its old child body, whose motion is the inverse."""
    if joint.nv == 1:
        return replace(joint, placement=placement, axis=-np.asarray(joint.axis) + 0.0)
    if np.isfinite([*np.asarray(joint.lower), *np.asarray(joint.upper)]).any():
        raise ModelError(f"joint {quoted(joint.name)} cannot be reversed: it has limits of several coordinates")
    return replace(joint, placement=placement)
