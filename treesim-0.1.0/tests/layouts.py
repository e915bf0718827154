"""What every layout of another engine must do: each map has its way back, and the maps fit each other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import treesim
from treesim import testing
from treesim.model.generators import random_tree


def robot(seed: int, floating: bool, types: tuple[str, ...]) -> treesim.Tree:
    """A random tree with joints of these types, not numbered depth-first, its inertial axes turned anyhow."""
    fixed = random_tree(np.random.default_rng(seed), 7, types)
    if not floating:
        return treesim.Tree("random", fixed.bodies)
    hull = replace(fixed.bodies[0], name="hull", joint=treesim.Joint("root_joint", "floating"))
    return treesim.Tree("random", [hull, *(replace(body, parent=body.parent + 1) for body in fixed.bodies)])


def check(tree: treesim.Tree, layout, seed: int) -> None:
    """Check all maps of a layout at one random state and at a batch of them."""
    testing.check_layout(layout, tree, seed)
