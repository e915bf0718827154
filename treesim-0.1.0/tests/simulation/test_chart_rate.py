"""The rate of the displacement d in a motion q0 (+) d(t): the equation that Runge-Kutta methods step."""

import numpy as np
import pytest

from tests import trees
from treesim.kernels.algebra.tables import tree_tables
from treesim.kernels.kinematics.configuration import chart_rate

pytestmark = pytest.mark.nojit


def residual(robot, q0, d, v, h=1e-5):
    """How far q0 (+) (d + h rate) and its like backwards are from moving on by +-h v."""
    rate = np.empty(robot.nv)
    chart_rate(tree_tables(robot.ints, robot.reals), d, v, rate)
    here = robot.integrate(q0, d)
    ahead, behind = (robot.difference(here, robot.integrate(q0, d + s * rate)) for s in (h, -h))
    return np.abs((ahead - behind) / (2 * h) - v).max()


@pytest.mark.parametrize("joint_type", ["spherical", "floating", "planar"])
def test_rate_is_exact_to_fourth_order(joint_type):
    robot = trees.random_tree(2, 4, joint_types=(joint_type,))
    rng = np.random.default_rng(0)
    q0, direction, v = robot.random(rng), rng.uniform(-1, 1, robot.nv), rng.uniform(-1, 1, robot.nv)
    assert residual(robot, q0, 0 * direction, v) < 1e-9
    errors = [residual(robot, q0, size * direction, v) for size in (0.8, 0.4, 0.2)]
    assert errors[0] < 1e-2 and errors[1] < errors[0] / 12 and errors[2] < errors[1] / 12 + 1e-9
