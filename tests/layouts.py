"""What every layout of another engine must do: each map has its way back, and the maps fit each other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.testing import assert_allclose

import treesim
from treesim.model.generators import random_tree

EXACT = {"rtol": 0, "atol": 1e-12}
STATES = (2, 3)  # of a batch


def robot(seed: int, floating: bool, types: tuple[str, ...]) -> treesim.Tree:
    """A random tree with joints of these types, not numbered depth-first, its inertial axes turned anyhow."""
    fixed = random_tree(np.random.default_rng(seed), 7, types)
    if not floating:
        return treesim.Tree("random", fixed.bodies)
    hull = replace(fixed.bodies[0], name="hull", joint=treesim.Joint("root_joint", "floating"))
    return treesim.Tree("random", [hull, *(replace(body, parent=body.parent + 1) for body in fixed.bodies)])


def check(tree: treesim.Tree, layout, seed: int) -> None:
    """Check all maps of a layout at one random state and at a batch of them."""
    for shape in ((), STATES):
        q, vectors, M = _random(tree, shape, np.random.default_rng(seed))
        _check_way_back(tree, layout, q, vectors, M)
        _check_power(layout, q, *vectors[1:])
    _check_acceleration_is_the_rate_of_velocity(tree, layout, q[0, 0], *vectors[:2, 0, 0])


def _random(tree, shape, rng):
    count = int(np.prod(shape))
    q = np.array([tree.random(rng) for _ in range(count)]).reshape(*shape, tree.nq)
    M = rng.normal(size=(*shape, tree.nv, tree.nv))
    return q, rng.normal(size=(3, *shape, tree.nv)), M + np.swapaxes(M, -1, -2)


def _check_way_back(tree, layout, q, vectors, M):
    back = layout.configuration_from_engine(layout.configuration_to_engine(q))
    assert back.shape == q.shape
    assert_allclose(tree.difference(q, back), np.zeros_like(vectors[0]), **EXACT)
    v, a, tau = vectors
    assert_allclose(layout.velocity_from_engine(q, layout.velocity_to_engine(q, v)), v, **EXACT)
    assert_allclose(layout.acceleration_from_engine(q, v, layout.acceleration_to_engine(q, v, a)), a, **EXACT)
    assert_allclose(layout.force_from_engine(q, layout.force_to_engine(q, tau)), tau, **EXACT)
    assert_allclose(layout.matrix_from_engine(q, layout.matrix_to_engine(q, M)), M, **EXACT)


def _check_power(layout, q, v, tau):
    theirs = layout.force_to_engine(q, tau) * layout.velocity_to_engine(q, v)
    assert_allclose(theirs.sum(axis=-1), (tau * v).sum(axis=-1), **EXACT)


def _check_acceleration_is_the_rate_of_velocity(tree, layout, q, v, a):
    def velocity(t):
        return layout.velocity_to_engine(tree.integrate(q, t * v), v + t * a)

    h = 1e-5
    rate = (velocity(h) - velocity(-h)) / (2 * h)
    assert_allclose(rate, layout.acceleration_to_engine(q, v, a), rtol=0, atol=1e-6)
