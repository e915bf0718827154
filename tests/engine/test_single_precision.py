"""How far single precision is from double, by robot: relative to the largest number of a state's result, in the
worst state among a thousand, at speeds, accelerations and angles of order one."""

import warnings

import numpy as np
import pytest

import treesim
from treesim.engine import specialised

pytestmark = pytest.mark.skipif(not specialised.usable(), reason="kernels run as plain Python, or LLVM is too old")
COUNT = 1000
# bounds, about 1.5 times what was found: of inverse dynamics, the mass matrix, forward dynamics
ROBOTS = {
    "simple_humanoid": (5e-7, 1e-7, 2e-5),
    "talos": (6e-7, 6e-8, 1.2e-4),
    "g1_29dof_rev_1_0": (5e-7, 6e-8, 2.2e-4),
    "go1": (5e-7, 5e-8, 5e-5),
    "panda": (3e-6, 6e-7, 5e-5),
}


def errors(found, exact):
    found, exact = (x.reshape(COUNT, -1) for x in (found, exact))
    return np.abs(found - exact).max(axis=1) / np.abs(exact).max(axis=1)


@pytest.mark.parametrize("name", ROBOTS)
def test_errors_of_single_precision(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        robot = treesim.load(name, base="fixed" if name == "panda" else "floating", mimic="free")
    rng = np.random.default_rng(0)
    q = np.array([robot.random(rng) for _ in range(COUNT)], np.float32)
    v, a = rng.normal(size=(2, COUNT, robot.nv)).astype(np.float32)
    tau = treesim.inverse_dynamics(robot, *(x.astype(float) for x in (q, v, a))).astype(np.float32)
    calls = (
        (treesim.inverse_dynamics, (q, v, a)),
        (treesim.mass_matrix, (q,)),
        (treesim.forward_dynamics, (q, v, tau)),
    )
    for (function, given), bound in zip(calls, ROBOTS[name], strict=True):
        found = function(robot, *given)
        assert found.dtype == np.float32
        error = errors(found, function(robot, *(x.astype(float) for x in given)))
        assert 0 < error.max() < bound
