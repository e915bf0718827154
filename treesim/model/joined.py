"""Merging of several trees into one: a robot and free bodies on the same fixed base."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..errors import ModelError, quoted
from .inertia import IDENTITY
from .rehosting import moved
from .renaming import fixed_joints, renamed_parts
from .tree import Tree

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
        self.names = {"link": set(first.frames), "joint": {*first.joint_names, *fixed_joints(first)}, "loop": loops}

    def add(self, tree: Tree) -> None:
        """Add the bodies, frames, shapes and loops of one more tree."""
        count = len(self.lists["bodies"])
        times = self.trees.count(tree.name)
        self.prefix = f"{tree.name}_{times}" if times > 1 else tree.name
        self.trees.append(tree.name)
        links = {name: self._free_name("link", tree, name) for name in tree.frames}
        joints = {name: self._free_name("joint", tree, name) for name in (*tree.joint_names, *fixed_joints(tree))}
        parts = renamed_parts(tree, links, joints, {x.name: self._free_name("loop", tree, x.name) for x in tree.loops})
        place = {number: (number + count if number else 0, IDENTITY) for number in range(tree.n_bodies + 1)}
        parts["bodies"] = [replace(body, parent=place[body.parent][0]) for body in parts["bodies"]]
        for label in LISTS:
            fixed = label in ("frames", "visuals", "shapes")
            self.lists[label] += [moved(part, place) for part in parts[label]] if fixed else parts[label]

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
