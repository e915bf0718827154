"""The trees and states that tests run on: a catalogue by name, random trees, and random states."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import mpmath
import numpy as np
from hypothesis import strategies as st

from treesim import Tree
from treesim.kernels.algebra.tables import tree_tables
from treesim.model import generators as make
from treesim.model.joints import JOINT_TYPES
from treesim.testing.samples import MIXED, State, on_floating_base, random_state

__all__ = ["CATALOGUE", "FREE", "MIXED", "SMALL", "State", "on_floating_base", "random_state", "relative_error"]


def random_tree(seed: int, n_bodies: int = 8, **options) -> Tree:
    """Return the random tree of `seed`: numbered not depth-first, any joint anywhere, several bodies on the base."""
    return make.random_tree(np.random.default_rng(seed), n_bodies, **options)


# the seeds are of trees with a joint of every type, and of few velocities: code is as long as these are many
SMALL: dict[str, Callable[[], Tree]] = {
    "tree_1": make.tree_1,
    "chain_mixed": lambda: make.chain(6, MIXED),
    "random_a": lambda: random_tree(131, 8),
    "random_b": lambda: random_tree(2, 6, armature=0.5),
    "random_c": lambda: random_tree(99, 5, joint_types=("spherical", "floating", "planar")),
}
FREE: dict[str, Callable[[], Tree]] = {
    "free_random": lambda: on_floating_base(random_tree(289, 7)),
    "humanoid_2005": make.featherstone_2005_humanoid,
    "asimo": make.asimo,
}
CATALOGUE: dict[str, Callable[[], Tree]] = {
    **SMALL,
    **FREE,
    "binary_4": lambda: make.balanced_binary_tree(4, ("revolute", "prismatic")),
    "side_branches_5": lambda: make.chain_with_side_branches(5, ("revolute", "spherical")),
    "grid_3": lambda: make.square_grid(3, MIXED),
    "random_14": lambda: random_tree(242, 14),
}


@cache
def tree(name: str) -> Tree:
    """Return the tree of the catalogue called `name`."""
    return CATALOGUE[name]()


def with_exact_rotations(robot: Tree) -> np.ndarray:
    """Return the robot's reals in mpmath's numbers, their rotations orthonormal to all its digits, not to a double's:
    where transforms are composed, methods agree only if they are. Newton's iteration R <- R (3 - R'R) / 2."""
    reals = np.array([mpmath.mpf(x) for x in robot.reals.tolist()], dtype=object)
    for row in tree_tables(robot.ints, reals).placement:
        R = row[:9].reshape(3, 3)
        for _ in range(3):
            R[:] = R @ (3 * np.eye(3, dtype=int) - R.T @ R) / 2
    return reals


def random_trees(max_bodies: int = 8, **options) -> st.SearchStrategy[Tree]:
    """Random trees of 3 to `max_bodies` bodies, as a hypothesis strategy."""
    seeds, sizes = st.integers(0, 10_000), st.integers(3, max_bodies)
    return st.builds(lambda seed, n: random_tree(seed, n, **options), seeds, sizes)


joint_types = st.sampled_from(tuple(JOINT_TYPES))


def relative_error(value: np.ndarray, truth: np.ndarray, scale: float = 1.0) -> float:
    """Return the largest deviation, relative to the largest entry of `truth` or to `scale`; NaN counts as infinite."""
    assert np.shape(value) == np.shape(truth)
    error = np.abs(np.asarray(value) - truth).max(initial=0.0) / max(scale, np.abs(truth).max(initial=0.0))
    return float(error) if np.isfinite(error) else np.inf
