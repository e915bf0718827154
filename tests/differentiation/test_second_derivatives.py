"""Contracted second derivatives of forward dynamics: symmetry, differences of analytic gradients, batches, errors."""

import numpy as np
import pytest

import treesim
from tests import trees
from tests.coupled import coupled
from tests.trees import random_state, relative_error
from treesim import forward_dynamics_hessian_vector as hessian_vector

SYMMETRIC = 1e-12
STEP, DIFFERENCES = 1e-4, 1e-6  # of mixed second differences, and their error


def tree(name):
    return coupled(1) if name == "mimic" else trees.tree(name)


@pytest.mark.parametrize("name", ["mimic", "free_random"])
def test_the_hessian_is_symmetric_and_that_of_mixed_differences(name):
    robot = tree(name)
    q, v, tau, *_ = random_state(robot, 3)
    rng, nv = np.random.default_rng(0), robot.nv
    w, one, other = rng.normal(size=nv), rng.normal(size=(3, nv)), rng.normal(size=(3, nv))
    first, second = (hessian_vector(robot, q, v, tau, w, tuple(x)) for x in (one, other))
    product = sum(a @ b for a, b in zip(first, other, strict=True))
    scale = sum(np.abs(a * b).sum() for a, b in zip(first, other, strict=True))
    assert abs(product - sum(a @ b for a, b in zip(second, one, strict=True))) < SYMMETRIC * scale

    def value(i, j):
        d, dv, dtau = STEP * (i * one + j * other)
        return w @ treesim.forward_dynamics(robot, robot.integrate(q, d), v + dv, tau + dtau)

    mixed = (value(1, 1) - value(1, -1) - value(-1, 1) + value(-1, -1)) / (4 * STEP**2)
    assert abs(mixed - product) < DIFFERENCES * scale


def test_derivatives_of_the_analytic_gradient():
    robot = treesim.load("ur5")
    rng = np.random.default_rng(1)
    q, v, tau, w, d = rng.normal(size=(5, 6))
    for k in range(3):
        direction = [None, None, None]
        direction[k] = d
        found = hessian_vector(robot, q, v, tau, w, direction)
        change = [np.zeros(6), np.zeros(6), np.zeros(6)]
        change[k] = 1e-5 * d
        ahead, behind = (
            treesim.forward_dynamics_derivatives(robot, q + s * change[0], v + s * change[1], tau + s * change[2])
            for s in (1, -1)
        )
        for own, one, other in zip(found, ahead, behind, strict=True):
            expected = w @ (one - other) / 2e-5
            assert np.abs(own - expected).max() < 1e-7 * max(1, max(np.abs(x).max() for x in found))


def test_batches_and_single_precision():
    robot = tree("free_random")
    q, v, tau, *_ = random_state(robot, 5)
    w, *d = np.random.default_rng(2).normal(size=(4, 3, robot.nv))
    found = hessian_vector(robot, q, v, tau, w, tuple(d))
    assert found.q.shape == (3, robot.nv)
    for i in range(3):
        one = hessian_vector(robot, q, v, tau, w[i], tuple(x[i] for x in d))
        assert max(relative_error(x[i], y) for x, y in zip(found, one, strict=True)) < 1e-11
    assert hessian_vector(robot, q, v, tau, w[:0], tuple(x[:0] for x in d)).q.shape == (0, robot.nv)
    single = [x.astype(np.float32) for x in (q, v, tau, w[0])]
    assert hessian_vector(robot, *single, (None, None, single[2])).v.dtype == np.float32


def test_bad_arguments():
    robot = treesim.load("ur5")
    x = np.zeros(6)
    with pytest.raises(treesim.ArgumentError, match="direction must be a tuple of three"):
        hessian_vector(robot, x, x, x, x, x)
    with pytest.raises(treesim.ArgumentError, match=r"direction\[1\] has shape"):
        hessian_vector(robot, x, x, x, x, (None, np.zeros(5), None))
    with pytest.raises(treesim.NonFiniteError, match="weights"):
        hessian_vector(robot, x, x, x, np.full(6, np.inf), (x, None, None))
    with pytest.raises(treesim.ArgumentError, match="robot must be a Tree"):
        hessian_vector("ur5", x, x, x, x, (x, None, None))
