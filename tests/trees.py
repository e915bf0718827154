"""The trees and states that tests run on: a catalogue by name, random trees, and random states."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

from treesim import Body, Inertia, Joint, Placement, Tree
from treesim.model import generators as make
from treesim.model.joints import JOINT_TYPES

MIXED = ("revolute", "spherical", "prismatic", "planar", "continuous", "floating")


def random_tree(seed: int, n_bodies: int = 8, **options) -> Tree:
    """Return the random tree of `seed`: numbered not depth-first, any joint anywhere, several bodies on the base."""
    return make.random_tree(np.random.default_rng(seed), n_bodies, **options)


def on_floating_base(tree: Tree) -> Tree:
    """Return `tree` carried by one more body, in front, that floats."""
    base = Body("carrier", 0, Joint("root_joint", "floating", Placement()), tree.bodies[0].inertia)
    bodies = [Body(body.name, body.parent + 1, body.joint, body.inertia) for body in tree.bodies]
    return Tree(f"floating_{tree.name}", [base, *bodies], gravity=tree.gravity)


SMALL: dict[str, Callable[[], Tree]] = {
    "tree_1": make.tree_1,
    "chain_mixed": lambda: make.chain(6, MIXED),
    "random_a": lambda: random_tree(1, 8),
    "random_b": lambda: random_tree(2, 6, armature=0.5),
    "random_c": lambda: random_tree(5, 7, joint_types=("spherical", "floating", "planar")),
}
FREE: dict[str, Callable[[], Tree]] = {
    "free_random": lambda: on_floating_base(random_tree(3, 7)),
    "humanoid_2005": make.featherstone_2005_humanoid,
    "asimo": make.asimo,
}
CATALOGUE: dict[str, Callable[[], Tree]] = {
    **SMALL,
    **FREE,
    "binary_4": lambda: make.balanced_binary_tree(4, ("revolute", "prismatic")),
    "side_branches_5": lambda: make.chain_with_side_branches(5, ("revolute", "spherical")),
    "grid_3": lambda: make.square_grid(3, MIXED),
    "random_14": lambda: random_tree(4, 14),
}


@cache
def tree(name: str) -> Tree:
    """Return the tree of the catalogue called `name`."""
    return CATALOGUE[name]()


def random_trees(max_bodies: int = 8, **options) -> st.SearchStrategy[Tree]:
    """Random trees of 3 to `max_bodies` bodies, as a hypothesis strategy."""
    seeds, sizes = st.integers(0, 10_000), st.integers(3, max_bodies)
    return st.builds(lambda seed, n: random_tree(seed, n, **options), seeds, sizes)


joint_types = st.sampled_from(tuple(JOINT_TYPES))


class State(NamedTuple):
    """Everything that a test of dynamics needs, all random; wrenches would accelerate a free body by about one."""

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    tau: np.ndarray
    f_ext: np.ndarray


def random_state(robot: Tree, seed: int = 0) -> State:
    """Return a random state of `robot`, with accelerations, joint forces and a wrench on every body."""
    rng = np.random.default_rng(seed)
    v, a, tau = rng.normal(size=(3, robot.nv))
    pushes = [push(body.inertia, *rng.normal(size=(2, 3))) for body in robot.bodies]
    return State(robot.random(rng), v, a, tau, np.array(pushes))


def push(inertia: Inertia, linear: np.ndarray, angular: np.ndarray) -> np.ndarray:
    """Return the wrench that accelerates a body at rest by `linear` and `angular` at its origin."""
    force = inertia.mass * (linear + np.cross(angular, inertia.com))
    return np.concatenate([force, inertia.rotational @ angular + np.cross(inertia.com, force)])


def relative_error(value: np.ndarray, truth: np.ndarray, scale: float = 1.0) -> float:
    """Return the largest deviation, relative to the largest entry of `truth` or to `scale`; NaN counts as infinite."""
    assert np.shape(value) == np.shape(truth)
    error = np.abs(np.asarray(value) - truth).max(initial=0.0) / max(scale, np.abs(truth).max(initial=0.0))
    return float(error) if np.isfinite(error) else np.inf
