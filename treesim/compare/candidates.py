"""Candidate explanations: changes of treesim's model that may reproduce the other model's numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..model.inertia import Inertia
from ..model.tree import Tree
from .description import Description, Edit, named
from .layouts import Layout

TreeChange = Callable[[Tree], Tree]


@dataclass(frozen=True, eq=False)
class Side:
    """treesim's model with the changes made so far: of the URDF document, of the tree, and of the state layout.

    tree_changes: applied to the tree in order. layouts: applied to states and forces in order.
    terms: coefficients of additional joint forces, {term: (nv,)}, with the terms of `joint_terms.TERMS`.
    """

    description: Description
    tree_changes: tuple[TreeChange, ...] = ()
    layouts: tuple[Layout, ...] = ()
    terms: dict[str, np.ndarray] = field(default_factory=dict)

    @cached_property
    def robot(self) -> Tree:
        """Tree with which this side computes."""
        robot = self.description.bodies_alone
        for change in self.tree_changes:
            robot = change(robot)
        return robot

    def edited(self, edit: Edit) -> Side:
        """Return this side with an edit applied to its document."""
        return replace(self, description=self.description.edited(edit))

    def with_tree(self, change: TreeChange) -> Side:
        """Return this side with one more change of its tree."""
        return replace(self, tree_changes=(*self.tree_changes, change))

    def with_layout(self, layout: Layout) -> Side:
        """Return this side with one more layout, through which states and forces are exchanged."""
        return replace(self, layouts=(*self.layouts, layout))


@dataclass(frozen=True, eq=False)
class Candidate:
    """Candidate explanation: one thing that the other model may do differently.

    kind: a stable key. owner: "link 'arm'", "joint 'elbow'", "3 links", "the robot". cause: a sentence. change:
    makes the same change in treesim's model; raises ValueError if no valid robot results. place: file:line in our file.
    element: "link" or "joint", its name, and the tags inside, with which the place in the other file is found.
    inertia: of the link in its own frame, if nothing else changes.
    """

    kind: str
    owner: str
    cause: str
    change: Callable[[Side], Side]
    place: str = ""
    element: tuple[str, ...] = ()
    inertia: Inertia | None = None


def written(tag: str, write: Callable[[Any, Any], None], parts: Mapping[str, Any]) -> Callable[[Side], Side]:
    """Return the change that writes parts, by the names of links or joints, into the description."""

    def edit(root: Any) -> None:
        for name, part in parts.items():
            write(named(root, tag, name), part)

    return lambda side: side.edited(edit)


def differing(
    ours: Any, theirs: Any, single: Sequence[tuple[str, str, str, Any]], whole: tuple[str, str]
) -> Iterable[tuple[str, str, str, Any]]:
    """Return kind, element, cause and part of the changes to `ours` that change it, and of all of them at once.

    whole: kind and element of the last.
    """
    found = [one for one in single if not one[-1].same(ours)]
    return found if len(found) < 2 else [*found, (*whole, ", ".join(cause for _, _, cause, _ in found), theirs)]
