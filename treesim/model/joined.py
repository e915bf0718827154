"""Merging of several trees into one: a robot and free bodies on the same fixed base."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..errors import ModelError, quoted
from .inertia import IDENTITY
from .part_maps import part_names, renamed_parts
from .rehosting import LISTS, moved_parts, renumbered
from .tree import Tree


def joined(trees: Sequence[Tree]) -> Tree:
    """Return one tree with the bodies of several trees, in order.

    Name and gravity are those of the first tree. A name of a body, joint or frame that an earlier tree has
    already is prefixed with its own tree's name and a dot; of the third tree of a name on, with "NAME_2.", "NAME_3."
    and so on. Raises ModelError if that name is taken, too.
    """
    first, *others = trees
    merged = {label: list(first._parts()[label]) for label in LISTS}
    taken, earlier = {kind: {*names} for kind, names in part_names(first).items()}, [first.name]
    for tree in others:
        times = earlier.count(tree.name)
        prefix = f"{tree.name}_{times}" if times > 1 else tree.name
        earlier.append(tree.name)
        names = [
            {name: _free_name(kind, tree, name, prefix, taken[kind]) for name in found}
            for kind, found in part_names(tree).items()
        ]
        place = renumbered(range(1, tree.n_bodies + 1), len(merged["bodies"])) | {0: (0, IDENTITY)}
        parts = renamed_parts(tree, *names)
        parts |= moved_parts(parts, place)
        parts["bodies"] = [replace(body, parent=place[body.parent][0]) for body in parts["bodies"]]
        for label in LISTS:
            merged[label] += parts[label]
    return Tree(first.name, gravity=first.gravity, **merged)


def _free_name(kind: str, tree: Tree, name: str, prefix: str, taken: set[str]) -> str:
    """Return a name for a part of a tree, with a prefix if it is taken, and add it to those that are."""
    found = name if name not in taken else f"{prefix}.{name}"
    if found in taken:
        raise ModelError(
            f"two trees have a {kind} {quoted(name)} and the name {quoted(tree.name)}: give one another name with "
            f"tree.with_name(...)"
        )
    taken.add(found)
    return found
