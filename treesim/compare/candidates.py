"""What a candidate explanation is: a change of our side, after which the other side's numbers may be ours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from ..model.inertia import Inertia
from ..model.tree import Tree
from .description import Description, Edit
from .layouts import Layout

TreeChange = Callable[[Tree], Tree]


@dataclass(frozen=True, eq=False)
class Side:
    """Our side as hypotheses have changed it so far: the document, then its tree, then what its numbers mean.

    tree_changes: applied to the tree in order. layouts: the other side's numbers are those behind these, in order.
    terms: forces at the joints by what they are proportional to, {term: (nv,)} as `joint_terms.TERMS` names them.
    """

    description: Description
    tree_changes: tuple[TreeChange, ...] = ()
    layouts: tuple[Layout, ...] = ()
    terms: dict[str, np.ndarray] = field(default_factory=dict)

    @cached_property
    def robot(self) -> Tree:
        """The tree that this side computes with."""
        robot = self.description.bodies_alone
        for change in self.tree_changes:
            robot = change(robot)
        return robot

    def edited(self, edit: Edit) -> Side:
        """Return the side with an edit of its document."""
        return replace(self, description=self.description.edited(edit))

    def with_tree(self, change: TreeChange) -> Side:
        """Return the side with a change of its tree."""
        return replace(self, tree_changes=(*self.tree_changes, change))

    def with_layout(self, layout: Layout) -> Side:
        """Return the side whose numbers the other side takes by a layout."""
        return replace(self, layouts=(*self.layouts, layout))


@dataclass(frozen=True, eq=False)
class Candidate:
    """One thing that the other side may do.

    kind: a stable key. owner: "link 'arm'", "joint 'elbow'", "3 links", "the robot". cause: in words. change: does the
    same on our side; raises ValueError where that makes no robot. line: of our file. element: "link" or "joint", its
    name, and the tags inside, to find the line in the other file. inertia: of the link in its own frame, where that is
    all that changes.
    """

    kind: str
    owner: str
    cause: str
    change: Callable[[Side], Side]
    line: int | None = None
    element: tuple[str, ...] = ()
    inertia: Inertia | None = None
