"""How far single precision is from double, relative to the largest number of a state's result, on a thousand states at
speeds, accelerations and angles of order one: as far as the problem lets it, and no farther."""

import warnings

import numpy as np
import pytest

import treesim
from tests import sensitivity, trees
from treesim.engine.call.generic import runs_compiled
from treesim.model import generators
from treesim.testing.bounds import COARSER, apart

pytestmark = pytest.mark.skipif(not runs_compiled(), reason="kernels run as plain Python")
COUNT = 1000
ROBOTS = ["panda", "simple_humanoid", *(pytest.param(x, marks=pytest.mark.slow) for x in ("talos", "g1_29dof_rev_1_0"))]
CALLS = {
    treesim.inverse_dynamics: sensitivity.of_inverse_dynamics,
    treesim.mass_matrix: lambda robot, q, M: sensitivity.OF_A_SWEEP,
    treesim.forward_dynamics: sensitivity.of_forward_dynamics,
}


@pytest.mark.parametrize("name", ROBOTS)
def test_errors_of_single_precision(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        robot = treesim.load(name, base="fixed" if name == "panda" else "floating", mimic="free")
    rng = np.random.default_rng(0)
    q = np.array([robot.random(rng) for _ in range(COUNT)], np.float32)
    v, a = rng.normal(size=(2, COUNT, robot.nv)).astype(np.float32)
    tau = treesim.inverse_dynamics(robot, *(x.astype(float) for x in (q, v, a))).astype(np.float32)
    for (function, bound), given in zip(CALLS.items(), ((q, v, a), (q,), (q, v, tau)), strict=True):
        found, doubles = function(robot, *given), [x.astype(float) for x in given]
        exact = function(robot, *doubles)
        assert found.dtype == np.float32
        error = apart([found], [exact])
        assert (error > 0).all() and (error <= COARSER * bound(robot, *doubles, exact)).all()


@pytest.mark.parametrize("number", [np.float64, np.float32])
def test_a_rotation_by_nothing_is_one(number):
    """The angle of no rotation is divided by: what is added to its square must be a number in single precision too."""
    robot = trees.on_floating_base(generators.chain(1))
    rng = np.random.default_rng(0)
    q = np.array([robot.random(rng) for _ in range(100)], number)
    still = np.zeros((len(q), robot.nv), number)
    eps = 4 * np.finfo(number).eps
    np.testing.assert_allclose(robot.integrate(q, still), q, atol=eps)
    np.testing.assert_allclose(robot.difference(q, q), still, atol=eps)
    fallen = treesim.rollout(robot, q, still, steps=2, dt=1e-3)
    np.testing.assert_allclose(fallen.v[:, -1, 3:6], 0, atol=1e3 * eps)  # free fall does not turn the base
