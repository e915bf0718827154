"""Merging of several trees into one: a robot and free bodies on the same fixed base."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..errors import ModelError, quoted
from .joints import Joint
from .tree import Frame, Tree

LISTS = ("bodies", "frames", "visuals", "shapes", "loops", "welds", "notes")


def joined(trees: Sequence[Tree]) -> Tree:
    """Return one tree with the bodies of several trees, in order.

    Name and gravity are those of the first tree. A name of a body, joint or frame that an earlier tree has
    already is prefixed with its own tree's name and a dot; of the third tree of a name on, with "NAME_2.", "NAME_3."
    and so on. Raises ModelError if that name is taken, too.
    """
    first, *others = trees
    whole = _Parts(first)
    for tree in others:
        whole.add(tree)
    return Tree(first.name, gravity=first.gravity, **whole.lists)


class _Parts:
    """Constructor arguments of the merged tree, as lists that are collected tree by tree."""

    def __init__(self, first: Tree) -> None:
        own = first._parts()
        self.lists: dict[str, list[Any]] = {name: list(own[name]) for name in LISTS}
        self.trees, self.prefix = [first.name], first.name
        loops = {loop.name for loop in first.loops}
        self.names = {"link": set(first.frames), "joint": {*first.joint_names, *_fixed(first)}, "loop": loops}

    def add(self, tree: Tree) -> None:
        """Add the bodies, frames, shapes and loops of one more tree."""
        bodies, frames, visuals, shapes, loops, welds, notes = self.lists.values()
        notes.extend(tree.notes)
        count = len(bodies)
        times = self.trees.count(tree.name)
        self.prefix = f"{tree.name}_{times}" if times > 1 else tree.name
        self.trees.append(tree.name)
        links = {name: self._free_name("link", tree, name) for name in tree.frames}
        joints = {name: self._free_name("joint", tree, name) for name in (*tree.joint_names, *_fixed(tree))}
        for body in tree.bodies:
            parent = _moved(body.parent, count)
            bodies.append(replace(body, name=links[body.name], parent=parent, joint=_renamed(body.joint, joints)))
        for frame in list(tree.frames.values())[tree.n_bodies :]:
            frames.append(Frame(links[frame.name], _moved(frame.body, count), frame.placement))
        for each in tree.visuals:
            visuals.append(replace(each, body=_moved(each.body, count)))
        for loop in tree.loops:
            name = self._free_name("loop", tree, loop.name)
            loops.append(replace(loop, name=name, first=links[loop.first], second=links[loop.second]))
        for weld in tree.welds:
            joint, carrier = joints.get(weld.joint, ""), links.get(weld.parent, "")
            carried = tuple(joints[name] for name in weld.joints)
            welds.append(replace(weld, link=links[weld.link], joint=joint, parent=carrier, joints=carried))
        for shape in tree.shapes:
            shapes.append(shape.attached_to(_moved(shape.body, count), links.get(shape.link, shape.link)))

    def _free_name(self, what: str, tree: Tree, name: str) -> str:
        known = self.names[what]
        found = name if name not in known else f"{self.prefix}.{name}"
        if found in known:
            raise ModelError(
                f"two trees have a {what} {quoted(name)} and the name {quoted(tree.name)}: give one another name with "
                f"tree.with_name(...)"
            )
        known.add(found)
        return found


def _fixed(tree: Tree) -> list[str]:
    """Return the names of the fixed joints of a tree."""
    return [weld.joint for weld in tree.welds if weld.joint]


def _moved(body: int, count: int) -> int:
    return body + count if body else 0


def _renamed(joint: Joint, names: dict[str, str]) -> Joint:
    changes: dict[str, Any] = {"name": names[joint.name]}
    if joint.mimic is not None:
        changes["mimic"] = replace(joint.mimic, joint=names[joint.mimic.joint])
    return replace(joint, **changes)
